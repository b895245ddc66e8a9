// A folder of searched plans: a search that was made once need not be made again.
#pragma once

#include <swapadvisor/swap/planner.h>

#include <cstdint>
#include <optional>
#include <string>

namespace swapadvisor {

/// Which plans serve a request again.
enum class PlanMatch : std::uint8_t {
  exact,    ///< the same graph, op seconds and link speeds to the bit
  similar,  ///< op seconds and link speeds are measured anew each time: near ones will do
};

/// What a request came to.
struct CachedPlan {
  Program program;
  bool cached = false;   ///< taken from the cache rather than planned
  std::string file;      ///< in the cache: where it was found, or stored; empty: neither
  std::string planned;   ///< when a cached plan was made, "2026-01-31T12:34:56Z"
  std::string unused;    ///< why a file that was there was not used: a sentence for people; else empty
  std::string unstored;  ///< why the plan could not be stored, likewise
};

/// Plans of searching planners, one plan v1 file each, named by the SHA-256 of all that the search depends
/// on: graph, device and limits, planner, its `PlannerInfo::version`, the program's version, seed and budget
/// (with a budget in seconds also the threads). Planners that do not search are always asked; a search that
/// was stopped, or was not needed because everything fits, is not stored.
///
/// No file is believed: it must read as a plan for the request's graph and planner, and pass `verify` under
/// the request's limits; its prediction is simulated anew. What does not is planned again and replaced.
///
/// With `PlanMatch::similar`, op seconds, link bandwidths, latency and slowdown are not in the name. A plan
/// serves if, simulated with those of now, it is within 5 % of the lower bound of any plan, so that a search
/// could win no more; or if it was made for similar ones: the bytes that the link moves in the ops' seconds
/// (each way, and both together) and the slowdown differ by a factor of at most 1.25, at most a quarter of
/// the ops' seconds went to other ops, and the efficiency keeps 90 % of what it was.
///
/// Any number of threads and processes may use one folder: files appear whole, by a rename. A folder that
/// cannot be used is no error: `CachedPlan::unstored` says so.
class PlanCache {
 public:
  /// Size of a folder for which none is given.
  static constexpr std::int64_t default_bytes = std::int64_t{1} << 30;

  /// `max_bytes`: the files used longest ago are removed beyond it. 0: nothing is stored or used.
  explicit PlanCache(std::string directory, std::int64_t max_bytes = default_bytes)
      : directory_(std::move(directory)), max_bytes_(max_bytes) {}

  /// The plan in the cache, else `planner`'s, which is then stored. `context`: more that the plan depends on,
  /// such as the threads behind measured seconds. Throws what `planner.plan` throws.
  CachedPlan plan(const Planner& planner, const PlanRequest& request, PlanMatch match = PlanMatch::exact,
                  const std::string& context = {}) const;

  /// How much there is.
  struct Contents {
    std::int64_t plans = 0, bytes = 0;
  };
  /// Nothing when there is no such folder.
  Contents contents() const;
  /// Removes every plan; other files stay. Returns what was removed. Throws `Error` for a file that stays.
  Contents clear() const;

  const std::string& directory() const { return directory_; }
  std::int64_t max_bytes() const { return max_bytes_; }

 private:
  std::string path_of(const PlannerInfo& planner, const PlanRequest& request, PlanMatch match,
                      const std::string& context) const;
  bool find(const PlannerInfo& planner, const PlanRequest& request, PlanMatch match,
            CachedPlan& result) const;
  void store(CachedPlan& result) const;
  void shrink(const std::string& newest) const;

  std::string directory_;
  std::int64_t max_bytes_;
};

/// The user's cache: folder $SWAPADVISOR_CACHE_DIR, else $XDG_CACHE_HOME/swapadvisor, else
/// ~/.cache/swapadvisor; size $SWAPADVISOR_CACHE_SIZE, such as 200MB. Absent when no variable says where.
/// Throws `Error` for a size that is none.
std::optional<PlanCache> user_plan_cache();

}  // namespace swapadvisor
