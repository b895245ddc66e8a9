// Learning-rate schedules: pure functions of the step.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace swapadvisor {

/// How the learning rate falls. Parsed from
///   `constant`
///   `step:E1,E2,…[:F]`  times F (0.1) at each epoch E, in rising order; fractions of an epoch are fine
///   `cosine[:M]`        half a cosine from 1 to M (0) times the base rate (Loshchilov and Hutter, SGDR, ICLR
///   2017) `linear[:M]`        a line from 1 to M (0) times the base rate
struct Schedule {
  /// The curve.
  enum class Kind : std::uint8_t { constant, step, cosine, linear };

  Kind kind = Kind::constant;
  std::vector<double> milestones;  ///< epochs, of `step`
  double factor = 0.1;             ///< of `step`
  double minimum = 0;              ///< of `cosine` and `linear`: share of the base rate, in [0, 1]
};

/// Throws `Error` quoting the text and what is wrong with it.
Schedule parse_schedule(std::string_view text);

/// The run that a schedule is laid over.
struct ScheduleSpan {
  double base_rate = 0;
  std::int64_t warmup_steps =
      0;  ///< the rate rises linearly to the base rate, reached at step `warmup_steps` − 1
  std::int64_t total_steps = 1;  ///< warm-up included; `cosine` and `linear` fall over the rest
  std::int64_t steps_per_epoch = 1;
};

/// The learning rate of `step` (from 0). During warm-up it is base × (step + 1) ÷ warm-up; milestones count
/// from step 0, also with warm-up. From `total_steps` on, `cosine` and `linear` stay at the minimum.
double learning_rate(const Schedule& schedule, const ScheduleSpan& span, std::int64_t step);

}  // namespace swapadvisor
