// Families of CPU kernels. Each function adds (or replaces) the factories of its op types in a kernel set.
#pragma once

#include <swapadvisor/core/kernel.h>

namespace swapadvisor {

/// conv2d and its two backward ops, float32 and float64, on Eigen.
void add_conv_kernels(KernelSet& set);
/// max_pool2d, avg_pool2d and their backward ops.
void add_pool_kernels(KernelSet& set);
/// global_avg_pool and its backward op.
void add_global_avg_pool_kernels(KernelSet& set);
/// adaptive_avg_pool2d and its backward op.
void add_adaptive_pool_kernels(KernelSet& set);
/// pad2d.
void add_pad_kernels(KernelSet& set);
/// matmul on Eigen.
void add_matmul_kernels(KernelSet& set);
/// batched_matmul on Eigen.
void add_batched_matmul_kernels(KernelSet& set);
/// sub, mul, the broadcasting ops and broadcast_to.
void add_arithmetic_kernels(KernelSet& set);
/// sum, mean.
void add_reduce_kernels(KernelSet& set);
/// bias_add, bias_grad.
void add_bias_kernels(KernelSet& set);
/// contiguous, concat, slice_backward.
void add_copy_kernels(KernelSet& set);
/// to_layout.
void add_layout_kernels(KernelSet& set);

/// relu, add, accumulate, scale, cast, fill and their backward ops.
void add_elementwise_kernels(KernelSet& set);
/// batch_norm, batch_norm_inference, batch_norm_backward.
void add_batch_norm_kernels(KernelSet& set);
/// softmax_cross_entropy, its backward op, correct_count, label_count.
void add_softmax_kernels(KernelSet& set);
/// sigmoid, tanh, gelu and their backward ops.
void add_activation_kernels(KernelSet& set);
/// layer_norm, layer_norm_backward.
void add_layer_norm_kernels(KernelSet& set);
/// softmax, softmax_backward.
void add_attention_softmax_kernels(KernelSet& set);
/// embedding, embedding_grad, shift_labels.
void add_embedding_kernels(KernelSet& set);
/// dropout, dropout_backward.
void add_dropout_kernels(KernelSet& set);
/// drop_path, drop_path_backward.
void add_drop_path_kernels(KernelSet& set);
/// sgd, bn_running_update, finite_check.
void add_update_kernels(KernelSet& set);
/// adam.
void add_adam_kernels(KernelSet& set);
/// lstm_cell, gru_cell and their backward ops.
void add_recurrent_cell_kernels(KernelSet& set);
/// lamb.
void add_lamb_kernels(KernelSet& set);
/// square_sum, gradient_clip, ema_update, count_share, scale_by.
void add_step_kernels(KernelSet& set);
/// image_to_float.
void add_image_kernels(KernelSet& set);

/// float32 convolutions, pooling and matmul on oneDNN; what they do not take goes to the kernels above. Only where
/// SWAPADVISOR_ONEDNN is defined.
void add_onednn_kernels(KernelSet& set);
/// bf16 matrix products and convolutions on oneDNN where the processor multiplies bf16; all else keeps the factory it
/// had. Only where SWAPADVISOR_ONEDNN is defined.
void add_onednn_bfloat16_kernels(KernelSet& set);

}  // namespace swapadvisor
