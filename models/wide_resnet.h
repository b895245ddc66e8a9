// Wide residual networks for small images.
#pragma once

#include <swapadvisor/core/scope.h>

#include <cstdint>

namespace swapadvisor {

/// WRN-depth-widening for CIFAR (Zagoruyko and Komodakis 2016, "Wide Residual Networks", table 1): a 3×3 stem
/// of 16 channels, three groups of (depth − 4) / 6 pre-activation blocks with 16, 32 and 64 times `widening`
/// channels, and a last batch norm. Groups, blocks and layers have the names of the authors' PyTorch code
/// (group0.block0.conv0, bn0, convdim, …), with ".weight" and ".bias" as modules have them; initialised as in
/// their Torch code.
struct WideResNetOptions {
  std::int64_t depth = 28;  ///< 6n + 4
  std::int64_t widening = 10;
  std::int64_t classes = 10;
  double dropout = 0;  ///< probability between the two convolutions of a block, while training
};

/// images [N, C, H, W] → logits [N, classes]. Throws `Error` for a depth that is not 6n + 4, n ≥ 1.
Tensor wide_resnet(const Scope& scope, Tensor images, const WideResNetOptions& options);

}  // namespace swapadvisor
