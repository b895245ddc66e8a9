// Convolution as matrix products of patches: any stride, padding, dilation and groups, both layouts.
//
// y = P·Wᵀ, dP = dy·W and dW = dyᵀ·P, where P is the patch matrix (im2col.h) of one group and W the weight
// with its columns in patch order. P is never whole in memory: tasks gather a few hundred rows of it at a
// time into their slot of the workspace. Tasks write disjoint parts of the result, so no sum depends on how
// many threads there are.
#pragma once

#include <swapadvisor/core/kernel.h>
#include <swapadvisor/ops/cpu/gemm.h>

namespace swapadvisor {

/// Kernels of conv2d, conv2d_backward_data and conv2d_backward_weight. `gemm` is called on many threads at
/// once, each with its own matrices. T is the element type of the request, float or double.
template <class T>
std::unique_ptr<Kernel> conv2d_gemm_forward(const KernelRequest& request, Gemm<T> gemm);
template <class T>
std::unique_ptr<Kernel> conv2d_gemm_backward_data(const KernelRequest& request, Gemm<T> gemm);
/// With `threaded`, gemm uses all threads itself when it is called outside of a parallel region.
template <class T>
std::unique_ptr<Kernel> conv2d_gemm_backward_weight(const KernelRequest& request, Gemm<T> gemm,
                                                    bool threaded = false);

}  // namespace swapadvisor
