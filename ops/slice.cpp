#include <swapadvisor/ops/check.h>
#include <swapadvisor/ops/contiguous.h>
#include <swapadvisor/ops/slice.h>

namespace swapadvisor {

Tensor slice(Tensor x, int dimension, std::int64_t start, std::int64_t length) {
  dimension = dimension_of(x.spec(), dimension);
  if (start == 0 && length == x.shape()[dimension]) return x;
  return x.graph().slice(x, dimension, start, length);
}

SliceBackwardOp::SliceBackwardOp(const TensorSpec& like, int dimension, std::vector<std::int64_t> starts)
    : result_(is_dense(like) ? dense_in_order(like.dtype, like.shape, physical_order(like))
                             : TensorSpec::dense(like.dtype, like.shape)),
      dimension_(dimension),
      starts_(std::move(starts)) {}

std::vector<TensorSpec> SliceBackwardOp::infer(std::span<const TensorSpec> inputs) const {
  if (inputs.empty() || inputs.size() != starts_.size())
    fail("expects {} slices, got {}", starts_.size(), inputs.size());
  std::int64_t end = 0;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    Shape expected = result_.shape;
    if (inputs[i].rank() == result_.rank()) expected[dimension_] = inputs[i].shape[dimension_];
    if (inputs[i].dtype != result_.dtype || inputs[i].shape != expected)
      fail("slice {} of dimension {} of {} is {}", i, dimension_, to_string(result_), to_string(inputs[i]));
    if (starts_[i] < end)
      fail("slice {} starts at {}, before the one in front of it ends at {}", i, starts_[i], end);
    end = starts_[i] + expected[dimension_];
  }
  if (end > result_.shape[dimension_])
    fail("the last slice ends at {} of {}", end, result_.shape[dimension_]);
  return {result_};
}

std::vector<Tensor> SliceBackwardOp::vjp(const VjpContext& context) const {
  std::vector<Tensor> gradients;
  for (std::size_t i = 0; i < starts_.size(); ++i)
    gradients.push_back(context.wanted[i] ? slice(context.output_gradients[0], dimension_, starts_[i],
                                                  context.inputs[i].shape()[dimension_])
                                          : Tensor());
  return gradients;
}

Tensor slice_backward(std::vector<Tensor> slices, const TensorSpec& like, int dimension,
                      std::vector<std::int64_t> starts, std::string_view name) {
  Graph& graph = slices.at(0).graph();
  auto op = std::make_shared<SliceBackwardOp>(like, dimension, std::move(starts));
  return graph.apply(std::move(op), std::move(slices), name)[0];
}

}  // namespace swapadvisor
