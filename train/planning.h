// How the commands make plans: limits and budget of the command line, the user's cache, Ctrl-C during a
// search.
#pragma once

#include <swapadvisor/train/cli.h>
#include <swapadvisor/train/plan_cache.h>

namespace swapadvisor {

/// Asks `planner` by way of the user's cache, unless `--no-cache`. That a plan cannot be stored is a warning;
/// why a stored one is not used is a message of `reporter`, if there is one. `match`, `context`: see
/// `PlanCache::plan`.
CachedPlan make_plan(const PlanCommandOptions& options, const Planner& planner, const PlanRequest& request,
                     ProgressReporter* reporter, PlanMatch match = PlanMatch::exact,
                     const std::string& context = {});

/// "plan from the cache: FILE, planned 2026-01-31T12:34:56Z".
std::string describe(const CachedPlan& cached);

/// The plan of one session that measures its ops: from the cache when the measured times are near those it
/// was made for. Ctrl-C ends its search, not the work: with the best plan so far it goes on. Must outlive the
/// session's making.
class SessionPlanning {
 public:
  /// `reporter`: shows the search and where the plan is from. `interrupt`: who hears of Ctrl-C.
  SessionPlanning(const PlanCommandOptions& plan, const DeviceCommandOptions& device, const Device& opened,
                  ProgressReporter* reporter = nullptr, InterruptStop* interrupt = nullptr);

  /// Planner, limit, budget, and `make_plan`, which refers to this object.
  SessionOptions options();
  /// Where the plan came from, once the session is made; its program is the session's.
  const CachedPlan& source() const { return source_; }

 private:
  Program make(const Planner& planner, const PlanRequest& request);
  void tell(const std::string& text);

  const PlanCommandOptions& plan_;
  std::string context_;
  bool capture_;
  ProgressReporter* reporter_;
  InterruptStop* interrupt_;
  CachedPlan source_;
};

}  // namespace swapadvisor
