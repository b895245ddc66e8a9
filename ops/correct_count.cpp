#include <swapadvisor/ops/check.h>
#include <swapadvisor/ops/correct_count.h>

namespace swapadvisor {
namespace {

class CorrectCountOp final : public Op {
 public:
  std::string_view type() const override { return "correct_count"; }
  std::vector<TensorSpec> infer(std::span<const TensorSpec> inputs) const override {
    const TensorSpec& logits = inputs[0];
    require_floating(logits, "logits");
    if (logits.rank() != 2 || !logits.is_row_major())
      fail("logits must be [rows, classes] in row-major order, got {}", to_string(logits));
    require_vector(inputs[1], DType::i32, logits.shape[0], "labels");
    return {TensorSpec::dense(DType::i64, {})};
  }
  Cost cost(std::span<const TensorSpec> inputs, std::span<const TensorSpec> outputs) const override {
    return {static_cast<double>(inputs[0].numel()), bytes_of(inputs, outputs)};
  }
};

}  // namespace

Tensor correct_count(Tensor logits, Tensor labels, std::string_view name) {
  return logits.graph().apply(std::make_shared<CorrectCountOp>(), {logits, labels}, name)[0];
}

}  // namespace swapadvisor
