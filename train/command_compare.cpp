// compare: all planners on one graph, side by side.
#include <swapadvisor/swap/bounds.h>
#include <swapadvisor/swap/plan_json.h>
#include <swapadvisor/swap/verify.h>
#include <swapadvisor/train/plan_source.h>
#include <swapadvisor/train/planning.h>
#include <swapadvisor/train/report.h>

#include <algorithm>
#include <chrono>

namespace swapadvisor {
namespace {

struct CompareCommand {
  PlanSource source;
  PlanCommandOptions plan;
  OutputOptions output;
  std::vector<std::string> planners;
  std::string report;
  std::uint64_t seed = 1;
  int threads = 1;
};

ReportPlan plan_with(const std::string& planner, const PlanCommandOptions& options, const PlanRequest& request,
                     std::int64_t needed, bool quiet) {
  ReportPlan row;
  row.planner = planner;
  PlanRequest own = request;
  // Its row is the ideal.
  if (planner == "none") own.device.memory_bytes = std::max(own.device.memory_bytes, needed);
  ProgressReporter reporter(progress_mode(quiet));
  own.progress = report_search(reporter, own.search_seconds, own.search_evaluations);
  const auto start = std::chrono::steady_clock::now();
  try {
    CachedPlan made = make_plan(options, *make_planner(planner), own, &reporter);
    row.program = std::move(made.program);
    row.cached = made.cached;
    if (const Verdict verdict = verify(row.program); !verdict.valid) row.invalid = verdict.error;
  } catch (const Error& error) {
    row.refusal = error.what();
  }
  row.planning_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return row;
}

void print_row(const ReportPlan& row) {
  if (!row.refusal.empty()) {
    fmt::print("{:<14} {}\n", row.planner, row.refusal);
    return;
  }
  const Prediction& p = row.program.predicted;
  fmt::print("{:<14}{:>9.2f} %{:>12}{:>12}{:>12}{:>12}{:>12}{:>10.2f} %{:>11}{}\n", row.planner,
             100 * p.efficiency, format_seconds(p.iteration_seconds), format_bytes(p.swap_in_bytes),
             format_bytes(p.swap_out_bytes), format_seconds(p.recompute_seconds),
             format_bytes(p.fallback_bytes), 100 * p.ideal_seconds / p.swap_bound_seconds,
             row.cached ? "cache" : format_seconds(row.planning_seconds),
             row.invalid.empty() ? "" : "  NOT VALID: " + row.invalid);
  std::fflush(stdout);
}

nlohmann::ordered_json row_json(const ReportPlan& row) {
  if (!row.refusal.empty()) return {{"planner", row.planner}, {"valid", false}, {"error", row.refusal}};
  nlohmann::ordered_json json{{"planner", row.planner}, {"valid", row.invalid.empty()}};
  if (!row.invalid.empty()) json["error"] = row.invalid;
  json["planning_seconds"] = row.planning_seconds;
  json["cached"] = row.cached;
  json["predicted"] = predicted_json(row.program.predicted);
  json["search"] = search_json(row.program.search);
  return json;
}

void run_compare(const CompareCommand& c) {
  const DeviceSpec spec = c.source.device_spec();
  const PlanGraph graph = c.source.graph();
  const std::int64_t needed = device_bytes_needed(graph);
  PlanRequest request = plan_request(graph, spec, c.plan, needed);
  const DeviceSpec& device = request.device;
  std::vector<std::string> names = c.planners;
  if (names.empty())
    for (const PlannerInfo& info : planner_list()) names.push_back(info.name);
  check_writable({c.report});
  InterruptStop interrupt;
  request.seed = c.seed;
  request.threads = c.threads;
  request.stop = interrupt.token();
  if (!c.output.json) {
    fmt::print("{} ops, {} needed, {} allowed on {}\n", graph.ops.size(), format_bytes(needed),
               format_bytes(device.memory_bytes), device.name);
    fmt::print("{:<14}{:>11}{:>12}{:>12}{:>12}{:>12}{:>12}{:>12}{:>11}\n", "planner", "efficiency",
               "iteration", "swap in", "swap out", "recompute", "fallback", "swap bound", "planned in");
  }
  auto rows = nlohmann::ordered_json::array();
  std::vector<ReportPlan> plans;
  for (const std::string& name : names) {
    if (request.stop.stop_requested()) fail("interrupted");
    ReportPlan row = plan_with(name, c.plan, request, needed, c.output.quiet || c.output.json);
    if (c.output.json)
      rows.push_back(row_json(row));
    else
      print_row(row);
    if (!c.report.empty()) plans.push_back(std::move(row));
  }
  if (!c.report.empty()) write_report(c.report, plans);
  const double ideal = total_seconds(graph), bound = bound_seconds(graph, device);
  if (c.output.json) {
    print_json({{"device_bytes_needed", needed},
                {"device_bytes_limit", device.memory_bytes},
                {"bound_seconds", bound},
                {"ideal_seconds", ideal},
                {"planners", rows}});
    return;
  }
  fmt::print("ideal {}; no plan can do better than {} ({:.2f} %)\n", format_seconds(ideal),
             format_seconds(bound), bound > 0 ? 100 * ideal / bound : 100);
}

}  // namespace

void add_compare_command(CLI::App& app) {
  CLI::App* command = app.add_subcommand("compare", "Plan with every planner and show them in one table");
  auto c = std::make_shared<CompareCommand>();
  c->source.add_to(*command);
  c->plan.add_to(*command);
  command->remove_option(command->get_option("--planner"));
  c->output.add_to(*command);
  command->add_option("--planners", c->planners, "Only these, separated by commas; default: all")
      ->delimiter(',')
      ->check([](const std::string& name) {
        try {
          make_planner(name);
          return std::string();
        } catch (const Error& error) {
          return std::string(error.what());
        }
      });
  command->add_option("--threads", c->threads, "Search threads; they change no answer")
      ->check(CLI::Range(1, 1024));
  command->add_option("--seed,--planner-seed", c->seed, "Seed of the searches")->check(whole_seed())->capture_default_str();
  command->add_option(
      "--report", c->report,
      "Write one HTML page: the table of planners, and the plans in detail (opens in any browser)");
  command->callback([c] { run_compare(*c); });
}

}  // namespace swapadvisor
