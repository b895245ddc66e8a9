// Where a training run writes what happened: JSON lines, TensorBoard event files, a picture of the loss.
#pragma once

#include <swapadvisor/train/log.h>
#include <swapadvisor/train/loss_plot.h>
#include <swapadvisor/train/tensorboard.h>
#include <swapadvisor/train/trainer.h>

#include <memory>
#include <string>

namespace swapadvisor {

/// Paths; empty: not wanted.
struct TrainingLogOptions {
  std::string json, tensorboard, plot;
  std::string title;            ///< of the picture
  std::int64_t first_step = 0;  ///< of a resumed run
};

/// Not thread-safe. Failures throw `Error` with file and reason.
class TrainingLog {
 public:
  explicit TrainingLog(TrainingLogOptions options);

  void step(const StepMetrics& metrics);
  /// `steps`: done so far. Draws the picture anew.
  void epoch(std::int64_t epoch, std::int64_t steps, const Evaluation& test);
  /// Draws the picture of the whole run.
  void finish();

 private:
  TrainingLogOptions options_;
  std::unique_ptr<JsonLinesLog> json_;
  std::unique_ptr<TensorBoardWriter> tensorboard_;
  LossPlot plot_;
};

}  // namespace swapadvisor
