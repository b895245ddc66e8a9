// Exponential moving average of a parameter.
#pragma once

#include <swapadvisor/core/graph.h>

namespace swapadvisor {

/// average += (1 − decay)·(x − average), in place; `decay` 0 copies x, bit by bit. Nothing changes when
/// `finite` is 0. Inputs (average, x, decay, finite) → average. `average`: a state of x's spec; `decay`: an
/// f64 scalar in [0, 1]; `finite`: an i32 scalar (see finite_check.h). Type "ema_update".
Tensor ema_update(Tensor average, Tensor x, Tensor decay, Tensor finite, std::string_view name = {});

}  // namespace swapadvisor
