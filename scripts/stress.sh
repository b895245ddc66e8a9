#!/usr/bin/env bash
# The long checks: all tests under AddressSanitizer, UndefinedBehaviorSanitizer and ThreadSanitizer, and the property
# tests with many more random graphs. Needs patience: sanitizers slow the kernels many times.
# SWAPADVISOR_RANDOM_GRAPHS: random graphs of the release build (2000).
# SWAPADVISOR_SANITIZER_GRAPHS: random graphs under each sanitizer (200).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

SWAPADVISOR_RANDOM_GRAPHS="${SWAPADVISOR_RANDOM_GRAPHS:-2000}" scripts/test.sh

export SWAPADVISOR_RANDOM_GRAPHS="${SWAPADVISOR_SANITIZER_GRAPHS:-200}"
export ASAN_OPTIONS="${ASAN_OPTIONS:-detect_stack_use_after_return=1:strict_string_checks=1}"
export UBSAN_OPTIONS="${UBSAN_OPTIONS:-halt_on_error=1:print_stacktrace=1}"
export TSAN_OPTIONS="${TSAN_OPTIONS:-halt_on_error=1}"
options=()
if command -v ccache >/dev/null; then options+=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache); fi
for preset in asan tsan; do
  echo "stress: $preset"
  cmake --preset "$preset" -G Ninja "${options[@]}"
  cmake --build --preset "$preset" -j "$(nproc)"
  ctest --preset "$preset" --timeout 3600 -j "$(nproc)"
done
