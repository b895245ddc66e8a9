// A list of what does not fit, short enough for a sentence.
#pragma once

#include <fmt/format.h>

#include <string>

namespace swapadvisor {

/// The first ten are listed, the others counted.
class Mismatches {
 public:
  void add(const std::string& text) {
    if (++count_ <= most) text_ += (count_ > 1 ? "; " : "") + text;
  }
  bool any() const { return count_ > 0; }
  /// "A; B; and 3 more".
  std::string text() const {
    return count_ > most ? fmt::format("{}; and {} more", text_, count_ - most) : text_;
  }

 private:
  static constexpr int most = 10;
  int count_ = 0;
  std::string text_;
};

}  // namespace swapadvisor
