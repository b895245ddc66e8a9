#!/usr/bin/env bash
# Builds with warnings as errors and runs every test; ends with the summary of ctest.
# SWAPADVISOR_RANDOM_GRAPHS: how many random graphs the property tests try (200).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

scripts/setup.sh -DSWAPADVISOR_TESTS=ON -DSWAPADVISOR_WERROR=ON
export SWAPADVISOR_RANDOM_GRAPHS="${SWAPADVISOR_RANDOM_GRAPHS:-200}"
ctest --test-dir build --output-on-failure -j "$(nproc)"
