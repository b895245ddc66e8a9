#!/usr/bin/env bash
# Trains one model on the bundled MNIST twice, without a memory limit and with one, and shows both side by side:
# the limit costs some speed, and not one bit of the result.
#   SWAPADVISOR_DEMO_MODEL (resnet20), SWAPADVISOR_DEMO_BATCH (128), SWAPADVISOR_DEMO_EPOCHS (2),
#   SWAPADVISOR_DEMO_LIMIT (25%): of the memory that the model needs
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

model="${SWAPADVISOR_DEMO_MODEL:-resnet20}"
batch="${SWAPADVISOR_DEMO_BATCH:-128}"
epochs="${SWAPADVISOR_DEMO_EPOCHS:-2}"
limit="${SWAPADVISOR_DEMO_LIMIT:-25%}"

scripts/setup.sh

results="$(mktemp -d)"
trap 'rm -rf "$results"' EXIT

train() {
  build/swapadvisor train "$model" --dataset mnist --data data/mnist --batch-size "$batch" --epochs "$epochs" \
    --optimizer sgd --lr 0.1 --momentum 0.9 --lr-schedule cosine --seed 1 --json "$@"
}

echo "demo: $model, batch size $batch, $epochs epoch(s), no memory limit"
train >"$results/free.json"
echo "demo: the same with --memory-limit $limit"
train --memory-limit "$limit" --no-cache >"$results/limited.json"

# field FILE NAME: the scalar field NAME of the one flat JSON object in FILE; "-" if it has none.
field() {
  local value
  value="$(tr -d '\n' <"$1" | grep -oE "\"$2\"[[:space:]]*:[[:space:]]*(\"[^\"]*\"|[^],}[:space:]]+)" | head -n 1 || true)"
  value="$(sed -E 's/^"[^"]*"[[:space:]]*:[[:space:]]*//; s/^"(.*)"$/\1/' <<<"$value")"
  if [[ -z "$value" || "$value" == null ]]; then value="-"; fi
  printf '%s' "$value"
}

# Numbers for people; what is no number stays as it is.
format() {
  awk -v value="$1" -v kind="$2" 'BEGIN {
    if (value !~ /^-?[0-9]/) { print value; exit }
    if (kind == "mib") printf "%.1f MiB\n", value / 1048576
    else if (kind == "percent") printf "%.1f %%\n", 100 * value
    else if (kind == "rate") printf "%.1f\n", value
    else if (kind == "loss") printf "%.6f\n", value
    else print value
  }'
}

print_row() { printf '%-36s  %20s  %20s\n' "$1" "$2" "$3"; }

row() {
  print_row "$1" "$(format "$(field "$results/free.json" "$2")" "$3")" \
    "$(format "$(field "$results/limited.json" "$2")" "$3")"
}

same() {
  local free limited
  free="$(field "$results/free.json" "$1")"
  limited="$(field "$results/limited.json" "$1")"
  if [[ "$free" != "-" && "$free" == "$limited" ]]; then echo yes; else echo no; fi
}

echo
print_row "" "no limit" "limit $limit"
row "planner" planner text
row "device bytes needed" device_bytes_needed mib
row "device bytes limit" device_bytes_limit mib
row "device bytes used (peak)" device_bytes_peak mib
row "host bytes used (peak)" host_bytes_peak mib
row "swapped in per iteration" swap_in_bytes mib
row "swapped out per iteration" swap_out_bytes mib
row "images/s" samples_per_second rate
row "efficiency predicted" efficiency_predicted percent
row "efficiency measured" efficiency_measured percent
row "steps" steps text
row "final loss" final_loss loss
row "final loss (hexadecimal)" final_loss_hex text
row "test accuracy" test_accuracy percent
row "parameters hash" parameters_hash text
echo
loss="$(same final_loss_hex)"
parameters="$(same parameters_hash)"
echo "final loss equal to the bit: $loss"
echo "parameters equal to the bit: $parameters"
[[ "$loss" == yes && "$parameters" == yes ]]
