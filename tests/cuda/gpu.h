// Tests of a real GPU: whatever `open_cuda` finds when the tests start. Without one they skip, or fail where
// SWAPADVISOR_REQUIRE_GPU=1. Lines that begin with "[ gpu" are figures for scripts/gpu_check.sh.
#pragma once

#include <gtest/gtest.h>
#include <swapadvisor/core/backend.h>

#include <optional>
#include <string>

namespace swapadvisor::test {

/// An environment variable; empty when there is none.
std::string variable(const char* name);

class Gpu : public testing::Test {
 protected:
  void SetUp() override;

  Device& device() { return *backend_->device; }
  const KernelSet& kernels() const { return backend_->kernels; }

 private:
  std::optional<Backend> backend_;
};

}  // namespace swapadvisor::test
