#include "gpu.h"

#include <cstdlib>

namespace swapadvisor::test {
namespace {

/// Before other tests of this process point at the stand-in.
const std::string library_at_start = variable("SWAPADVISOR_CUDA_LIBRARY");

}  // namespace

std::string variable(const char* name) {
  const char* const text = std::getenv(name);
  return text ? text : "";
}

void Gpu::SetUp() {
  ::setenv("SWAPADVISOR_CUDA_LIBRARY", library_at_start.c_str(), 1);
  try {
    backend_.emplace(open_cuda({}));
  } catch (const Error& error) {
    if (variable("SWAPADVISOR_REQUIRE_GPU") == "1") FAIL() << error.what();
    GTEST_SKIP() << error.what();
  }
}

}  // namespace swapadvisor::test
