#include <swapadvisor/train/plot_axis.h>

#include <algorithm>
#include <cmath>

namespace swapadvisor {

void AxisRange::include(double value) {
  if (!std::isfinite(value)) return;
  low = std::min(low, value);
  high = std::max(high, value);
}

void AxisRange::settle() {
  if (low > high) low = 0, high = 1;
  const double size = std::max(std::abs(low), std::abs(high));
  if (high - low >= 1e-12 * std::max(1.0, size)) return;
  const double room = std::max(0.5, 1e-9 * size);  // so much that it does not vanish beside large values
  low -= room;
  high += room;
}

double tick_step(double span, int wanted, double least) {
  const double raw = span / wanted, power = std::pow(10.0, std::floor(std::log10(raw)));
  for (double factor : {1.0, 2.0, 5.0})
    if (raw <= factor * power) return std::max(least, factor * power);
  return std::max(least, 10 * power);
}

std::vector<double> ticks(const AxisRange& range, int wanted, double least_step) {
  const double step = tick_step(range.high - range.low, wanted, least_step);
  std::vector<double> values;
  if (!std::isfinite(step) || step <= 0) return values;
  constexpr double rounding = 1e-9;
  const double first = std::ceil(range.low / step - rounding),
               last = std::floor(range.high / step + rounding);
  // Multiplied, not summed up: rounding does not add up, and zero is zero.
  for (double k = first; k <= last && values.size() <= static_cast<std::size_t>(2 * wanted + 2); k += 1)
    values.push_back(k == 0 ? 0.0 : k * step);
  return values;
}

}  // namespace swapadvisor
