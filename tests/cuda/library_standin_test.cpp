// The stand-ins of cuBLAS and cuDNN refuse what the libraries refuse, and report what they touch.
#include <cublas_v2.h>
#include <cudnn.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <vector>

#include "standin_backend.h"

namespace swapadvisor::test {
namespace {

/// A stream and device memory, each piece at a multiple of 256 bytes.
class LibraryStandin : public testing::Test {
 protected:
  static constexpr std::int64_t piece = 128 << 10;

  LibraryStandin() : backend_(open_standin()) {
    arena_ = backend_.device->arena(8 * piece);
    EXPECT_EQ(STANDIN(cudaStreamCreateWithFlags)(&stream_, cudaStreamNonBlocking), cudaSuccess);
  }
  ~LibraryStandin() override { STANDIN(cudaStreamDestroy)(stream_); }

  std::byte* memory(int i) const { return arena_ + i * piece; }
  void store(int i, const std::vector<float>& values) const {
    copy(memory(i), values.data(), values.size(), cudaMemcpyHostToDevice);
  }
  std::vector<float> load(int i, std::size_t count) const {
    std::vector<float> values(count);
    copy(values.data(), memory(i), count, cudaMemcpyDeviceToHost);
    return values;
  }

  cudaStream_t stream_ = nullptr;

 private:
  void copy(void* to, const void* from, std::size_t count, cudaMemcpyKind kind) const {
    EXPECT_EQ(STANDIN(cudaMemcpyAsync)(to, from, count * sizeof(float), kind, stream_), cudaSuccess);
    EXPECT_EQ(STANDIN(cudaStreamSynchronize)(stream_), cudaSuccess);
  }

  Backend backend_;
  std::byte* arena_ = nullptr;
};

/// c [2 × 3] = a [2 × 4] · b [4 × 3], columns contiguous.
struct Gemm {
  std::int64_t m = 2, n = 3, k = 4, lda = 2, ldb = 4, ldc = 2;
  cublasOperation_t turn_a = CUBLAS_OP_N, turn_b = CUBLAS_OP_N;
  cudaDataType_t type_b = CUDA_R_32F;
  cublasComputeType_t compute = CUBLAS_COMPUTE_32F;
};

class CublasStandin : public LibraryStandin {
 protected:
  CublasStandin() {
    EXPECT_EQ(STANDIN(cublasCreate_v2)(&handle_), CUBLAS_STATUS_SUCCESS);
    EXPECT_EQ(STANDIN(cublasSetStream_v2)(handle_, stream_), CUBLAS_STATUS_SUCCESS);
    EXPECT_EQ(set_workspace(64 << 10), CUBLAS_STATUS_SUCCESS);
  }
  ~CublasStandin() override { STANDIN(cublasDestroy_v2)(handle_); }

  cublasStatus_t set_workspace(std::size_t bytes, std::ptrdiff_t shift = 0) const {
    return STANDIN(cublasSetWorkspace_v2)(handle_, memory(3) + shift, bytes);
  }
  cublasStatus_t run(const Gemm& g, const void* a) const {
    const float one = 1, zero = 0;
    return STANDIN(cublasGemmEx_64)(handle_, g.turn_a, g.turn_b, g.m, g.n, g.k, &one, a, CUDA_R_32F, g.lda,
                                    memory(1), g.type_b, g.ldb, &zero, memory(2), CUDA_R_32F, g.ldc,
                                    g.compute, CUBLAS_GEMM_DEFAULT);
  }
  cublasStatus_t run(const Gemm& g) const { return run(g, memory(0)); }

  cublasHandle_t handle_ = nullptr;
};

TEST_F(CublasStandin, MultipliesMatricesWithContiguousColumns) {
  store(0, {1, 2, 3, 4, 5, 6, 7, 8});
  store(1, {1, 0, 0, 0, 0, 1, 0, 0, 1, 1, 1, 1});
  ASSERT_EQ(run({}), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(load(2, 6), (std::vector<float>{1, 2, 3, 4, 16, 20}));
}

TEST_F(CublasStandin, RefusesALeadingDimensionBelowTheRows) {
  EXPECT_EQ(run({.lda = 1}), CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_EQ(run({.ldb = 3}), CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_EQ(run({.ldc = 1}), CUBLAS_STATUS_INVALID_VALUE);
  // Transposed, a has k rows.
  EXPECT_EQ(run({.lda = 2, .turn_a = CUBLAS_OP_T}), CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_EQ(run({.lda = 4, .turn_a = CUBLAS_OP_T}), CUBLAS_STATUS_SUCCESS);
}

TEST_F(CublasStandin, RefusesTypesThatDoNotGoTogether) {
  EXPECT_EQ(run({.type_b = CUDA_R_16BF}), CUBLAS_STATUS_NOT_SUPPORTED);
  EXPECT_EQ(run({.compute = CUBLAS_COMPUTE_64F}), CUBLAS_STATUS_NOT_SUPPORTED);
}

TEST_F(CublasStandin, RefusesNullMisalignedAndHostAddresses) {
  const std::vector<float> host(8);
  EXPECT_EQ(run({}, nullptr), CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_EQ(run({}, memory(0) + 2), CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_EQ(run({}, host.data()), CUBLAS_STATUS_EXECUTION_FAILED);
}

TEST_F(CublasStandin, RefusesASmallOrMisalignedWorkspace) {
  EXPECT_EQ(set_workspace(64 << 10, 128), CUBLAS_STATUS_INVALID_VALUE);
  ASSERT_EQ(set_workspace(8 << 10), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(run({}), CUBLAS_STATUS_ALLOC_FAILED);
}

TEST_F(CublasStandin, ForgetsTheWorkspaceWithTheStream) {
  ASSERT_EQ(STANDIN(cublasSetStream_v2)(handle_, stream_), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(run({}), CUBLAS_STATUS_ALLOC_FAILED);
}

TEST_F(CublasStandin, ReportsOperandsThatWereNotDeclared) {
  const void* const reads[] = {memory(0), memory(1)};
  void* const writes[] = {memory(2), memory(3)};
  const std::array<std::int64_t, 2> whole{32, 48}, short_b{32, 44}, written{24, 64 << 10};
  const auto faults_with = [&](const std::array<std::int64_t, 2>& read_bytes) {
    standin().clear_faults();
    standin().operands(stream_, reads, read_bytes.data(), 2, writes, written.data(), 2);
    EXPECT_EQ(run({}), CUBLAS_STATUS_SUCCESS);
    standin().end_operands(stream_);
    return standin().faults();
  };
  EXPECT_EQ(faults_with(whole), 0);
  EXPECT_EQ(faults_with(short_b), 1);
  EXPECT_NE(first_fault().find("cublasGemm"), std::string::npos) << first_fault();
  standin().clear_faults();
}

/// x [1, 2, 4, 4] with w [3, 2, 3, 3] to y [1, 3, 4, 4].
class CudnnStandin : public LibraryStandin {
 protected:
  static constexpr auto algorithm = CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM;

  CudnnStandin() {
    EXPECT_EQ(STANDIN(cudnnCreate)(&handle_), CUDNN_STATUS_SUCCESS);
    EXPECT_EQ(STANDIN(cudnnSetStream)(handle_, stream_), CUDNN_STATUS_SUCCESS);
    for (auto* tensor : {&x_, &y_})
      EXPECT_EQ(STANDIN(cudnnCreateTensorDescriptor)(tensor), CUDNN_STATUS_SUCCESS);
    EXPECT_EQ(STANDIN(cudnnCreateFilterDescriptor)(&w_), CUDNN_STATUS_SUCCESS);
    EXPECT_EQ(STANDIN(cudnnCreateConvolutionDescriptor)(&c_), CUDNN_STATUS_SUCCESS);
  }
  ~CudnnStandin() override {
    for (auto* tensor : {x_, y_}) STANDIN(cudnnDestroyTensorDescriptor)(tensor);
    STANDIN(cudnnDestroyFilterDescriptor)(w_);
    STANDIN(cudnnDestroyConvolutionDescriptor)(c_);
    STANDIN(cudnnDestroy)(handle_);
  }

  void describe(int out_height = 4, cudnnTensorFormat_t filter_format = CUDNN_TENSOR_NCHW) const {
    set_tensor(x_, 2, 4);
    set_tensor(y_, 3, out_height);
    EXPECT_EQ(STANDIN(cudnnSetFilter4dDescriptor)(w_, CUDNN_DATA_FLOAT, filter_format, 3, 2, 3, 3),
              CUDNN_STATUS_SUCCESS);
    EXPECT_EQ(STANDIN(cudnnSetConvolution2dDescriptor)(c_, 1, 1, 1, 1, 1, 1, CUDNN_CROSS_CORRELATION,
                                                       CUDNN_DATA_FLOAT),
              CUDNN_STATUS_SUCCESS);
  }
  std::size_t workspace() const {
    std::size_t bytes = 0;
    EXPECT_EQ(STANDIN(cudnnGetConvolutionForwardWorkspaceSize)(handle_, x_, w_, c_, y_, algorithm, &bytes),
              CUDNN_STATUS_SUCCESS);
    return bytes;
  }
  cudnnStatus_t run(const void* x, std::size_t bytes) const {
    const float one = 1, zero = 0;
    return STANDIN(cudnnConvolutionForward)(handle_, &one, x_, x, w_, memory(1), c_, algorithm, memory(3),
                                            bytes, &zero, y_, memory(2));
  }

  cudnnHandle_t handle_ = nullptr;
  cudnnTensorDescriptor_t x_ = nullptr, y_ = nullptr;
  cudnnFilterDescriptor_t w_ = nullptr;
  cudnnConvolutionDescriptor_t c_ = nullptr;

 private:
  static void set_tensor(cudnnTensorDescriptor_t tensor, int channels, int height) {
    EXPECT_EQ(STANDIN(cudnnSetTensor4dDescriptor)(tensor, CUDNN_TENSOR_NCHW, CUDNN_DATA_FLOAT, 1, channels,
                                                  height, 4),
              CUDNN_STATUS_SUCCESS);
  }
};

TEST_F(CudnnStandin, Convolves) {
  describe();
  std::vector<float> x(32), w(54, 0.0f);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i);
  w[4] = 2;       // output 0: twice channel 0
  w[18 + 9] = 1;  // output 1: channel 1, one down and right
  store(0, x);
  store(1, w);
  ASSERT_EQ(run(memory(0), workspace()), CUDNN_STATUS_SUCCESS);
  const std::vector<float> y = load(2, 48);
  EXPECT_EQ(y[0], 0.0f);
  EXPECT_EQ(y[5], 10.0f);
  EXPECT_EQ(y[16], 0.0f);
  EXPECT_EQ(y[16 + 5], 16.0f);
  EXPECT_EQ(y[32 + 5], 0.0f);
}

TEST_F(CudnnStandin, RefusesDescriptorsThatAreNotSetOrDoNotFit) {
  EXPECT_EQ(run(memory(0), piece), CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED);
  describe(5);
  EXPECT_EQ(run(memory(0), piece), CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH);
  describe(4, CUDNN_TENSOR_NHWC);
  EXPECT_EQ(run(memory(0), piece), CUDNN_STATUS_NOT_SUPPORTED_LAYOUT);
  describe();
  EXPECT_EQ(STANDIN(cudnnSetConvolutionGroupCount)(c_, 2), CUDNN_STATUS_SUCCESS);
  EXPECT_EQ(run(memory(0), piece), CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH);
  EXPECT_EQ(STANDIN(cudnnSetTensor4dDescriptor)(x_, CUDNN_TENSOR_NCHW, CUDNN_DATA_FLOAT, 1, 0, 4, 4),
            CUDNN_STATUS_BAD_PARAM_OUT_OF_BOUND);
}

TEST_F(CudnnStandin, RefusesASmallWorkspace) {
  describe();
  ASSERT_GT(workspace(), 0U);
  EXPECT_EQ(run(memory(0), workspace() - 1), CUDNN_STATUS_BAD_PARAM_SIZE_INSUFFICIENT);
}

TEST_F(CudnnStandin, RefusesNullMisalignedAndHostAddresses) {
  describe();
  const std::vector<float> host(32);
  EXPECT_EQ(run(nullptr, piece), CUDNN_STATUS_BAD_PARAM_NULL_POINTER);
  EXPECT_EQ(run(memory(0) + 2, piece), CUDNN_STATUS_BAD_PARAM_MISALIGNED_POINTER);
  EXPECT_EQ(run(host.data(), piece), CUDNN_STATUS_EXECUTION_FAILED);
}

TEST_F(CudnnStandin, TellsAlgorithmsThatAreNotDeterministic) {
  describe();
  std::array<cudnnConvolutionBwdFilterAlgoPerf_t, 8> found{};
  int count = 0;
  ASSERT_EQ(STANDIN(cudnnGetConvolutionBackwardFilterAlgorithm_v7)(handle_, x_, y_, c_, w_, 8, &count,
                                                                   found.data()),
            CUDNN_STATUS_SUCCESS);
  ASSERT_GT(count, 1);
  const auto deterministic = [](const auto& p) { return p.determinism == CUDNN_DETERMINISTIC; };
  EXPECT_FALSE(deterministic(found[0]));
  EXPECT_TRUE(std::any_of(found.begin(), found.begin() + count, deterministic));
}

}  // namespace
}  // namespace swapadvisor::test
