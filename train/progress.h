// Progress of a training run, for people: one line that is redrawn on a terminal, some plain lines elsewhere.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace swapadvisor {

/// What a line shows. Times are seconds.
struct Progress {
  std::int64_t step = 0;  ///< steps done
  std::int64_t total_steps = 0;
  std::int64_t first_step = 0;  ///< done before this run began, when it was resumed
  std::int64_t epoch = 0;       ///< from 0
  std::int64_t epochs = 0;
  double samples_per_second = 0;
  std::optional<double> loss;
  std::optional<double> accuracy;  ///< in [0, 1]
  std::int64_t device_bytes = 0;
  double elapsed_seconds = 0;
};

/// A planner's search. Times are seconds.
struct SearchProgress {
  double share = 0;  ///< of the budget, in [0, 1]
  std::int64_t evaluations = 0;
  double efficiency = 0;  ///< of the best plan so far
  double bound = 0;       ///< highest efficiency that any plan can have; 0: unknown
  double elapsed_seconds = 0;
};

/// One line without its end, at most `columns` characters:
///   "epoch 1/2  42% [====>     ] 33/78  512 images/s  loss 1.2345  acc 56.1%  device 1.20 GiB  0:12 elapsed,
///   0:17 left"
/// The bar takes what is left, up to 30; when the line is too long the bar goes first, then items from the
/// right.
std::string format_progress(const Progress& progress, int columns);

///   "planning  42% [====>     ] efficiency 97.1% of at most 99.7%  12345 plans  4100 plans/s  0:04 elapsed,
///   0:06 left"
std::string format_progress(const SearchProgress& progress, int columns);

/// As `format_progress`, without a bar and of any length.
std::string format_progress_plain(const Progress& progress);
std::string format_progress_plain(const SearchProgress& progress);

/// "0:12", "1:02:03", "2d 03:04:05"; "?" for what is not finite or negative.
std::string format_clock(double seconds);

enum class ProgressMode : std::uint8_t { silent, lines, redraw };

/// `redraw` when standard error is a terminal that can, else `lines`; `silent` when asked to be quiet.
ProgressMode progress_mode(bool quiet);

/// Writes progress; the caller tells the time, in seconds from any origin. Not thread-safe.
class ProgressReporter {
 public:
  using Write = std::function<void(std::string_view)>;

  /// Writes to standard error, over the width of the terminal.
  explicit ProgressReporter(ProgressMode mode);
  /// `columns` is asked before each redraw. A terminal is redrawn at most every 0.1 s, a line written every
  /// `line_seconds`.
  ProgressReporter(ProgressMode mode, Write write, std::function<int()> columns, double line_seconds);
  /// Ends a line that is being redrawn.
  ~ProgressReporter();
  ProgressReporter(const ProgressReporter&) = delete;
  ProgressReporter& operator=(const ProgressReporter&) = delete;

  /// Shows `progress` if enough time has passed since the last one, or if it is the last step.
  void update(const Progress& progress, double now);
  void update(const SearchProgress& progress, double now);
  /// A line of its own, above the one that is redrawn. Silent when progress is.
  void message(std::string_view text);

 private:
  void erase();
  template <class T>
  void show(const T& progress, bool final, double now);

  ProgressMode mode_;
  Write write_;
  std::function<int()> columns_;
  double line_seconds_;
  std::optional<double> last_;
  std::string shown_;  // the line on the terminal, not ended
};

}  // namespace swapadvisor
