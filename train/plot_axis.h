// Axes of pictures: the range of the values, and round values to mark in it.
#pragma once

#include <limits>
#include <vector>

namespace swapadvisor {

/// From the lowest to the highest of the values included.
struct AxisRange {
  double low = std::numeric_limits<double>::infinity(), high = -std::numeric_limits<double>::infinity();

  /// Values that are not finite are left out.
  void include(double value);
  /// Afterwards it is never empty or of no extent.
  void settle();
  /// 0 at `low`, 1 at `high`. After `settle`.
  double share(double value) const { return (value - low) / (high - low); }
};

/// 1, 2 or 5 times a power of ten, so that about `wanted` steps of it cover `span`, but at least `least`.
double tick_step(double span, int wanted, double least = 0);

/// The multiples of such a step within a settled range, rising; zero is exactly zero.
std::vector<double> ticks(const AxisRange& range, int wanted, double least_step = 0);

}  // namespace swapadvisor
