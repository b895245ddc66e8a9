#include <swapadvisor/ops/batch_norm.h>
#include <swapadvisor/ops/check.h>
#include <swapadvisor/ops/norm_types.h>

namespace swapadvisor {
namespace {

void check_x(const TensorSpec& x, std::string_view what) {
  require_floating(x, what);
  if (x.rank() < 2) fail("{} must be [N, C, …], got {}", what, to_string(x));
  require_dense(x, what);
}

void check_channel_vectors(std::span<const TensorSpec> inputs, const TensorSpec& x,
                           std::initializer_list<std::pair<std::size_t, std::string_view>> vectors) {
  const DType dtype = norm_parameter_type(x, inputs[vectors.begin()->first]);
  for (const auto& [i, what] : vectors) require_vector(inputs[i], dtype, x.shape[1], what);
}

void check_epsilon(double epsilon) {
  if (!(epsilon >= 0)) fail("epsilon must not be negative, got {}", epsilon);
}

double per_element(double flops, const TensorSpec& x) {
  return flops * static_cast<double>(x.numel());
}

class BatchNormBackwardOp final : public Op {
 public:
  std::string_view type() const override { return "batch_norm_backward"; }
  std::vector<TensorSpec> infer(std::span<const TensorSpec> inputs) const override {
    const TensorSpec& x = inputs[1];
    check_x(x, "x");
    require_same(inputs[0], "dy", x, "x");
    check_channel_vectors(inputs, x, {{2, "gamma"}, {3, "mean"}, {4, "inverse deviation"}});
    return {x, inputs[2], inputs[2]};
  }
  Cost cost(std::span<const TensorSpec> inputs, std::span<const TensorSpec> outputs) const override {
    // dy and x are read twice: for the sums, and for dx.
    return {per_element(9, inputs[1]),
            bytes_of(inputs, outputs) + 2.0 * static_cast<double>(inputs[1].bytes())};
  }
  Traits traits() const override { return {.inplace = true, .updates = {}}; }
};

}  // namespace

std::vector<TensorSpec> BatchNormOp::infer(std::span<const TensorSpec> inputs) const {
  check_x(inputs[0], "x");
  check_channel_vectors(inputs, inputs[0], {{1, "gamma"}, {2, "beta"}});
  check_epsilon(epsilon_);
  return {inputs[0], inputs[1], inputs[1]};
}

Cost BatchNormOp::cost(std::span<const TensorSpec> inputs, std::span<const TensorSpec> outputs) const {
  return {per_element(7, inputs[0]), bytes_of(inputs, outputs) + static_cast<double>(inputs[0].bytes())};
}

std::vector<Tensor> BatchNormOp::vjp(const VjpContext& context) const {
  if (context.output_gradients[1] || context.output_gradients[2])
    fail("[batch_norm {}] has no gradient through its batch statistics", context.name);
  const Tensor dy = context.output_gradients[0];
  return dy.graph().apply(std::make_shared<BatchNormBackwardOp>(),
                          {dy, context.inputs[0], context.inputs[1], context.outputs[1], context.outputs[2]},
                          context.name);
}

std::vector<TensorSpec> BatchNormInferenceOp::infer(std::span<const TensorSpec> inputs) const {
  check_x(inputs[0], "x");
  check_channel_vectors(inputs, inputs[0],
                        {{1, "gamma"}, {2, "beta"}, {3, "running mean"}, {4, "running variance"}});
  check_epsilon(epsilon_);
  return {inputs[0]};
}

Cost BatchNormInferenceOp::cost(std::span<const TensorSpec> inputs,
                                std::span<const TensorSpec> outputs) const {
  return {per_element(3, inputs[0]), bytes_of(inputs, outputs)};
}

std::vector<TensorSpec> BnRunningUpdateOp::infer(std::span<const TensorSpec> inputs) const {
  const TensorSpec& mean = inputs[0];
  require_floating(mean, "mean");
  if (mean.rank() != 1) fail("mean must be [C], got {}", to_string(mean));
  for (const auto& [i, what] :
       {std::pair{1, "inverse deviation"}, {2, "running mean"}, {3, "running variance"}})
    require_vector(inputs[static_cast<std::size_t>(i)], mean.dtype, mean.shape[0], what);
  require_scalar(inputs[4], DType::i64, "number of batches");
  require_scalar(inputs[5], DType::i32, "finite flag");
  if (count_ < 2) fail("running statistics need at least 2 values per channel, got {}", count_);
  if (!(momentum_ >= 0 && momentum_ <= 1)) fail("momentum must be in [0, 1], got {}", momentum_);
  return {inputs[2], inputs[3], inputs[4]};
}

BatchNormOutput batch_norm(Tensor x, Tensor gamma, Tensor beta, double epsilon, std::string_view name) {
  const auto outputs = x.graph().apply(std::make_shared<BatchNormOp>(epsilon), {x, gamma, beta}, name);
  return {outputs[0], outputs[1], outputs[2]};
}

Tensor batch_norm_inference(Tensor x, Tensor gamma, Tensor beta, Tensor running_mean, Tensor running_var,
                            double epsilon, std::string_view name) {
  return x.graph().apply(std::make_shared<BatchNormInferenceOp>(epsilon),
                         {x, gamma, beta, running_mean, running_var}, name)[0];
}

void bn_running_update(Tensor mean, Tensor inverse_deviation, Tensor running_mean, Tensor running_var,
                       Tensor num_batches_tracked, Tensor finite, std::int64_t count, double momentum,
                       double epsilon, std::string_view name) {
  mean.graph().apply(std::make_shared<BnRunningUpdateOp>(count, momentum, epsilon),
                     {mean, inverse_deviation, running_mean, running_var, num_batches_tracked, finite}, name);
}

}  // namespace swapadvisor
