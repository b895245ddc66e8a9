#include <swapadvisor/ops/shift_labels.h>

namespace swapadvisor {

std::vector<TensorSpec> ShiftLabelsOp::infer(std::span<const TensorSpec> inputs) const {
  const TensorSpec& labels = inputs[0];
  if (labels.dtype != DType::i32 || labels.rank() != 2 || !labels.is_row_major())
    fail("labels must be i32 [samples, positions] in row-major order, got {}", to_string(labels));
  return {labels};
}

Tensor shift_labels(Tensor labels, std::string_view name) {
  return labels.graph().apply(std::make_shared<ShiftLabelsOp>(), {labels}, name)[0];
}

}  // namespace swapadvisor
