// Float32 pooling on oneDNN.
#pragma once

#include <swapadvisor/core/kernel.h>

namespace swapadvisor {

enum class OnednnPooling : std::uint8_t {
  where_fast,      ///< by a fixed rule of shapes, layout and the kind of implementation oneDNN has on this
                   ///< machine
  where_possible,  ///< also where the portable kernel is faster
};

/// A kernel for max_pool2d, avg_pool2d or one of their backward ops in float32. It is `portable`, the
/// portable kernel of the same request, for tensors that are not channels-last, for averages over windows
/// that reach beyond the padding (oneDNN divides those otherwise), for windows of more than 255 elements and
/// where oneDNN has no vectorised code. oneDNN takes the op's index as its workspace; it passes over NaN and
/// −∞, so max_pool2d runs `portable` on an x that is not finite.
std::unique_ptr<Kernel> onednn_pool2d(const KernelRequest& request, std::unique_ptr<Kernel> portable,
                                      OnednnPooling use = OnednnPooling::where_fast);

}  // namespace swapadvisor
