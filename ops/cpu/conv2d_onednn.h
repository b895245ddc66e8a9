// Choice of a float32 convolution kernel.
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

}  // namespace swapadvisor
