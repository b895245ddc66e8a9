// Training a model on a data set: graphs, sessions, data, metrics, and what to report at the end.
#pragma once

#include <swapadvisor/train/loader.h>
#include <swapadvisor/train/session.h>
#include <swapadvisor/train/training_graph.h>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

namespace swapadvisor {

/// One finished training step.
struct StepMetrics {
  std::int64_t step = 0;  ///< from 0
  std::int64_t epoch = 0;
  double loss = 0;
  std::int64_t correct = 0;
  std::int64_t samples = 0;
  std::int64_t rows = 0;  ///< labels of the first prediction that count: of images, the samples
  double learning_rate = 0;
  std::optional<double> gradient_norm{};  ///< before clipping, where there is clipping
  double iteration_seconds =
      0;  ///< between the ends of this and the previous step's compute; 0 if there is none
};

/// Loss and accuracy over a data set.
struct Evaluation {
  double loss = 0;      ///< mean over all rows that count; of several predictions their weighted sum
  double accuracy = 0;  ///< in [0, 1], of the first prediction
  std::int64_t samples = 0;
  std::int64_t rows = 0;  ///< labels of the first prediction that count: of images, the samples
  std::map<std::string, double> losses{};  ///< by target, where there are several predictions
  std::optional<double> bits_per_byte{};   ///< of models of language, where the data are text
};

/// "test accuracy 98.76 %, loss 0.0432", with the losses by target and bits per byte where there are any.
std::string describe(const Evaluation& evaluation);

/// A training run.
struct TrainerOptions {
  StepOptions step;
  LoaderOptions loader;  ///< its batches are those of a step: of all micro-batches
  SessionOptions session;
  std::int64_t steps = 0;  ///< of the whole run
  std::function<double(std::int64_t step)> learning_rate;  ///< absent: the optimizer's default, constant
  std::stop_token stop;         ///< ends the run after the step in progress, as if it were the last
  std::int64_t done_steps = 0;  ///< of this run, by an earlier process whose parameters and states are loaded
  double done_loss = 0;         ///< of the last of them
  std::int64_t checkpoint_every =
      0;  ///< steps between calls of `on_checkpoint`; 0: at the end of every epoch
  /// Called with the steps done and the last loss, all parameters and states being in the host store; also at
  /// the end.
  std::function<void(std::int64_t steps, double loss)> on_checkpoint;
  std::function<void(const StepMetrics&)> on_step;
  std::function<void(std::int64_t epoch, const Evaluation&)> on_epoch;
};

/// What a training run came to.
struct TrainReport {
  double final_loss = 0;
  std::optional<Evaluation> test;
  std::int64_t steps = 0;        ///< done, those before a resume included
  std::int64_t steps_taken = 0;  ///< by this run
  bool interrupted = false;      ///< `TrainerOptions::stop` ended it before its last step
  double seconds = 0;            ///< of training, evaluation and planning left out
  double iteration_seconds = 0;  ///< median over steps in steady state
  double samples_per_second = 0;
  double efficiency_measured = 0;
  std::string parameters_hash;
};

/// Hash over names, shapes and bits of all parameters and states in the host store, sorted by name: 16 hex digits.
std::string parameters_hash(const Graph& graph, HostStore& host);

/// Not thread-safe. The device and the host store must outlive it, as must the data sets.
class Trainer {
 public:
  /// Builds and plans the training graph, and the evaluation graph if there is a test set. Parameters already in
  /// the host store (loaded weights) are kept; others are initialised from the loader's seed.
  Trainer(const Model& model, const Dataset& train, const Dataset* test, Device& device, HostStore& host,
          const KernelSet& kernels, TrainerOptions options);
  /// The same on a runtime, whose other sessions share the parameters: one that infers in `on_step`, for example.
  Trainer(const Model& model, const Dataset& train, const Dataset* test, Runtime& runtime, TrainerOptions options);

  Session& session() { return *training_; }
  const Graph& graph() const { return graph_; }
  std::int64_t steps_per_epoch() const { return steps_per_epoch_; }
  std::int64_t steps_done() const { return steps_done_; }

  /// Throws `Error` when the loss is not finite, naming the step and the first op whose output is not; parameters
  /// are then in the host store as they were before that step.
  TrainReport run();
  /// On the test set. Where moving averages of the parameters are kept, they are evaluated, from the first
  /// step on.
  Evaluation evaluate();

 private:
  struct Pending;

  void submit(const Batch& batch);
  void take_step(TrainReport& report);
  void end_epoch(std::int64_t epoch, TrainReport& report);
  bool is_checkpoint(std::int64_t steps) const;
  void checkpoint(const TrainReport& report);
  [[noreturn]] void explain_non_finite(std::int64_t step);
  Session::Inputs inputs(const Graph& graph, const Batch& batch) const;

  const Dataset& train_;
  const Dataset* test_;
  Device& device_;
  HostStore& host_;
  TrainerOptions options_;
  Graph graph_, evaluation_graph_;
  std::unique_ptr<Session> training_, evaluation_;
  std::vector<LossPart> evaluation_parts_;
  std::int64_t steps_per_epoch_ = 0;
  StepScalars scalars_;  ///< of the step being submitted
  std::vector<StepMetrics> pending_;
  std::int64_t steps_done_ = 0, steps_saved_ = 0;
  std::vector<double> iteration_seconds_;
  double previous_end_ = -1;
};

/// Evaluation of `session` (a graph of `build_evaluation_graph`, which returned `parts`) over the whole data
/// set; every sample counts once.
Evaluation evaluate(Session& session, const Dataset& dataset, std::int64_t batch_size,
                    const std::vector<LossPart>& parts = {});

/// The arrays of `batch` that are inputs of `graph`, by name. The batch must outlive it.
Session::Inputs batch_inputs(const Graph& graph, const Batch& batch);

/// Throws `Error` unless `dataset` has every input of the graph that is not a scalar of the step, in the type and shape
/// that a batch of `batch_size` samples needs.
void check_data(const Graph& graph, const Dataset& dataset, std::int64_t batch_size);

}  // namespace swapadvisor
