// A picture of a training run: loss and accuracy over the steps.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace swapadvisor {

/// Collects points and draws them as a self-contained SVG. Memory stays bounded: when there are too many
/// steps, neighbours are averaged.
class LossPlot {
 public:
  explicit LossPlot(std::string title) : title_(std::move(title)) {}

  void train(std::int64_t step, double loss, double accuracy);
  void test(std::int64_t step, double loss, double accuracy);
  bool empty() const { return train_.empty() && test_.empty(); }
  /// The picture of what there is so far.
  std::string svg() const;

 private:
  struct Point {
    double step = 0, loss = 0, accuracy = 0;
    std::int64_t steps = 0;  ///< averaged
  };
  friend class LossPlotDrawing;

  std::string title_;
  std::vector<Point> train_, test_;
  std::int64_t steps_per_point_ = 1;
};

}  // namespace swapadvisor
