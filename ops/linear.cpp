#include <swapadvisor/ops/bias_add.h>
#include <swapadvisor/ops/linear.h>
#include <swapadvisor/ops/matmul.h>
#include <swapadvisor/ops/reshape.h>

namespace swapadvisor {

Tensor linear(Tensor x, Tensor weight, Tensor bias, std::string_view name) {
  const auto child = [&](const char* suffix) {
    return name.empty() ? std::string() : fmt::format("{}/{}", name, suffix);
  };
  Shape shape = x.shape();
  const int last = shape.rank() - 1;
  if (last > 1) x = reshape(x, {-1, shape[last]}, child("rows"));
  Tensor y = matmul(x, weight, false, true, name);
  if (bias) y = bias_add(y, bias, child("bias"));
  if (last < 2) return y;
  shape[last] = y.shape()[1];
  return reshape(y, shape);
}

}  // namespace swapadvisor
