#include <swapadvisor/ops/bias_add.h>
#include <swapadvisor/ops/linear.h>
#include <swapadvisor/ops/matmul.h>

namespace swapadvisor {

Tensor linear(Tensor x, Tensor weight, Tensor bias, std::string_view name) {
  const Tensor y = matmul(x, weight, false, true, name);
  if (!bias) return y;
  return bias_add(y, bias, name.empty() ? std::string() : std::string(name) + "/bias");
}

}  // namespace swapadvisor
