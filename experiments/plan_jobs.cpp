#include <swapadvisor/experiments/parallel_jobs.h>
#include <swapadvisor/experiments/plan_jobs.h>
#include <swapadvisor/swap/verify.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace swapadvisor {
namespace {

PlanOutcome run_job(const PlanJob& job, std::stop_token stop) {
  PlanRequest request;
  request.graph = job.graph.get();
  request.device = job.device;
  request.seed = job.seed;
  request.search_evaluations = job.evaluations;
  request.parts = job.parts;
  request.stop = std::move(stop);
  PlanOutcome outcome;
  Program program;
  try {
    program = make_planner(job.planner)->plan(request);
  } catch (const Error& error) {
    outcome.refusal = error.what();
    return outcome;
  }
  if (const Verdict verdict = verify(program); !verdict.valid)
    fail("internal error: the plan of '{}' for {} is not valid: {}", job.planner, job.graph->name,
         verdict.error);
  outcome.predicted = program.predicted;
  outcome.search = program.search;
  if (outcome.predicted.iteration_seconds < (1 - 1e-9) * outcome.predicted.bound_seconds)
    fail("internal error: the plan of '{}' for {} is faster than its bound", job.planner, job.graph->name);
  if (job.keep_program) outcome.program = std::move(program);
  return outcome;
}

}  // namespace

double PlanOutcome::efficiency() const {
  return planned() ? 100 * predicted.efficiency : std::numeric_limits<double>::quiet_NaN();
}

std::vector<PlanOutcome> run_jobs(const std::vector<PlanJob>& jobs, const ExperimentOptions& options) {
  std::vector<PlanOutcome> outcomes(jobs.size());
  // The longest first, so that no thread is left with one at the end.
  std::vector<std::size_t> order(jobs.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  const auto effort = [&](std::size_t i) {
    return static_cast<double>(jobs[i].evaluations + 20) * static_cast<double>(jobs[i].graph->ops.size());
  };
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return effort(a) > effort(b); });
  run_in_parallel(jobs.size(), options,
                  [&](std::size_t k) { outcomes[order[k]] = run_job(jobs[order[k]], options.stop); });
  return outcomes;
}

double evaluations_per_1000_ops(const ExperimentOptions& options) {
  // An evaluation of `joint` walks a graph of 1,000 ops in about a millisecond: seconds of one core.
  const double seconds = options.scale == ExperimentScale::tiny ? 0.02 : options.full ? 60 : 1;
  return 1000 * seconds;
}

std::int64_t evaluations_for(const PlanGraph& graph, const std::string& planner,
                             const ExperimentOptions& options, double share) {
  // One of `swapadvisor` takes a quarter of `joint`'s.
  const double faster = planner == "swapadvisor" ? 4 : 1;
  const double thousands = static_cast<double>(graph.ops.size()) / 1000;
  return std::max<std::int64_t>(50,
                                std::llround(share * faster * evaluations_per_1000_ops(options) / thousands));
}

std::string percent_cell(double percent) {
  return std::isfinite(percent) ? fmt::format("{:.2f}", percent) : "-";
}

}  // namespace swapadvisor
