// oneDNN: what its kernels share.
#pragma once

#include <swapadvisor/core/kernel.h>
#include <swapadvisor/ops/cpu/gemm.h>
#include <swapadvisor/ops/cpu/workspace.h>

#include <dnnl.hpp>
#include <string_view>
#include <vector>

namespace swapadvisor {

/// c = a·b (+ c) by oneDNN's GEMM: on all threads of the caller, or on the calling thread alone inside a
/// parallel region. Its packing buffers are its own. Throws nothing; a failure is a bug.
void onednn_gemm(MatrixView<const float> a, MatrixView<const float> b, MatrixView<float> c, bool accumulate);

/// The same for c = alpha·a·b.
void onednn_scaled_gemm(MatrixView<const float> a, MatrixView<const float> b, MatrixView<float> c, float alpha);

/// Attributes under which a primitive takes its scratch memory from us.
dnnl::primitive_attr user_scratchpad();

/// A primitive with its memory objects made once, so that a run only sets addresses and allocates nothing.
class OnednnCall {
 public:
  OnednnCall() = default;
  /// An argument whose address each run sets by `address`.
  void add(int argument, const dnnl::memory::desc& desc, const dnnl::engine& engine);
  void set_primitive(const dnnl::primitive& primitive) { primitive_ = primitive; }
  explicit operator bool() const { return static_cast<bool>(primitive_); }

  /// In order of `add`.
  void address(std::size_t argument, const void* data) const;
  void execute(const dnnl::stream& stream) const;

 private:
  dnnl::primitive primitive_;
  std::vector<dnnl::memory> memories_;
  std::vector<dnnl_exec_arg_t> arguments_;
};

/// A reorder with user-given scratch memory. Addresses: from, to, scratchpad.
struct OnednnReorder {
  OnednnReorder() = default;
  OnednnReorder(const dnnl::memory::desc& from, const dnnl::memory::desc& to, const dnnl::engine& engine);
  std::int64_t scratch_bytes = 0;
  OnednnCall call;
};

/// Is `implementation` oneDNN's plain reference code, which our own kernels beat?
bool is_reference(std::string_view implementation);

}  // namespace swapadvisor
