// A few projections that stand for a whole tensor in a file of golden values; scripts/golden_resnet18.py
// tells how they measure its error.
#pragma once

#include <swapadvisor/core/rng.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <vector>

namespace swapadvisor {

/// <s_j, a> for `count` vectors of signs s_j, which depend on the seed.
inline std::vector<double> projections(const std::vector<double>& a, std::size_t count, std::uint64_t seed) {
  const RandomStream signs{hash_name("signs", seed ^ hash_name(""))};
  std::vector<double> sums(count);
  for (std::size_t i = 0; i < a.size(); ++i) {
    const std::uint32_t bits = signs.bits(i);
    for (std::size_t j = 0; j < count; ++j) sums[j] += (bits >> j & 1) != 0 ? a[i] : -a[i];
  }
  return sums;
}

/// |a − b| for a result a and the fingerprint ("norm", and "values" or "projections") of b; infinite when a
/// is not finite or has another number of elements than the values.
inline double fingerprint_difference(const std::vector<double>& a, const nlohmann::json& expected,
                                     std::uint64_t seed) {
  const bool whole = expected.contains("values");
  const auto b = expected.at(whole ? "values" : "projections").get<std::vector<double>>();
  if (whole && a.size() != b.size()) return INFINITY;
  const std::vector<double> mine = whole ? a : projections(a, b.size(), seed);
  double squares = 0, differences = 0;
  for (double value : a) squares += value * value;
  for (std::size_t j = 0; j < b.size(); ++j) differences += (mine[j] - b[j]) * (mine[j] - b[j]);
  if (!whole) differences /= static_cast<double>(b.size());
  // The norms differ by no more than |a − b|: a second, independent estimate from below.
  const double norm = expected.at("norm");
  const double difference = std::max(std::sqrt(differences), std::abs(std::sqrt(squares) - norm));
  return std::isfinite(squares) ? difference : INFINITY;
}

}  // namespace swapadvisor
