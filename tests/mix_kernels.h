// Kernels that make any PlanGraph executable: every output byte depends on every input byte, the op and the output.
#pragma once

#include <swapadvisor/core/executor.h>
#include <swapadvisor/core/kernel.h>
#include <swapadvisor/core/plan_graph.h>

#include <cstdint>
#include <memory>
#include <vector>

namespace swapadvisor::test {

using Bytes = std::vector<std::byte>;

/// One kernel per op of `graph`. They scribble over their workspace.
std::vector<std::unique_ptr<Kernel>> mix_kernels(const PlanGraph& graph);
std::vector<BoundKernel> bind_all(const std::vector<std::unique_ptr<Kernel>>& kernels);

/// First value of a persistent buffer, and what the loader gives an input in one iteration.
Bytes initial_bytes(const PlanGraph& graph, int buffer);
Bytes input_bytes(const PlanGraph& graph, int buffer, std::int64_t iteration);

/// What buffers hold after iterations run one op after the other on memory of their own: the reference.
struct Reference {
  explicit Reference(const PlanGraph& graph);
  void run_iteration();

  const PlanGraph& graph;
  std::vector<std::unique_ptr<Kernel>> kernels;
  std::vector<Bytes> buffers;
  std::int64_t iteration = 0;
};

/// What the host sees of a reference: outputs after each iteration, persistent buffers after the last; by buffer.
struct ReferenceRun {
  std::vector<std::vector<Bytes>> outputs;
  std::vector<Bytes> persistent;
};
ReferenceRun run_reference(const PlanGraph& graph, int iterations);

/// Per instruction, arena ranges whose content no later instruction reads and that may be overwritten right after it.
std::vector<std::vector<std::pair<std::int64_t, std::int64_t>>> dead_ranges(const Program& program);

/// Executes `iterations` iterations (drained and reloaded half way when `drain`), with freed memory poisoned, and
/// compares every output and persistent buffer with the reference. Empty when all are equal.
std::string run_and_compare(const Program& program, int iterations, bool drain);
/// The same with a reference that several plans of one graph share.
std::string run_and_compare(const Program& program, const ReferenceRun& reference, bool drain);
/// The same on any device, with kernels that do what `mix_kernels` do; they must outlive the call. `poison`
/// replaces that of `options`.
std::string run_and_compare(const Program& program, const ReferenceRun& reference, bool drain, Device& device,
                            std::vector<BoundKernel> kernels, bool poison, ExecutorOptions options = {});

}  // namespace swapadvisor::test
