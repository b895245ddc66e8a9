// Errors. A user's mistake throws `Error` with one sentence; a broken invariant of ours is an assertion that aborts.
#pragma once

#include <fmt/core.h>

#include <stdexcept>
#include <string>
#include <utility>

/// The library: graphs, ops, planning, training.
namespace swapadvisor {

/// The one exception type of the library. `what()` is one sentence that names the op or file and the numbers.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Throws `Error` with a formatted sentence.
template <class... Args>
[[noreturn]] void fail(fmt::format_string<Args...> format, Args&&... args) {
  throw Error(fmt::format(format, std::forward<Args>(args)...));
}

/// Prints where and why, and aborts: what SWAPADVISOR_ASSERT calls.
[[noreturn]] void assertion_failed(const char* condition, const char* file, int line, const std::string& message);

}  // namespace swapadvisor

/// Aborts with a message when an invariant of ours is broken; kept in release builds.
#define SWAPADVISOR_ASSERT(condition, ...)                                                                \
  do {                                                                                                    \
    if (!(condition)) [[unlikely]]                                                                        \
      ::swapadvisor::assertion_failed(#condition, __FILE__, __LINE__, ::fmt::format(__VA_ARGS__));        \
  } while (false)
