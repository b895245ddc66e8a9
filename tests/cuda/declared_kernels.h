// Kernels that tell the stand-in what they may touch before they launch anything.
#pragma once

#include <swapadvisor/core/executor.h>

#include <memory>
#include <string>
#include <vector>

namespace swapadvisor::test {

/// What one operand may touch, from its address: views begin inside of their buffer.
struct DeclaredRange {
  std::int64_t offset = 0, bytes = 0;
};

class DeclaredKernel final : public Kernel {
 public:
  /// How the op itself is computed: by launches, by a CPU kernel in the stream's order, not at all.
  enum class How { launched, on_host, not_run };

  DeclaredKernel(std::string name, How how, const Kernel* kernel, std::vector<DeclaredRange> inputs,
                 std::vector<std::int64_t> output_bytes, std::int64_t workspace_bytes);
  /// Owns what it runs; ranges from the specs.
  DeclaredKernel(std::unique_ptr<Kernel> kernel, How how, const KernelRequest& request);
  ~DeclaredKernel() override;

  std::int64_t workspace_bytes() const override { return workspace_bytes_; }
  void run(NativeStream stream, const KernelArgs& args) const override;

 private:
  struct HostRun;
  void run_declared(NativeStream stream, const KernelArgs& args) const;

  std::string name_;
  How how_;
  std::unique_ptr<Kernel> owned_;
  const Kernel* kernel_;
  std::vector<DeclaredRange> inputs_;
  std::vector<std::int64_t> output_bytes_;
  std::int64_t workspace_bytes_;
  mutable std::vector<std::unique_ptr<HostRun>> runs_;  // as long as anything queued may refer to them
};

/// Every kernel of `set` declared; ops that it lacks are computed by the portable CPU kernels in the stream's
/// order.
KernelSet declared_kernels(const KernelSet& set);

/// One per op of `graph`, which touches whole buffers as the plan says. `kernels`: CPU kernels, or none to
/// run nothing.
std::vector<std::unique_ptr<Kernel>> declared_ops(const PlanGraph& graph,
                                                  const std::vector<std::unique_ptr<Kernel>>* kernels);

}  // namespace swapadvisor::test
