// cuDNN's handle and descriptors in the stand-in.
#pragma once

#include <cudnn.h>

#include <array>
#include <cstdint>

namespace standin {

struct DnnHandle {
  cudaStream_t stream = nullptr;
};

/// Of tensors (N, C, H, W) and of filters (K, C, R, S).
struct DnnArray {
  bool set = false;
  cudnnDataType_t type = CUDNN_DATA_FLOAT;
  cudnnTensorFormat_t format = CUDNN_TENSOR_NCHW;
  std::array<std::int64_t, 4> size{};

  std::int64_t count() const { return size[0] * size[1] * size[2] * size[3]; }
  std::int64_t element_bytes() const {
    return type == CUDNN_DATA_DOUBLE ? 8 : type == CUDNN_DATA_FLOAT ? 4 : 2;
  }
  std::int64_t bytes() const { return count() * element_bytes(); }
  std::int64_t at(std::int64_t n, std::int64_t c, std::int64_t h, std::int64_t w) const {
    if (format == CUDNN_TENSOR_NHWC) return ((n * size[2] + h) * size[3] + w) * size[1] + c;
    return ((n * size[1] + c) * size[2] + h) * size[3] + w;
  }
};

struct DnnConvolution {
  bool set = false;
  std::array<int, 2> padding{}, stride{1, 1}, dilation{1, 1};
  int groups = 1;
  cudnnDataType_t compute = CUDNN_DATA_FLOAT;
  cudnnMathType_t math = CUDNN_DEFAULT_MATH;
};

inline DnnHandle* dnn(cudnnHandle_t handle) {
  return reinterpret_cast<DnnHandle*>(handle);
}
inline DnnArray* dnn(cudnnTensorDescriptor_t tensor) {
  return reinterpret_cast<DnnArray*>(tensor);
}
inline DnnArray* dnn(cudnnFilterDescriptor_t filter) {
  return reinterpret_cast<DnnArray*>(filter);
}
inline DnnConvolution* dnn(cudnnConvolutionDescriptor_t convolution) {
  return reinterpret_cast<DnnConvolution*>(convolution);
}

}  // namespace standin
