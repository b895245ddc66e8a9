#include <swapadvisor/core/program.h>
#include <swapadvisor/memory/size_class_pool.h>

#include <algorithm>
#include <functional>

namespace swapadvisor {
namespace {

// Rounded sizes of an op's distinct operands and its workspace, largest first.
void list_demands(const PlanGraph& graph, const PlanOp& op, std::vector<std::int64_t>& demands,
                  std::vector<std::int32_t>& operands) {
  operands.assign(op.inputs.begin(), op.inputs.end());
  operands.insert(operands.end(), op.outputs.begin(), op.outputs.end());
  std::sort(operands.begin(), operands.end());
  operands.erase(std::unique(operands.begin(), operands.end()), operands.end());
  demands.clear();
  for (std::int32_t b : operands)
    demands.push_back(round_up(graph.buffers[static_cast<std::size_t>(b)].bytes, arena_alignment));
  if (op.workspace_bytes > 0) demands.push_back(round_up(op.workspace_bytes, arena_alignment));
  std::sort(demands.begin(), demands.end(), std::greater<>());
}

}  // namespace

PoolDemand::PoolDemand(const PlanGraph& graph) {
  for (const PlanBuffer& buffer : graph.buffers) sizes_.push_back(round_up(buffer.bytes, arena_alignment));
  for (const PlanOp& op : graph.ops)
    if (op.workspace_bytes > 0) sizes_.push_back(round_up(op.workspace_bytes, arena_alignment));
  std::sort(sizes_.begin(), sizes_.end());
  sizes_.erase(std::unique(sizes_.begin(), sizes_.end()), sizes_.end());
  const auto index_of = [&](std::int64_t bytes) {
    return static_cast<std::int32_t>(std::lower_bound(sizes_.begin(), sizes_.end(), bytes) - sizes_.begin());
  };
  owners_.assign(sizes_.size(), 0);
  for (const PlanBuffer& buffer : graph.buffers) {
    buffer_size_.push_back(index_of(round_up(buffer.bytes, arena_alignment)));
    ++owners_[static_cast<std::size_t>(buffer_size_.back())];
  }
  std::vector<bool> has_workspace(sizes_.size(), false);
  std::vector<std::int64_t> demands, profile;
  std::vector<std::int32_t> operands;
  for (const PlanOp& op : graph.ops) {
    workspace_size_.push_back(-1);
    if (op.workspace_bytes > 0) {
      workspace_size_.back() = index_of(round_up(op.workspace_bytes, arena_alignment));
      has_workspace[static_cast<std::size_t>(workspace_size_.back())] = true;
    }
    list_demands(graph, op, demands, operands);
    if (profile.size() < demands.size()) profile.resize(demands.size(), 0);
    for (std::size_t k = 0; k < demands.size(); ++k) profile[k] = std::max(profile[k], demands[k]);
  }
  for (std::size_t s = 0; s < sizes_.size(); ++s) owners_[s] += has_workspace[s] ? 1 : 0;
  for (std::int64_t bytes : profile) profile_.push_back(index_of(bytes));
}

std::int64_t pool_bytes(const PoolDemand& demand, const SizeClassPool& pool) {
  std::int64_t bytes = 0;
  for (std::size_t c = 0; c < pool.count.size(); ++c) bytes += demand.sizes()[c] * pool.count[c];
  return bytes;
}

// The k-th largest object is at least the k-th demand for every k: for every size, there are as many objects
// of at least that size as the profile asks for.
bool holds_every_op(const PoolDemand& demand, const SizeClassPool& pool) {
  std::size_t asked = 0;
  std::int64_t objects = 0;
  for (std::size_t c = pool.count.size(); c-- > 0;) {
    objects += pool.count[c];
    while (asked < demand.profile().size() && demand.profile()[asked] == static_cast<std::int32_t>(c))
      ++asked;
    if (objects < static_cast<std::int64_t>(asked)) return false;
  }
  return true;
}

SizeClassPool smallest_pool(const PoolDemand& demand) {
  SizeClassPool pool;
  pool.count.assign(demand.size_count(), 0);
  for (std::int32_t size : demand.profile()) ++pool.count[static_cast<std::size_t>(size)];
  pool.class_of.resize(demand.size_count());
  for (std::size_t s = 0; s < pool.class_of.size(); ++s) pool.class_of[s] = static_cast<std::int32_t>(s);
  map_to_existing_classes(pool);
  return pool;
}

void map_to_existing_classes(SizeClassPool& pool) {
  std::int32_t next = -1;  // the smallest class from here on
  for (std::size_t s = pool.class_of.size(); s-- > 0;) {
    if (pool.count[s] > 0) next = static_cast<std::int32_t>(s);
    std::int32_t& c = pool.class_of[s];
    if (c >= 0 && pool.count[static_cast<std::size_t>(c)] > 0) continue;
    c = next;
  }
}

}  // namespace swapadvisor
