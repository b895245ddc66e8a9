#include <swapadvisor/core/parallel.h>
#include <swapadvisor/ops/batched_matmul.h>
#include <swapadvisor/ops/cpu/bfloat16_onednn.h>
#include <swapadvisor/ops/cpu/conv2d_onednn.h>
#include <swapadvisor/ops/cpu/onednn.h>
#include <swapadvisor/ops/cpu/register.h>
#include <swapadvisor/ops/matmul.h>

#include <optional>
#include <utility>

namespace swapadvisor {
namespace {

using dnnl::memory;

/// A tensor as oneDNN's matmul takes it, its last two dimensions swapped where the op transposes it.
memory::desc matrix(const TensorSpec& spec, bool transposed) {
  memory::dims dims(spec.shape.begin(), spec.shape.end());
  memory::dims strides(spec.strides.begin(), spec.strides.end());
  if (transposed) {
    std::swap(dims[dims.size() - 1], dims[dims.size() - 2]);
    std::swap(strides[dims.size() - 1], strides[dims.size() - 2]);
  }
  return {dims, spec.dtype == DType::bf16 ? memory::data_type::bf16 : memory::data_type::f32, strides};
}

BatchedMatmulOptions product_options(const KernelRequest& r) {
  if (r.op.type() == "batched_matmul") return r.as<BatchedMatmulOp>().options();
  const auto& op = r.as<MatmulOp>();
  return {op.transpose_a(), op.transpose_b()};
}

std::optional<dnnl::matmul::primitive_desc> product_desc(const KernelRequest& r, const dnnl::engine& engine) {
  const BatchedMatmulOptions options = product_options(r);
  dnnl::primitive_attr attributes = user_scratchpad();
  if (options.alpha != 1) attributes.set_output_scales(0, {static_cast<float>(options.alpha)});
  const dnnl::matmul::desc product(matrix(r.inputs[0], options.transpose_a),
                                   matrix(r.inputs[1], options.transpose_b), matrix(r.outputs[0], false));
  const dnnl::matmul::primitive_desc desc(product, attributes, engine, true);
  if (!desc || is_reference(desc.impl_info_str())) return std::nullopt;
  return desc;
}

class ProductKernel final : public Kernel {
 public:
  ProductKernel(const dnnl::matmul::primitive_desc& desc, const dnnl::engine& engine)
      : stream_(engine), scratch_bytes_(static_cast<std::int64_t>(desc.scratchpad_desc().get_size())) {
    call_.set_primitive(dnnl::matmul(desc));
    call_.add(DNNL_ARG_SRC, desc.src_desc(), engine);
    call_.add(DNNL_ARG_WEIGHTS, desc.weights_desc(), engine);
    call_.add(DNNL_ARG_DST, desc.dst_desc(), engine);
    call_.add(DNNL_ARG_SCRATCHPAD, desc.scratchpad_desc(), engine);
  }
  std::int64_t workspace_bytes() const override { return scratch_bytes_; }
  void run(NativeStream, const KernelArgs& args) const override {
    call_.address(0, args.inputs[0]);
    call_.address(1, args.inputs[1]);
    call_.address(2, args.outputs[0]);
    call_.address(3, args.workspace);
    call_.execute(stream_);
  }

 private:
  dnnl::stream stream_;
  OnednnCall call_;
  std::int64_t scratch_bytes_;
};

}  // namespace

bool onednn_multiplies_bfloat16() {
  const auto has = static_cast<unsigned>(dnnl::get_effective_cpu_isa());
  const auto needed = static_cast<unsigned>(dnnl::cpu_isa::avx512_core_bf16);
  return (has & needed) == needed;
}

std::unique_ptr<Kernel> onednn_product(const KernelRequest& request) {
  set_thread_count(request.context.threads);  // oneDNN plans for the threads it finds
  const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  const auto desc = product_desc(request, engine);
  return desc ? std::make_unique<ProductKernel>(*desc, engine) : nullptr;
}

void add_onednn_bfloat16_kernels(KernelSet& set) {
  if (!onednn_multiplies_bfloat16()) return;
  const auto widened = std::make_shared<const KernelSet>(set);
  const auto add = [&](const char* type, std::unique_ptr<Kernel> (*prepare)(const KernelRequest&)) {
    set.add(type, [widened, prepare](const KernelRequest& r) {
      auto kernel = r.inputs[0].dtype == DType::bf16 ? prepare(r) : nullptr;
      return kernel ? std::move(kernel) : widened->prepare(r);
    });
  };
  add("matmul", onednn_product);
  add("batched_matmul", onednn_product);
  for (const char* type : {"conv2d", "conv2d_backward_data", "conv2d_backward_weight"})
    add(type, onednn_bfloat16_conv2d);
}

}  // namespace swapadvisor
