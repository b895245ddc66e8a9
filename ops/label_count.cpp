#include <swapadvisor/ops/check.h>
#include <swapadvisor/ops/label_count.h>

namespace swapadvisor {
namespace {

class LabelCountOp final : public Op {
 public:
  std::string_view type() const override { return "label_count"; }
  std::vector<TensorSpec> infer(std::span<const TensorSpec> inputs) const override {
    if (inputs[0].rank() != 1) fail("labels must be [N], got {}", to_string(inputs[0]));
    require_vector(inputs[0], DType::i32, inputs[0].shape[0], "labels");
    return {TensorSpec::dense(DType::i64, {})};
  }
  Cost cost(std::span<const TensorSpec> inputs, std::span<const TensorSpec> outputs) const override {
    return {static_cast<double>(inputs[0].numel()), bytes_of(inputs, outputs)};
  }
};

}  // namespace

Tensor label_count(Tensor labels, std::string_view name) {
  return labels.graph().apply(std::make_shared<LabelCountOp>(), {labels}, name)[0];
}

}  // namespace swapadvisor
