#include <swapadvisor/ops/flatten.h>
#include <swapadvisor/ops/to_layout.h>

namespace swapadvisor {

Tensor flatten(Tensor x) {
  if (x.spec().rank() < 1) fail("flatten needs at least one dimension, got a scalar");
  if (x.spec().rank() == 4) x = to_layout(x, Layout::row_major);
  return x.graph().reshape(x, {x.shape()[0], x.spec().numel() / x.shape()[0]});
}

}  // namespace swapadvisor
