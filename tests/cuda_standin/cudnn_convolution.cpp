// cuDNN on the CPU: convolutions, with the checks of cuDNN. Of the algorithms that its heuristics give, the
// first is not deterministic (in the backward ops), the second wants more workspace than any GPU has, and the
// third will do.
#include <swapadvisor/core/bfloat16.h>

#include <cstring>
#include <vector>

#include "cudnn_descriptors.h"
#include "streams.h"

namespace standin {
namespace {

using swapadvisor::BFloat16;

enum class Operation { forward, backward_data, backward_filter };

/// The descriptors of one convolution, by value: they may change before queued work runs.
struct Convolution {
  DnnArray x, w, y;
  DnnConvolution c;
};

struct Algorithm {
  int number;
  std::size_t bytes;
  bool deterministic;
};

std::vector<Algorithm> algorithms(Operation operation, const Convolution& k) {
  const auto own = static_cast<std::size_t>(k.w.bytes() + 512);
  constexpr std::size_t huge = std::size_t{1} << 40;
  if (operation == Operation::forward)
    return {{CUDNN_CONVOLUTION_FWD_ALGO_FFT, huge, true},
            {CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM, own, true},
            {CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM, 0, true}};
  if (operation == Operation::backward_data)
    return {{CUDNN_CONVOLUTION_BWD_DATA_ALGO_0, 0, false},
            {CUDNN_CONVOLUTION_BWD_DATA_ALGO_FFT, huge, true},
            {CUDNN_CONVOLUTION_BWD_DATA_ALGO_1, own, true}};
  return {{CUDNN_CONVOLUTION_BWD_FILTER_ALGO_0, 0, false},
          {CUDNN_CONVOLUTION_BWD_FILTER_ALGO_FFT, huge, true},
          {CUDNN_CONVOLUTION_BWD_FILTER_ALGO_1, own, true}};
}

cudnnStatus_t check_shapes(const Convolution& k) {
  if (!k.x.set || !k.w.set || !k.y.set || !k.c.set) return CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED;
  if (k.w.type != k.x.type || k.y.type != k.x.type) return CUDNN_STATUS_BAD_PARAM;
  if ((k.x.type == CUDNN_DATA_DOUBLE) != (k.c.compute == CUDNN_DATA_DOUBLE))
    return CUDNN_STATUS_NOT_SUPPORTED_DATA_TYPE;
  if (k.x.size[0] != k.y.size[0] || k.x.size[1] != k.w.size[1] * k.c.groups || k.w.size[0] != k.y.size[1] ||
      k.w.size[0] % k.c.groups != 0)
    return CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH;
  for (std::size_t d = 0; d < 2; ++d) {
    const std::int64_t extent = k.c.dilation[d] * (k.w.size[d + 2] - 1) + 1;
    const std::int64_t rest = k.x.size[d + 2] + 2 * k.c.padding[d] - extent;
    if (rest < 0 || rest / k.c.stride[d] + 1 != k.y.size[d + 2]) return CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH;
  }
  // One layout for all operands; none of the algorithms takes double in channels-last order.
  if (k.w.format != k.x.format || k.y.format != k.x.format) return CUDNN_STATUS_NOT_SUPPORTED_LAYOUT;
  if (k.x.format == CUDNN_TENSOR_NHWC && k.x.type == CUDNN_DATA_DOUBLE)
    return CUDNN_STATUS_NOT_SUPPORTED_LAYOUT;
  return CUDNN_STATUS_SUCCESS;
}

template <class X, class W>
cudnnStatus_t describe(cudnnHandle_t handle, X x, W w, cudnnConvolutionDescriptor_t c, X y, Convolution& k) {
  if (!handle || !x || !w || !c || !y) return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
  k = {*dnn(x), *dnn(w), *dnn(y), *dnn(c)};
  return check_shapes(k);
}

/// What the heuristics give, in order; all of it not supported where the layout is not.
template <class Performance>
cudnnStatus_t ask(Operation operation, const Convolution& k, cudnnStatus_t status, int most, int* count,
                  Performance* found) {
  if (!count || !found) return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
  if (most < 1) return CUDNN_STATUS_BAD_PARAM_OUT_OF_BOUND;
  if (status != CUDNN_STATUS_SUCCESS && CUDNN_STATUS_CATEGORY(status) != CUDNN_STATUS_NOT_SUPPORTED)
    return status;
  *count = 0;
  for (const Algorithm& a : algorithms(operation, k)) {
    if (*count == most) break;
    Performance& p = found[(*count)++];
    p.algo = static_cast<decltype(p.algo)>(a.number);
    p.status = status;
    p.time = -1;
    p.memory = a.bytes;
    p.determinism = a.deterministic ? CUDNN_DETERMINISTIC : CUDNN_NON_DETERMINISTIC;
    p.mathType = k.x.type == CUDNN_DATA_BFLOAT16 ? CUDNN_TENSOR_OP_MATH : k.c.math;
  }
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t workspace_of(Operation operation, const Convolution& k, int number, std::size_t* bytes) {
  if (!bytes) return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
  for (const Algorithm& a : algorithms(operation, k))
    if (a.number == number) {
      *bytes = a.bytes;
      return CUDNN_STATUS_SUCCESS;
    }
  return CUDNN_STATUS_NOT_SUPPORTED;
}

/// Calls f(x's element, w's element, y's element) for every product of a convolution, in one order.
template <class F>
void for_each_product(const Convolution& k, F f) {
  const auto& [n, o, oh, ow] = k.y.size;
  const std::int64_t in = k.w.size[1], out = o / k.c.groups;
  for (std::int64_t b = 0; b < n; ++b)
    for (std::int64_t channel = 0; channel < o; ++channel)
      for (std::int64_t i = 0; i < oh; ++i)
        for (std::int64_t j = 0; j < ow; ++j)
          for (std::int64_t c = 0; c < in; ++c)
            for (std::int64_t r = 0; r < k.w.size[2]; ++r)
              for (std::int64_t s = 0; s < k.w.size[3]; ++s) {
                const std::int64_t h = i * k.c.stride[0] - k.c.padding[0] + r * k.c.dilation[0];
                const std::int64_t w = j * k.c.stride[1] - k.c.padding[1] + s * k.c.dilation[1];
                if (h < 0 || h >= k.x.size[2] || w < 0 || w >= k.x.size[3]) continue;
                f(k.x.at(b, channel / out * in + c, h, w), k.w.at(channel, c, r, s),
                  k.y.at(b, channel, i, j));
              }
}

/// One call: two operands, a result, and what scales it.
struct Call {
  Operation operation;
  Convolution k;
  const void *a = nullptr, *b = nullptr;
  void* result = nullptr;
  double alpha = 1, beta = 0;

  const DnnArray& first() const { return operation == Operation::backward_data ? k.y : k.x; }
  const DnnArray& second() const { return operation == Operation::backward_filter ? k.y : k.w; }
  const DnnArray& third() const {
    return operation == Operation::forward ? k.y : operation == Operation::backward_data ? k.x : k.w;
  }
};

template <class T, class A>
void compute(const Call& call) {
  const auto* a = static_cast<const T*>(call.a);
  const auto* b = static_cast<const T*>(call.b);
  auto* result = static_cast<T*>(call.result);
  std::vector<A> sums(static_cast<std::size_t>(call.third().count()), A(0));
  const auto add = [&](std::int64_t to, std::int64_t i, std::int64_t j) {
    sums[static_cast<std::size_t>(to)] += static_cast<A>(a[i]) * static_cast<A>(b[j]);
  };
  for_each_product(call.k, [&](std::int64_t x, std::int64_t w, std::int64_t y) {
    if (call.operation == Operation::forward) add(y, x, w);
    if (call.operation == Operation::backward_data) add(x, y, w);
    if (call.operation == Operation::backward_filter) add(w, x, y);
  });
  for (std::size_t i = 0; i < sums.size(); ++i) {
    const A before = call.beta == 0 ? A(0) : static_cast<A>(call.beta) * static_cast<A>(result[i]);
    result[i] = static_cast<T>(static_cast<A>(call.alpha) * sums[i] + before);
  }
}

bool misaligned(const void* address, std::int64_t alignment) {
  return reinterpret_cast<std::uintptr_t>(address) % static_cast<std::uintptr_t>(alignment) != 0;
}

cudnnStatus_t queue(cudnnHandle_t handle, Call call, const void* alpha, const void* beta, int algorithm,
                    void* workspace, std::size_t workspace_bytes) {
  if (!alpha || !beta || !call.a || !call.b || !call.result) return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
  const std::int64_t element = call.k.x.element_bytes();
  if (misaligned(call.a, element) || misaligned(call.b, element) || misaligned(call.result, element))
    return CUDNN_STATUS_BAD_PARAM_MISALIGNED_POINTER;
  std::size_t needed = 0;
  if (const auto status = workspace_of(call.operation, call.k, algorithm, &needed);
      status != CUDNN_STATUS_SUCCESS)
    return status;
  if (workspace_bytes < needed) return CUDNN_STATUS_BAD_PARAM_SIZE_INSUFFICIENT;
  if (needed > 0 && !workspace) return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
  if (needed > 0 && misaligned(workspace, 16)) return CUDNN_STATUS_BAD_PARAM_MISALIGNED_POINTER;
  const bool wide = call.k.x.type == CUDNN_DATA_DOUBLE;
  const auto scalar = [wide](const void* value) {
    return wide ? *static_cast<const double*>(value) : static_cast<double>(*static_cast<const float*>(value));
  };
  call.alpha = scalar(alpha);
  call.beta = scalar(beta);
  const auto run = [call, workspace, needed] {
    if (needed > 0) std::memset(workspace, 0xFF, needed);  // the library may leave anything there
    if (call.k.x.type == CUDNN_DATA_DOUBLE) return compute<double, double>(call);
    if (call.k.x.type == CUDNN_DATA_FLOAT) return compute<float, float>(call);
    compute<BFloat16, float>(call);
  };
  const cudaError_t error = queue_library_call(dnn(handle)->stream, "cudnnConvolution",
                                               {{call.a, call.first().bytes(), false},
                                                {call.b, call.second().bytes(), false},
                                                {call.result, call.third().bytes(), true},
                                                {workspace, static_cast<std::int64_t>(needed), true}},
                                               run);
  return error == cudaSuccess ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_EXECUTION_FAILED;
}

}  // namespace
}  // namespace standin

using namespace standin;

extern "C" {

cudnnStatus_t cudnnGetConvolutionForwardAlgorithm_v7(cudnnHandle_t handle, cudnnTensorDescriptor_t x,
                                                     cudnnFilterDescriptor_t w,
                                                     cudnnConvolutionDescriptor_t c,
                                                     cudnnTensorDescriptor_t y, int most, int* count,
                                                     cudnnConvolutionFwdAlgoPerf_t* found) {
  Convolution k;
  const cudnnStatus_t status = describe(handle, x, w, c, y, k);
  return ask(Operation::forward, k, status, most, count, found);
}

cudnnStatus_t cudnnGetConvolutionBackwardDataAlgorithm_v7(cudnnHandle_t handle, cudnnFilterDescriptor_t w,
                                                          cudnnTensorDescriptor_t dy,
                                                          cudnnConvolutionDescriptor_t c,
                                                          cudnnTensorDescriptor_t dx, int most, int* count,
                                                          cudnnConvolutionBwdDataAlgoPerf_t* found) {
  Convolution k;
  const cudnnStatus_t status = describe(handle, dx, w, c, dy, k);
  return ask(Operation::backward_data, k, status, most, count, found);
}

cudnnStatus_t cudnnGetConvolutionBackwardFilterAlgorithm_v7(cudnnHandle_t handle, cudnnTensorDescriptor_t x,
                                                            cudnnTensorDescriptor_t dy,
                                                            cudnnConvolutionDescriptor_t c,
                                                            cudnnFilterDescriptor_t dw, int most, int* count,
                                                            cudnnConvolutionBwdFilterAlgoPerf_t* found) {
  Convolution k;
  const cudnnStatus_t status = describe(handle, x, dw, c, dy, k);
  return ask(Operation::backward_filter, k, status, most, count, found);
}

cudnnStatus_t cudnnGetConvolutionForwardWorkspaceSize(cudnnHandle_t handle, cudnnTensorDescriptor_t x,
                                                      cudnnFilterDescriptor_t w,
                                                      cudnnConvolutionDescriptor_t c,
                                                      cudnnTensorDescriptor_t y,
                                                      cudnnConvolutionFwdAlgo_t algorithm,
                                                      std::size_t* bytes) {
  Convolution k;
  const cudnnStatus_t status = describe(handle, x, w, c, y, k);
  return status == CUDNN_STATUS_SUCCESS ? workspace_of(Operation::forward, k, algorithm, bytes) : status;
}

cudnnStatus_t cudnnGetConvolutionBackwardDataWorkspaceSize(cudnnHandle_t handle, cudnnFilterDescriptor_t w,
                                                           cudnnTensorDescriptor_t dy,
                                                           cudnnConvolutionDescriptor_t c,
                                                           cudnnTensorDescriptor_t dx,
                                                           cudnnConvolutionBwdDataAlgo_t algorithm,
                                                           std::size_t* bytes) {
  Convolution k;
  const cudnnStatus_t status = describe(handle, dx, w, c, dy, k);
  return status == CUDNN_STATUS_SUCCESS ? workspace_of(Operation::backward_data, k, algorithm, bytes)
                                        : status;
}

cudnnStatus_t cudnnGetConvolutionBackwardFilterWorkspaceSize(cudnnHandle_t handle, cudnnTensorDescriptor_t x,
                                                             cudnnTensorDescriptor_t dy,
                                                             cudnnConvolutionDescriptor_t c,
                                                             cudnnFilterDescriptor_t dw,
                                                             cudnnConvolutionBwdFilterAlgo_t algorithm,
                                                             std::size_t* bytes) {
  Convolution k;
  const cudnnStatus_t status = describe(handle, x, dw, c, dy, k);
  return status == CUDNN_STATUS_SUCCESS ? workspace_of(Operation::backward_filter, k, algorithm, bytes)
                                        : status;
}

cudnnStatus_t cudnnConvolutionForward(cudnnHandle_t handle, const void* alpha, cudnnTensorDescriptor_t x_of,
                                      const void* x, cudnnFilterDescriptor_t w_of, const void* w,
                                      cudnnConvolutionDescriptor_t c, cudnnConvolutionFwdAlgo_t algorithm,
                                      void* workspace, std::size_t bytes, const void* beta,
                                      cudnnTensorDescriptor_t y_of, void* y) {
  Call call{.operation = Operation::forward, .k = {}, .a = x, .b = w, .result = y};
  const cudnnStatus_t status = describe(handle, x_of, w_of, c, y_of, call.k);
  return status == CUDNN_STATUS_SUCCESS ? queue(handle, call, alpha, beta, algorithm, workspace, bytes)
                                        : status;
}

cudnnStatus_t cudnnConvolutionBackwardData(cudnnHandle_t handle, const void* alpha,
                                           cudnnFilterDescriptor_t w_of, const void* w,
                                           cudnnTensorDescriptor_t dy_of, const void* dy,
                                           cudnnConvolutionDescriptor_t c,
                                           cudnnConvolutionBwdDataAlgo_t algorithm, void* workspace,
                                           std::size_t bytes, const void* beta, cudnnTensorDescriptor_t dx_of,
                                           void* dx) {
  Call call{.operation = Operation::backward_data, .k = {}, .a = dy, .b = w, .result = dx};
  const cudnnStatus_t status = describe(handle, dx_of, w_of, c, dy_of, call.k);
  return status == CUDNN_STATUS_SUCCESS ? queue(handle, call, alpha, beta, algorithm, workspace, bytes)
                                        : status;
}

cudnnStatus_t cudnnConvolutionBackwardFilter(cudnnHandle_t handle, const void* alpha,
                                             cudnnTensorDescriptor_t x_of, const void* x,
                                             cudnnTensorDescriptor_t dy_of, const void* dy,
                                             cudnnConvolutionDescriptor_t c,
                                             cudnnConvolutionBwdFilterAlgo_t algorithm, void* workspace,
                                             std::size_t bytes, const void* beta,
                                             cudnnFilterDescriptor_t dw_of, void* dw) {
  Call call{.operation = Operation::backward_filter, .k = {}, .a = x, .b = dy, .result = dw};
  const cudnnStatus_t status = describe(handle, x_of, dw_of, c, dy_of, call.k);
  return status == CUDNN_STATUS_SUCCESS ? queue(handle, call, alpha, beta, algorithm, workspace, bytes)
                                        : status;
}
}
