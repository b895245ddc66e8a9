// The training log: one JSON object a line.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace swapadvisor {

/// Appends to a file. Each object is one line, given to the system in one piece and at once, so a crash loses
/// none and a reader sees whole lines. A line that a crash left without its end is ended first. Not
/// thread-safe.
class JsonLinesLog {
 public:
  /// Throws `Error` when the file cannot be opened.
  explicit JsonLinesLog(const std::string& path);
  ~JsonLinesLog();
  JsonLinesLog(const JsonLinesLog&) = delete;
  JsonLinesLog& operator=(const JsonLinesLog&) = delete;

  /// Fields keep their order; numbers that are not finite become null. Throws `Error` when writing fails.
  void write(const nlohmann::ordered_json& object);

 private:
  void end_broken_line();
  void append(const std::string& text);

  std::string path_;
  int file_ = -1;
};

}  // namespace swapadvisor
