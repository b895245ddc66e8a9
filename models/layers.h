// Layers with parameters, for models that read like the figures of their papers. Each makes its parameters
// and states under the scope it is given, with torchvision's names, and names its op after the scope.
#pragma once

#include <swapadvisor/core/scope.h>
#include <swapadvisor/ops/conv2d.h>

#include <array>
#include <cstdint>

namespace swapadvisor {

/// Convolution without bias of x [N, C, H, W] to `out_channels`. Parameter "weight" [out, C / groups, kh, kw]
/// (OIHW), from a normal distribution with He's fan-out deviation (He et al. 2015, "Delving Deep into
/// Rectifiers", eq. 14), as torchvision initialises its ResNets.
Tensor conv2d(const Scope& scope, Tensor x, std::int64_t out_channels, std::array<std::int64_t, 2> kernel,
              const Conv2dOptions& options = {});
/// The same with a square kernel.
Tensor conv2d(const Scope& scope, Tensor x, std::int64_t out_channels, std::int64_t kernel,
              const Conv2dOptions& options = {});

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
