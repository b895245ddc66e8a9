#!/usr/bin/env bash
# The long checks: all tests under AddressSanitizer, UndefinedBehaviorSanitizer and ThreadSanitizer, and the property
# tests with many more random graphs. Needs patience: sanitizers slow the kernels many times.
# Fuzzers of everything that reads files follow, where clang++ is installed or can be.
# usage: scripts/stress.sh [release] [asan] [tsan] [fuzz]   (default: all of them)
# SWAPADVISOR_RANDOM_GRAPHS: random graphs of the release build (10000).
# SWAPADVISOR_KILLS: runs that are killed and resumed in the release build (20).
# SWAPADVISOR_SANITIZER_GRAPHS: random graphs under each sanitizer (200).
# SWAPADVISOR_FUZZ_SECONDS: of each fuzzer (60); 0: no fuzzing.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

stages=" ${*:-release asan tsan fuzz} "
wanted() { [[ "$stages" == *" $1 "* ]]; }
for stage in $stages; do
  [[ " release asan tsan fuzz " == *" $stage "* ]] || { echo "stress: no stage '$stage'" >&2; exit 2; }
done

if wanted release; then
  SWAPADVISOR_RANDOM_GRAPHS="${SWAPADVISOR_RANDOM_GRAPHS:-10000}" SWAPADVISOR_KILLS="${SWAPADVISOR_KILLS:-20}" scripts/test.sh
fi

export SWAPADVISOR_RANDOM_GRAPHS="${SWAPADVISOR_SANITIZER_GRAPHS:-200}"
export ASAN_OPTIONS="${ASAN_OPTIONS:-detect_stack_use_after_return=1:strict_string_checks=1}"
export UBSAN_OPTIONS="${UBSAN_OPTIONS:-halt_on_error=1:print_stacktrace=1}"
export TSAN_OPTIONS="${TSAN_OPTIONS:-halt_on_error=1}"
options=()
if command -v ccache >/dev/null; then options+=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache); fi
for preset in asan tsan; do
  wanted "$preset" || continue
  echo "stress: $preset"
  cmake --preset "$preset" -G Ninja "${options[@]}"
  cmake --build --preset "$preset" -j "$(nproc)"
  ctest --preset "$preset" --timeout 3600 -j "$(nproc)"
done

fuzz_seconds="${SWAPADVISOR_FUZZ_SECONDS:-60}"
wanted fuzz && [[ "$fuzz_seconds" -gt 0 ]] || exit 0
if ! command -v clang++ >/dev/null && command -v apt-get >/dev/null && [[ $EUID -eq 0 ]]; then
  DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends clang libclang-rt-14-dev || true
fi
if ! command -v clang++ >/dev/null; then
  echo "stress: no fuzzing: there is no clang++ (Debian 12: clang, libclang-rt-14-dev)" >&2
  exit 0
fi
echo "stress: fuzz"
cmake --preset fuzz -G Ninja "${options[@]}"
cmake --build --preset fuzz -j "$(nproc)"
for corpus in tests/fuzz/corpus/*; do
  target="$(basename "$corpus")"
  # What it finds stays in the build folder: new inputs in grown/, a crash in the file that the fuzzer names.
  mkdir -p "build-fuzz/grown/$target"
  echo "stress: fuzz $target, $fuzz_seconds s"
  "build-fuzz/fuzz_$target" -max_total_time="$fuzz_seconds" -timeout=20 -rss_limit_mb=2048 -max_len=16384 \
    -dict=tests/fuzz/json.dict -artifact_prefix="build-fuzz/$target-" -print_final_stats=1 -print_funcs=0 -verbosity=0 \
    "build-fuzz/grown/$target" "$corpus"
done
