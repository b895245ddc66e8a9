// Size-class pools: device memory as classes of equally sized objects (SwapAdvisor, ASPLOS 2020,
// section 4.2).
#pragma once

#include <swapadvisor/core/plan_graph.h>

#include <cstdint>
#include <span>
#include <vector>

namespace swapadvisor {

/// What the ops of a graph ask of a pool, whatever their order. Sizes are rounded up to `arena_alignment`;
/// workspaces count as buffers that live for one op. Made once per graph; read-only afterwards, so threads
/// may share it.
class PoolDemand {
 public:
  explicit PoolDemand(const PlanGraph& graph);

  /// Distinct sizes, ascending.
  std::span<const std::int64_t> sizes() const { return sizes_; }
  std::size_t size_count() const { return sizes_.size(); }
  /// Index into `sizes` of a buffer.
  std::int32_t size_of_buffer(std::int32_t buffer) const {
    return buffer_size_[static_cast<std::size_t>(buffer)];
  }
  /// Index into `sizes` of an op's workspace; -1 when it has none.
  std::int32_t size_of_workspace(std::int32_t op) const {
    return workspace_size_[static_cast<std::size_t>(op)];
  }
  /// k-th entry: the largest k-th demand of any op, as an index into `sizes`; descending. A pool whose k-th
  /// largest object is at least that for every k holds the operands and the workspace of any op.
  std::span<const std::int32_t> profile() const { return profile_; }
  /// Of each size: how many buffers have it, and one more if a workspace has.
  std::span<const std::int32_t> owners() const { return owners_; }

 private:
  std::vector<std::int64_t> sizes_;
  std::vector<std::int32_t> buffer_size_, workspace_size_, profile_, owners_;
};

/// A pool for a PoolDemand with `size_count` sizes. Classes are named by the size they have: class c has
/// objects of `sizes[c]` bytes.
struct SizeClassPool {
  /// By size: its class, at least as large, with one object at least; -1 for a size that no op asks for and
  /// that is larger than every class.
  std::vector<std::int32_t> class_of;
  std::vector<std::int32_t> count;  ///< by class: objects; 0 when there is no such class
};

/// Bytes of all objects.
std::int64_t pool_bytes(const PoolDemand& demand, const SizeClassPool& pool);

/// Whether the pool holds the operands of every op: see `PoolDemand::profile`.
bool holds_every_op(const PoolDemand& demand, const SizeClassPool& pool);

/// The smallest pool that holds every op: its k-th largest object is the largest k-th demand. Each size is
/// mapped to the smallest class that is large enough.
SizeClassPool smallest_pool(const PoolDemand& demand);

/// Sizes whose class has no objects move to the smallest class with objects that is large enough; -1 if none
/// is.
void map_to_existing_classes(SizeClassPool& pool);

}  // namespace swapadvisor
