// The graph of one training step, and of one evaluation step, of a classification model.
#pragma once

#include <swapadvisor/models/registry.h>

#include <cstdint>
#include <string>
#include <vector>

namespace swapadvisor {

/// Names of inputs and outputs.
namespace names {
inline constexpr const char* input = "input";
inline constexpr const char* target = "target";
inline constexpr const char* learning_rate = "step.learning_rate";
inline constexpr const char* step_number = "step.number";
inline constexpr const char* loss = "loss";
inline constexpr const char* correct = "correct";
/// Persistent buffers that are not the model's: the finite flag and optimizer states.
inline constexpr const char* finite = "optimizer/finite";
inline constexpr const char* momentum_prefix = "optimizer/momentum/";
}  // namespace names

/// True for parameters and states that belong to the model rather than to its training.
bool is_model_buffer(const Buffer& buffer);

struct OptimizerOptions {
  std::string name = "sgd";
  double momentum = 0.9;
  double weight_decay = 0;
  bool nesterov = false;
};

/// Throws `Error` for an unknown optimizer or a number out of range.
void check(const OptimizerOptions& options);

struct StepOptions {
  std::int64_t batch_size = 1;
  DType dtype = DType::f32;
  Layout layout = Layout::channels_last;
  /// uint8 images are scaled by these; empty: `input` is already floating and is taken as it is.
  std::vector<double> mean, deviation;
  double label_smoothing = 0;
  OptimizerOptions optimizer;
  bool output_gradients = false;  ///< every gradient becomes an output "grad.NAME"
};

/// Forward, loss, backward, deferred updates and optimizer in `graph`. Inputs `input` (NCHW), `target` (i32 [N]),
/// `step.*`; outputs `loss` (mean over the valid rows), `correct` (i64).
void build_training_graph(Graph& graph, const Model& model, const StepOptions& options);

/// Forward pass with running statistics. Inputs `input`, `target`; outputs `loss`, `correct`.
void build_evaluation_graph(Graph& graph, const Model& model, const StepOptions& options);

}  // namespace swapadvisor
