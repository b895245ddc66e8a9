#include <swapadvisor/ops/check.h>
#include <swapadvisor/ops/embedding.h>

#include <limits>

namespace swapadvisor {
namespace {

void check_ids(const TensorSpec& ids) {
  if (ids.dtype != DType::i32 || !ids.is_row_major() || ids.rank() >= Shape::max_rank)
    fail("ids must be i32 in row-major order with at most {} dimensions, got {}", Shape::max_rank - 1,
         to_string(ids));
}

/// The ids' shape with one more dimension.
TensorSpec looked_up(const TensorSpec& ids, DType dtype, std::int64_t features) {
  std::vector<std::int64_t> dims(ids.shape.begin(), ids.shape.end());
  dims.push_back(features);
  return TensorSpec::dense(dtype, Shape(dims));
}

}  // namespace

std::vector<TensorSpec> EmbeddingOp::infer(std::span<const TensorSpec> inputs) const {
  const TensorSpec &ids = inputs[0], &weight = inputs[1];
  check_ids(ids);
  require_floating(weight, "weight");
  if (weight.rank() != 2 || !weight.is_row_major())
    fail("weight must be [rows, features] in row-major order, got {}", to_string(weight));
  if (weight.shape[0] > std::numeric_limits<std::int32_t>::max())
    fail("weight has {} rows, more than i32 ids can tell apart", weight.shape[0]);
  if (padding_row_ >= weight.shape[0])
    fail("the padding row is {}, but weight has {} rows", padding_row_, weight.shape[0]);
  return {looked_up(ids, weight.dtype, weight.shape[1])};
}

Cost EmbeddingOp::cost(std::span<const TensorSpec> inputs, std::span<const TensorSpec> outputs) const {
  // Of the table only the rows asked for are read.
  return {0, static_cast<double>(inputs[0].bytes()) + 2 * static_cast<double>(outputs[0].bytes())};
}

std::vector<Tensor> EmbeddingOp::vjp(const VjpContext& context) const {
  const Tensor ids = context.inputs[0], weight = context.inputs[1], dy = context.output_gradients[0];
  auto op = std::make_shared<EmbeddingGradOp>(weight.shape()[0], padding_row_);
  return {Tensor(), dy.graph().apply(std::move(op), {dy, ids}, context.name)[0]};
}

std::vector<TensorSpec> EmbeddingGradOp::infer(std::span<const TensorSpec> inputs) const {
  const TensorSpec &dy = inputs[0], &ids = inputs[1];
  check_ids(ids);
  require_floating(dy, "dy");
  const TensorSpec expected = dy.rank() < 1 ? dy : looked_up(ids, dy.dtype, dy.shape[dy.rank() - 1]);
  if (dy.rank() < 1 || dy.shape != expected.shape || !dy.is_row_major())
    fail("dy must be [shape of ids, features] in row-major order, got {} for ids {}", to_string(dy),
         to_string(ids));
  return {TensorSpec::dense(dy.dtype, {rows_, dy.shape[dy.rank() - 1]})};
}

Cost EmbeddingGradOp::cost(std::span<const TensorSpec> inputs, std::span<const TensorSpec> outputs) const {
  return {static_cast<double>(inputs[0].numel()), bytes_of(inputs, outputs)};
}

Tensor embedding(Tensor ids, Tensor weight, std::int64_t padding_row, std::string_view name) {
  return weight.graph().apply(std::make_shared<EmbeddingOp>(padding_row), {ids, weight}, name)[0];
}

}  // namespace swapadvisor
