// Fully connected layer.
#pragma once

#include <swapadvisor/core/graph.h>

namespace swapadvisor {

/// x […, in]·weightᵀ + bias → […, out]; weight is [out, in], bias [out] or absent. The nodes are `name`
/// (matmul) and, with a bias, `name`/bias. Of more than two dimensions, rows of x, the result is a view.
Tensor linear(Tensor x, Tensor weight, Tensor bias, std::string_view name = {});

}  // namespace swapadvisor
