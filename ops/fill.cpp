#include <swapadvisor/ops/check.h>
#include <swapadvisor/ops/fill.h>

namespace swapadvisor {

std::vector<TensorSpec> FillOp::infer(std::span<const TensorSpec>) const {
  require_floating(spec_, "the result");
  require_dense(spec_, "the result");
  return {spec_};
}

Tensor fill(Graph& graph, const TensorSpec& spec, double value, std::string_view name) {
  return graph.apply(std::make_shared<FillOp>(spec, value), {}, name)[0];
}

}  // namespace swapadvisor
