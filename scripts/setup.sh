#!/usr/bin/env bash
# Installs what is missing on Debian 12 (as root or with sudo) and builds into build/.
# usage: scripts/setup.sh [CMake option…], such as -DSWAPADVISOR_WERROR=ON
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# ocl-icd-opencl-dev: the CMake file of libdnnl-dev looks for OpenCL and does not depend on it.
required=(cmake g++ ninja-build git libdnnl-dev ocl-icd-opencl-dev libeigen3-dev libcli11-dev nlohmann-json3-dev libfmt-dev
          libgtest-dev libgmock-dev libbenchmark-dev zlib1g-dev libjpeg62-turbo-dev libpng-dev
          libcairo2-dev fonts-dejavu-core pkg-config)
optional=(ccache doxygen)  # ccache makes the next build faster; doxygen lets the tests check the API reference

installed() { [[ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" == installed ]]; }

missing_of() {
  local package
  for package in "$@"; do installed "$package" || echo "$package"; done
}

as_root() {
  if [[ $EUID -eq 0 ]]; then
    "$@"
  elif command -v sudo >/dev/null; then
    sudo "$@"
  else
    echo "setup: cannot run '$*': not root, and there is no sudo" >&2
    return 1
  fi
}

install() {
  as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "$@"
}

if command -v apt-get >/dev/null; then
  mapfile -t needed < <(missing_of "${required[@]}")
  mapfile -t wanted < <(missing_of "${optional[@]}")
  if [[ ${#needed[@]} -gt 0 ]]; then
    echo "setup: installing ${needed[*]}"
    as_root apt-get update
    install "${needed[@]}"
    [[ ${#wanted[@]} -eq 0 ]] || install "${wanted[@]}" || true
  fi
else
  echo "setup: no apt-get here; the build needs the equivalents of: ${required[*]}" >&2
fi

options=(-DCMAKE_BUILD_TYPE=Release)
if command -v ccache >/dev/null; then options+=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache); fi
cmake -S . -B build -G Ninja "${options[@]}" "$@"
cmake --build build -j "$(nproc)"
