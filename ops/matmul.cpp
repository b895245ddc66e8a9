#include <swapadvisor/ops/contiguous.h>
#include <swapadvisor/ops/matmul.h>
#include <swapadvisor/ops/transpose.h>

namespace swapadvisor {
namespace {

void check_matrix(std::string_view what, const TensorSpec& spec) {
  if (!is_floating(spec.dtype) || spec.rank() != 2 || !spec.is_row_major())
    fail("{} must be a row-major f32 or f64 matrix, got {}", what, to_string(spec));
}

/// Makes a view of a matrix row major, by its flag where that does it.
void make_row_major(Tensor& matrix, bool& transposed, const std::string& name) {
  const TensorSpec& spec = matrix.spec();
  if (spec.rank() != 2 || spec.is_row_major()) return;
  if (spec.strides[0] == 1 && spec.strides[1] == spec.shape[0]) {
    matrix = transpose(matrix);
    transposed = !transposed;
  } else {
    matrix = contiguous(matrix, name);
  }
}

}  // namespace

std::vector<TensorSpec> MatmulOp::infer(std::span<const TensorSpec> inputs) const {
  const TensorSpec &a = inputs[0], &b = inputs[1];
  check_matrix("a", a);
  check_matrix("b", b);
  if (a.dtype != b.dtype) fail("a is {} but b is {}", name_of(a.dtype), name_of(b.dtype));
  const std::int64_t m = a.shape[transpose_a_ ? 1 : 0], k = a.shape[transpose_a_ ? 0 : 1];
  const std::int64_t inner = b.shape[transpose_b_ ? 1 : 0], n = b.shape[transpose_b_ ? 0 : 1];
  if (inner != k) fail("b expects an inner dimension of {}, got {}", inner, k);
  return {TensorSpec::dense(a.dtype, {m, n})};
}

Cost MatmulOp::cost(std::span<const TensorSpec> inputs, std::span<const TensorSpec> outputs) const {
  const std::int64_t k = inputs[0].shape[transpose_a_ ? 0 : 1];
  return {2.0 * static_cast<double>(outputs[0].numel()) * static_cast<double>(k), bytes_of(inputs, outputs)};
}

std::vector<Tensor> MatmulOp::vjp(const VjpContext& context) const {
  const Tensor a = context.inputs[0], b = context.inputs[1], dy = context.output_gradients[0];
  std::vector<Tensor> gradients(2);
  if (!dy) return gradients;
  if (context.wanted[0]) {
    const std::string name = context.name + "/a";
    gradients[0] =
        transpose_a_ ? matmul(b, dy, transpose_b_, true, name) : matmul(dy, b, false, !transpose_b_, name);
  }
  if (context.wanted[1]) {
    const std::string name = context.name + "/b";
    gradients[1] =
        transpose_b_ ? matmul(dy, a, true, transpose_a_, name) : matmul(a, dy, !transpose_a_, false, name);
  }
  return gradients;
}

Tensor matmul(Tensor a, Tensor b, bool transpose_a, bool transpose_b, std::string_view name) {
  const auto copy_name = [&](const char* operand) {
    return name.empty() ? std::string() : fmt::format("{}/copy_{}", name, operand);
  };
  make_row_major(a, transpose_a, copy_name("a"));
  make_row_major(b, transpose_b, copy_name("b"));
  return a.graph().apply(std::make_shared<MatmulOp>(transpose_a, transpose_b), {a, b}, name)[0];
}

}  // namespace swapadvisor
