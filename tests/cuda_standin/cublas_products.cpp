// cuBLAS on the CPU: matrix products, with the checks of cuBLAS.
#include <cublas_v2.h>
#include <swapadvisor/core/bfloat16.h>

#include <algorithm>
#include <cstring>

#include "cublas_handle.h"
#include "streams.h"

namespace standin {
namespace {

using swapadvisor::BFloat16;

constexpr std::size_t least_workspace = 16 << 10;  // below, cuBLAS may have to allocate

struct Operand {
  const void* data;
  cudaDataType_t type;
  std::int64_t leading;
  long long step;
};

struct Product {
  cublasOperation_t turn_a, turn_b;
  std::int64_t m, n, k, count;
  Operand a, b, c;
  double alpha, beta;
};

std::int64_t bytes_of(cudaDataType_t type) {
  return type == CUDA_R_64F ? 8 : type == CUDA_R_32F ? 4 : 2;
}

/// Elements from the first to after the last of all matrices, which have `columns` of `rows`.
std::int64_t reach(const Operand& x, std::int64_t rows, std::int64_t columns, std::int64_t count) {
  return (count - 1) * x.step + (columns - 1) * x.leading + rows;
}

Touched touched(const Operand& x, std::int64_t rows, std::int64_t columns, std::int64_t count, bool written) {
  return {x.data, reach(x, rows, columns, count) * bytes_of(x.type), written};
}

template <class T, class A>
void compute(const Product& p) {
  const auto* a = static_cast<const T*>(p.a.data);
  const auto* b = static_cast<const T*>(p.b.data);
  auto* c = static_cast<T*>(const_cast<void*>(p.c.data));
  for (std::int64_t i = 0; i < p.count; ++i, a += p.a.step, b += p.b.step, c += p.c.step)
    for (std::int64_t column = 0; column < p.n; ++column)
      for (std::int64_t row = 0; row < p.m; ++row) {
        A sum = 0;
        for (std::int64_t k = 0; k < p.k; ++k) {
          const T left = p.turn_a == CUBLAS_OP_N ? a[row + k * p.a.leading] : a[k + row * p.a.leading];
          const T right = p.turn_b == CUBLAS_OP_N ? b[k + column * p.b.leading] : b[column + k * p.b.leading];
          sum += static_cast<A>(left) * static_cast<A>(right);
        }
        T& result = c[row + column * p.c.leading];
        const A before = p.beta == 0 ? A(0) : static_cast<A>(p.beta) * static_cast<A>(result);
        result = static_cast<T>(static_cast<A>(p.alpha) * sum + before);
      }
}

bool known(cublasOperation_t turn) {
  return turn == CUBLAS_OP_N || turn == CUBLAS_OP_T;
}

bool known(cudaDataType_t type) {
  return type == CUDA_R_32F || type == CUDA_R_64F || type == CUDA_R_16BF;
}

/// Null, or not where its elements may lie.
bool bad_address(const Operand& x) {
  return !x.data ||
         reinterpret_cast<std::uintptr_t>(x.data) % static_cast<std::uintptr_t>(bytes_of(x.type)) != 0;
}

cublasStatus_t check_types(const Product& p, cublasComputeType_t compute) {
  const cudaDataType_t type = p.a.type;
  if (!known(type) || p.b.type != type || p.c.type != type) return CUBLAS_STATUS_NOT_SUPPORTED;
  const bool fits = type == CUDA_R_64F ? compute == CUBLAS_COMPUTE_64F
                                       : compute == CUBLAS_COMPUTE_32F ||
                                             (type == CUDA_R_32F && compute == CUBLAS_COMPUTE_32F_FAST_TF32);
  return fits ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_NOT_SUPPORTED;
}

cublasStatus_t check_sizes(const Product& p) {
  if (!known(p.turn_a) || !known(p.turn_b)) return CUBLAS_STATUS_INVALID_VALUE;
  if (p.m < 0 || p.n < 0 || p.k < 0 || p.count < 0) return CUBLAS_STATUS_INVALID_VALUE;
  const std::int64_t rows_a = p.turn_a == CUBLAS_OP_N ? p.m : p.k,
                     rows_b = p.turn_b == CUBLAS_OP_N ? p.k : p.n;
  if (p.a.leading < std::max<std::int64_t>(1, rows_a) || p.b.leading < std::max<std::int64_t>(1, rows_b) ||
      p.c.leading < std::max<std::int64_t>(1, p.m))
    return CUBLAS_STATUS_INVALID_VALUE;
  // Overlapping results are undefined.
  if (p.count > 1 && (p.a.step < 0 || p.b.step < 0 || p.c.step <= 0)) return CUBLAS_STATUS_INVALID_VALUE;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t queue(cublasHandle_t handle, const void* alpha, const void* beta, Product p,
                     cublasComputeType_t compute_type) {
  if (!handle) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (!alpha || !beta) return CUBLAS_STATUS_INVALID_VALUE;
  if (const auto status = check_types(p, compute_type); status != CUBLAS_STATUS_SUCCESS) return status;
  if (const auto status = check_sizes(p); status != CUBLAS_STATUS_SUCCESS) return status;
  if (p.m == 0 || p.n == 0 || p.count == 0) return CUBLAS_STATUS_SUCCESS;
  if (bad_address(p.a) || bad_address(p.b) || bad_address(p.c)) return CUBLAS_STATUS_INVALID_VALUE;
  const BlasHandle& h = *blas_handle(handle);
  if (!h.workspace || h.workspace_bytes < least_workspace) return CUBLAS_STATUS_ALLOC_FAILED;
  const auto scalar = [&](const void* value) {
    if (p.a.type == CUDA_R_64F) return *static_cast<const double*>(value);
    return static_cast<double>(*static_cast<const float*>(value));
  };
  p.alpha = scalar(alpha);
  p.beta = scalar(beta);
  const bool plain_a = p.turn_a == CUBLAS_OP_N, plain_b = p.turn_b == CUBLAS_OP_N;
  const auto run = [p, workspace = h.workspace, bytes = h.workspace_bytes] {
    std::memset(workspace, 0xFF, bytes);  // the library may leave anything there
    if (p.a.type == CUDA_R_64F) return compute<double, double>(p);
    if (p.a.type == CUDA_R_32F) return compute<float, float>(p);
    compute<BFloat16, float>(p);
  };
  const cudaError_t error =
      queue_library_call(h.stream, "cublasGemm",
                         {touched(p.a, plain_a ? p.m : p.k, plain_a ? p.k : p.m, p.count, false),
                          touched(p.b, plain_b ? p.k : p.n, plain_b ? p.n : p.k, p.count, false),
                          touched(p.c, p.m, p.n, p.count, true),
                          {h.workspace, static_cast<std::int64_t>(h.workspace_bytes), true}},
                         run);
  return error == cudaSuccess ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_EXECUTION_FAILED;
}

}  // namespace
}  // namespace standin

extern "C" {

cublasStatus_t cublasGemmEx_64(cublasHandle_t handle, cublasOperation_t turn_a, cublasOperation_t turn_b,
                               std::int64_t m, std::int64_t n, std::int64_t k, const void* alpha,
                               const void* a, cudaDataType_t type_a, std::int64_t leading_a, const void* b,
                               cudaDataType_t type_b, std::int64_t leading_b, const void* beta, void* c,
                               cudaDataType_t type_c, std::int64_t leading_c, cublasComputeType_t compute,
                               cublasGemmAlgo_t) {
  return standin::queue(handle, alpha, beta,
                        {turn_a,
                         turn_b,
                         m,
                         n,
                         k,
                         1,
                         {a, type_a, leading_a, 0},
                         {b, type_b, leading_b, 0},
                         {c, type_c, leading_c, 0},
                         0,
                         0},
                        compute);
}

cublasStatus_t cublasGemmStridedBatchedEx_64(
    cublasHandle_t handle, cublasOperation_t turn_a, cublasOperation_t turn_b, std::int64_t m, std::int64_t n,
    std::int64_t k, const void* alpha, const void* a, cudaDataType_t type_a, std::int64_t leading_a,
    long long step_a, const void* b, cudaDataType_t type_b, std::int64_t leading_b, long long step_b,
    const void* beta, void* c, cudaDataType_t type_c, std::int64_t leading_c, long long step_c,
    std::int64_t count, cublasComputeType_t compute, cublasGemmAlgo_t) {
  return standin::queue(handle, alpha, beta,
                        {turn_a,
                         turn_b,
                         m,
                         n,
                         k,
                         count,
                         {a, type_a, leading_a, step_a},
                         {b, type_b, leading_b, step_b},
                         {c, type_c, leading_c, step_c},
                         0,
                         0},
                        compute);
}
}
