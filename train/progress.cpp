#include <fmt/format.h>
#include <swapadvisor/core/units.h>
#include <swapadvisor/train/progress.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <vector>

namespace swapadvisor {
namespace {

double share_done(const Progress& progress) {
  if (progress.total_steps <= 0) return 0;
  return std::clamp(static_cast<double>(progress.step) / static_cast<double>(progress.total_steps), 0.0, 1.0);
}

// Rounded down: 100 % only when all is done.
int percent_done(const Progress& progress) {
  return static_cast<int>(100 * share_done(progress));
}

double seconds_left(const Progress& progress) {
  const std::int64_t done = progress.step - progress.first_step;
  if (done <= 0) return std::numeric_limits<double>::infinity();
  const std::int64_t left = std::max<std::int64_t>(0, progress.total_steps - progress.step);
  return progress.elapsed_seconds * static_cast<double>(left) / static_cast<double>(done);
}

std::string format_rate(double rate) {
  if (!std::isfinite(rate) || rate < 0) return "? images/s";
  return fmt::format("{:.{}f} images/s", rate, rate < 9.95 ? 2 : rate < 99.5 ? 1 : 0);
}

// The items after the bar, most important first.
std::vector<std::string> items(const Progress& progress) {
  std::vector<std::string> list{fmt::format("{}/{}", progress.step, progress.total_steps),
                                format_rate(progress.samples_per_second)};
  if (progress.loss) list.push_back(fmt::format("loss {:.4f}", *progress.loss));
  if (progress.accuracy) list.push_back(fmt::format("acc {:.1f}%", 100 * *progress.accuracy));
  if (progress.device_bytes > 0)
    list.push_back(fmt::format("device {}", format_bytes(progress.device_bytes)));
  list.push_back(fmt::format("{} elapsed, {} left", format_clock(progress.elapsed_seconds),
                             format_clock(seconds_left(progress))));
  return list;
}

double share_done(const SearchProgress& progress) {
  return std::clamp(progress.share, 0.0, 1.0);
}

std::vector<std::string> items(const SearchProgress& progress) {
  const double elapsed = progress.elapsed_seconds, share = share_done(progress);
  std::string efficiency = fmt::format("efficiency {:.1f}%", 100 * progress.efficiency);
  if (progress.bound > 0) efficiency += fmt::format(" of at most {:.1f}%", 100 * progress.bound);
  return {
      efficiency, fmt::format("{} plans", progress.evaluations),
      fmt::format("{:.0f} plans/s", elapsed > 0 ? static_cast<double>(progress.evaluations) / elapsed : 0),
      fmt::format("{} elapsed, {} left", format_clock(elapsed),
                  format_clock(share > 0 ? elapsed * (1 - share) / share : -1))};
}

std::string head(const SearchProgress& progress) {
  return fmt::format("planning {:3}%", static_cast<int>(100 * share_done(progress)));
}

std::string head(const Progress& progress) {
  std::string percent = fmt::format("{:3}%", percent_done(progress));
  if (progress.epochs <= 0) return percent;
  return fmt::format("epoch {}/{} {}", std::min(progress.epoch + 1, progress.epochs), progress.epochs,
                     percent);
}

std::string bar(double share, std::int64_t width) {
  const auto filled = static_cast<std::int64_t>(share * static_cast<double>(width));
  std::string text(static_cast<std::size_t>(filled), '=');
  if (filled < width) text += '>';
  text.resize(static_cast<std::size_t>(width), ' ');
  return fmt::format(" [{}]", text);
}

int terminal_columns() {
  winsize size{};
  return ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

void write_stderr(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stderr);
  std::fflush(stderr);
}

}  // namespace

std::string format_clock(double seconds) {
  if (!(seconds >= 0) || seconds > 1e11) return "?";
  const auto whole = static_cast<std::int64_t>(std::floor(seconds));
  const std::int64_t s = whole % 60, m = whole / 60 % 60, h = whole / 3600 % 24, d = whole / 86400;
  if (d > 0) return fmt::format("{}d {:02}:{:02}:{:02}", d, h, m, s);
  if (h > 0) return fmt::format("{}:{:02}:{:02}", h, m, s);
  return fmt::format("{}:{:02}", m, s);
}

namespace {

template <class T>
std::string plain_line(const T& progress) {
  return fmt::format("{}  {}", head(progress), fmt::join(items(progress), "  "));
}

template <class T>
std::string line_with_bar(const T& progress, int columns) {
  constexpr std::int64_t shortest_bar = 5, longest_bar = 30, brackets = 3;
  const std::string first = head(progress);
  std::vector<std::string> rest = items(progress);
  const auto line = [&](const std::string& middle) {
    return fmt::format("{}{}  {}", first, middle, fmt::join(rest, "  "));
  };
  const std::int64_t room = columns - std::ssize(line("")) - brackets;
  if (room >= shortest_bar) return line(bar(share_done(progress), std::min(room, longest_bar)));
  while (rest.size() > 1 && std::ssize(line("")) > columns) rest.pop_back();
  return line("").substr(0, static_cast<std::size_t>(std::max(0, columns)));
}

}  // namespace

std::string format_progress_plain(const Progress& progress) {
  return plain_line(progress);
}
std::string format_progress_plain(const SearchProgress& progress) {
  return plain_line(progress);
}
std::string format_progress(const Progress& progress, int columns) {
  return line_with_bar(progress, columns);
}
std::string format_progress(const SearchProgress& progress, int columns) {
  return line_with_bar(progress, columns);
}

ProgressMode progress_mode(bool quiet) {
  if (quiet) return ProgressMode::silent;
  const char* terminal = std::getenv("TERM");
  const bool dumb = terminal == nullptr || std::string_view(terminal) == "dumb";
  return ::isatty(STDERR_FILENO) == 1 && !dumb ? ProgressMode::redraw : ProgressMode::lines;
}

ProgressReporter::ProgressReporter(ProgressMode mode)
    : ProgressReporter(mode, write_stderr, terminal_columns, 10) {}

ProgressReporter::ProgressReporter(ProgressMode mode, Write write, std::function<int()> columns,
                                   double line_seconds)
    : mode_(mode), write_(std::move(write)), columns_(std::move(columns)), line_seconds_(line_seconds) {}

ProgressReporter::~ProgressReporter() {
  if (!shown_.empty()) write_("\n");
}

template <class T>
void ProgressReporter::show(const T& progress, bool final, double now) {
  if (mode_ == ProgressMode::silent) return;
  const double interval = mode_ == ProgressMode::redraw ? 0.1 : line_seconds_;
  if (last_ && now - *last_ < interval && !final) return;
  last_ = now;
  if (mode_ == ProgressMode::lines) return write_(format_progress_plain(progress) + "\n");
  // One column stays free: a full last column makes some terminals wrap.
  std::string line = format_progress(progress, columns_() - 1);
  // What the line before reaches beyond this one is overwritten with spaces.
  write_(fmt::format("\r{:<{}}", line, shown_.size()));
  shown_ = std::move(line);
}

void ProgressReporter::update(const Progress& progress, double now) {
  show(progress, progress.step >= progress.total_steps, now);
}

void ProgressReporter::update(const SearchProgress& progress, double now) {
  show(progress, progress.share >= 1, now);
}

void ProgressReporter::erase() {
  if (shown_.empty()) return;
  write_(fmt::format("\r{:{}}\r", "", shown_.size()));
  shown_.clear();
}

void ProgressReporter::message(std::string_view text) {
  if (mode_ == ProgressMode::silent) return;
  erase();
  write_(std::string(text) + "\n");
}

}  // namespace swapadvisor
