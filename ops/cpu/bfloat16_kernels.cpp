#include <swapadvisor/core/parallel.h>
#include <swapadvisor/ops/contiguous.h>
#include <swapadvisor/ops/cpu/bfloat16_kernels.h>
#include <swapadvisor/ops/cpu/strided.h>
#include <swapadvisor/ops/cpu/vector.h>
#include <swapadvisor/ops/cpu/workspace.h>

#include <algorithm>
#include <array>

namespace swapadvisor {
namespace {

/// Ops whose kernels take bf16 themselves.
constexpr std::array<std::string_view, 11> own_loops{
    "accumulate", "add",           "cast",  "concat",         "contiguous", "fill",
    "relu",       "relu_backward", "scale", "slice_backward", "to_layout"};

SWAPADVISOR_MULTIVERSION void convert_run(const BFloat16* from, float* to, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) to[i] = from[i];
}
SWAPADVISOR_MULTIVERSION void convert_run(const float* from, BFloat16* to, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) to[i] = BFloat16(from[i]);
}

/// Conversion of all elements between two sets of strides, of which the workspace's are dense in the same
/// order.
class Conversion {
 public:
  Conversion(const TensorSpec& from, const TensorSpec& to) : elements_(from.numel()) {
    if (is_dense(from) && is_dense(to)) return;
    std::vector<StridedDim<2>> dims = strided_dims<2>(from.shape, {from.strides, to.strides});
    std::stable_sort(dims.begin(), dims.end(), [](const auto& a, const auto& b) {
      return a.strides[0] * a.strides[1] > b.strides[0] * b.strides[1];
    });
    outer_ = merged(dims);
    if (outer_.empty()) return;
    inner_ = outer_.back();
    outer_.pop_back();
  }

  template <class From, class To>
  void run(const From* from, To* to) const {
    if (inner_.extent == 0)
      return parallel_for(elements_, elementwise_grain, [&](std::int64_t begin, std::int64_t end) {
        convert_run(from + begin, to + begin, end - begin);
      });
    const std::span<const StridedDim<2>> outer(outer_);
    const std::int64_t grain = std::max<std::int64_t>(1, elementwise_grain / inner_.extent);
    parallel_for(count_of(outer), grain, [&](std::int64_t begin, std::int64_t end) {
      StridedCursor<2> at(outer, begin);
      for (; begin < end; ++begin, at.next()) convert_row(from + at[0], to + at[1]);
    });
  }

 private:
  template <class From, class To>
  void convert_row(const From* from, To* to) const {
    const auto [a, b] = inner_.strides;
    if (a == 1 && b == 1) return convert_run(from, to, inner_.extent);
    for (std::int64_t i = 0; i < inner_.extent; ++i) to[i * b] = static_cast<To>(from[i * a]);
  }

  std::int64_t elements_;
  std::vector<StridedDim<2>> outer_;
  StridedDim<2> inner_{0, {1, 1}};  ///< extent 0: both are dense
};

/// An operand as the float32 kernel gets it: itself, or a float32 copy without gaps in the workspace.
struct Operand {
  bool converted;
  std::int64_t offset;  ///< in the workspace
  Conversion conversion;
};

TensorSpec widened(const TensorSpec& spec) {
  if (spec.dtype != DType::bf16) return spec;
  if (is_dense(spec)) return {DType::f32, spec.shape, spec.strides};
  return dense_in_order(DType::f32, spec.shape, physical_order(spec));
}

std::vector<TensorSpec> widened(std::span<const TensorSpec> specs) {
  std::vector<TensorSpec> result;
  for (const TensorSpec& spec : specs) result.push_back(widened(spec));
  return result;
}

class WidenedKernel final : public Kernel {
 public:
  WidenedKernel(const KernelRequest& r, std::unique_ptr<Kernel> inner) : inner_(std::move(inner)) {
    for (const TensorSpec& spec : r.inputs) {
      const TensorSpec wide = widened(spec);
      inputs_.push_back({spec.dtype == DType::bf16, place(spec, wide), Conversion(spec, wide)});
    }
    for (std::size_t i = 0; i < r.outputs.size(); ++i) {
      const TensorSpec &spec = r.outputs[i], wide = widened(spec);
      const int shared = input_to_overwrite(r, static_cast<int>(i));
      outputs_.push_back({spec.dtype == DType::bf16,
                          shared < 0 ? place(spec, wide) : inputs_[static_cast<std::size_t>(shared)].offset,
                          Conversion(wide, spec)});
    }
    inner_workspace_ = workspace_.add(inner_->workspace_bytes());
  }

  std::int64_t workspace_bytes() const override { return workspace_.bytes(); }

  void run(NativeStream stream, const KernelArgs& args) const override {
    std::vector<const void*> inputs(args.inputs.begin(), args.inputs.end());
    std::vector<void*> outputs(args.outputs.begin(), args.outputs.end());
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (!inputs_[i].converted) continue;
      float* wide = workspace_at<float>(args.workspace, inputs_[i].offset);
      inputs_[i].conversion.run(static_cast<const BFloat16*>(inputs[i]), wide);
      inputs[i] = wide;
    }
    for (std::size_t i = 0; i < outputs.size(); ++i)
      if (outputs_[i].converted) outputs[i] = workspace_at<float>(args.workspace, outputs_[i].offset);
    void* rest =
        inner_->workspace_bytes() > 0 ? workspace_at<std::byte>(args.workspace, inner_workspace_) : nullptr;
    inner_->run(stream, {inputs, outputs, rest});
    for (std::size_t i = 0; i < outputs.size(); ++i)
      if (outputs_[i].converted)
        outputs_[i].conversion.run(static_cast<const float*>(outputs[i]),
                                   args.out<BFloat16>(static_cast<int>(i)));
  }

 private:
  std::int64_t place(const TensorSpec& spec, const TensorSpec& wide) {
    return spec.dtype == DType::bf16 ? workspace_.add(wide.bytes()) : 0;
  }

  /// The input whose copy an output may take: the one it updates, else, of the first output, one of its spec
  /// where the op works in place. −1: none.
  int input_to_overwrite(const KernelRequest& r, int output) const {
    const TensorSpec& spec = r.outputs[static_cast<std::size_t>(output)];
    if (spec.dtype != DType::bf16) return -1;
    const Traits traits = r.op.traits();
    for (const auto& [updated, input] : traits.updates)
      if (updated == output) return input;
    if (!traits.inplace || output != 0) return -1;
    for (std::size_t i = 0; i < r.inputs.size(); ++i)
      if (r.inputs[i] == spec) return static_cast<int>(i);
    return -1;
  }

  std::unique_ptr<Kernel> inner_;
  WorkspaceLayout workspace_;
  std::vector<Operand> inputs_, outputs_;
  std::int64_t inner_workspace_ = 0;
};

bool takes_bfloat16(const KernelRequest& r) {
  const auto narrow = [](const TensorSpec& spec) { return spec.dtype == DType::bf16; };
  return std::any_of(r.inputs.begin(), r.inputs.end(), narrow) ||
         std::any_of(r.outputs.begin(), r.outputs.end(), narrow);
}

}  // namespace

KernelSet with_bfloat16(const KernelSet& set) {
  const auto inner = std::make_shared<const KernelSet>(set);
  KernelSet result = set;
  for (const std::string& type : set.types()) {
    if (std::find(own_loops.begin(), own_loops.end(), type) != own_loops.end()) continue;
    result.add(type, [inner](const KernelRequest& r) -> std::unique_ptr<Kernel> {
      if (!takes_bfloat16(r)) return inner->prepare(r);
      const std::vector<TensorSpec> inputs = widened(r.inputs), outputs = widened(r.outputs);
      return std::make_unique<WidenedKernel>(r, inner->prepare({r.op, inputs, outputs, r.context}));
    });
  }
  return result;
}

}  // namespace swapadvisor
