#include <swapadvisor/core/parallel.h>
#include <swapadvisor/ops/conv2d.h>
#include <swapadvisor/ops/cpu/conv2d_depthwise.h>
#include <swapadvisor/ops/cpu/conv2d_gemm.h>
#include <swapadvisor/ops/cpu/conv2d_onednn.h>
#include <swapadvisor/ops/cpu/onednn.h>

#include <algorithm>
#include <optional>

namespace swapadvisor {
namespace {

using dnnl::memory;

enum class Pass : std::uint8_t { forward, backward_data, backward_weight };

Pass pass_of(const KernelRequest& r) {
  if (r.op.type() == "conv2d") return Pass::forward;
  return r.op.type() == "conv2d_backward_data" ? Pass::backward_data : Pass::backward_weight;
}

/// The operands in their forward roles.
struct Problem {
  Conv2dGeometry g;
  memory::desc x, weight, y;  ///< as they are in memory
  Pass pass;
  bool channels_last;
};

Problem problem_of(const KernelRequest& r) {
  const Pass pass = pass_of(r);
  const TensorSpec& x = pass == Pass::backward_data ? r.outputs[0] : r.inputs[0];
  const TensorSpec& y = pass == Pass::forward ? r.outputs[0] : r.inputs[pass == Pass::backward_data ? 0 : 1];
  const TensorSpec& weight = pass == Pass::backward_weight ? r.outputs[0] : r.inputs[1];
  const Conv2dOptions& options = pass == Pass::forward         ? r.as<Conv2dOp>().options()
                                 : pass == Pass::backward_data ? r.as<Conv2dBackwardDataOp>().options()
                                                               : r.as<Conv2dBackwardWeightOp>().options();
  const Conv2dGeometry g = conv2d_geometry(x, weight, options);
  const bool channels_last = x.is_channels_last() && y.is_channels_last();
  const auto tag = channels_last ? memory::format_tag::nhwc : memory::format_tag::nchw;
  const memory::dims filters =
      options.groups == 1
          ? memory::dims{g.out_channels, g.in_channels, g.kernel_height, g.kernel_width}
          : memory::dims{options.groups, g.group_out(), g.group_in(), g.kernel_height, g.kernel_width};
  const auto type = x.dtype == DType::bf16 ? memory::data_type::bf16 : memory::data_type::f32;
  return {g,
          {{g.batch, g.in_channels, g.height, g.width}, type, tag},
          {filters, type, options.groups == 1 ? memory::format_tag::oihw : memory::format_tag::goihw},
          {{g.batch, g.out_channels, g.out_height, g.out_width}, type, tag},
          pass,
          channels_last};
}

/// A primitive with the descriptors of its packed weight and scratch memory.
struct Direct {
  dnnl::primitive primitive;
  memory::desc packed, scratch;
  std::string implementation;
};

Direct direct_of(const auto& desc, const memory::desc& packed) {
  return {dnnl::primitive(desc), packed, desc.scratchpad_desc(), desc.impl_info_str()};
}

Direct make_direct(const Problem& p, const dnnl::engine& engine) {
  using namespace dnnl;  // only here: three primitives spelled out
  const Conv2dOptions& o = p.g.options;
  const memory::dims stride{o.stride[0], o.stride[1]}, dilation{o.dilation[0] - 1, o.dilation[1] - 1};
  const memory::dims padding{o.padding[0], o.padding[1]};
  const memory::desc any(p.weight.dims(), p.weight.data_type(), memory::format_tag::any);
  const auto method = algorithm::convolution_direct;
  const primitive_attr attributes = user_scratchpad();
  const convolution_forward::primitive_desc forward(
      {prop_kind::forward_training, method, p.x, any, p.y, stride, dilation, padding, padding}, attributes,
      engine);
  if (p.pass == Pass::forward) return direct_of(forward, forward.weights_desc());
  if (p.pass == Pass::backward_data) {
    const convolution_backward_data::primitive_desc data(
        {method, p.x, any, p.y, stride, dilation, padding, padding}, attributes, engine, forward);
    return direct_of(data, data.weights_desc());
  }
  const convolution_backward_weights::primitive_desc weights(
      {method, p.x, any, p.y, stride, dilation, padding, padding}, attributes, engine, forward);
  return direct_of(weights, weights.diff_weights_desc());
}

class DirectKernel final : public Kernel {
 public:
  DirectKernel(const Problem& p, const Direct& direct, const dnnl::engine& engine)
      : pass_(p.pass), reorders_(direct.packed != p.weight), stream_(engine) {
    if (reorders_) {
      const bool unpack = pass_ == Pass::backward_weight;
      reorder_ = unpack ? OnednnReorder(direct.packed, p.weight, engine)
                        : OnednnReorder(p.weight, direct.packed, engine);
      packed_ = layout_.add(static_cast<std::int64_t>(direct.packed.get_size()));
    }
    scratch_ =
        layout_.add(std::max(reorder_.scratch_bytes, static_cast<std::int64_t>(direct.scratch.get_size())));
    call_.set_primitive(direct.primitive);
    const bool forward = pass_ == Pass::forward, data = pass_ == Pass::backward_data;
    call_.add(data ? DNNL_ARG_DIFF_SRC : DNNL_ARG_SRC, p.x, engine);
    call_.add(pass_ == Pass::backward_weight ? DNNL_ARG_DIFF_WEIGHTS : DNNL_ARG_WEIGHTS, direct.packed,
              engine);
    call_.add(forward ? DNNL_ARG_DST : DNNL_ARG_DIFF_DST, p.y, engine);
    call_.add(DNNL_ARG_SCRATCHPAD, direct.scratch, engine);
  }

  std::int64_t workspace_bytes() const override { return layout_.bytes(); }

  void run(NativeStream, const KernelArgs& args) const override {
    void* scratch = layout_.bytes() > 0 ? workspace_at<void>(args.workspace, scratch_) : nullptr;
    switch (pass_) {
      case Pass::forward:
        return execute(args.inputs[0], args.inputs[1], args.outputs[0], args.workspace, scratch);
      case Pass::backward_data:
        return execute(args.outputs[0], args.inputs[1], args.inputs[0], args.workspace, scratch);
      case Pass::backward_weight:
        return execute(args.inputs[0], args.outputs[0], args.inputs[1], args.workspace, scratch);
    }
  }

 private:
  void execute(const void* x, const void* weight, const void* y, void* workspace, void* scratch) const {
    const bool unpack = pass_ == Pass::backward_weight;
    const void* packed = reorders_ ? workspace_at<void>(workspace, packed_) : weight;
    if (reorders_ && !unpack) reorder(weight, packed, scratch);
    call_.address(0, x);
    call_.address(1, packed);
    call_.address(2, y);
    call_.address(3, scratch);
    call_.execute(stream_);
    if (reorders_ && unpack) reorder(packed, weight, scratch);
  }
  void reorder(const void* from, const void* to, void* scratch) const {
    reorder_.call.address(0, from);
    reorder_.call.address(1, to);
    reorder_.call.address(2, scratch);
    reorder_.call.execute(stream_);
  }

  Pass pass_;
  bool reorders_;
  dnnl::stream stream_;
  OnednnReorder reorder_;
  OnednnCall call_;
  WorkspaceLayout layout_;
  std::int64_t packed_ = 0, scratch_ = 0;
};

/// Measured on AVX2 (Zen 3) in channels-last, 1 and 2 threads. oneDNN's convolutions lose 30 to 60 % of their
/// speed on wide 3×3 layers with a stride or with small images, and on nearly all weight gradients; patches
/// times GEMM do not.
bool gemm_wins_on_avx2(const Conv2dGeometry& g, Pass pass) {
  const bool strided = g.options.stride[0] > 1 || g.options.stride[1] > 1;
  const std::int64_t in = g.in_channels;
  switch (pass) {
    case Pass::forward:
      return g.taps() > 1 && in >= 64;
    case Pass::backward_data:
      return g.taps() > 1 && strided && in >= 64 && in <= 256;
    case Pass::backward_weight:
      return g.out_channels >= 32 && (in >= 32 || g.patch() >= 128);
  }
  return false;
}

/// oneDNN 2.6 gathers the pixels of a strided 1×1 convolution vector by vector, past the end of its
/// scratchpad where the channels do not fill one (seen in weight gradients of 2, 4 and 7 channels).
bool overruns_scratchpad(const Conv2dGeometry& g) {
  return g.taps() == 1 && (g.options.stride[0] > 1 || g.options.stride[1] > 1) && g.in_channels % 16 != 0;
}

ConvAlgorithm choose(const Problem& p, std::string_view implementation) {
  if (is_reference(implementation) || overruns_scratchpad(p.g)) return ConvAlgorithm::gemm;
  const bool avx2 = implementation.find("avx2") != std::string_view::npos;
  const bool wins = avx2 && p.channels_last && p.g.options.groups == 1 && gemm_wins_on_avx2(p.g, p.pass);
  return wins ? ConvAlgorithm::gemm : ConvAlgorithm::direct;
}

std::unique_ptr<Kernel> gemm_kernel(const KernelRequest& r) {
  switch (pass_of(r)) {
    case Pass::forward:
      return conv2d_gemm_forward<float>(r, onednn_gemm);
    case Pass::backward_data:
      return conv2d_gemm_backward_data<float>(r, onednn_gemm);
    case Pass::backward_weight:
      return conv2d_gemm_backward_weight<float>(r, onednn_gemm, true);
  }
  return nullptr;
}

/// oneDNN 2.6 has code of its own for depthwise convolutions ("jit_dw"), but not for weight gradients of
/// kernels larger than 3×3: it takes each channel for a group of a vector's width there, several times slower
/// than our loops.
bool loops_win(std::string_view implementation) {
  return !implementation.starts_with("jit_dw");
}

std::unique_ptr<Kernel> prepare(const KernelRequest& request, std::optional<ConvAlgorithm> told) {
  set_thread_count(request.context.threads);  // oneDNN plans for the threads it finds
  if (told == ConvAlgorithm::gemm) return gemm_kernel(request);
  const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  const Problem problem = problem_of(request);
  const Direct direct = make_direct(problem, engine);
  if (!told && loops_win(direct.implementation))
    if (auto depthwise = conv2d_depthwise<float>(request)) return depthwise;
  const ConvAlgorithm algorithm = told.value_or(choose(problem, direct.implementation));
  if (algorithm == ConvAlgorithm::gemm) return gemm_kernel(request);
  return std::make_unique<DirectKernel>(problem, direct, engine);
}

}  // namespace

std::unique_ptr<Kernel> onednn_conv2d(const KernelRequest& request) {
  return prepare(request, std::nullopt);
}

std::unique_ptr<Kernel> onednn_conv2d(const KernelRequest& request, ConvAlgorithm algorithm) {
  return prepare(request, algorithm);
}

std::unique_ptr<Kernel> onednn_bfloat16_conv2d(const KernelRequest& request) {
  set_thread_count(request.context.threads);
  const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  const Problem problem = problem_of(request);
  if (overruns_scratchpad(problem.g)) return nullptr;
  try {
    const Direct direct = make_direct(problem, engine);
    return is_reference(direct.implementation) ? nullptr
                                               : std::make_unique<DirectKernel>(problem, direct, engine);
  } catch (const dnnl::error&) {  // it has no convolution of that kind in bf16
    return nullptr;
  }
}

}  // namespace swapadvisor
