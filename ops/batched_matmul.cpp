#include <swapadvisor/ops/batched_matmul.h>
#include <swapadvisor/ops/check.h>
#include <swapadvisor/ops/contiguous.h>
#include <swapadvisor/ops/matmul.h>
#include <swapadvisor/ops/reshape.h>
#include <swapadvisor/ops/scale.h>
#include <swapadvisor/ops/transpose.h>

#include <cmath>

namespace swapadvisor {
namespace {

/// Can the last two dimensions be read as matrices with contiguous rows or columns?
bool has_matrices(const TensorSpec& spec) {
  const int row = spec.rank() - 2, column = spec.rank() - 1;
  return spec.shape[row] == 1 || spec.shape[column] == 1 || spec.strides[row] == 1 ||
         spec.strides[column] == 1;
}

void check_operand(const TensorSpec& spec, std::string_view what) {
  require_floating(spec, what);
  if (spec.rank() < 3) fail("{} must be [batch…, rows, columns], got {}", what, to_string(spec));
  if (!has_matrices(spec))
    fail("{} must have contiguous rows or columns, got {} with strides {}", what, to_string(spec),
         to_string(spec.strides));
}

bool is_permutation(const Shape& order, int rank) {
  unsigned seen = 0;
  for (std::int64_t d : order)
    if (d >= 0 && d < rank) seen |= 1U << static_cast<unsigned>(d);
  return order.rank() == rank && seen + 1 == 1U << static_cast<unsigned>(rank);
}

std::string child(std::string_view name, const char* suffix) {
  return name.empty() ? std::string() : fmt::format("{}/{}", name, suffix);
}

/// All batches of a as rows of one product.
Tensor shared_product(Tensor a, Tensor b, const BatchedMatmulOptions& options, std::string_view name) {
  if (options.order.rank() != 0)
    fail("[batched_matmul {}] takes no order of the result with a matrix b", name);
  if (options.transpose_a) a = transpose(a);
  Shape shape = a.shape();
  const Tensor rows = reshape(a, {-1, shape[shape.rank() - 1]}, child(name, "a"));
  Tensor y = matmul(rows, b, false, options.transpose_b, name);
  if (options.alpha != 1) y = scale(y, options.alpha, child(name, "scale"));
  shape[shape.rank() - 1] = y.shape()[1];
  return reshape(y, shape);
}

}  // namespace

std::vector<TensorSpec> BatchedMatmulOp::infer(std::span<const TensorSpec> inputs) const {
  const TensorSpec &a = inputs[0], &b = inputs[1];
  check_operand(a, "a");
  check_operand(b, "b");
  if (a.dtype != b.dtype) fail("a is {} but b is {}", name_of(a.dtype), name_of(b.dtype));
  const int row = a.rank() - 2, column = a.rank() - 1;
  bool same_batches = a.rank() == b.rank();
  for (int i = 0; same_batches && i < row; ++i) same_batches = a.shape[i] == b.shape[i];
  if (!same_batches) fail("the batches of a {} and b {} differ", to_string(a), to_string(b));
  const std::int64_t k = a.shape[options_.transpose_a ? row : column];
  const std::int64_t inner = b.shape[options_.transpose_b ? column : row];
  if (inner != k) fail("b expects an inner dimension of {}, got {}", inner, k);
  if (!std::isfinite(options_.alpha)) fail("alpha must be finite, got {}", options_.alpha);
  Shape shape = a.shape;
  shape[row] = a.shape[options_.transpose_a ? column : row];
  shape[column] = b.shape[options_.transpose_b ? row : column];
  if (options_.order.rank() == 0) return {TensorSpec::dense(a.dtype, shape)};
  if (!is_permutation(options_.order, a.rank()))
    fail("the order {} is no permutation of {} dimensions", to_string(options_.order), a.rank());
  const TensorSpec result = dense_in_order(a.dtype, shape, options_.order);
  if (!has_matrices(result))
    fail("the order {} keeps neither rows nor columns contiguous", to_string(options_.order));
  return {result};
}

Cost BatchedMatmulOp::cost(std::span<const TensorSpec> inputs, std::span<const TensorSpec> outputs) const {
  const Shape& a = inputs[0].shape;
  const std::int64_t k = a[a.rank() - (options_.transpose_a ? 2 : 1)];
  return {2.0 * static_cast<double>(outputs[0].numel()) * static_cast<double>(k), bytes_of(inputs, outputs)};
}

std::vector<Tensor> BatchedMatmulOp::vjp(const VjpContext& context) const {
  const Tensor a = context.inputs[0], b = context.inputs[1], dy = context.output_gradients[0];
  const bool ta = options_.transpose_a, tb = options_.transpose_b;
  const auto product = [&](Tensor x, Tensor y, bool tx, bool ty, const Tensor& like, const char* suffix) {
    const BatchedMatmulOptions options{tx, ty, options_.alpha, physical_order(like.spec())};
    return batched_matmul(x, y, options, fmt::format("{}/{}", context.name, suffix));
  };
  std::vector<Tensor> gradients(2);
  if (context.wanted[0])
    gradients[0] = ta ? product(b, dy, tb, true, a, "a") : product(dy, b, false, !tb, a, "a");
  if (context.wanted[1])
    gradients[1] = tb ? product(dy, a, true, ta, b, "b") : product(a, dy, !ta, false, b, "b");
  return gradients;
}

Tensor batched_matmul(Tensor a, Tensor b, const BatchedMatmulOptions& options, std::string_view name) {
  if (a.spec().rank() > 2 && b.spec().rank() == 2) return shared_product(a, b, options, name);
  if (a.spec().rank() > 2 && !has_matrices(a.spec())) a = contiguous(a, child(name, "copy_a"));
  if (b.spec().rank() > 2 && !has_matrices(b.spec())) b = contiguous(b, child(name, "copy_b"));
  return a.graph().apply(std::make_shared<BatchedMatmulOp>(options), {a, b}, name)[0];
}

}  // namespace swapadvisor
