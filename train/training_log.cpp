#include <swapadvisor/core/file.h>
#include <swapadvisor/train/training_log.h>

#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

namespace swapadvisor {
namespace {

double accuracy_of(const StepMetrics& m) {
  return m.rows > 0 ? static_cast<double>(m.correct) / static_cast<double>(m.rows) : 0;
}

}  // namespace

TrainingLog::TrainingLog(TrainingLogOptions options) : options_(std::move(options)), plot_(options_.title) {
  if (!options_.json.empty()) json_ = std::make_unique<JsonLinesLog>(options_.json);
  if (options_.tensorboard.empty()) return;
  tensorboard_ = std::make_unique<TensorBoardWriter>(options_.tensorboard);
  if (options_.first_step > 0) tensorboard_->restart_at(options_.first_step);
}

void TrainingLog::step(const StepMetrics& m) {
  const double accuracy = accuracy_of(m);
  if (json_) {
    nlohmann::ordered_json line{{"step", m.step},
                                {"epoch", m.epoch},
                                {"loss", m.loss},
                                {"accuracy", accuracy},
                                {"learning_rate", m.learning_rate},
                                {"seconds", m.iteration_seconds}};
    if (m.gradient_norm) line["gradient_norm"] = *m.gradient_norm;
    json_->write(line);
  }
  if (tensorboard_) {
    std::vector<ScalarSummary> values{
        {"train/loss", m.loss}, {"train/accuracy", accuracy}, {"train/learning_rate", m.learning_rate}};
    if (m.gradient_norm) values.emplace_back("train/gradient_norm", *m.gradient_norm);
    if (m.iteration_seconds > 0)
      values.emplace_back("train/samples_per_second", static_cast<double>(m.samples) / m.iteration_seconds);
    tensorboard_->scalars(m.step, values);
  }
  if (!options_.plot.empty()) plot_.train(m.step, m.loss, accuracy);
}

void TrainingLog::epoch(std::int64_t epoch, std::int64_t steps, const Evaluation& test) {
  if (json_) {
    nlohmann::ordered_json line{{"epoch", epoch}, {"test_loss", test.loss}, {"test_accuracy", test.accuracy}};
    if (test.bits_per_byte) line["bits_per_byte"] = *test.bits_per_byte;
    json_->write(line);
  }
  // Of the parameters that the last step left.
  const std::int64_t step = steps - 1;
  if (tensorboard_) {
    std::vector<ScalarSummary> values{{"test/loss", test.loss}, {"test/accuracy", test.accuracy}};
    for (const auto& [target, loss] : test.losses)
      values.emplace_back(fmt::format("test/loss/{}", target), loss);
    if (test.bits_per_byte) values.emplace_back("test/bits_per_byte", *test.bits_per_byte);
    tensorboard_->scalars(step, values);
  }
  if (options_.plot.empty()) return;
  plot_.test(step, test.loss, test.accuracy);
  finish();
}

void TrainingLog::finish() {
  // A run that was complete before draws nothing over the picture that there is.
  if (!options_.plot.empty() && !plot_.empty()) write_file_atomic(options_.plot, plot_.svg());
}

}  // namespace swapadvisor
