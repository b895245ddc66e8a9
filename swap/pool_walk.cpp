#include <swapadvisor/core/error.h>
#include <swapadvisor/swap/pool_walk.h>

#include <algorithm>

namespace swapadvisor {

PoolWalker::PoolWalker(const OpTable& table, const PoolDemand& demand, const PoolWalkOptions& options)
    : table_(&table), demand_(&demand), options_(options), buffers_(table.buffer_count()) {}

void PoolWalker::set_order(std::span<const std::int32_t> order) {
  order_.assign(order.begin(), order.end());
  uses_.find(*table_, order_);
}

std::int64_t PoolWalker::object_bytes(std::int32_t o) const {
  return demand_->sizes()[static_cast<std::size_t>(class_size_[static_cast<std::size_t>(object_class(o))])];
}

// Objects lie side by side, the smallest class first.
void PoolWalker::build_objects(const SizeClassPool& pool) {
  classes_.clear();
  class_size_.clear();
  object_class_.clear();
  offsets_.clear();
  class_index_.assign(demand_->size_count(), none);
  std::int64_t offset = 0;
  for (std::size_t size = 0; size < pool.count.size(); ++size) {
    const std::int32_t count = pool.count[size];
    if (count == 0) continue;
    const auto begin = static_cast<std::int32_t>(offsets_.size());
    class_index_[size] = static_cast<std::int32_t>(classes_.size());
    object_class_.insert(object_class_.end(), static_cast<std::size_t>(count), class_index_[size]);
    classes_.push_back({begin, begin + count});
    class_size_.push_back(static_cast<std::int32_t>(size));
    for (std::int32_t k = 0; k < count; ++k, offset += demand_->sizes()[size]) offsets_.push_back(offset);
  }
  // From classes by size to classes by index.
  size_class_.resize(pool.class_of.size());
  for (std::size_t size = 0; size < pool.class_of.size(); ++size)
    size_class_[size] =
        pool.class_of[size] < 0 ? none : class_index_[static_cast<std::size_t>(pool.class_of[size])];
}

// --- objects
// --------------------------------------------------------------------------------------------------

inline void PoolWalker::unlink(std::int32_t o) {
  const Object& taken = object(o);
  Class& c = classes_[static_cast<std::size_t>(object_class(o))];
  (taken.previous == none ? c.first_free : object(taken.previous).next) = taken.next;
  (taken.next == none ? c.last_free : object(taken.next).previous) = taken.previous;
}

inline void PoolWalker::release(std::int32_t o) {
  Class& c = classes_[static_cast<std::size_t>(object_class(o))];
  Object& freed = object(o);
  freed.buffer = none;
  freed.previous = c.last_free;
  freed.next = none;
  (c.last_free == none ? c.first_free : object(c.last_free).next) = o;
  c.last_free = o;
  key(o) = -1;
}

inline void PoolWalker::occupy(std::int32_t o, std::int32_t b) {
  object(o).buffer = b;
  buffer(b).object = o;
  key(o) = -1;
}

// Belady's choice: the object whose buffer is used next the latest; the first of equals. `none` if all hold
// operands of this step, whose next use is now.
inline std::int32_t PoolWalker::victim(const Class& c, std::int32_t step) const {
  std::int32_t furthest = -1;
  for (std::int32_t o = c.begin; o < c.end; ++o)
    furthest = std::max(furthest, keys_[static_cast<std::size_t>(o)]);
  if (furthest <= step) return none;
  std::int32_t o = c.begin;
  while (keys_[static_cast<std::size_t>(o)] != furthest) ++o;
  return o;
}

// A free object, or else a victim, of the class; of a larger one only if this op's operands hold all of it. A
// swap-in gets its home or the object that has been free the longest, so that it can start early; a run the
// latest.
template <bool timed>
inline std::int32_t PoolWalker::take(std::int32_t first_class, std::int32_t home, bool longest_free,
                                     std::int32_t step) {
  if (home != none && object(home).buffer == none) {
    unlink(home);
    object(home).buffer = workspace;
    return home;
  }
  for (auto c = static_cast<std::size_t>(first_class); c < classes_.size(); ++c) {
    const std::int32_t free = longest_free ? classes_[c].first_free : classes_[c].last_free;
    if (free != none) {
      unlink(free);
      object(free).buffer = workspace;
      return free;
    }
    const std::int32_t o = victim(classes_[c], step);
    if (o == none) continue;
    evict<timed>(o);
    object(o).buffer = workspace;
    return o;
  }
  return none;
}

// Leaves the object without an occupant, yet not in the list of free ones.
template <bool timed>
inline void PoolWalker::evict(std::int32_t o) {
  const std::int32_t b = object(o).buffer;
  Buffer& victim = buffer(b);
  const BufferKind kind = table_->kind(b);
  const bool copy_anyway = !options_.clean_eviction && (is_persistent(kind) || kind == BufferKind::temporary);
  if (victim.dirty || copy_anyway) swap_out<timed>(b, o, victim.last_access);
  victim.object = none;
  key(o) = -1;
}

// --- copies
// ---------------------------------------------------------------------------------------------------

// The first access of the iteration follows the last ones of the previous iteration.
inline void PoolWalker::touch(std::int32_t o, std::int32_t step) {
  if (object(o).touched) return;
  object(o).touched = true;
  first_touches_.push_back({step, o});
}

template <bool timed>
inline void PoolWalker::swap_out(std::int32_t b, std::int32_t o, std::int32_t step) {
  buffer(b).dirty = false;
  if constexpr (!timed) return;
  Object& from = object(o);
  from.swap_out = buffer(b).swap_out = static_cast<std::int32_t>(swap_outs_.size());
  swap_outs_.push_back({b, o, step, !from.touched});
  from.touched = true;
}

template <bool timed>
inline void PoolWalker::swap_in(std::int32_t b, std::int32_t o) {
  buffer(b).dirty = false;
  if constexpr (!timed) return;
  Object& into = object(o);
  const std::int32_t host_out = buffer(b).swap_out;
  in_step_ = std::max(in_step_, into.since);
  if (into.swap_out != none)
    in_step_ = std::max(in_step_, swap_outs_[static_cast<std::size_t>(into.swap_out)].step);
  if (host_out != none) in_step_ = std::max(in_step_, swap_outs_[static_cast<std::size_t>(host_out)].step);
  into.swap_in = static_cast<std::int32_t>(swap_ins_.size());
  swap_ins_.push_back({b, o, in_step_, into.since, into.swap_out, host_out, !into.touched});
  into.touched = true;
}

// --- one step
// -------------------------------------------------------------------------------------------------

inline std::int32_t PoolWalker::demand_of(std::int32_t step, std::int32_t operand) const {
  const std::int32_t op = order_[static_cast<std::size_t>(step)];
  return operand == workspace
             ? demand_->size_of_workspace(op)
             : demand_->size_of_buffer(table_->operands(op)[static_cast<std::size_t>(operand)].buffer);
}

// False when some operand finds no object in its class or a larger one.
template <bool timed>
inline bool PoolWalker::choose_objects(std::int32_t step) {
  const std::int32_t taker = uses_.pair(step).taker;
  chosen_.clear();
  const auto choose = [&](std::int32_t operand, std::int32_t size, std::int32_t home, bool longest_free) {
    const std::int32_t o = take<timed>(size_class_[static_cast<std::size_t>(size)], home, longest_free, step);
    if (o != none) chosen_.push_back({operand, o});
    return o != none;
  };
  const auto uses = uses_.uses(step);
  for (std::size_t k = 0; k < uses.size(); ++k) {
    const std::int32_t b = uses[k].buffer;
    if (buffer(b).object != none || b == taker) continue;
    if (!choose(static_cast<std::int32_t>(k), demand_->size_of_buffer(b), buffer(b).home, uses[k].read))
      return false;
  }
  const std::int32_t workspace_size = demand_->size_of_workspace(order_[static_cast<std::size_t>(step)]);
  return workspace_size < 0 || choose(workspace, workspace_size, none, false);
}

template <bool timed>
inline void PoolWalker::run_step(std::int32_t step) {
  const auto uses = uses_.uses(step);
  const OrderUses::Pair pair = uses_.pair(step);
  if (!choose_objects<timed>(step)) pack<timed>(step);
  RunNeeds needs;
  for (const Chosen& chosen : chosen_) {
    const bool is_workspace = chosen.operand == workspace;
    if (!is_workspace) occupy(chosen.object, uses[static_cast<std::size_t>(chosen.operand)].buffer);
    if (!is_workspace && uses[static_cast<std::size_t>(chosen.operand)].read) {
      swap_in<timed>(uses[static_cast<std::size_t>(chosen.operand)].buffer, chosen.object);
      if constexpr (timed) needs.in = static_cast<std::int32_t>(swap_ins_.size());
      continue;
    }
    if (is_workspace) workspace_object_ = chosen.object;
    if constexpr (timed) {
      touch(chosen.object, step);
      if (object(chosen.object).swap_out != none) run_outs_.push_back(object(chosen.object).swap_out);
    }
  }
  if constexpr (timed) {
    needs.outs_end = static_cast<std::int32_t>(run_outs_.size());
    runs_.push_back(needs);
  }
  if (pair.taker != none && buffer(pair.taker).object == none) {
    const std::int32_t o = buffer(pair.donor).object;
    occupy(o, pair.taker);
    buffer(pair.donor).object = none;
  }
  finish_run<timed>(step);
}

// The operands are in each other's way: they all leave, and the k-th largest takes the k-th largest object.
template <bool timed>
void PoolWalker::pack(std::int32_t step) {
  const std::int32_t op = order_[static_cast<std::size_t>(step)];
  const auto operands = table_->operands(op);
  const std::int32_t taker = uses_.pair(step).taker;
  for (const Chosen& chosen : chosen_) release(chosen.object);
  for (const OpTable::Operand& operand : operands) {
    Buffer& b = buffer(operand.buffer);
    const std::int32_t o = b.object;
    if (o == none) continue;
    if (operand.read) evict<timed>(o);
    b.object = none;
    release(o);
  }
  chosen_.clear();
  for (std::size_t k = 0; k < operands.size(); ++k)
    if (operands[k].buffer != taker) chosen_.push_back({static_cast<std::int32_t>(k), none});
  if (demand_->size_of_workspace(op) >= 0) chosen_.push_back({workspace, none});
  std::stable_sort(chosen_.begin(), chosen_.end(), [&](const Chosen& a, const Chosen& b) {
    return demand_of(step, a.operand) > demand_of(step, b.operand);
  });
  auto o = static_cast<std::int32_t>(objects_.size());
  for (Chosen& chosen : chosen_) {
    chosen.object = --o;
    SWAPADVISOR_ASSERT(
        o >= 0 && class_size_[static_cast<std::size_t>(object_class(o))] >= demand_of(step, chosen.operand),
        "the pool does not hold op {}", op);
    if (object(o).buffer == none)
      unlink(o);
    else
      evict<timed>(o);
    object(o).buffer = workspace;
  }
}

void PoolWalker::list_objects(std::int32_t step) {
  const OrderUses::Pair pair = uses_.pair(step);
  run_objects_begin_.push_back(static_cast<std::int32_t>(run_objects_.size()));
  for (std::int32_t b : table_->slots(order_[static_cast<std::size_t>(step)]))
    run_objects_.push_back(buffer(b == pair.donor && buffer(b).object == none ? pair.taker : b).object);
  if (workspace_object_ != none) run_objects_.push_back(workspace_object_);
}

template <bool timed>
inline void PoolWalker::finish_run(std::int32_t step) {
  if (listing_) list_objects(step);
  for (const OrderUses::Use& use : uses_.uses(step)) {
    Buffer& b = buffer(use.buffer);
    const std::int32_t o = b.object;
    b.last_access = step;
    if (o == none) continue;  // its object went to the taker
    if constexpr (timed) touch(o, step);
    object(o).since = step;
    b.dirty |= use.write;
    if (use.completes) swap_out<timed>(use.buffer, o, step);
    if (use.dies) {
      b.object = none;
      release(o);
    } else {
      key(o) = use.next;
    }
  }
  if (workspace_object_ != none) {
    object(workspace_object_).since = step;
    release(workspace_object_);
    workspace_object_ = none;
  }
}

// --- a pass
// ---------------------------------------------------------------------------------------------------

template <bool timed>
void PoolWalker::pass() {
  objects_.assign(offsets_.size(), {});
  keys_.assign(offsets_.size(), -1);
  std::fill(buffers_.begin(), buffers_.end(), Buffer{});
  for (Class& c : classes_) c.first_free = c.last_free = none;
  for (std::size_t k = 0; k < objects_.size(); ++k) {
    const auto o = static_cast<std::int32_t>(k);
    const std::int32_t b = timed ? boundary_[k] : none;
    if (b == none) {
      release(o);
      continue;
    }
    occupy(o, b);
    buffer(b).home = o;
    buffer(b).dirty = table_->written(b);
    key(o) = uses_.first_use(b);
  }
  const auto n = static_cast<std::int32_t>(order_.size());
  for (std::int32_t step = 0; step < n; ++step) run_step<timed>(step);
}

void PoolWalker::walk(const SizeClassPool& pool, bool listing) {
  build_objects(pool);
  listing_ = false;
  pass<false>();
  boundary_.clear();
  for (const Object& o : objects_) boundary_.push_back(o.buffer);  // all that is left is persistent

  listing_ = listing;
  swap_outs_.clear();
  swap_ins_.clear();
  runs_.clear();
  run_outs_.clear();
  first_touches_.clear();
  run_objects_.clear();
  run_objects_begin_.clear();
  in_step_ = -1;
  pass<true>();
  if (listing) run_objects_begin_.push_back(static_cast<std::int32_t>(run_objects_.size()));
  close();
  sort_swap_outs();
  build_queues();
}

// What is not where the iteration began goes out, what is missing comes back in order of need.
void PoolWalker::close() {
  packed_.clear();
  for (std::size_t k = 0; k < objects_.size(); ++k) {
    const auto o = static_cast<std::int32_t>(k);
    if (object(o).buffer == boundary_[k]) continue;
    if (object(o).buffer == none)
      unlink(o);
    else
      evict<true>(o);
    object(o).buffer = none;
    if (boundary_[k] == none)
      release(o);
    else
      packed_.push_back(o);
  }
  std::sort(packed_.begin(), packed_.end(), [&](std::int32_t a, std::int32_t b) {
    return uses_.first_use(boundary_[static_cast<std::size_t>(a)]) <
           uses_.first_use(boundary_[static_cast<std::size_t>(b)]);
  });
  for (std::int32_t o : packed_) {
    const std::int32_t b = boundary_[static_cast<std::size_t>(o)];
    occupy(o, b);
    swap_in<true>(b, o);
  }
}

}  // namespace swapadvisor
