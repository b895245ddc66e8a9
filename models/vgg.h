// VGG networks for images.
#pragma once

#include <swapadvisor/core/scope.h>

#include <cstdint>

namespace swapadvisor {

/// VGG-16 (Simonyan and Zisserman 2015, "Very Deep Convolutional Networks for Large-Scale Image Recognition",
/// configuration D), as torchvision has it.
struct VggOptions {
  std::int64_t width = 64;     ///< channels of the first stage; the others have 2, 4, 8 and 8 times as many
  std::int64_t hidden = 4096;  ///< features of the two hidden linear layers
  std::int64_t classes = 1000;
  double dropout = 0.5;  ///< probability after each hidden linear layer, while training
};

/// images [N, C, H, W], H and W at least 32 → logits [N, classes]. Features of other images than 224 × 224
/// are averaged to 7 × 7.
Tensor vgg16(const Scope& scope, Tensor images, const VggOptions& options);

}  // namespace swapadvisor
