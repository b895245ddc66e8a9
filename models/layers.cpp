#include <swapadvisor/models/layers.h>
#include <swapadvisor/ops/batch_norm.h>
#include <swapadvisor/ops/bias_add.h>
#include <swapadvisor/ops/cast.h>
#include <swapadvisor/ops/linear.h>

namespace swapadvisor {
namespace {

void expect_rank(const Scope& scope, const char* layer, const Tensor& x, int rank) {
  if (x.shape().rank() != rank)
    fail("[{} {}] expects an input of {} dimensions, got {}", layer, scope.path(), rank,
         to_string(x.shape()));
}

}  // namespace

Tensor weight(const Scope& scope, std::string_view leaf, const Shape& shape, const Initializer& init) {
  return cast(scope.parameter(leaf, shape, init), scope.dtype(), scope.name(leaf) + "/bf16");
}

Tensor conv2d(const Scope& scope, Tensor x, std::int64_t out_channels, std::array<std::int64_t, 2> kernel,
              const Conv2dOptions& options, const ConvParameters& parameters) {
  expect_rank(scope, "conv2d", x, 4);
  const std::int64_t in_channels = x.shape()[1];
  if (options.groups < 1 || in_channels % options.groups != 0 || out_channels % options.groups != 0)
    fail("[conv2d {}] {} input and {} output channels cannot be split into {} groups", scope.path(),
         in_channels, out_channels, options.groups);
  const Shape shape{out_channels, in_channels / options.groups, kernel[0], kernel[1]};
  const Tensor filter = weight(scope, "weight", shape, parameters.weight(shape));
  const Tensor y = conv2d(x, filter, options, scope.path());
  if (!parameters.bias) return y;
  const Tensor bias = weight(scope, "bias", {out_channels}, Initializer::zeros());
  return bias_add(y, bias, scope.name("bias_add"));
}

Tensor conv2d(const Scope& scope, Tensor x, std::int64_t out_channels, std::array<std::int64_t, 2> kernel,
              const Conv2dOptions& options) {
  return conv2d(scope, x, out_channels, kernel, options, ConvParameters{});
}

Tensor conv2d(const Scope& scope, Tensor x, std::int64_t out_channels, std::int64_t kernel,
              const Conv2dOptions& options) {
  return conv2d(scope, x, out_channels, std::array{kernel, kernel}, options);
}

Tensor batch_norm(const Scope& scope, Tensor x, const BatchNormOptions& options) {
  expect_rank(scope, "batch_norm", x, 4);
  const std::int64_t channels = x.shape()[1], count = x.shape().numel() / channels;
  const TensorSpec statistics = TensorSpec::dense(scope.parameter_dtype(), {channels});
  const Tensor weight = scope.parameter("weight", {channels}, Initializer::constant(1));
  const Tensor bias = scope.parameter("bias", {channels}, Initializer::zeros());
  const Tensor running_mean = scope.state("running_mean", statistics, Initializer::zeros());
  const Tensor running_var = scope.state("running_var", statistics, Initializer::constant(1));
  const Tensor batches =
      scope.state("num_batches_tracked", TensorSpec::dense(DType::i64, {}), Initializer::zeros());
  if (!scope.training())
    return batch_norm_inference(x, weight, bias, running_mean, running_var, options.epsilon, scope.path());

  // The unbiased variance divides by count − 1.
  if (count < 2)
    fail("[batch_norm {}] needs more than one value per channel in training, got {}", scope.path(),
         to_string(x.shape()));
  const BatchNormOutput out = batch_norm(x, weight, bias, options.epsilon, scope.path());
  scope.graph().defer_update([=](Tensor finite) {
    // As they are by then: another micro-batch may have updated them.
    const auto current = [&](const Tensor& state) { return state.graph().find(state.name()); };
    bn_running_update(out.mean, out.inverse_deviation, current(running_mean), current(running_var),
                      current(batches), finite, count, options.momentum, options.epsilon,
                      scope.name("running_update"));
  });
  return out.y;
}

Tensor linear(const Scope& scope, Tensor x, std::int64_t out_features) {
  const int rank = x.shape().rank();
  if (rank != 2 && rank != 3)
    fail("[linear {}] expects an input of 2 or 3 dimensions, got {}", scope.path(), to_string(x.shape()));
  const Shape shape{out_features, x.shape()[rank - 1]};
  const Initializer init = Initializer::uniform_fan_in(shape);
  const Tensor matrix = weight(scope, "weight", shape, init);
  const Tensor bias = weight(scope, "bias", {out_features}, init);
  return linear(x, matrix, bias, scope.path());
}

}  // namespace swapadvisor
