// What reads files from outside, one entry point a format: for libFuzzer (entry.cpp), and for the ordinary
// tests, which replay the corpora (tests/fuzz_test.cpp).
#pragma once

#include <span>
#include <string_view>

namespace swapadvisor::fuzz {

/// Reads `bytes` as a file of the target's format. True when they are accepted, false when they are refused
/// with an `Error`. Anything else is a bug, and so is a promise of the reader that does not hold for what it
/// accepted: those abort.
using Run = bool (*)(std::string_view bytes);

struct Target {
  std::string_view name;  ///< also the folder of its corpus
  Run run;
};

std::span<const Target> targets();

}  // namespace swapadvisor::fuzz
