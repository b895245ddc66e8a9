#include <swapadvisor/ops/contiguous.h>
#include <swapadvisor/ops/reshape.h>

namespace swapadvisor {
namespace {

/// Puts the extent that is left in place of −1.
void fill_in(Shape& shape, const TensorSpec& x) {
  int open = -1;
  std::int64_t known = 1;
  for (int i = 0; i < shape.rank(); ++i) {
    if (shape[i] == -1 && open < 0) {
      open = i;
    } else if (shape[i] < 1 || __builtin_mul_overflow(known, shape[i], &known)) {
      return;  // the check of all dimensions says what is wrong
    }
  }
  if (open >= 0 && x.numel() % known == 0) shape[open] = x.numel() / known;
}

}  // namespace

Tensor reshape(Tensor x, Shape shape, std::string_view name) {
  const std::string asked = to_string(shape);
  fill_in(shape, x.spec());
  if (shape == x.shape()) return x;
  if (TensorSpec::dense(x.dtype(), shape).numel() != x.spec().numel())
    fail("cannot reshape {} to {}", to_string(x.spec()), asked);
  if (!reshaped(x.spec(), shape)) x = contiguous(x, name);
  return x.graph().reshape(x, shape);
}

}  // namespace swapadvisor
