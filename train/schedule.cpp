#include <swapadvisor/core/error.h>
#include <swapadvisor/train/schedule.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numbers>

namespace swapadvisor {
namespace {

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (;;) {
    const std::size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

double parse_number(std::string_view text, std::string_view whole) {
  double value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stop != end || !std::isfinite(value))
    fail("learning-rate schedule '{}': '{}' is not a number", whole, text);
  return value;
}

Schedule parse_step(const std::vector<std::string_view>& parts, std::string_view text) {
  Schedule schedule{.kind = Schedule::Kind::step, .milestones = {}};
  if (parts.size() < 2 || parts.size() > 3)
    fail("learning-rate schedule '{}': expected step:EPOCH,EPOCH,… or step:EPOCH,EPOCH,…:FACTOR", text);
  for (std::string_view part : split(parts[1], ',')) {
    const double epoch = parse_number(part, text);
    if (epoch <= 0) fail("learning-rate schedule '{}': epoch {} must be more than 0", text, epoch);
    if (!schedule.milestones.empty() && epoch <= schedule.milestones.back())
      fail("learning-rate schedule '{}': epoch {} does not come after {}", text, epoch,
           schedule.milestones.back());
    schedule.milestones.push_back(epoch);
  }
  if (parts.size() == 3) schedule.factor = parse_number(parts[2], text);
  if (schedule.factor <= 0)
    fail("learning-rate schedule '{}': the factor must be more than 0, got {}", text, schedule.factor);
  return schedule;
}

Schedule parse_decay(Schedule::Kind kind, const std::vector<std::string_view>& parts, std::string_view text) {
  Schedule schedule{.kind = kind, .milestones = {}};
  if (parts.size() > 2) fail("learning-rate schedule '{}': expected {}:MINIMUM at most", text, parts[0]);
  if (parts.size() == 2) schedule.minimum = parse_number(parts[1], text);
  if (schedule.minimum < 0 || schedule.minimum > 1)
    fail("learning-rate schedule '{}': the minimum must be a share of the base rate from 0 to 1, got {}",
         text, schedule.minimum);
  return schedule;
}

double decayed(double minimum, double share) {
  return minimum + (1 - minimum) * share;
}

}  // namespace

Schedule parse_schedule(std::string_view text) {
  const std::vector<std::string_view> parts = split(text, ':');
  if (text == "constant") return {};
  if (parts[0] == "step") return parse_step(parts, text);
  if (parts[0] == "cosine") return parse_decay(Schedule::Kind::cosine, parts, text);
  if (parts[0] == "linear") return parse_decay(Schedule::Kind::linear, parts, text);
  fail(
      "unknown learning-rate schedule '{}': expected constant, step:EPOCHS[:FACTOR], cosine[:MINIMUM] or "
      "linear[:MINIMUM]",
      text);
}

double learning_rate(const Schedule& schedule, const ScheduleSpan& span, std::int64_t step) {
  const double base = span.base_rate;
  if (step < span.warmup_steps)
    return base * static_cast<double>(step + 1) / static_cast<double>(span.warmup_steps);
  const std::int64_t decay_steps = std::max<std::int64_t>(1, span.total_steps - span.warmup_steps);
  const double done =
      std::min(1.0, static_cast<double>(step - span.warmup_steps) / static_cast<double>(decay_steps));
  switch (schedule.kind) {
    case Schedule::Kind::constant:
      return base;
    case Schedule::Kind::cosine:
      return base * decayed(schedule.minimum, 0.5 * (1 + std::cos(std::numbers::pi * done)));
    case Schedule::Kind::linear:
      return base * decayed(schedule.minimum, 1 - done);
    case Schedule::Kind::step:
      break;
  }
  // In steps, so that an epoch such as 1.1 begins where people expect it whatever the rounding.
  const auto passed = std::count_if(
      schedule.milestones.begin(), schedule.milestones.end(),
      [&](double epoch) { return step >= std::llround(epoch * static_cast<double>(span.steps_per_epoch)); });
  return base * std::pow(schedule.factor, static_cast<double>(passed));
}

}  // namespace swapadvisor
