// Choice of a float32 convolution kernel, and oneDNN's in bf16.
#pragma once

#include <swapadvisor/core/kernel.h>

namespace swapadvisor {

enum class ConvAlgorithm : std::uint8_t {
  direct,  ///< oneDNN's convolution; the weight is packed (or unpacked) in the workspace
  gemm,    ///< patches times oneDNN's GEMM (conv2d_gemm.h)
};

/// A kernel for conv2d, conv2d_backward_data or conv2d_backward_weight in float32: chosen by a fixed rule of
/// shapes, layout and the kind of implementation that oneDNN has on this machine, or as told.
std::unique_ptr<Kernel> onednn_conv2d(const KernelRequest& request);
std::unique_ptr<Kernel> onednn_conv2d(const KernelRequest& request, ConvAlgorithm algorithm);

/// The same by oneDNN's convolution in bf16, sums in f32; null where oneDNN has none but its plain reference
/// code.
std::unique_ptr<Kernel> onednn_bfloat16_conv2d(const KernelRequest& request);

}  // namespace swapadvisor
