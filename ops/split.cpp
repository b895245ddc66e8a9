#include <swapadvisor/ops/check.h>
#include <swapadvisor/ops/slice.h>
#include <swapadvisor/ops/split.h>

namespace swapadvisor {

std::vector<Tensor> split(Tensor x, std::int64_t parts, int dimension) {
  dimension = dimension_of(x.spec(), dimension);
  const std::int64_t extent = x.shape()[dimension];
  if (parts < 1 || extent % parts != 0)
    fail("cannot split dimension {} of {} into {} equal parts", dimension, to_string(x.spec()), parts);
  return split(x, std::vector<std::int64_t>(static_cast<std::size_t>(parts), extent / parts), dimension);
}

std::vector<Tensor> split(Tensor x, const std::vector<std::int64_t>& lengths, int dimension) {
  dimension = dimension_of(x.spec(), dimension);
  std::vector<Tensor> pieces;
  std::int64_t start = 0;
  for (std::int64_t length : lengths) {
    pieces.push_back(slice(x, dimension, start, length));
    start += length;
  }
  if (start != x.shape()[dimension])
    fail("the parts of dimension {} of {} add up to {}", dimension, to_string(x.spec()), start);
  return pieces;
}

}  // namespace swapadvisor
