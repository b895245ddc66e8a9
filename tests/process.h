// The program as a process of its own: with signals, and its own environment.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace swapadvisor {

/// A running `swapadvisor`. What it writes to standard error can be waited for.
class Process {
 public:
  /// `environment`: "NAME=VALUE", besides what the tests have.
  explicit Process(const std::vector<std::string>& words, const std::vector<std::string>& environment = {});
  /// Ends it if it still runs.
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  /// Reads standard error until it has `text`; false when it ends without.
  bool wait_for(const std::string& text);
  void signal(int number);
  bool is_running() const;
  /// Waits for the end. Returns the exit code; 128 and the signal's number if a signal ended it.
  int finish();

  /// All of it, after `finish`.
  const std::string& out() const { return out_; }
  /// What was read so far.
  const std::string& error() const { return error_; }

 private:
  bool read_error();

  pid_t process_ = -1;
  int error_pipe_ = -1;
  int out_file_ = -1;
  std::string out_, error_;
};

}  // namespace swapadvisor
