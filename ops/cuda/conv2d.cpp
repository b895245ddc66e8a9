// conv2d and its gradients by cuDNN. Which algorithm follows from the shapes: the first of cuDNN's heuristics
// that is deterministic (unless the user wants speed first), computes in the precision asked for and stays
// within a fixed workspace. Where cuDNN has none, the project's own kernels compute.
#include <swapadvisor/core/cuda/library_workspace.h>
#include <swapadvisor/core/kernel_algorithm.h>
#include <swapadvisor/ops/conv2d.h>
#include <swapadvisor/ops/cuda/conv2d_own.h>
#include <swapadvisor/ops/cuda/dnn_descriptors.h>
#include <swapadvisor/ops/cuda/register.h>

#include <algorithm>
#include <array>
#include <limits>
#include <optional>

namespace swapadvisor::cuda {
namespace {

constexpr std::size_t most_algorithms = 16;

/// The operands' shapes and types for cuDNN.
struct ConvolutionSpec {
  TensorSpec x, weight, y;
  Conv2dGeometry geometry;

  bool channels_last() const {
    return x.is_channels_last() && y.is_channels_last() && !(x.is_row_major() && y.is_row_major());
  }
  /// Is the weight in another order than cuDNN wants?
  bool reorders() const { return channels_last() && geometry.taps() > 1 && geometry.group_in() > 1; }
  std::int64_t operand_bytes() const { return x.bytes() + weight.bytes() + y.bytes(); }
  /// cuDNN counts in 32 bits.
  bool fits() const {
    constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
    return x.numel() <= most && y.numel() <= most && weight.numel() <= most;
  }
};

/// Not more than the operands themselves take, between 8 and 256 MiB: the same on every GPU and under any
/// limit.
std::size_t workspace_cap(const ConvolutionSpec& spec) {
  return static_cast<std::size_t>(std::clamp<std::int64_t>(spec.operand_bytes(), 8 << 20, 256 << 20));
}

class Descriptors {
 public:
  Descriptors(const ConvolutionSpec& spec, cudnnMathType_t math) {
    const Conv2dGeometry& g = spec.geometry;
    const auto format = spec.channels_last() ? CUDNN_TENSOR_NHWC : CUDNN_TENSOR_NCHW;
    const cudnnDataType_t type = dnn_type(spec.x.dtype);
    const auto size = [](std::int64_t value) { return static_cast<int>(value); };
    check(cudnnSetTensor4dDescriptor(x.get(), format, type, size(g.batch), size(g.in_channels),
                                     size(g.height), size(g.width)),
          "the description of x");
    check(cudnnSetTensor4dDescriptor(y.get(), format, type, size(g.batch), size(g.out_channels),
                                     size(g.out_height), size(g.out_width)),
          "the description of y");
    check(cudnnSetFilter4dDescriptor(weight.get(), type, format, size(g.out_channels), size(g.group_in()),
                                     size(g.kernel_height), size(g.kernel_width)),
          "the description of the weight");
    const Conv2dOptions& o = g.options;
    check(cudnnSetConvolution2dDescriptor(convolution.get(), size(o.padding[0]), size(o.padding[1]),
                                          size(o.stride[0]), size(o.stride[1]), size(o.dilation[0]),
                                          size(o.dilation[1]), CUDNN_CROSS_CORRELATION,
                                          spec.x.dtype == DType::f64 ? CUDNN_DATA_DOUBLE : CUDNN_DATA_FLOAT),
          "the description of a convolution");
    check(cudnnSetConvolutionGroupCount(convolution.get(), size(o.groups)), "the number of groups");
    set_math(math);
  }
  void set_math(cudnnMathType_t math) {
    check(cudnnSetConvolutionMathType(convolution.get(), math), "the arithmetic of a convolution");
  }

  TensorDescriptor x, y;
  FilterDescriptor weight;
  ConvolutionDescriptor convolution;
};

/// What differs between the three operations: cuDNN's functions, with the operands in one order.
struct Forward {
  using Algorithm = cudnnConvolutionFwdAlgo_t;
  using Performance = cudnnConvolutionFwdAlgoPerf_t;
  static constexpr const char* name = "forward";

  static cudnnStatus_t ask(cudnnHandle_t handle, const Descriptors& d, int most, int* count,
                           Performance* found) {
    return cudnnGetConvolutionForwardAlgorithm_v7(handle, d.x.get(), d.weight.get(), d.convolution.get(),
                                                  d.y.get(), most, count, found);
  }
  static cudnnStatus_t workspace(cudnnHandle_t handle, const Descriptors& d, Algorithm algorithm,
                                 std::size_t* bytes) {
    return cudnnGetConvolutionForwardWorkspaceSize(handle, d.x.get(), d.weight.get(), d.convolution.get(),
                                                   d.y.get(), algorithm, bytes);
  }
  /// (x, weight) → y.
  static cudnnStatus_t run(cudnnHandle_t handle, const Descriptors& d, Algorithm algorithm, const void* one,
                           const void* zero, const void* x, const void* weight, void* y, void* memory,
                           std::size_t bytes) {
    return cudnnConvolutionForward(handle, one, d.x.get(), x, d.weight.get(), weight, d.convolution.get(),
                                   algorithm, memory, bytes, zero, d.y.get(), y);
  }
  static constexpr auto run_own = queue_convolution;
  static constexpr bool weight_is_result = false;
};

struct BackwardData {
  using Algorithm = cudnnConvolutionBwdDataAlgo_t;
  using Performance = cudnnConvolutionBwdDataAlgoPerf_t;
  static constexpr const char* name = "backward data";

  static cudnnStatus_t ask(cudnnHandle_t handle, const Descriptors& d, int most, int* count,
                           Performance* found) {
    return cudnnGetConvolutionBackwardDataAlgorithm_v7(handle, d.weight.get(), d.y.get(), d.convolution.get(),
                                                       d.x.get(), most, count, found);
  }
  static cudnnStatus_t workspace(cudnnHandle_t handle, const Descriptors& d, Algorithm algorithm,
                                 std::size_t* bytes) {
    return cudnnGetConvolutionBackwardDataWorkspaceSize(handle, d.weight.get(), d.y.get(),
                                                        d.convolution.get(), d.x.get(), algorithm, bytes);
  }
  /// (dy, weight) → dx.
  static cudnnStatus_t run(cudnnHandle_t handle, const Descriptors& d, Algorithm algorithm, const void* one,
                           const void* zero, const void* dy, const void* weight, void* dx, void* memory,
                           std::size_t bytes) {
    return cudnnConvolutionBackwardData(handle, one, d.weight.get(), weight, d.y.get(), dy,
                                        d.convolution.get(), algorithm, memory, bytes, zero, d.x.get(), dx);
  }
  static constexpr auto run_own = queue_convolution_backward_data;
  static constexpr bool weight_is_result = false;
};

struct BackwardWeight {
  using Algorithm = cudnnConvolutionBwdFilterAlgo_t;
  using Performance = cudnnConvolutionBwdFilterAlgoPerf_t;
  static constexpr const char* name = "backward weight";

  static cudnnStatus_t ask(cudnnHandle_t handle, const Descriptors& d, int most, int* count,
                           Performance* found) {
    return cudnnGetConvolutionBackwardFilterAlgorithm_v7(handle, d.x.get(), d.y.get(), d.convolution.get(),
                                                         d.weight.get(), most, count, found);
  }
  static cudnnStatus_t workspace(cudnnHandle_t handle, const Descriptors& d, Algorithm algorithm,
                                 std::size_t* bytes) {
    return cudnnGetConvolutionBackwardFilterWorkspaceSize(handle, d.x.get(), d.y.get(), d.convolution.get(),
                                                          d.weight.get(), algorithm, bytes);
  }
  /// (x, dy) → dweight.
  static cudnnStatus_t run(cudnnHandle_t handle, const Descriptors& d, Algorithm algorithm, const void* one,
                           const void* zero, const void* x, const void* dy, void* dweight, void* memory,
                           std::size_t bytes) {
    return cudnnConvolutionBackwardFilter(handle, one, d.x.get(), x, d.y.get(), dy, d.convolution.get(),
                                          algorithm, memory, bytes, zero, d.weight.get(), dweight);
  }
  static constexpr auto run_own = queue_convolution_backward_weight;
  static constexpr bool weight_is_result = true;
};

/// An algorithm of cuDNN and all it needs.
template <class Operation>
struct Choice {
  Descriptors descriptors;
  typename Operation::Algorithm algorithm;
  cudnnMathType_t math;
  std::size_t bytes;
};

bool acceptable_math(DType dtype, bool allow_tf32, cudnnMathType_t math) {
  if (math == CUDNN_TENSOR_OP_MATH_ALLOW_CONVERSION) return false;  // operands rounded to half precision
  return dtype != DType::f32 || allow_tf32 || math == CUDNN_FMA_MATH;
}

/// Absent when cuDNN has no acceptable algorithm.
template <class Operation>
std::optional<Choice<Operation>> choose(const Libraries& libraries, const ConvolutionSpec& spec) {
  if (!spec.fits()) return std::nullopt;
  const DType dtype = spec.x.dtype;
  const bool tf32 = libraries.options().allow_tf32;
  // cuDNN's default for float32 is TF32.
  Descriptors descriptors(spec, dtype == DType::f32 && !tf32 ? CUDNN_FMA_MATH : CUDNN_DEFAULT_MATH);
  std::array<typename Operation::Performance, most_algorithms> found{};
  int count = 0;
  const cudnnStatus_t status =
      Operation::ask(libraries.dnn(), descriptors, static_cast<int>(most_algorithms), &count, found.data());
  if (status != CUDNN_STATUS_SUCCESS && CUDNN_STATUS_CATEGORY(status) == CUDNN_STATUS_NOT_SUPPORTED)
    return std::nullopt;
  check(status, "the choice of an algorithm");
  for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
    const auto& candidate = found[i];
    const bool deterministic = candidate.determinism == CUDNN_DETERMINISTIC;
    // In float32 without TF32 the description says FMA, and the libraries may call that the default.
    const cudnnMathType_t math = dtype == DType::f32 && !tf32 && candidate.mathType == CUDNN_DEFAULT_MATH
                                     ? CUDNN_FMA_MATH
                                     : candidate.mathType;
    if (candidate.status != CUDNN_STATUS_SUCCESS || !(deterministic || libraries.options().fast) ||
        !acceptable_math(dtype, tf32, math))
      continue;
    descriptors.set_math(math);
    std::size_t bytes = 0;
    if (Operation::workspace(libraries.dnn(), descriptors, candidate.algo, &bytes) != CUDNN_STATUS_SUCCESS ||
        bytes > workspace_cap(spec))
      continue;
    return Choice<Operation>{std::move(descriptors), candidate.algo, math, bytes};
  }
  return std::nullopt;
}

const char* name_of_math(cudnnMathType_t math) {
  return math == CUDNN_FMA_MATH ? "fma" : math == CUDNN_TENSOR_OP_MATH ? "tensor" : "default";
}

template <class Operation>
class DnnConvolution final : public Kernel, public KernelAlgorithm {
 public:
  DnnConvolution(SharedLibraries libraries, const ConvolutionSpec& spec, Choice<Operation> choice)
      : libraries_(std::move(libraries)), spec_(spec), choice_(std::move(choice)) {
    weight_bytes_ = spec.reorders() ? aligned_bytes(spec.weight.bytes()) : 0;
  }

  std::string algorithm() const override {
    return fmt::format("cuDNN {} {} {}", Operation::name, static_cast<int>(choice_.algorithm),
                       name_of_math(choice_.math));
  }
  std::int64_t workspace_bytes() const override {
    return planned_bytes(weight_bytes_ + static_cast<std::int64_t>(choice_.bytes));
  }

  void run(NativeStream native_stream, const KernelArgs& args) const override {
    const auto stream = static_cast<cudaStream_t>(native_stream);
    std::byte* const start = args.workspace ? aligned_start(args.workspace) : nullptr;
    void* const memory = choice_.bytes > 0 ? start + weight_bytes_ : nullptr;
    const Conv2dGeometry& g = spec_.geometry;
    const void* second = args.in<void>(1);
    void* result = args.out<void>(0);
    if (spec_.reorders() && Operation::weight_is_result) result = start;
    if (spec_.reorders() && !Operation::weight_is_result) {
      queue_transposition(stream, spec_.weight.dtype, g.out_channels, g.group_in(), g.taps(), second, start);
      second = start;
    }
    const double one = 1, zero = 0;
    const float narrow_one = 1, narrow_zero = 0;
    const bool wide = spec_.x.dtype == DType::f64;
    const auto scalar = [wide](const double& d, const float& f) {
      return wide ? static_cast<const void*>(&d) : &f;
    };
    check(Operation::run(libraries_->dnn(stream), choice_.descriptors, choice_.algorithm,
                         scalar(one, narrow_one), scalar(zero, narrow_zero), args.in<void>(0), second, result,
                         memory, choice_.bytes),
          "a convolution");
    if (spec_.reorders() && Operation::weight_is_result)
      queue_transposition(stream, spec_.weight.dtype, g.out_channels, g.taps(), g.group_in(), start,
                          args.out<void>(0));
  }

 private:
  SharedLibraries libraries_;
  ConvolutionSpec spec_;
  Choice<Operation> choice_;
  std::int64_t weight_bytes_ = 0;
};

template <class Operation>
class OwnConvolution final : public Kernel, public KernelAlgorithm {
 public:
  explicit OwnConvolution(const ConvolutionSpec& spec)
      : dtype_(spec.x.dtype), shape_(spec.x, spec.y, spec.geometry) {}
  std::string algorithm() const override { return fmt::format("own {}", Operation::name); }
  void run(NativeStream stream, const KernelArgs& args) const override {
    Operation::run_own(static_cast<cudaStream_t>(stream), dtype_, shape_, args.in<void>(0), args.in<void>(1),
                       args.out<void>(0));
  }

 private:
  DType dtype_;
  ConvolutionShape shape_;
};

template <class Operation>
std::unique_ptr<Kernel> make_convolution(const SharedLibraries& libraries, const TensorSpec& x,
                                         const TensorSpec& weight, const TensorSpec& y,
                                         const Conv2dOptions& options) {
  const ConvolutionSpec spec{x, weight, y, conv2d_geometry(x, weight, options)};
  auto choice = choose<Operation>(*libraries, spec);
  if (!choice) return std::make_unique<OwnConvolution<Operation>>(spec);
  return std::make_unique<DnnConvolution<Operation>>(libraries, spec, std::move(*choice));
}

}  // namespace

void add_conv2d_kernels(KernelSet& set, const SharedLibraries& libraries) {
  set.add("conv2d", [libraries](const KernelRequest& r) {
    return make_convolution<Forward>(libraries, r.inputs[0], r.inputs[1], r.outputs[0],
                                     r.as<Conv2dOp>().options());
  });
  set.add("conv2d_backward_data", [libraries](const KernelRequest& r) {
    return make_convolution<BackwardData>(libraries, r.outputs[0], r.inputs[1], r.inputs[0],
                                          r.as<Conv2dBackwardDataOp>().options());
  });
  set.add("conv2d_backward_weight", [libraries](const KernelRequest& r) {
    return make_convolution<BackwardWeight>(libraries, r.inputs[0], r.outputs[0], r.inputs[1],
                                            r.as<Conv2dBackwardWeightOp>().options());
  });
}

}  // namespace swapadvisor::cuda
