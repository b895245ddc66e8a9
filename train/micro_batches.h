// Gradient accumulation: a step of several micro-batches, unrolled in one graph.
#pragma once

#include <swapadvisor/core/executor.h>
#include <swapadvisor/train/training_graph.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace swapadvisor {

/// The name of an input or output of micro-batch `number`: "micro2/input".
std::string micro_name(int number, std::string_view name);
/// The name without "micro2/", if it begins so.
std::string_view without_micro(std::string_view name);

/// What `build_training_graph` does for more than one micro-batch. Names of inputs, ops, and the outputs
/// `correct` and `rows` are those of `micro_name`; the loss is the weighted mean over all.
void build_micro_batches(Graph& graph, const Model& model, const StepOptions& options);

/// The sum of an i64 output over all micro-batches, or the output itself in a graph without them; absent if
/// there is none.
std::optional<std::int64_t> sum_of_outputs(const IterationResult& result, const Graph& graph,
                                           const std::string& name);

}  // namespace swapadvisor
