// Convolutions by the project's own kernels, for what cuDNN has no algorithm for, and the order of weights
// that cuDNN wants for channels-last tensors.
#pragma once

#include <cuda_runtime_api.h>
#include <swapadvisor/ops/conv2d.h>

namespace swapadvisor::cuda {

/// Sizes, and steps between elements along N, C, H, W.
struct ConvolutionShape {
  std::int64_t batch, in_channels, height, width, out_channels, out_height, out_width;
  std::int64_t kernel_height, kernel_width, groups;
  std::int64_t stride[2], padding[2], dilation[2];
  std::int64_t x_step[4], y_step[4];

  ConvolutionShape(const TensorSpec& x, const TensorSpec& y, const Conv2dGeometry& geometry);
};

/// One thread per element of the result (one warp per element of dweight): slow but right for all shapes.
/// `dtype`: f32, f64 or bf16, of all operands. The weight is OIHW.
void queue_convolution(cudaStream_t stream, DType dtype, const ConvolutionShape& shape, const void* x,
                       const void* weight, void* y);
void queue_convolution_backward_data(cudaStream_t stream, DType dtype, const ConvolutionShape& shape,
                                     const void* dy, const void* weight, void* dx);
void queue_convolution_backward_weight(cudaStream_t stream, DType dtype, const ConvolutionShape& shape,
                                       const void* x, const void* dy, void* dweight);

/// [outer][rows][columns] → [outer][columns][rows]; elements of 2, 4 or 8 bytes. OIHW → OHWI with rows I and
/// columns H·W.
void queue_transposition(cudaStream_t stream, DType dtype, std::int64_t outer, std::int64_t rows,
                         std::int64_t columns, const void* from, void* to);

}  // namespace swapadvisor::cuda
