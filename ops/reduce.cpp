#include <swapadvisor/ops/broadcast.h>
#include <swapadvisor/ops/check.h>
#include <swapadvisor/ops/reduce.h>
#include <swapadvisor/ops/reshape.h>
#include <swapadvisor/ops/scale.h>

#include <algorithm>

namespace swapadvisor {
namespace {

/// x's shape with extent 1 in the given dimensions.
Shape kept_shape(const Shape& x, const std::vector<int>& dimensions) {
  Shape shape = x;
  for (int d : dimensions) shape[d] = 1;
  return shape;
}

Tensor reduce(ReduceKind kind, Tensor x, const std::vector<int>& dimensions, bool keep,
              std::string_view name) {
  std::vector<int> dims;
  for (int d : dimensions) dims.push_back(dimension_of(x.spec(), d));
  for (int d = 0; dimensions.empty() && d < x.spec().rank(); ++d) dims.push_back(d);
  std::sort(dims.begin(), dims.end());
  return x.graph().apply(std::make_shared<ReduceOp>(kind, std::move(dims), keep), {x}, name)[0];
}

}  // namespace

std::vector<TensorSpec> ReduceOp::infer(std::span<const TensorSpec> inputs) const {
  const TensorSpec& x = inputs[0];
  require_floating(x, "x");
  if (std::adjacent_find(dimensions_.begin(), dimensions_.end()) != dimensions_.end())
    fail("a dimension of {} is named twice", to_string(x));
  if (keep_) return {TensorSpec::dense(x.dtype, kept_shape(x.shape, dimensions_))};
  std::vector<std::int64_t> rest;
  for (int d = 0; d < x.rank(); ++d)
    if (std::find(dimensions_.begin(), dimensions_.end(), d) == dimensions_.end()) rest.push_back(x.shape[d]);
  return {TensorSpec::dense(x.dtype, Shape(std::span<const std::int64_t>(rest)))};
}

Cost ReduceOp::cost(std::span<const TensorSpec> inputs, std::span<const TensorSpec> outputs) const {
  return {static_cast<double>(inputs[0].numel()), bytes_of(inputs, outputs)};
}

std::vector<Tensor> ReduceOp::vjp(const VjpContext& context) const {
  const Shape& shape = context.inputs[0].shape();
  Tensor dy = context.output_gradients[0];
  if (kind_ == ReduceKind::mean) {
    const double share = static_cast<double>(dy.spec().numel()) / static_cast<double>(shape.numel());
    dy = scale(dy, share, context.name + "/share");
  }
  return {broadcast_to(reshape(dy, kept_shape(shape, dimensions_)), shape, context.name)};
}

Tensor sum(Tensor x, const std::vector<int>& dimensions, bool keep, std::string_view name) {
  return reduce(ReduceKind::sum, x, dimensions, keep, name);
}

Tensor mean(Tensor x, const std::vector<int>& dimensions, bool keep, std::string_view name) {
  return reduce(ReduceKind::mean, x, dimensions, keep, name);
}

Tensor sum_to(Tensor x, const Shape& shape, std::string_view name) {
  if (x.shape() == shape) return x;
  if (broadcast_shape(shape, x.shape()) != x.shape())
    fail("[sum {}] {} cannot be summed to {}", name, to_string(x.spec()), to_string(shape));
  const int extra = x.spec().rank() - shape.rank();
  std::vector<int> dimensions;
  for (int d = 0; d < x.spec().rank(); ++d)
    if (d < extra || (shape[d - extra] == 1 && x.shape()[d] != 1)) dimensions.push_back(d);
  return reshape(sum(x, dimensions, true, name), shape);
}

}  // namespace swapadvisor
