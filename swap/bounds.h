// Lower bounds on the seconds of one iteration, whatever the planner does.
#pragma once

#include <swapadvisor/core/program.h>

#include <cstdint>
#include <span>
#include <vector>

namespace swapadvisor {

/// Lower bound for every plan that runs the ops in `order` (a permutation of the ops that keeps their
/// dependencies) once each, in `capacity` bytes of device memory. At a boundary between two ops let A be the
/// values that the rest of the iteration still reads (temporaries and outputs written before, persistent
/// buffers), X = max(0, bytes of A − capacity) and Xd = max(0, X − persistent bytes of A). X must be swapped
/// in after the boundary, and Xd, not being in the host store when the iteration starts, swapped out before
/// it: max(C_before, Xd / d2h) + max(C_after, X / h2d), C the compute seconds on each side; the largest over
/// all boundaries, so never below the ideal. O(ops + operands).
double swap_bound_seconds(const PlanGraph& graph, std::span<const std::int32_t> order,
                          const DeviceSpec& device, std::int64_t capacity);

/// The same for the order in which `program` first runs its ops, in its device's memory.
double swap_bound_seconds(const Program& program);

/// The order in which `program` first runs its ops.
std::vector<std::int32_t> first_run_order(const Program& program);

/// Lower bound for every plan of the graph in any order, recompute allowed. Behind an op t, whatever the
/// order, its ancestors have run and its descendants have not; each value that the former wrote and the
/// latter read is then kept, in the host store or made again, in fractions: what exceeds the memory is copied
/// out before and in after (persistent data only in), or costs a second run's seconds after. The cheapest mix
/// is a linear programme with a convex cost in one variable. The largest over some ops t, evenly spread;
/// never below the ideal. O(ops + operands) per t.
double bound_seconds(const PlanGraph& graph, const DeviceSpec& device);

}  // namespace swapadvisor
