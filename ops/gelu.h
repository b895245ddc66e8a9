// Gaussian error linear unit (Hendrycks and Gimpel 2016).
#pragma once

#include <swapadvisor/core/graph.h>

namespace swapadvisor {

/// Two functions go by the name: the exact one (BERT, "gelu"), and an approximation (GPT-2, "gelu_new").
enum class GeluForm : std::uint8_t {
  exact,  ///< y = x·Φ(x), Φ the standard normal distribution: x/2·(1 + erf(x/√2))
  tanh    ///< y = x/2·(1 + tanh(√(2/π)·(x + 0.044715·x³)))
};

/// "gelu": x → y, of x's spec; NaN stays NaN.
class GeluOp final : public Op {
 public:
  explicit GeluOp(GeluForm form) : form_(form) {}
  GeluForm form() const { return form_; }

  std::string_view type() const override { return "gelu"; }
  std::vector<TensorSpec> infer(std::span<const TensorSpec> inputs) const override;
  Cost cost(std::span<const TensorSpec> inputs, std::span<const TensorSpec> outputs) const override;
  Traits traits() const override { return {.inplace = true, .updates = {}}; }
  std::vector<Tensor> vjp(const VjpContext& context) const override;

 private:
  GeluForm form_;
};

/// "gelu_backward": (dy, x) → dx.
class GeluBackwardOp final : public Op {
 public:
  explicit GeluBackwardOp(GeluForm form) : form_(form) {}
  GeluForm form() const { return form_; }

  std::string_view type() const override { return "gelu_backward"; }
  std::vector<TensorSpec> infer(std::span<const TensorSpec> inputs) const override;
  Cost cost(std::span<const TensorSpec> inputs, std::span<const TensorSpec> outputs) const override;
  Traits traits() const override { return {.inplace = true, .updates = {}}; }

 private:
  GeluForm form_;
};

/// Appends `GeluOp`.
Tensor gelu(Tensor x, GeluForm form = GeluForm::exact, std::string_view name = {});

}  // namespace swapadvisor
