// Several slices at once.
#pragma once

#include <swapadvisor/core/graph.h>

namespace swapadvisor {

/// Views of x cut along one dimension (negative: counted from the end) into `parts` equal pieces. Throws
/// `Error` when they would not be equal. The gradients of the pieces come together in one op.
std::vector<Tensor> split(Tensor x, std::int64_t parts, int dimension = -1);

/// Pieces of the given lengths, which add up to the dimension.
std::vector<Tensor> split(Tensor x, const std::vector<std::int64_t>& lengths, int dimension = -1);

}  // namespace swapadvisor
