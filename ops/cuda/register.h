// Families of CUDA kernels. Each function adds the factories of its op types to a kernel set.
#pragma once

#include <swapadvisor/core/cuda/libraries.h>
#include <swapadvisor/core/kernel.h>

#include <memory>

namespace swapadvisor::cuda {

using SharedLibraries = std::shared_ptr<const Libraries>;

/// All the families below, which use no library.
void add_own_kernels(KernelSet& set);

/// relu, add, accumulate, sub, mul, scale, cast, fill and their backward ops.
void add_elementwise_kernels(KernelSet& set);
/// sigmoid, tanh, gelu and their backward ops.
void add_activation_kernels(KernelSet& set);
/// broadcast_add, broadcast_sub, broadcast_mul.
void add_broadcast_kernels(KernelSet& set);
/// contiguous, to_layout, broadcast_to, concat, slice_backward.
void add_copy_kernels(KernelSet& set);
/// bias_add.
void add_bias_kernels(KernelSet& set);
/// sum, mean, bias_grad.
void add_reduce_kernels(KernelSet& set);
/// dropout, drop_path and their backward ops.
void add_random_kernels(KernelSet& set);
/// layer_norm, layer_norm_backward.
void add_layer_norm_kernels(KernelSet& set);
/// softmax_cross_entropy, its backward op, correct_count, label_count.
void add_cross_entropy_kernels(KernelSet& set);
/// embedding, embedding_grad, shift_labels.
void add_embedding_kernels(KernelSet& set);
/// pad2d, image_to_float.
void add_image_kernels(KernelSet& set);
/// sgd, adam.
void add_optimizer_kernels(KernelSet& set);
/// square_sum, gradient_clip, lamb.
void add_sum_kernels(KernelSet& set);
/// ema_update, scale_by, count_share, finite_check, bn_running_update.
void add_step_kernels(KernelSet& set);
/// lstm_cell, gru_cell and their backward ops.
void add_recurrent_cell_kernels(KernelSet& set);
/// max_pool2d, avg_pool2d and their backward ops.
void add_pool2d_kernels(KernelSet& set);
/// adaptive_avg_pool2d, global_avg_pool and their backward ops.
void add_average_pool_kernels(KernelSet& set);
/// softmax, softmax_backward.
void add_softmax_kernels(KernelSet& set);
/// batch_norm, its backward op, batch_norm_inference.
void add_batch_norm_kernels(KernelSet& set);

// Families that call cuBLAS and cuDNN.

/// matmul, batched_matmul.
void add_matmul_kernels(KernelSet& set, const SharedLibraries& libraries);
/// conv2d and its backward ops.
void add_conv2d_kernels(KernelSet& set, const SharedLibraries& libraries);

}  // namespace swapadvisor::cuda
