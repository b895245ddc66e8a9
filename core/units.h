// Sizes, bandwidths and times as people write and read them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace swapadvisor {

/// Binary units, three significant digits: "512 B", "1.20 GiB", "800 MiB".
std::string format_bytes(std::int64_t bytes);

/// "needs 1.20 GiB of device memory, limit 800 MiB", with the exact bytes where rounding would make both look equal.
/// `what`: "device memory".
std::string format_need(std::int64_t need, std::int64_t limit, std::string_view what);

/// Decimal units: "12.0 GB/s".
std::string format_bandwidth(double bytes_per_second);

/// "1.23 ms", "45.6 s", "0 s"; at least nanoseconds.
std::string format_seconds(double seconds);

/// Plain bytes ("15200000000", "15.2e9"), decimal units (KB, MB, GB, TB) or binary ones (KiB, MiB, GiB, TiB),
/// in any case, with or without a space. Fractions are rounded to the nearest byte. Throws `Error` quoting
/// the text.
std::int64_t parse_size(std::string_view text);

/// "2GB/s", "512MiB/s", "12e9": bytes per second, more than 0. Throws `Error` quoting the text.
double parse_bandwidth(std::string_view text);

/// A size, or a percentage of something known later.
struct SizeLimit {
  std::int64_t bytes = 0;
  double percent = -1;  ///< at least 0 when the limit is a percentage

  bool is_percent() const { return percent >= 0; }
  /// `whole`: what 100 % is, at least 0. Rounds down.
  std::int64_t resolve(std::int64_t whole) const;
};

/// A size as `parse_size` takes it, or a percentage such as "40%", at most 10000 %.
SizeLimit parse_size_limit(std::string_view text);

}  // namespace swapadvisor
