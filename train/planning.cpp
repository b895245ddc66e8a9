#include <swapadvisor/train/planning.h>

#include <optional>

namespace swapadvisor {

CachedPlan make_plan(const PlanCommandOptions& options, const Planner& planner, const PlanRequest& request,
                     ProgressReporter* reporter, PlanMatch match, const std::string& context) {
  const std::optional<PlanCache> cache = options.no_cache ? std::nullopt : user_plan_cache();
  CachedPlan made;
  if (cache)
    made = cache->plan(planner, request, match, context);
  else
    made.program = planner.plan(request);
  if (!made.unused.empty() && reporter != nullptr) reporter->message(made.unused);
  if (!made.unstored.empty()) warn(made.unstored);
  return made;
}

std::string describe(const CachedPlan& cached) {
  return fmt::format("plan from the cache: {}, planned {}", cached.file, cached.planned);
}

SessionPlanning::SessionPlanning(const PlanCommandOptions& plan, const DeviceCommandOptions& device,
                                 const Device& opened, ProgressReporter* reporter, InterruptStop* interrupt)
    : plan_(plan),
      context_(device.context(opened)),
      capture_(device.cuda_graph),
      reporter_(reporter),
      interrupt_(interrupt) {
  if (!plan.no_cache) user_plan_cache();  // a size that is none is found before the work
}

SessionOptions SessionPlanning::options() {
  SessionOptions options;
  options.planner = plan_.planner;
  options.memory_limit = plan_.limit();
  options.search_seconds = plan_.search_budget_seconds();
  options.search_evaluations = plan_.search_evaluations;
  options.capture = capture_;
  options.on_no_capture = [](const std::string& reason) {
    warn(fmt::format("the CUDA graph is not used: {}", reason));
  };
  if (reporter_ != nullptr)
    options.plan_progress = report_search(*reporter_, options.search_seconds, options.search_evaluations);
  options.make_plan = [this](const Planner& planner, const PlanRequest& request) {
    return make(planner, request);
  };
  return options;
}

Program SessionPlanning::make(const Planner& planner, const PlanRequest& request) {
  PlanRequest own = request;
  std::optional<InterruptPart> search;
  if (interrupt_ != nullptr && interrupt_->token().stop_requested()) fail("interrupted before the search");
  if (interrupt_ != nullptr && planner.info().searches) own.stop = search.emplace(*interrupt_).token();
  source_ = make_plan(plan_, planner, own, reporter_, PlanMatch::similar, context_);
  const bool stopped = search && own.stop.stop_requested() && !interrupt_->token().stop_requested();
  search.reset();
  const SearchReport& report = source_.program.search;
  if (source_.cached)
    tell(fmt::format("{}; predicted with the times measured now", describe(source_)));
  else if (stopped)
    tell(fmt::format(
        "search stopped after {} plans in {}: going on with the best one; Ctrl-C again ends the run",
        report.evaluations, format_seconds(report.seconds)));
  return std::move(source_.program);
}

void SessionPlanning::tell(const std::string& text) {
  if (reporter_ != nullptr) reporter_->message(text);
}

}  // namespace swapadvisor
