#include <swapadvisor/ops/saturating.h>
#include <swapadvisor/ops/sigmoid.h>

namespace swapadvisor {

Tensor sigmoid(Tensor x, std::string_view name) {
  return saturating({"sigmoid", "sigmoid_backward"}, x, name);
}

}  // namespace swapadvisor
