// NASNet-A.
#pragma once

#include <swapadvisor/models/model.h>

#include <cstdint>
#include <vector>

namespace swapadvisor {

/// NASNet-A for ImageNet (Zoph, Vasudevan, Shlens and Le 2018, "Learning Transferable Architectures for
/// Scalable Image Recognition", figures 2 and 4; the defaults are "6 @ 4032"), with the names and first
/// values of timm's nasnetalarge.
struct NasnetOptions {
  /// Normal cells, in three stacks with a reduction cell between them. As in the authors' code the reduction
  /// cells come before normal cells ⌊cells / 3⌋ and ⌊2 · cells / 3⌋: 18 are 6 + 6 + 6, and 25 are 8 + 8 + 9.
  std::int64_t cells = 18;
  /// Filters of the first stack, a multiple of 4; twice as many in each further one. The last cell has 24 ·
  /// width channels (4032), the stem 4/7 · width (96).
  std::int64_t width = 168;
  std::int64_t classes = 1000;
  double dropout = 0;  ///< probability before the linear layer, while training (the authors: 0.5)
  /// Probability that a branch of the last cell is dropped for a sample while training, less in earlier cells
  /// in proportion to their place (the authors: 0.3).
  double drop_path = 0;
  /// Steps over which that probability rises from 0 in proportion to the step (the authors: those of the
  /// run); 0: it is the same in all steps.
  std::int64_t drop_path_steps = 0;
  /// Weight of the loss of an auxiliary classifier behind the second stack while training (the authors: 0.4);
  /// 0: there is none, as in timm.
  double auxiliary_weight = 0;
};

/// images [N, C, H, W] → predictions of "target": the classifier's and, while training, the auxiliary one's.
/// Throws `Error` for fewer than 3 cells and for a width that is no multiple of 4.
std::vector<ModelPrediction> nasnet_a(const Scope& scope, Tensor images, const NasnetOptions& options);

}  // namespace swapadvisor
