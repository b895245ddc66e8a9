#include <swapadvisor/core/parallel.h>
#include <swapadvisor/ops/avg_pool2d.h>
#include <swapadvisor/ops/cpu/onednn.h>
#include <swapadvisor/ops/cpu/pool2d_onednn.h>
#include <swapadvisor/ops/cpu/vector.h>
#include <swapadvisor/ops/max_pool2d.h>

#include <algorithm>
#include <atomic>
#include <optional>

namespace swapadvisor {
namespace {

using dnnl::memory;

/// The operands in their forward roles.
struct Problem {
  bool maximum, backward;
  bool divisor_varies;  ///< an average whose windows are cut by the border
  Pool2dGeometry g;
  memory::desc x, y, index;
  memory::dims padding_end;  ///< bottom, right: what the last windows cover beyond x
};

Pool2dOptions options_of(const KernelRequest& r) {
  const std::string_view type = r.op.type();
  if (type == "max_pool2d") return r.as<MaxPool2dOp>().options();
  if (type == "max_pool2d_backward") return r.as<MaxPool2dBackwardOp>().options();
  return type == "avg_pool2d" ? r.as<AvgPool2dOp>().options() : r.as<AvgPool2dBackwardOp>().options();
}

/// Absent where oneDNN computes something else.
std::optional<Problem> problem_of(const KernelRequest& r) {
  const bool maximum = r.op.type().starts_with("max"), backward = r.op.type().ends_with("backward");
  const TensorSpec &x = backward ? r.outputs[0] : r.inputs[0], &y = backward ? r.inputs[0] : r.outputs[0];
  if (!x.is_channels_last() || !y.is_channels_last()) return std::nullopt;
  const Pool2dOptions options = options_of(r);
  const Pool2dGeometry g = pool2d_geometry(x, options);
  const std::int64_t sizes[] = {g.height, g.width}, outputs[] = {g.out_height, g.out_width};
  memory::dims padding_end(2);
  for (std::size_t i = 0; i < 2; ++i) {
    const std::int64_t end = (outputs[i] - 1) * options.stride[i] - options.padding[i] + options.kernel[i];
    padding_end[i] = std::max<std::int64_t>(0, end - sizes[i]);
    if (!maximum && options.count_include_pad && padding_end[i] > options.padding[i]) return std::nullopt;
  }
  const bool uncut = options.padding == decltype(options.padding){} && padding_end == memory::dims{0, 0};
  const memory::dims dims_y{g.batch, g.channels, g.out_height, g.out_width};
  const auto f32 = memory::data_type::f32;
  const auto nhwc = memory::format_tag::nhwc;
  return Problem{maximum,
                 backward,
                 !maximum && !options.count_include_pad && !uncut,
                 g,
                 {{g.batch, g.channels, g.height, g.width}, f32, nhwc},
                 {dims_y, f32, nhwc},
                 {dims_y, memory::data_type::u8, nhwc},
                 padding_end};
}

/// A primitive; none where oneDNN refuses or its workspace is not our index.
struct Pooling {
  dnnl::primitive primitive;
  memory::desc scratch;
  std::string implementation;
};

Pooling pooling_of(const auto& desc, const Problem& p) {
  if (!desc || (p.maximum && desc.workspace_desc() != p.index)) return {};
  return {dnnl::primitive(desc), desc.scratchpad_desc(), desc.impl_info_str()};
}

Pooling make_pooling(const Problem& p, const dnnl::engine& engine) {
  using namespace dnnl;  // only here: two primitives spelled out
  const Pool2dOptions& o = p.g.options;
  const memory::dims stride{o.stride[0], o.stride[1]}, kernel{o.kernel[0], o.kernel[1]};
  const memory::dims padding{o.padding[0], o.padding[1]};
  const auto method = p.maximum          ? algorithm::pooling_max
                      : p.divisor_varies ? algorithm::pooling_avg_exclude_padding
                                         : algorithm::pooling_avg_include_padding;
  const primitive_attr attributes = user_scratchpad();
  const pooling_forward::primitive_desc forward(
      {prop_kind::forward_training, method, p.x, p.y, stride, kernel, padding, p.padding_end}, attributes,
      engine, true);
  if (!p.backward || !forward) return pooling_of(forward, p);
  const pooling_backward::primitive_desc backward({method, p.x, p.y, stride, kernel, padding, p.padding_end},
                                                  attributes, engine, forward, true);
  return pooling_of(backward, p);
}

/// Measured in channels-last for 8 images of 64 channels, 112 × 112, 3 × 3 windows, stride 2, padding 1, on 1
/// thread of an AVX2 processor (Zen 3), milliseconds forward and backward, oneDNN : ours. Maxima 25 : 2.4 and
/// 21 : 3.2, since without AVX-512 indexes are moved byte by byte; averages 1.9 : 2.4 and 4.7 : 3.5; without
/// padding in the divisor 3.9 : 2.6 and 9.7 : 3.6. oneDNN is taken unless it needs twice our time.
bool is_fast(const Problem& p, std::string_view implementation) {
  if (implementation.find("avx512") != std::string_view::npos) return true;
  return !p.maximum && !(p.backward && p.divisor_varies);
}

SWAPADVISOR_MULTIVERSION bool is_finite(const float* x, std::int64_t n) {
  std::int32_t bad = 0;
  for (std::int64_t i = 0; i < n; ++i) bad |= x[i] - x[i] == 0 ? 0 : 1;  // ∞ − ∞ is NaN
  return bad == 0;
}

bool all_finite(const float* x, std::int64_t n) {
  std::atomic<bool> finite = true;
  parallel_for(n, elementwise_grain, [&](std::int64_t b, std::int64_t e) {
    if (!is_finite(x + b, e - b)) finite.store(false, std::memory_order_relaxed);
  });
  return finite;
}

class PoolKernel final : public Kernel {
 public:
  PoolKernel(const Problem& p, const Pooling& pooling, const dnnl::engine& engine,
             std::unique_ptr<Kernel> portable)
      : maximum_(p.maximum),
        backward_(p.backward),
        x_elements_(p.g.batch * p.g.channels * p.g.height * p.g.width),
        scratch_bytes_(static_cast<std::int64_t>(pooling.scratch.get_size())),
        stream_(engine),
        portable_(std::move(portable)) {
    call_.set_primitive(pooling.primitive);
    call_.add(p.backward ? DNNL_ARG_DIFF_SRC : DNNL_ARG_SRC, p.x, engine);
    call_.add(p.backward ? DNNL_ARG_DIFF_DST : DNNL_ARG_DST, p.y, engine);
    call_.add(DNNL_ARG_SCRATCHPAD, pooling.scratch, engine);
    if (maximum_) call_.add(DNNL_ARG_WORKSPACE, p.index, engine);
  }

  std::int64_t workspace_bytes() const override {
    return std::max(scratch_bytes_, portable_->workspace_bytes());
  }

  void run(NativeStream stream, const KernelArgs& args) const override {
    const bool by_value = maximum_ && !backward_;
    if (by_value && !all_finite(args.in<float>(0), x_elements_)) return portable_->run(stream, args);
    call_.address(0, backward_ ? args.outputs[0] : args.inputs[0]);
    call_.address(1, backward_ ? args.inputs[0] : args.outputs[0]);
    call_.address(2, scratch_bytes_ > 0 ? args.workspace : nullptr);
    if (maximum_) call_.address(3, backward_ ? args.inputs[1] : args.outputs[1]);
    call_.execute(stream_);
  }

 private:
  bool maximum_, backward_;
  std::int64_t x_elements_, scratch_bytes_;
  dnnl::stream stream_;
  std::unique_ptr<Kernel> portable_;
  OnednnCall call_;
};

}  // namespace

std::unique_ptr<Kernel> onednn_pool2d(const KernelRequest& request, std::unique_ptr<Kernel> portable,
                                      OnednnPooling use) {
  const std::optional<Problem> problem = problem_of(request);
  if (!problem) return portable;
  set_thread_count(request.context.threads);  // oneDNN plans for the threads it finds
  const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  const Pooling pooling = make_pooling(*problem, engine);
  if (!pooling.primitive || !pooling.implementation.starts_with("jit")) return portable;
  if (use == OnednnPooling::where_fast && !is_fast(*problem, pooling.implementation)) return portable;
  return std::make_unique<PoolKernel>(*problem, pooling, engine, std::move(portable));
}

}  // namespace swapadvisor
