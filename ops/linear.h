// Fully connected layer.
#pragma once

#include <swapadvisor/core/graph.h>

namespace swapadvisor {

/// x [N, in]·weightᵀ + bias → [N, out]; weight is [out, in], bias [out] or absent. The nodes are `name`
/// (matmul) and, with a bias, `name`/bias.
Tensor linear(Tensor x, Tensor weight, Tensor bias, std::string_view name = {});

}  // namespace swapadvisor
