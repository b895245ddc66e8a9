// Depthwise convolution: every channel is its own group of one input and one output.
//
// Loops over the channels of channels-last pixels: as matrix products (conv2d_gemm.h) each group would be one
// of its own, with a single column.
#pragma once

#include <swapadvisor/core/kernel.h>

namespace swapadvisor {

/// A kernel of conv2d, conv2d_backward_data or conv2d_backward_weight, or null where the convolution is not
/// one of channels-last tensors with as many groups as input and as output channels and a dilation of 1. T is
/// the element type of the request, float or double. No sum depends on how many threads there are.
template <class T>
std::unique_ptr<Kernel> conv2d_depthwise(const KernelRequest& request);

}  // namespace swapadvisor
