#!/usr/bin/env bash
# Builds with warnings as errors and runs every test; ends with the summary of ctest.
# SWAPADVISOR_RANDOM_GRAPHS: how many random graphs the property tests try (200).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

options=(-DSWAPADVISOR_TESTS=ON -DSWAPADVISOR_WERROR=ON)
# With CUDA's compiler and libraries here, the CUDA device is compiled and linked too, for one architecture. Its tests run
# on the CPU; those that need a GPU skip where there is none.
nvcc="$(command -v nvcc || ls /usr/local/cuda/bin/nvcc 2>/dev/null || true)"
if [[ -n "$nvcc" && -n "$(find "$(dirname "$nvcc")/.."/ /usr/include -maxdepth 5 -follow -name cudnn.h -print -quit 2>/dev/null)" ]]; then
  options+=(-DSWAPADVISOR_CUDA=ON -DCMAKE_CUDA_COMPILER="$nvcc" -DCMAKE_CUDA_ARCHITECTURES=80-real)
fi
scripts/setup.sh "${options[@]}"
export SWAPADVISOR_RANDOM_GRAPHS="${SWAPADVISOR_RANDOM_GRAPHS:-200}"
ctest --test-dir build --output-on-failure -j "$(nproc)"
