// Inception-v4.
#pragma once

#include <swapadvisor/core/scope.h>

#include <cstdint>

namespace swapadvisor {

/// Inception-v4 (Szegedy, Ioffe, Vanhoucke and Alemi 2016, "Inception-v4, Inception-ResNet and the Impact of
/// Residual Connections on Learning", figures 3 to 9), with timm's names and first values.
struct InceptionV4Options {
  std::int64_t width = 32;  ///< channels after the first convolution; all others are whole multiples of it
  std::int64_t classes = 1000;
  double dropout = 0;  ///< probability before the linear layer, while training (the paper: 0.2)
};

/// images [N, C, H, W], H and W at least 75 → logits [N, classes].
Tensor inception_v4(const Scope& scope, Tensor images, const InceptionV4Options& options);

}  // namespace swapadvisor
