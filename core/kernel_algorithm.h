// Kernels for which a library has several algorithms.
#pragma once

#include <string>

namespace swapadvisor {

/// A kernel that is one of these too tells what a library chose when it was prepared, so that a profile can
/// record it: ask by dynamic_cast.
class KernelAlgorithm {
 public:
  virtual ~KernelAlgorithm() = default;
  /// Library, operation, algorithm and arithmetic, such as "cuDNN forward 1 fma": equal for equal choices.
  virtual std::string algorithm() const = 0;
};

}  // namespace swapadvisor
