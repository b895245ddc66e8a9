// A test op: the inner product with fixed weights, which makes a scalar loss that every element of a tensor
// counts in.
#pragma once

#include <swapadvisor/core/graph.h>
#include <swapadvisor/core/kernel.h>

namespace swapadvisor {

/// Σ xᵢ·wᵢ as a scalar; both of the same spec. Differentiable in x only.
Tensor project(Tensor x, Tensor w, std::string_view name = {});

void add_project_kernels(KernelSet& set);

}  // namespace swapadvisor
