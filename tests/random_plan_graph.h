// Random graphs and devices for tests: small, odd, legal.
#pragma once

#include <swapadvisor/core/plan_graph.h>
#include <swapadvisor/core/program.h>
#include <swapadvisor/memory/liveness.h>

#include <cstdint>

namespace swapadvisor {

struct RandomGraphOptions {
  int fewest_ops = 2;
  int most_ops = 60;
  std::int64_t largest_bytes = 5000;
};

/// The same seed gives the same graph on every machine. Passes `check`. Has, by chance, accumulation chains,
/// parameters and states updated in place or overwritten, several readers, repeated operands, outputs that
/// are read later, inputs, ops with several outputs, buffers written twice, workspaces, sizes that are no
/// multiple of anything, ops in place, ops that take no time.
PlanGraph random_plan_graph(std::uint64_t seed, const RandomGraphOptions& options = {});

/// A random link, and a limit from exactly `largest_op_bytes` to more than everything; tight ones are more
/// likely.
DeviceSpec random_device(std::uint64_t seed, const PlanGraph& graph);

}  // namespace swapadvisor
