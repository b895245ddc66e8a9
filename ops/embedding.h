// Rows of a table looked up by index.
#pragma once

#include <swapadvisor/core/graph.h>

namespace swapadvisor {

/// Row that gets no gradient from look-ups, such as the one of a padding token; none when negative.
inline constexpr std::int64_t no_padding_row = -1;

/// (ids, weight [V, D]) → y [shape of ids, D], the rows of weight. A row of NaN where an id is not in [0, V).
class EmbeddingOp final : public Op {
 public:
  explicit EmbeddingOp(std::int64_t padding_row) : padding_row_(padding_row) {}
  std::int64_t padding_row() const { return padding_row_; }

  std::string_view type() const override { return "embedding"; }
  std::vector<TensorSpec> infer(std::span<const TensorSpec> inputs) const override;
  Cost cost(std::span<const TensorSpec> inputs, std::span<const TensorSpec> outputs) const override;
  std::vector<Tensor> vjp(const VjpContext& context) const override;

 private:
  std::int64_t padding_row_;
};

/// (dy, ids) → dweight [V, D]: row v is the sum of dy over the places where the id is v, in their order; 0
/// for the padding row. Ids outside [0, V) add nothing.
class EmbeddingGradOp final : public Op {
 public:
  EmbeddingGradOp(std::int64_t rows, std::int64_t padding_row) : rows_(rows), padding_row_(padding_row) {}
  std::int64_t padding_row() const { return padding_row_; }

  std::string_view type() const override { return "embedding_grad"; }
  std::vector<TensorSpec> infer(std::span<const TensorSpec> inputs) const override;
  Cost cost(std::span<const TensorSpec> inputs, std::span<const TensorSpec> outputs) const override;

 private:
  std::int64_t rows_, padding_row_;
};

/// ids: i32 of any shape, row major; weight: f32 or f64 [V, D]. `padding_row` as PyTorch's padding_idx: that
/// row is looked up as any other, but not trained by it.
Tensor embedding(Tensor ids, Tensor weight, std::int64_t padding_row = no_padding_row,
                 std::string_view name = {});

}  // namespace swapadvisor
