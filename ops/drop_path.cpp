#include <swapadvisor/core/rng.h>
#include <swapadvisor/ops/check.h>
#include <swapadvisor/ops/drop_path.h>

namespace swapadvisor {

std::vector<TensorSpec> DropPathOp::infer(std::span<const TensorSpec> inputs) const {
  const char* what = backward_ ? "dy" : "x";
  require_floating(inputs[0], what);
  require_dense(inputs[0], what);
  if (inputs[0].rank() < 1) fail("{} must have a dimension of samples, got {}", what, to_string(inputs[0]));
  require_scalar(inputs[1], DType::i64, "step number");
  if (!(p_ >= 0 && p_ <= 1 - 0x1p-24)) fail("the drop probability must be in [0, 1), got {}", p_);
  if (rise_steps_ < 0) fail("the drop probability cannot rise over {} steps", rise_steps_);
  return {inputs[0]};
}

Cost DropPathOp::cost(std::span<const TensorSpec> inputs, std::span<const TensorSpec> outputs) const {
  return {static_cast<double>(inputs[0].numel()), bytes_of(inputs, outputs)};
}

std::vector<Tensor> DropPathOp::vjp(const VjpContext& context) const {
  const Tensor dy = context.output_gradients[0];
  if (!context.wanted[0] || !dy) return {Tensor(), Tensor()};
  auto op = std::make_shared<DropPathOp>(p_, draw_id_, true, rise_steps_);
  return {dy.graph().apply(std::move(op), {dy, context.inputs[1]}, context.name)[0], {}};
}

Tensor drop_path(Tensor x, Tensor step_number, double p, std::string_view name, std::int64_t rise_steps) {
  if (p == 0) return x;
  Graph& graph = x.graph();
  const std::string node =
      name.empty() ? fmt::format("drop_path_{}", graph.nodes().size()) : std::string(name);
  const std::uint64_t hash = hash_name(node);
  const auto id = static_cast<std::uint32_t>(hash ^ (hash >> 32));
  return graph.apply(std::make_shared<DropPathOp>(p, id, false, rise_steps), {x, step_number}, node)[0];
}

}  // namespace swapadvisor
