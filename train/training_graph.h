// The graph of one training step, of one evaluation step and of inference, of any model.
#pragma once

#include <swapadvisor/models/registry.h>
#include <swapadvisor/train/optimizer.h>

#include <cstdint>
#include <string>
#include <vector>

namespace swapadvisor {

/// Names of inputs and outputs.
namespace names {
inline constexpr const char* input = "input";
inline constexpr const char* target = "target";
inline constexpr const char* learning_rate = "step.learning_rate";
inline constexpr const char* bias_correction1 = "step.bias_correction1";
inline constexpr const char* bias_correction2 = "step.bias_correction2";
inline constexpr const char* ema_decay = "step.ema_decay";
inline constexpr const char* step_number = "step.number";
inline constexpr const char* loss = "loss";
inline constexpr const char* correct = "correct";
inline constexpr const char* rows = "rows";
inline constexpr const char* logits = "logits";
inline constexpr const char* gradient_norm = "gradient_norm";
/// Persistent buffers that are not the model's: the finite flag, optimizer states and averages of parameters.
inline constexpr const char* optimizer_prefix = "optimizer/";
inline constexpr const char* finite = "optimizer/finite";
inline constexpr const char* momentum_prefix = "optimizer/momentum/";
inline constexpr const char* exp_avg_prefix = "optimizer/exp_avg/";
inline constexpr const char* exp_avg_sq_prefix = "optimizer/exp_avg_sq/";
inline constexpr const char* ema_prefix = "optimizer/ema/";
}  // namespace names

/// True for parameters and states that belong to the model rather than to its training.
bool is_model_buffer(const Buffer& buffer);

/// What a training or evaluation step of a model computes.
struct StepOptions {
  std::int64_t batch_size = 1;  ///< samples; of several micro-batches, of each
  /// Of a training step: the gradients of that many batches are accumulated for one update. Their inputs are
  /// called "micro0/NAME", "micro1/NAME", …, and so are `correct` and `rows`. The loss is the mean over the
  /// labels of all of them that count.
  std::int64_t micro_batches = 1;
  DType dtype = DType::f32;  ///< what to compute in; of parameters too, but f32 where this is bf16
  Layout layout = Layout::channels_last;
  /// Images are uint8 and scaled by these; empty: they are floating and taken as they are.
  std::vector<double> mean, deviation;
  double label_smoothing = 0;
  OptimizerOptions optimizer;
  std::vector<std::string> frozen;  ///< scopes whose parameters are not trained, see `Graph::freeze`
  bool output_gradients = false;    ///< every gradient becomes an output "grad.NAME"
};

/// Makes a training step of the graph whose forward pass computes `loss` (one f32 or f64 element): backward
/// pass for the parameters that are not frozen, deferred updates, and the optimizer. `loss` becomes output
/// "loss". Inputs it adds, all f64 scalars: "step.learning_rate", for Adam also bias corrections
/// (`StepScalars` has the values). With clipping (`OptimizerOptions::clip_norm`), the norm of all gradients
/// becomes output "gradient_norm" (f64). A loss that is not finite changes no parameter or state, in that
/// step and all later ones. `output_gradients`: every gradient becomes an output "grad.NAME", as it is before
/// clipping. Throws `Error` when there is nothing to train, and as `gradients` and `check` do.
void minimize(Tensor loss, const OptimizerOptions& optimizer, bool output_gradients = false);

/// A term of a model's loss, as an evaluation graph outputs it.
struct LossPart {
  std::string target;  ///< name of the target
  std::string loss,
      rows;  ///< outputs: mean over the rows that count (f32, f64), and how many those are (i64)
  double weight = 1;
};

/// Forward, loss, backward, deferred updates and optimizer in `graph`. Inputs: the model's inputs (images
/// NCHW) and targets by their names, `step.*`; outputs `loss` (as `ModelPrediction` defines it), `correct`
/// (i64, of the first prediction), and, unless that has one row per sample, `rows` (i64): how many of its
/// labels are not ignored.
void build_training_graph(Graph& graph, const Model& model, const StepOptions& options);

/// Forward pass with running statistics, without targets. The model's inputs; output `logits` [rows, classes]
/// of the first prediction.
void build_inference_graph(Graph& graph, const Model& model, const StepOptions& options);

/// Forward pass with running statistics. Inputs and outputs as for training. Returns the terms of the loss
/// where there are several, with their outputs `loss.TARGET` and `rows.TARGET`.
std::vector<LossPart> build_evaluation_graph(Graph& graph, const Model& model, const StepOptions& options);

}  // namespace swapadvisor
