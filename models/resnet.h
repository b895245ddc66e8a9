// Residual networks for images.
#pragma once

#include <swapadvisor/core/scope.h>

#include <array>
#include <cstdint>

namespace swapadvisor {

/// Two 3×3 convolutions, or 1×1, 3×3, 1×1.
enum class ResNetBlock : std::uint8_t { basic, bottleneck };

/// ResNet for ImageNet (He et al. 2016, "Deep Residual Learning for Image Recognition", table 1), in the
/// version 1.5 that torchvision has: a bottleneck's stride sits in its 3×3 convolution.
struct ResNetOptions {
  ResNetBlock block = ResNetBlock::basic;
  std::array<int, 4> blocks{2, 2, 2, 2};  ///< per stage
  std::int64_t width = 64;                ///< channels after the stem; stage s has width · 2^s "planes"
  std::int64_t bottleneck_widening = 1;   ///< of a bottleneck's 3×3 (2: torchvision's wide_resnet*_2)
  std::int64_t classes = 1000;
};

/// images [N, C, H, W] → logits [N, classes].
Tensor resnet(const Scope& scope, Tensor images, const ResNetOptions& options);

/// Depth 18, 34, 50, 101 or 152. Throws `Error` for any other.
ResNetOptions resnet_options(int depth);

/// ResNet for CIFAR (the same paper, section 4.2): a 3×3 stem without pooling and three stages of
/// `blocks_per_stage` basic blocks, 6 · blocks_per_stage + 2 weighted layers. Where the shape changes the
/// shortcut is a 1×1 convolution with batch norm, as in the ImageNet networks (the paper's CIFAR shortcuts
/// have no parameters).
struct CifarResNetOptions {
  int blocks_per_stage = 3;
  std::int64_t width = 16;
  std::int64_t classes = 10;
};

/// images [N, C, H, W] → logits [N, classes].
Tensor cifar_resnet(const Scope& scope, Tensor images, const CifarResNetOptions& options);

}  // namespace swapadvisor
