// What calls throw, and whether it is an `Error` that says the right thing.
#pragma once

#include <gtest/gtest.h>
#include <swapadvisor/core/error.h>

#include <string>

namespace swapadvisor {

/// What the E that `f` throws says, `Error` if none is named; empty if it throws none.
template <class E = Error, class F>
std::string message_of(F&& f) {
  try {
    f();
  } catch (const E& e) {
    return e.what();
  }
  return {};
}

/// Expects `f` to throw `Error` whose message contains `part`.
template <class F>
void expect_error(F f, const std::string& part) {
  try {
    f();
    ADD_FAILURE() << "no error; expected one with: " << part;
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find(part), std::string::npos)
        << error.what() << "\nexpected: " << part;
  }
}

}  // namespace swapadvisor
