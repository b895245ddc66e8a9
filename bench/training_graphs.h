// Training steps of any size for benchmarks: forward, backward and update of deep networks, always the same.
#pragma once

#include <swapadvisor/core/plan_graph.h>

#include <cstdint>
#include <string_view>

namespace swapadvisor::bench {

/// A bottleneck ResNet of 50 × `blocks` / 16 layers: convolution, batch norm, ReLU, their gradients, momentum
/// SGD. 29 ops a block.
PlanGraph residual_network(std::int64_t blocks, std::int64_t batch);

/// A pre-norm transformer: attention, feed-forward, residual sums, their gradients, momentum SGD. 41 ops a
/// layer.
PlanGraph transformer(std::int64_t layers, std::int64_t batch);

/// An LSTM decoder of `layers` layers unrolled over `steps` steps, each fed with the outcome of the one
/// before. All steps of a layer read one weight and add to one gradient. 5 ops a cell.
PlanGraph unrolled_lstm(std::int64_t layers, std::int64_t steps, std::int64_t batch);

/// The network of that name ("resnet", "transformer", "lstm") with at least `ops` ops, and few more. Throws
/// `Error` for other names.
PlanGraph training_graph(std::string_view network, std::int64_t ops);

}  // namespace swapadvisor::bench
