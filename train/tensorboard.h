// TensorBoard event files: records of TensorFlow (length and checksums around each) that hold `Event`
// messages in protocol buffers' wire format, written by hand since we need four fields of it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace swapadvisor {

/// A named value of one step, such as ("train/loss", 0.25).
using ScalarSummary = std::pair<std::string, double>;

/// Appends to a new file "events.out.tfevents.SECONDS.HOST.PROCESS.NUMBER" of a folder, which is made if
/// there is none. Each record is given to the system in one piece and at once: a reader that follows sees it,
/// a crash loses none. Not thread-safe. Failures throw `Error` with file and reason.
class TensorBoardWriter {
 public:
  explicit TensorBoardWriter(const std::string& folder);
  ~TensorBoardWriter();
  TensorBoardWriter(const TensorBoardWriter&) = delete;
  TensorBoardWriter& operator=(const TensorBoardWriter&) = delete;

  /// TensorBoard drops what earlier files of the folder have for `step` and later ones: for a run that is
  /// resumed.
  void restart_at(std::int64_t step);
  void scalars(std::int64_t step, std::span<const ScalarSummary> values);
  const std::string& path() const { return path_; }

 private:
  void write(std::string_view event);

  std::string path_;
  int file_ = -1;
};

}  // namespace swapadvisor
