// Reverse-mode differentiation of a graph: gradients become ordinary nodes of the same graph.
#pragma once

#include <swapadvisor/core/graph.h>

#include <functional>
#include <span>
#include <vector>

namespace swapadvisor {

/// d loss / d w for each `w` of `wanted`, with w's shape and strides (row major where w is a view with gaps); absent
/// where the loss does not depend on w, or where w is not f32 or f64. `loss`: one f32 or f64 element. Only nodes on paths from `wanted` to `loss` get a
/// gradient rule.
///
/// Nodes are appended in reverse builder order, named "grad/NODE"; where several uses of a tensor contribute,
/// their sum is an `add` followed by in-place `accumulate`s, in that order, named "grad/sum/BUFFER/…". A
/// second call on the same graph uses "grad2/", and so on. Gradients pass through views as views; they are copied
/// ("grad/copy/BUFFER/…") where an op has its operand in other strides, and the slices of one tensor are put together
/// by `slice_backward` ("grad/slices/BUFFER/…"). A gradient may itself be a view, such as a slice of a larger one. Two wanted tensors may get the same result tensor,
/// so do not update it in place.
///
/// `complete` is called with the index in `wanted` and the gradient as soon as it is complete, between the
/// nodes of the backward pass: an optimizer that updates there keeps few gradients alive at a time. Later
/// nodes read no wanted tensor whose gradient is complete.
///
/// Throws `Error` when the loss is not one floating-point element, an op on the way has no gradient, or a
/// value that a gradient needs has been overwritten. Takes time linear in the size of the graph.
std::vector<Tensor> gradients(Tensor loss, std::span<const Tensor> wanted,
                              const std::function<void(std::size_t, Tensor)>& complete = {});

}  // namespace swapadvisor
