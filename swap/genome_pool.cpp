#include <swapadvisor/core/error.h>
#include <swapadvisor/swap/genome.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

namespace swapadvisor {
namespace {

std::size_t index(std::int32_t i) {
  return static_cast<std::size_t>(i);
}

// 0 … n − 1, shuffled.
std::vector<std::int32_t> shuffled(std::size_t n, Draws& draws) {
  std::vector<std::int32_t> order(n);
  std::iota(order.begin(), order.end(), 0);
  for (std::size_t k = n; k > 1; --k)
    std::swap(order[k - 1], order[index(draws.below(static_cast<std::int32_t>(k)))]);
  return order;
}

// A random class that has objects.
std::int32_t random_class(const SizeClassPool& pool, Draws& draws) {
  std::int32_t classes = 0;
  for (std::int32_t count : pool.count) classes += count > 0 ? 1 : 0;
  std::int32_t left = draws.below(std::max(classes, 1));
  for (std::size_t c = 0; c < pool.count.size(); ++c)
    if (pool.count[c] > 0 && left-- == 0) return static_cast<std::int32_t>(c);
  return -1;
}

}  // namespace

PoolOperators::PoolOperators(const PoolDemand& demand, std::vector<std::int32_t> most_alive,
                             std::int64_t limit)
    : demand_(&demand), most_alive_(std::move(most_alive)), limit_(limit) {
  SWAPADVISOR_ASSERT(pool_bytes(demand, smallest_pool(demand)) <= limit, "no pool fits into {} bytes", limit);
}

SizeClassPool PoolOperators::make(std::vector<bool> is_class, double spread, Draws& draws) const {
  SizeClassPool pool;
  const auto build = [&] {
    pool.class_of.assign(is_class.size(), -1);
    pool.count.assign(is_class.size(), 0);
    std::int32_t next = -1;
    for (std::size_t s = is_class.size(); s-- > 0;) {
      if (is_class[s]) next = static_cast<std::int32_t>(s);
      pool.class_of[s] = next;
    }
    for (std::int32_t size : demand_->profile()) ++pool.count[index(pool.class_of[index(size)])];
  };
  if (demand_->profile().empty()) return smallest_pool(*demand_);
  is_class[index(demand_->profile().front())] = true;
  build();
  if (pool_bytes(*demand_, pool) > limit_) {  // now the k-th object is the largest k-th demand, and that fits
    for (std::int32_t size : demand_->profile()) is_class[index(size)] = true;
    build();
  }
  share_out(pool, spread, draws);
  map_to_existing_classes(pool);  // a class whose share is less than an object joins the next larger one
  fill(pool, draws);
  return pool;
}

// How many objects of each class could ever be in use.
std::vector<std::int32_t> PoolOperators::useful(const SizeClassPool& pool) const {
  std::vector<std::int32_t> most(pool.count.size(), 0);
  for (std::size_t s = 0; s < pool.class_of.size(); ++s)
    if (pool.class_of[s] >= 0) most[index(pool.class_of[s])] += most_alive_[s];
  return most;
}

// The largest common fraction of what each class could use, up to its random factor, that fits.
void PoolOperators::share_out(SizeClassPool& pool, double spread, Draws& draws) const {
  const std::vector<std::int32_t> most = useful(pool);
  std::vector<double> factor(pool.count.size(), 1);
  if (spread > 1)
    for (double& f : factor) f = std::pow(spread, 2 * draws.uniform() - 1);
  const auto counts_at = [&](double fraction) {
    std::vector<std::int32_t> counts = pool.count;
    for (std::size_t c = 0; c < counts.size(); ++c)
      counts[c] =
          std::max(counts[c], std::min(most[c], static_cast<std::int32_t>(fraction * factor[c] * most[c])));
    return counts;
  };
  double low = 0, high = 4;
  SizeClassPool trial = pool;
  for (int k = 0; k < 24; ++k) {
    const double middle = (low + high) / 2;
    trial.count = counts_at(middle);
    (pool_bytes(*demand_, trial) <= limit_ ? low : high) = middle;
  }
  pool.count = counts_at(low);
}

// Rest of the memory: classes in random order take what they can use.
void PoolOperators::fill(SizeClassPool& pool, Draws& draws) const {
  const std::vector<std::int32_t> most = useful(pool);
  std::int64_t left = limit_ - pool_bytes(*demand_, pool);
  for (std::int32_t c : shuffled(pool.count.size(), draws)) {
    const std::int64_t bytes = demand_->sizes()[index(c)];
    std::int32_t& count = pool.count[index(c)];
    if (most[index(c)] <= count || bytes > left) continue;
    const auto more = static_cast<std::int32_t>(std::min<std::int64_t>(most[index(c)] - count, left / bytes));
    count += more;
    left -= more * bytes;
  }
}

SizeClassPool PoolOperators::cross(const SizeClassPool& a, const SizeClassPool& b, Draws& draws) const {
  SizeClassPool child = a;
  const auto sizes = static_cast<std::int32_t>(a.count.size());
  // A stretch of sizes comes from b: neighbouring sizes share classes.
  const std::int32_t from = draws.below(sizes), to = draws.below(sizes);
  for (std::int32_t s = std::min(from, to); s <= std::max(from, to); ++s) {
    child.class_of[index(s)] = b.class_of[index(s)];
    child.count[index(s)] = b.count[index(s)];
  }
  repair(child, draws);
  return child;
}

void PoolOperators::mutate(SizeClassPool& pool, Draws& draws) const {
  if (pool.count.size() < 2) return;
  switch (draws.below(6)) {
    case 0:
      move_size(pool, draws);
      break;
    case 1:
      add_class(pool, draws);
      break;
    case 2:
      remove_class(pool, draws);
      break;
    default:
      move_objects(pool, draws);
      break;
  }
  repair(pool, draws);
}

void PoolOperators::move_size(SizeClassPool& pool, Draws& draws) const {
  const std::int32_t size = draws.below(static_cast<std::int32_t>(pool.class_of.size()));
  for (int attempt = 0; attempt < 8; ++attempt) {
    const std::int32_t c = random_class(pool, draws);
    if (c < size) continue;
    pool.class_of[index(size)] = c;
    return;
  }
}

// Gets its objects from the class that its sizes had: as many bytes, rounded up.
void PoolOperators::add_class(SizeClassPool& pool, Draws& draws) const {
  const std::int32_t c = draws.below(static_cast<std::int32_t>(pool.count.size()));
  const std::int32_t old = pool.class_of[index(c)];
  if (pool.count[index(c)] > 0 || old < 0) return;
  std::int32_t moved = 0;
  for (std::int32_t s = 0; s <= c; ++s) {
    if (pool.class_of[index(s)] != old) continue;
    pool.class_of[index(s)] = c;
    moved += most_alive_[index(s)];
  }
  std::int32_t stay = 0;
  for (std::size_t s = 0; s < pool.class_of.size(); ++s)
    if (pool.class_of[s] == old) stay += most_alive_[s];
  const double share = moved + stay > 0 ? static_cast<double>(moved) / (moved + stay) : 0.5;
  const auto given = static_cast<std::int32_t>(std::lround(share * pool.count[index(old)]));
  pool.count[index(old)] -= given;
  pool.count[index(c)] = std::max(given, 1);
}

void PoolOperators::remove_class(SizeClassPool& pool, Draws& draws) const {
  const std::int32_t c = random_class(pool, draws);
  if (c < 0) return;
  std::int64_t bytes = demand_->sizes()[index(c)] * pool.count[index(c)];
  pool.count[index(c)] = 0;
  const std::int32_t larger = [&] {
    for (std::size_t k = index(c) + 1; k < pool.count.size(); ++k)
      if (pool.count[k] > 0) return static_cast<std::int32_t>(k);
    return -1;
  }();
  if (larger < 0) return;
  for (std::int32_t& class_of : pool.class_of)
    if (class_of == c) class_of = larger;
  pool.count[index(larger)] += static_cast<std::int32_t>(bytes / demand_->sizes()[index(larger)]);
}

void PoolOperators::move_objects(SizeClassPool& pool, Draws& draws) const {
  const std::int32_t from = random_class(pool, draws), to = random_class(pool, draws);
  if (from < 0 || from == to) return;
  const std::int32_t count = pool.count[index(from)];
  const std::int32_t taken = draws.chance(0.5) ? 1 : 1 + draws.below(std::max(1, count / 2));
  pool.count[index(from)] = count - std::min(count, taken);
  std::int64_t bytes = std::min(count, taken) * demand_->sizes()[index(from)];
  bytes += std::max<std::int64_t>(0, limit_ - pool_bytes(*demand_, pool) - bytes);
  pool.count[index(to)] += static_cast<std::int32_t>(bytes / demand_->sizes()[index(to)]);
  pool.count[index(to)] = std::min(pool.count[index(to)], std::max(1, useful(pool)[index(to)]));
}

void PoolOperators::repair(SizeClassPool& pool, Draws& draws) const {
  add_missing(pool);
  map_to_existing_classes(pool);
  if (!shrink(pool, draws)) {
    pool = smallest_pool(*demand_);
    share_out(pool, 1, draws);
  }
  map_to_existing_classes(pool);
  fill(pool, draws);
}

// As many objects of at least each size as the ops ask for.
void PoolOperators::add_missing(SizeClassPool& pool) const {
  const auto profile = demand_->profile();
  std::size_t asked = 0;
  std::int32_t objects = 0;
  for (std::size_t c = pool.count.size(); c-- > 0;) {
    objects += pool.count[c];
    while (asked < profile.size() && index(profile[asked]) == c) ++asked;
    const std::int32_t missing = static_cast<std::int32_t>(asked) - objects;
    if (missing <= 0) continue;
    pool.count[c] += missing;
    objects += missing;
  }
}

// Takes objects away until the pool fits; false when that cannot be done without some op losing its place.
bool PoolOperators::shrink(SizeClassPool& pool, Draws& draws) const {
  std::int64_t excess = pool_bytes(*demand_, pool) - limit_;
  for (int round = 0; round < 4 && excess > 0; ++round) {
    for (std::int32_t c : shuffled(pool.count.size(), draws)) {
      if (excess <= 0) break;
      std::int32_t& count = pool.count[index(c)];
      const std::int64_t bytes = demand_->sizes()[index(c)];
      const std::int32_t before = count;
      auto take = static_cast<std::int32_t>(std::min<std::int64_t>(count, (excess + bytes - 1) / bytes));
      if (round == 0) take = (take + 1) / 2;  // spread it over the classes first
      for (; take > 0; take /= 2) {
        count = before - take;
        if (holds_every_op(*demand_, pool)) break;
        count = before;
      }
      excess -= bytes * (before - count);
    }
  }
  return excess <= 0;
}

}  // namespace swapadvisor
