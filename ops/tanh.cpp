#include <swapadvisor/ops/saturating.h>
#include <swapadvisor/ops/tanh.h>

namespace swapadvisor {

Tensor tanh(Tensor x, std::string_view name) {
  return saturating({"tanh", "tanh_backward"}, x, name);
}

}  // namespace swapadvisor
