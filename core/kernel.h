// Kernels: how a device computes an op. Prepared once per node, then run many times on memory they are given.
#pragma once

#include <swapadvisor/core/op.h>

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>

namespace swapadvisor {

/// Addresses of one run, in operand order, with views' offsets applied. Workspace is null when none was asked for.
struct KernelArgs {
  std::span<const void* const> inputs;
  std::span<void* const> outputs;
  void* workspace = nullptr;

  template <class T>
  const T* in(int i) const {
    return static_cast<const T*>(inputs[static_cast<std::size_t>(i)]);
  }
  template <class T>
  T* out(int i) const {
    return static_cast<T*>(outputs[static_cast<std::size_t>(i)]);
  }
};

/// The device's own stream (a cudaStream_t); null on the CPU, where `run` computes before it returns.
using NativeStream = void*;

/// Immutable once prepared. `run` never allocates device memory and writes only outputs and workspace; the same
/// inputs give the same bits whatever the addresses. It may be called from one thread at a time.
class Kernel {
 public:
  virtual ~Kernel() = default;
  virtual std::int64_t workspace_bytes() const { return 0; }
  virtual void run(NativeStream stream, const KernelArgs& args) const = 0;
};

/// What kernels may depend on besides op and specs. Never addresses, never free memory.
struct KernelContext {
  int threads = 1;
  std::uint64_t seed = 0;  ///< of random ops, with the op's own id and the step
};

/// All that a factory needs to prepare a kernel.
struct KernelRequest {
  const Op& op;
  std::span<const TensorSpec> inputs;
  std::span<const TensorSpec> outputs;
  const KernelContext& context;

  /// The op as its concrete type; a mismatch of type name and class is a bug.
  template <class T>
  const T& as() const {
    return dynamic_cast<const T&>(op);
  }
};

/// Prepares a kernel; throws `Error` for specs it does not take.
using KernelFactory = std::function<std::unique_ptr<Kernel>(const KernelRequest&)>;

/// Op type → kernel factory. A value: copy it, add your own, pass it on.
class KernelSet {
 public:
  /// Adds or replaces the factory for `type`.
  void add(std::string type, KernelFactory factory);
  bool contains(std::string_view type) const;
  /// All op types with a kernel, sorted.
  std::vector<std::string> types() const;
  /// Throws `Error` when there is no kernel for the op's type or the factory refuses the specs.
  std::unique_ptr<Kernel> prepare(const KernelRequest& request) const;

 private:
  std::unordered_map<std::string, KernelFactory> factories_;
};

/// A kernel from a callable `f(const KernelArgs&)`, for kernels with nothing to prepare.
template <class F>
std::unique_ptr<Kernel> make_kernel(F f, std::int64_t workspace_bytes = 0) {
  class FunctionKernel final : public Kernel {
   public:
    FunctionKernel(F function, std::int64_t bytes) : function_(std::move(function)), bytes_(bytes) {}
    std::int64_t workspace_bytes() const override { return bytes_; }
    void run(NativeStream, const KernelArgs& args) const override { function_(args); }

   private:
    F function_;
    std::int64_t bytes_;
  };
  return std::make_unique<FunctionKernel>(std::move(f), workspace_bytes);
}

class Graph;

/// One kernel per node of `graph`. Throws `Error` naming the node.
std::vector<std::unique_ptr<Kernel>> prepare_kernels(const Graph& graph, const KernelSet& set,
                                                     const KernelContext& context);

}  // namespace swapadvisor
