// cuDNN's descriptors, owned.
#pragma once

#include <swapadvisor/core/cuda/handle.h>
#include <swapadvisor/core/cuda/libraries.h>
#include <swapadvisor/core/dtype.h>

namespace swapadvisor::cuda {

/// One descriptor, destroyed with its owner.
template <class T, cudnnStatus_t (*create)(T*), cudnnStatus_t (*destroy)(T)>
class DnnDescriptor : public Handle<T, destroy> {
 public:
  DnnDescriptor() : Handle<T, destroy>(created()) {}

 private:
  static T created() {
    T descriptor = nullptr;
    check(create(&descriptor), "a descriptor");
    return descriptor;
  }
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
