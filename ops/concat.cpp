#include <swapadvisor/ops/check.h>
#include <swapadvisor/ops/concat.h>
#include <swapadvisor/ops/slice.h>
#include <swapadvisor/ops/to_layout.h>

namespace swapadvisor {

std::vector<TensorSpec> ConcatOp::infer(std::span<const TensorSpec> inputs) const {
  const TensorSpec& first = inputs[0];
  Shape shape = first.shape;
  bool channels_last = true, ambiguous = true;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const TensorSpec& x = inputs[i];
    Shape expected = first.shape;
    if (x.rank() == first.rank()) expected[dimension_] = x.shape[dimension_];
    if (x.dtype != first.dtype || x.shape != expected)
      fail("tensor {} is {}, which does not continue {} along dimension {}", i, to_string(x),
           to_string(first), dimension_);
    if (i > 0) shape[dimension_] += x.shape[dimension_];
    channels_last = channels_last && x.is_channels_last();
    ambiguous = ambiguous && stored_layout(x) == Layout::row_major;
  }
  const Layout layout = channels_last && !ambiguous ? Layout::channels_last : Layout::row_major;
  return {TensorSpec::dense(first.dtype, shape, layout)};
}

std::vector<Tensor> ConcatOp::vjp(const VjpContext& context) const {
  std::vector<Tensor> gradients;
  std::int64_t start = 0;
  for (std::size_t i = 0; i < context.inputs.size(); ++i) {
    const std::int64_t length = context.inputs[i].shape()[dimension_];
    gradients.push_back(context.wanted[i] ? slice(context.output_gradients[0], dimension_, start, length)
                                          : Tensor());
    start += length;
  }
  return gradients;
}

Tensor concat(const std::vector<Tensor>& tensors, int dimension, std::string_view name) {
  if (tensors.empty()) fail("[concat {}] needs at least one tensor", name);
  if (tensors.size() == 1) return tensors[0];
  auto op = std::make_shared<ConcatOp>(dimension_of(tensors[0].spec(), dimension));
  return tensors[0].graph().apply(std::move(op), tensors, name)[0];
}

}  // namespace swapadvisor
