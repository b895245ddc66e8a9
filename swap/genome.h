// What the genetic search evolves: the schedule, the size → class map and the objects per class (SwapAdvisor,
// ASPLOS 2020, section 6), and the operators that make new candidates from old ones. Every operator is a
// function of its arguments and the draws; results are always legal.
#pragma once

#include <swapadvisor/core/rng.h>
#include <swapadvisor/memory/size_class_pool.h>
#include <swapadvisor/swap/dependencies.h>

#include <cstdint>
#include <span>
#include <vector>

namespace swapadvisor {

/// One candidate's own draws, in sequence.
class Draws {
 public:
  explicit Draws(const RandomStream& stream) : stream_(stream) {}
  double uniform() { return stream_.uniform(next_++); }
  /// In [0, n); n ≥ 1.
  std::int32_t below(std::int32_t n) {
    return static_cast<std::int32_t>(stream_.below(next_++, static_cast<std::uint32_t>(n)));
  }
  bool chance(double p) { return uniform() < p; }

 private:
  RandomStream stream_;
  std::uint64_t next_ = 0;
};

struct Genome {
  std::vector<std::int32_t> order;
  SizeClassPool pool;
};

/// Keeps the first `cut` ops of `a` and the relative order of `b` for the rest. Legal when both are.
void cross_orders(std::span<const std::int32_t> a, std::span<const std::int32_t> b, std::size_t cut,
                  std::vector<std::int32_t>& child);

/// Sorts topologically anew: each step takes a random ready op with probability `p`, else the ready op that
/// comes first in the parent. Keeps its scratch memory; one per thread.
class OrderMutation {
 public:
  explicit OrderMutation(const Dependencies& dependencies) : dependencies_(&dependencies) {}
  void apply(std::span<const std::int32_t> parent, double p, Draws& draws, std::vector<std::int32_t>& child);

 private:
  std::int32_t take(std::size_t heap_index);
  void add(std::int32_t op);
  void sift_up(std::size_t k);
  void sift_down(std::size_t k);

  const Dependencies* dependencies_;
  std::vector<std::int32_t> position_, missing_, parent_, heap_;
};

/// Operators on pools of one graph under one memory limit. All results hold every op within the limit; the
/// limit must not be below the smallest pool. Read-only after construction, so threads may share it.
class PoolOperators {
 public:
  /// `most_alive`: by size, how many buffers of that size are alive at a time, at most; more objects are of
  /// no use.
  PoolOperators(const PoolDemand& demand, std::vector<std::int32_t> most_alive, std::int64_t limit);

  /// Classes where `is_class` is set (sizes that ops ask for are added where the limit forces it); sizes go
  /// to the smallest class that is large enough; memory is shared out by need, each class's share varied by
  /// up to a factor of `spread`.
  SizeClassPool make(std::vector<bool> is_class, double spread, Draws& draws) const;
  /// Each size's class comes from either parent, as do the objects of each class.
  SizeClassPool cross(const SizeClassPool& a, const SizeClassPool& b, Draws& draws) const;
  /// One change: a size moves to another class, a class appears or vanishes, or objects move between classes.
  void mutate(SizeClassPool& pool, Draws& draws) const;

  const PoolDemand& demand() const { return *demand_; }

 private:
  void repair(SizeClassPool& pool, Draws& draws) const;
  void add_missing(SizeClassPool& pool) const;
  bool shrink(SizeClassPool& pool, Draws& draws) const;
  void share_out(SizeClassPool& pool, double spread, Draws& draws) const;
  void fill(SizeClassPool& pool, Draws& draws) const;
  std::vector<std::int32_t> useful(const SizeClassPool& pool) const;
  void move_size(SizeClassPool& pool, Draws& draws) const;
  void move_objects(SizeClassPool& pool, Draws& draws) const;
  void add_class(SizeClassPool& pool, Draws& draws) const;
  void remove_class(SizeClassPool& pool, Draws& draws) const;

  const PoolDemand* demand_;
  std::vector<std::int32_t> most_alive_;
  std::int64_t limit_;
};

}  // namespace swapadvisor
