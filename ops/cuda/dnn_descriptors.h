// cuDNN's descriptors, owned.
#pragma once

#include <swapadvisor/core/cuda/libraries.h>
#include <swapadvisor/core/dtype.h>

#include <utility>

namespace swapadvisor::cuda {

/// One descriptor, destroyed with its owner.
template <class Handle, cudnnStatus_t (*create)(Handle*), cudnnStatus_t (*destroy)(Handle)>
class DnnDescriptor {
 public:
  DnnDescriptor() { check(create(&handle_), "a descriptor"); }
  ~DnnDescriptor() {
    if (handle_) destroy(handle_);
  }
  DnnDescriptor(DnnDescriptor&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  DnnDescriptor& operator=(DnnDescriptor&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  Handle get() const { return handle_; }

 private:
  Handle handle_ = nullptr;
};

using TensorDescriptor =
    DnnDescriptor<cudnnTensorDescriptor_t, cudnnCreateTensorDescriptor, cudnnDestroyTensorDescriptor>;
using FilterDescriptor =
    DnnDescriptor<cudnnFilterDescriptor_t, cudnnCreateFilterDescriptor, cudnnDestroyFilterDescriptor>;
using ConvolutionDescriptor = DnnDescriptor<cudnnConvolutionDescriptor_t, cudnnCreateConvolutionDescriptor,
                                            cudnnDestroyConvolutionDescriptor>;

inline cudnnDataType_t dnn_type(DType dtype) {
  if (dtype == DType::bf16) return CUDNN_DATA_BFLOAT16;
  return dtype == DType::f64 ? CUDNN_DATA_DOUBLE : CUDNN_DATA_FLOAT;
}

}  // namespace swapadvisor::cuda
