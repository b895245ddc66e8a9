#include <swapadvisor/core/rng.h>
#include <swapadvisor/ops/check.h>
#include <swapadvisor/ops/dropout.h>

namespace swapadvisor {

std::vector<TensorSpec> DropoutOp::infer(std::span<const TensorSpec> inputs) const {
  require_floating(inputs[0], backward_ ? "dy" : "x");
  require_dense(inputs[0], backward_ ? "dy" : "x");
  require_scalar(inputs[1], DType::i64, "step number");
  if (!(p_ >= 0 && p_ <= 1 - 0x1p-24)) fail("the drop probability must be in [0, 1), got {}", p_);
  return {inputs[0]};
}

Cost DropoutOp::cost(std::span<const TensorSpec> inputs, std::span<const TensorSpec> outputs) const {
  // Ten Philox rounds of about 8 integer operations make 4 draws.
  return {22.0 * static_cast<double>(inputs[0].numel()), bytes_of(inputs, outputs)};
}

std::vector<Tensor> DropoutOp::vjp(const VjpContext& context) const {
  const Tensor dy = context.output_gradients[0];
  auto op = std::make_shared<DropoutOp>(p_, draw_id_, true);
  return {dy.graph().apply(std::move(op), {dy, context.inputs[1]}, context.name)[0], {}};
}

Tensor dropout(Tensor x, Tensor step_number, double p, std::string_view name) {
  if (p == 0) return x;
  Graph& graph = x.graph();
  const std::string node = name.empty() ? fmt::format("dropout_{}", graph.nodes().size()) : std::string(name);
  const std::uint64_t hash = hash_name(node);
  const auto id = static_cast<std::uint32_t>(hash ^ (hash >> 32));
  return graph.apply(std::make_shared<DropoutOp>(p, id), {x, step_number}, node)[0];
}

}  // namespace swapadvisor
