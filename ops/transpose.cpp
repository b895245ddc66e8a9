#include <swapadvisor/ops/check.h>
#include <swapadvisor/ops/transpose.h>

namespace swapadvisor {

Tensor permute(Tensor x, const Shape& order) {
  bool moves = order.rank() != x.spec().rank();
  for (int i = 0; i < order.rank(); ++i) moves = moves || order[i] != i;
  return moves ? x.graph().permute(x, order) : x;
}

Tensor transpose(Tensor x, int first, int second) {
  Shape order = x.shape();
  for (int i = 0; i < order.rank(); ++i) order[i] = i;
  first = dimension_of(x.spec(), first);
  second = dimension_of(x.spec(), second);
  order[first] = second;
  order[second] = first;
  return permute(x, order);
}

}  // namespace swapadvisor
