#include <swapadvisor/core/error.h>
#include <swapadvisor/core/units.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>

namespace swapadvisor {
namespace {

constexpr double int64_limit = 9223372036854775808.0;  // 2^63

std::string_view trim(std::string_view text) {
  const auto space = [](char c) { return c == ' ' || c == '\t'; };
  while (!text.empty() && space(text.front())) text.remove_prefix(1);
  while (!text.empty() && space(text.back())) text.remove_suffix(1);
  return text;
}

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return result;
}

// Bytes of one unit, of a lower-case suffix.
std::optional<std::int64_t> unit_bytes(std::string_view suffix) {
  if (suffix.empty() || suffix == "b") return 1;
  constexpr std::string_view prefixes = "kmgt";
  const std::size_t power = prefixes.find(suffix.front());
  if (power == std::string_view::npos) return std::nullopt;
  const std::string_view rest = suffix.substr(1);
  if (rest != "b" && rest != "ib") return std::nullopt;
  std::int64_t bytes = 1;
  for (std::size_t i = 0; i <= power; ++i) bytes *= rest == "b" ? 1000 : 1024;
  return bytes;
}

struct Number {
  double value = 0;
  std::optional<std::int64_t> whole;  // exact, when written as plain digits
  std::string_view suffix;
};

std::optional<Number> parse_number(std::string_view text) {
  // `from_chars` alone would take "inf", "nan" and a minus sign.
  if (text.empty() || (text.front() != '.' && !std::isdigit(static_cast<unsigned char>(text.front()))))
    return std::nullopt;
  Number number;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number.value);
  if (error != std::errc()) return std::nullopt;
  std::int64_t whole = 0;
  const auto [whole_stop, whole_error] = std::from_chars(text.data(), end, whole);
  if (whole_error == std::errc() && whole_stop == stop) number.whole = whole;
  number.suffix = trim(std::string_view(stop, static_cast<std::size_t>(end - stop)));
  return number;
}

// Three significant digits; `value` is below 1000 or so.
std::string three_digits(double value) {
  const int decimals = value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2;
  return fmt::format("{:.{}f}", value, decimals);
}

}  // namespace

std::string format_bytes(std::int64_t bytes) {
  if (bytes < 0)
    return bytes == std::numeric_limits<std::int64_t>::min() ? "-8.00 EiB"
                                                             : fmt::format("-{}", format_bytes(-bytes));
  if (bytes < 1024) return fmt::format("{} B", bytes);
  constexpr std::array<const char*, 6> units = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  double value = static_cast<double>(bytes) / 1024;
  std::size_t unit = 0;
  for (; value >= 1023.5 && unit + 1 < units.size(); ++unit) value /= 1024;
  return fmt::format("{} {}", three_digits(value), units[unit]);
}

std::string format_need(std::int64_t need, std::int64_t limit, std::string_view what) {
  const std::string a = format_bytes(need), b = format_bytes(limit);
  if (a != b) return fmt::format("needs {} of {}, limit {}", a, what, b);
  return fmt::format("needs {} ({} bytes) of {}, limit {} bytes", a, need, what, limit);
}

std::string format_bandwidth(double bytes_per_second) {
  constexpr std::array<const char*, 5> units = {"B/s", "KB/s", "MB/s", "GB/s", "TB/s"};
  std::size_t unit = 0;
  double value = bytes_per_second;
  for (; value >= 999.5 && unit + 1 < units.size(); ++unit) value /= 1000;
  return fmt::format("{} {}", three_digits(value), units[unit]);
}

std::string format_seconds(double seconds) {
  if (seconds < 0) return fmt::format("-{}", format_seconds(-seconds));
  if (seconds == 0) return "0 s";
  if (!std::isfinite(seconds)) return fmt::format("{} s", seconds);
  constexpr std::array<const char*, 4> units = {"s", "ms", "µs", "ns"};
  std::size_t unit = 0;
  double value = seconds;
  for (; value < 0.9995 && unit + 1 < units.size(); ++unit) value *= 1000;
  return fmt::format("{} {}", three_digits(value), units[unit]);
}

std::int64_t parse_size(std::string_view text) {
  const std::string_view trimmed = trim(text);
  if (!trimmed.empty() && trimmed.front() == '-') fail("'{}' is not a size: it is negative", text);
  const std::optional<Number> number = parse_number(trimmed);
  const std::optional<std::int64_t> unit = number ? unit_bytes(lower(number->suffix)) : std::nullopt;
  if (!unit)
    fail("'{}' is not a size: expected bytes, or a number with KB, MB, GB, TB, KiB, MiB, GiB or TiB", text);
  std::int64_t bytes = 0;
  if (number->whole) {
    if (__builtin_mul_overflow(*number->whole, *unit, &bytes))
      fail("'{}' exceeds the largest size, 2^63 - 1 bytes", text);
    return bytes;
  }
  const double value = std::round(number->value * static_cast<double>(*unit));
  if (!(value < int64_limit)) fail("'{}' exceeds the largest size, 2^63 - 1 bytes", text);
  return static_cast<std::int64_t>(value);
}

double parse_bandwidth(std::string_view text) {
  std::string size = lower(trim(text));
  if (size.ends_with("/s")) size.resize(size.size() - 2);
  const std::optional<Number> number = parse_number(trim(size));
  const std::optional<std::int64_t> unit = number ? unit_bytes(number->suffix) : std::nullopt;
  const double value = unit ? number->value * static_cast<double>(*unit) : 0;
  if (!(value > 0) || !std::isfinite(value))
    fail("'{}' is not a bandwidth: expected something like 2GB/s", text);
  return value;
}

std::int64_t SizeLimit::resolve(std::int64_t whole) const {
  if (!is_percent()) return bytes;
  SWAPADVISOR_ASSERT(whole >= 0, "a percentage of {} bytes", whole);
  const double value = std::floor(static_cast<double>(whole) * percent / 100);
  if (!(value < int64_limit))
    fail("{}% of {} bytes exceeds the largest size, 2^63 - 1 bytes", percent, whole);
  return static_cast<std::int64_t>(value);
}

SizeLimit parse_size_limit(std::string_view text) {
  const std::string_view trimmed = trim(text);
  if (!trimmed.ends_with('%')) return {parse_size(text), -1};
  const std::optional<Number> number = parse_number(trim(trimmed.substr(0, trimmed.size() - 1)));
  if (!number || !number->suffix.empty() || !(number->value <= 10000))
    fail("'{}' is not a percentage from 0% to 10000%", text);
  return {0, number->value};
}

}  // namespace swapadvisor
