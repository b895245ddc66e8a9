#!/usr/bin/env bash
# The CUDA device on this machine's GPU: builds it, runs the tests that need a GPU, and prints one table of what they and
# real training steps show. Ends with a failure when a test or a step fails.
#   SWAPADVISOR_GPU_BUILD (build-gpu): where to build; SWAPADVISOR_GPU_SKIP_BUILD=1: use what is there
#   SWAPADVISOR_GPU_ARCHITECTURES (native): for nvcc, such as 80-real
#   SWAPADVISOR_GPU_MODELS: "NAME:OPTIONS" separated by commas, instead of ResNet-50, BERT-base and an LSTM
#   SWAPADVISOR_GPU_LIMITS ("50% 25% 8.333%"), SWAPADVISOR_GPU_STEPS (20), SWAPADVISOR_GPU_SECONDS (30): of search
#   SWAPADVISOR_PYTHON (python3): a Python; where it has PyTorch with CUDA, its step times are in the table, too
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

build="${SWAPADVISOR_GPU_BUILD:-build-gpu}"
models="${SWAPADVISOR_GPU_MODELS:-resnet50:--batch-size 64,bert-base:--batch-size 16 --seq-len 128,rnn:--batch-size 64 --cell lstm --layers 2 --hidden 1024 --seq-len 64}"
limits="${SWAPADVISOR_GPU_LIMITS:-50% 25% 8.333%}"
steps="${SWAPADVISOR_GPU_STEPS:-20}"
seconds="${SWAPADVISOR_GPU_SECONDS:-30}"
python="${SWAPADVISOR_PYTHON:-python3}"
failures=0

if [[ "${SWAPADVISOR_GPU_SKIP_BUILD:-0}" != 1 ]]; then
  export PATH="$PATH:/usr/local/cuda/bin"
  cmake --preset cuda -B "$build" -G Ninja -DCMAKE_CUDA_ARCHITECTURES="${SWAPADVISOR_GPU_ARCHITECTURES:-native}" &&
    cmake --build "$build" -j "$(nproc)" || exit 1
fi

results="$(mktemp -d)"
trap 'rm -rf "$results"' EXIT

# field FILE NAME: a scalar of the flat JSON object in FILE; "-" if it has none.
field() {
  local value
  value="$(grep -oE "\"$2\": ?(\"[^\"]*\"|[^],}[:space:]]+)" "$1" 2>/dev/null | head -n 1 | sed -E 's/^"[^"]*": ?//; s/^"(.*)"$/\1/')"
  printf '%s' "${value:--}"
}

percent() { awk -v v="$1" 'BEGIN { if (v ~ /^[0-9]/) printf "%.1f %%", 100 * v; else print v }'; }
milliseconds() { awk -v v="$1" 'BEGIN { if (v ~ /^[0-9]/) printf "%.2f ms", 1000 * v; else print v }'; }

echo "gpu_check: tests"
SWAPADVISOR_REQUIRE_GPU=1 "$build/swapadvisor_tests" --gtest_filter='Gpu*' >"$results/tests.log" 2>&1
tests_status=$?
grep -E '^\[  (PASSED|FAILED)|Failure' "$results/tests.log" | head -n 40
if [[ $tests_status -ne 0 ]]; then
  failures=$((failures + 1))
  tail -n 60 "$results/tests.log" >&2
fi

# pytorch MODEL OPTIONS…: seconds of a step on the same GPU; "-" where there is no PyTorch with CUDA.
pytorch() {
  "$python" scripts/torch_step_seconds.py "$@" 2>/dev/null || printf '%s' -
}

rows=()
IFS=, read -ra entries <<<"$models"
for entry in "${entries[@]}"; do
  name="${entry%%:*}"
  read -ra options <<<"${entry#*:}"
  echo "gpu_check: $name ${options[*]}, no limit"
  free="$results/$name.json"
  if ! "$build/swapadvisor" train "$name" "${options[@]}" --device cuda --steps "$steps" --seed 1 --quiet --json >"$free"; then
    failures=$((failures + 1))
    rows+=("$(printf '%-12s %8s  failed' "$name" none)")
    continue
  fi
  torch="$(pytorch "$name" "${options[@]}")"
  rows+=("$(printf '%-12s %8s %12s %12s %10s %10s %8s %12s' "$name" none "$(milliseconds "$(field "$free" iteration_seconds_predicted)")" \
    "$(milliseconds "$(field "$free" iteration_seconds)")" "$(percent "$(field "$free" efficiency_predicted)")" \
    "$(percent "$(field "$free" efficiency_measured)")" - "$(milliseconds "$torch")")")
  # The same as a CUDA graph, if the simulator says that this is faster: the row then tells how many steps were one.
  graph="$results/$name-graph.json"
  echo "gpu_check: $name, --cuda-graph"
  if ! "$build/swapadvisor" train "$name" "${options[@]}" --device cuda --cuda-graph --steps "$steps" --seed 1 --quiet --json >"$graph"; then
    failures=$((failures + 1))
    rows+=("$(printf '%-12s %8s  failed' "$name" graph)")
  else
    same=yes
    if [[ "$(field "$free" parameters_hash)" != "$(field "$graph" parameters_hash)" ]]; then
      same=NO
      failures=$((failures + 1))
    fi
    rows+=("$(printf '%-12s %8s %12s %12s %10s %10s %8s' "$name" graph "$(milliseconds "$(field "$graph" iteration_seconds_predicted)")" \
      "$(milliseconds "$(field "$graph" iteration_seconds)")" "$(percent "$(field "$graph" efficiency_predicted)")" \
      "$(percent "$(field "$graph" efficiency_measured)")" "$same")  as a graph $(milliseconds "$(field "$graph" iteration_seconds_predicted_graph)") predicted; $(field "$graph" cuda_graph_steps) of $steps steps were one")
  fi
  for limit in $limits; do
    echo "gpu_check: $name, limit $limit"
    limited="$results/$name-$limit.json"
    if ! "$build/swapadvisor" train "$name" "${options[@]}" --device cuda --steps "$steps" --seed 1 --quiet --json \
      --memory-limit "$limit" --search-seconds "$seconds" >"$limited" 2>"$results/error"; then
      # One op alone may need more than a small share: no plan can do with less.
      rows+=("$(printf '%-12s %8s  %s' "$name" "$limit" "$(head -n 1 "$results/error")")")
      grep -q 'device memory, limit' "$results/error" || failures=$((failures + 1))
      continue
    fi
    same=yes
    if [[ "$(field "$free" parameters_hash)" != "$(field "$limited" parameters_hash)" ]]; then
      same=NO
      failures=$((failures + 1))
    fi
    rows+=("$(printf '%-12s %8s %12s %12s %10s %10s %8s' "$name" "$limit" "$(milliseconds "$(field "$limited" iteration_seconds_predicted)")" \
      "$(milliseconds "$(field "$limited" iteration_seconds)")" "$(percent "$(field "$limited" efficiency_predicted)")" \
      "$(percent "$(field "$limited" efficiency_measured)")" "$same")")
  done
done

echo
echo "== $(nvidia-smi --query-gpu=name,driver_version --format=csv,noheader 2>/dev/null | head -n 1) =="
sed -nE 's/^\[ gpu (link|overlap|training|ops) \] /\1: /p' "$results/tests.log"
echo
printf '%-12s %8s %12s %12s %10s %10s %8s %12s\n' model limit predicted measured efficiency measured "same" PyTorch
printf '%s\n' "${rows[@]}"
echo
if [[ $failures -eq 0 ]]; then echo "gpu_check: no failure"; else echo "gpu_check: $failures failure(s)"; fi
exit $((failures > 0))
