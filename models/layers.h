// Layers with parameters, for models that read like the figures of their papers. Each makes its parameters
// and states under the scope it is given, with torchvision's names, and names its op after the scope.
#pragma once

#include <swapadvisor/core/scope.h>
#include <swapadvisor/ops/conv2d.h>

#include <array>
#include <cstdint>

namespace swapadvisor {

/// The parameter `scope.parameter(leaf, shape, init)` as the scope's layers compute with it: where they compute in bf16,
/// a cast of it, "PATH.LEAF/bf16". Call it once per parameter.
Tensor weight(const Scope& scope, std::string_view leaf, const Shape& shape, const Initializer& init);

/// A rule for the first value of a weight of a shape.
using WeightInitializer = Initializer (*)(const Shape& shape);

/// What a layer's weight starts as, and whether there is a bias.
struct ConvParameters {
  WeightInitializer weight = Initializer::kaiming_normal_fan_out;
  bool bias = false;  ///< parameter "bias" [out], zeros
};

/// Convolution without bias of x [N, C, H, W] to `out_channels`. Parameter "weight" [out, C / groups, kh, kw]
/// (OIHW), from a normal distribution with He's fan-out deviation (He et al. 2015, "Delving Deep into
/// Rectifiers", eq. 14), as torchvision initialises its ResNets.
Tensor conv2d(const Scope& scope, Tensor x, std::int64_t out_channels, std::array<std::int64_t, 2> kernel,
              const Conv2dOptions& options = {});
/// The same with a square kernel.
Tensor conv2d(const Scope& scope, Tensor x, std::int64_t out_channels, std::int64_t kernel,
              const Conv2dOptions& options = {});

/// The same with other parameters than torchvision's ResNets have.
Tensor conv2d(const Scope& scope, Tensor x, std::int64_t out_channels, std::array<std::int64_t, 2> kernel,
              const Conv2dOptions& options, const ConvParameters& parameters);

/// Attributes of `batch_norm`; the defaults are PyTorch's.
struct BatchNormOptions {
  double epsilon = 1e-5;
  double momentum = 0.1;  ///< weight of the new batch in the running statistics
};

/// Batch normalisation of x [N, C, H, W] per channel (Ioffe and Szegedy 2015). Parameters "weight" (1) and
/// "bias" (0); states "running_mean" (0), "running_var" (1) and "num_batches_tracked" (an i64 scalar, 0). In
/// training it uses the batch's statistics and defers the update of the running ones (`Graph::defer_update`);
/// in evaluation it uses the running ones. Throws `Error` when training has one value per channel only.
Tensor batch_norm(const Scope& scope, Tensor x, const BatchNormOptions& options = {});

/// x [N, in] or [N, T, in] → out_features instead of in. Parameters "weight" [out, in] and "bias" [out], both from U(−1/√in, 1/√in).
Tensor linear(const Scope& scope, Tensor x, std::int64_t out_features);

}  // namespace swapadvisor
