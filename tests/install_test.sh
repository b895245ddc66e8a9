#!/usr/bin/env bash
# Installs a build to a temporary prefix and uses it as a stranger would: the examples, copied out of the repository, are
# configured, built and run against the installed package.
# usage: install_test.sh SOURCE_DIR BUILD_DIR CXX VERSION
set -euo pipefail
source_dir=$1 build_dir=$2 compiler=$3 version=$4
work=$(mktemp -d "${TMPDIR:-/tmp}/swapadvisor-install.XXXXXX")
trap 'rm -rf "$work"' EXIT
fail() { echo "install: $*" >&2; exit 1; }

quietly() { "$@" >"$work/log" 2>&1 || { cat "$work/log" >&2; fail "failed: $*"; }; }

# build NAME [CMake option…]: the project in $work/NAME.
build() {
  quietly cmake -S "$work/$1" -B "$work/$1/build" -DCMAKE_PREFIX_PATH="$work/prefix" -DCMAKE_BUILD_TYPE=Release \
    -DCMAKE_CXX_COMPILER="$compiler" -DCMAKE_CXX_FLAGS="-Wall -Wextra -Wpedantic -Wshadow -Werror ${CXXFLAGS:-}" "${@:2}"
  quietly cmake --build "$work/$1/build" -j 2
}

# expect NAME PATTERN…: runs the example; its output has a line that matches each pattern.
expect() {
  local output pattern name=$1
  output=$(cd "$work/$name" && OMP_WAIT_POLICY=passive "./build/$name") || fail "$name failed: $output"
  for pattern in "${@:2}"; do
    grep -qE "$pattern" <<<"$output" || fail "$name printed no '$pattern': $output"
  done
  echo "install: $name: $(tail -n 1 <<<"$output")"
}

quietly cmake --install "$build_dir" --prefix "$work/prefix"
[[ $("$work/prefix/bin/swapadvisor" --version) == *"$version"* ]] || fail "the program does not say version $version"

# Every installed header: together, from a program that asks for a version, and without third-party headers but fmt.
headers=$(cd "$work/prefix/include" && find swapadvisor -name '*.h' | sort)
grep -q swapadvisor/core/graph.h <<<"$headers" || fail "no <swapadvisor/core/graph.h>"
foreign=$(cd "$work/prefix/include" && grep -rnE '#include <(nlohmann|CLI|Eigen|dnnl|oneapi|zlib|omp)' . || true)
[[ -z $foreign ]] || fail "installed headers impose others: $foreign"
mkdir "$work/headers"
cat >"$work/headers/CMakeLists.txt" <<END
cmake_minimum_required(VERSION 3.25)
project(headers LANGUAGES CXX)
find_package(swapadvisor $version REQUIRED)
add_executable(headers main.cpp)
target_link_libraries(headers PRIVATE swapadvisor::swapadvisor)
END
{
  sed 's/.*/#include <&>/' <<<"$headers"
  echo 'int main() { return swapadvisor::planner_list().empty(); }'
} >"$work/headers/main.cpp"
build headers -DCMAKE_NO_SYSTEM_FROM_IMPORTED=ON
"$work/headers/build/headers" || fail "the installed library knows no planner"

cp -r "$source_dir"/examples/custom_model "$source_dir"/examples/custom_op "$work"
build custom_model
expect custom_model '^planner [a-z]' '^step 200: loss 0\.' '^accuracy on new points: (9[5-9]|100)\.'
[[ -s $work/custom_model/spirals.safetensors ]] || fail "custom_model wrote no weights"
build custom_op
expect custom_op '^gradient error: [0-9.]+e-(0[789]|1[0-9])$' '^step 200: loss 0\.' '^test accuracy: (9[0-9]|100)\.'
