#include <swapadvisor/ops/cuda/register.h>

namespace swapadvisor::cuda {

void add_own_kernels(KernelSet& set) {
  add_elementwise_kernels(set);
  add_activation_kernels(set);
  add_broadcast_kernels(set);
  add_copy_kernels(set);
  add_bias_kernels(set);
  add_reduce_kernels(set);
  add_random_kernels(set);
  add_layer_norm_kernels(set);
  add_cross_entropy_kernels(set);
  add_embedding_kernels(set);
  add_image_kernels(set);
  add_optimizer_kernels(set);
  add_sum_kernels(set);
  add_step_kernels(set);
  add_recurrent_cell_kernels(set);
  add_pool2d_kernels(set);
  add_average_pool_kernels(set);
  add_softmax_kernels(set);
  add_batch_norm_kernels(set);
}

}  // namespace swapadvisor::cuda
