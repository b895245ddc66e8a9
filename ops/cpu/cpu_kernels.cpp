#include <swapadvisor/ops/cpu/bfloat16_kernels.h>
#include <swapadvisor/ops/cpu/cpu_kernels.h>
#include <swapadvisor/ops/cpu/register.h>

namespace swapadvisor {

namespace {

KernelSet portable_float_kernels() {
  KernelSet set;
  add_elementwise_kernels(set);
  add_batch_norm_kernels(set);
  add_activation_kernels(set);
  add_layer_norm_kernels(set);
  add_attention_softmax_kernels(set);
  add_embedding_kernels(set);
  add_softmax_kernels(set);
  add_dropout_kernels(set);
  add_drop_path_kernels(set);
  add_update_kernels(set);
  add_adam_kernels(set);
  add_lamb_kernels(set);
  add_step_kernels(set);
  add_image_kernels(set);
  add_recurrent_cell_kernels(set);
  add_conv_kernels(set);
  add_pool_kernels(set);
  add_global_avg_pool_kernels(set);
  add_adaptive_pool_kernels(set);
  add_pad_kernels(set);
  add_matmul_kernels(set);
  add_batched_matmul_kernels(set);
  add_arithmetic_kernels(set);
  add_reduce_kernels(set);
  add_bias_kernels(set);
  add_copy_kernels(set);
  add_layout_kernels(set);
  return set;
}

}  // namespace

KernelSet portable_kernels() {
  return with_bfloat16(portable_float_kernels());
}

KernelSet cpu_kernels() {
  KernelSet set = portable_float_kernels();
#ifdef SWAPADVISOR_ONEDNN
  add_onednn_kernels(set);
  set = with_bfloat16(set);
  add_onednn_bfloat16_kernels(set);
  return set;
#else
  return with_bfloat16(set);
#endif
}

}  // namespace swapadvisor
