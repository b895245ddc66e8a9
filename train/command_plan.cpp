// plan, simulate, verify: nothing here runs an op or allocates a tensor.
#include <swapadvisor/swap/plan_file.h>
#include <swapadvisor/swap/plan_json.h>
#include <swapadvisor/swap/simulate.h>
#include <swapadvisor/swap/trace.h>
#include <swapadvisor/swap/verify.h>
#include <swapadvisor/train/plan_source.h>
#include <swapadvisor/train/planning.h>
#include <swapadvisor/train/report.h>

#include <filesystem>
#include <fstream>
#include <optional>

namespace swapadvisor {
namespace {

struct PlanCommand {
  PlanSource source;
  PlanCommandOptions plan;
  OutputOptions output;
  std::string out, trace, graph_out, report;
  std::uint64_t seed = 1;
  int threads = 1;
  JointParts parts;
};

void print_prediction(const Program& program, std::int64_t needed) {
  const Prediction& p = program.predicted;
  fmt::print("planner            {}\n", program.planner);
  if (needed > 0)
    fmt::print("device memory      {} of {} needed\n", format_bytes(p.peak_bytes), format_bytes(needed));
  else
    fmt::print("device memory      {}\n", format_bytes(p.peak_bytes));
  fmt::print("memory limit       {}\n", format_bytes(program.device.memory_bytes));
  fmt::print("host memory        {}\n", format_bytes(program.host_bytes));
  fmt::print("iteration          {} (ideal {})\n", format_seconds(p.iteration_seconds),
             format_seconds(p.ideal_seconds));
  fmt::print("efficiency         {:.1f} %\n", 100 * p.efficiency);
  fmt::print("swapped in / out   {} / {} per iteration\n", format_bytes(p.swap_in_bytes),
             format_bytes(p.swap_out_bytes));
  if (p.recompute_seconds > 0) fmt::print("recomputed         {}\n", format_seconds(p.recompute_seconds));
  if (p.fallback_bytes > 0) fmt::print("fallback           {}\n", format_bytes(p.fallback_bytes));
  if (program.search.evaluations > 0)
    fmt::print("search             {} plans in {}\n", program.search.evaluations,
               format_seconds(program.search.seconds));
}

void run_plan(const PlanCommand& c) {
  const DeviceSpec spec = c.source.device_spec();
  const PlanGraph graph = c.source.graph();
  if (!c.graph_out.empty()) write_graph(c.graph_out, graph);
  const std::int64_t needed = device_bytes_needed(graph);
  PlanRequest request = plan_request(graph, spec, c.plan, needed);
  const DeviceSpec& device = request.device;
  std::string planner = c.plan.planner;
  if (planner.empty()) planner = needed <= device.memory_bytes ? "none" : default_planner;
  InterruptStop interrupt;
  request.seed = c.seed;
  request.threads = c.threads;
  request.parts = c.parts;
  request.stop = interrupt.token();
  check_writable({c.out, c.trace, c.report});
  std::optional<ProgressReporter> reporter(std::in_place, progress_mode(c.output.quiet));
  request.progress = report_search(*reporter, request.search_seconds, request.search_evaluations);
  const CachedPlan made = make_plan(c.plan, *make_planner(planner), request, &*reporter);
  const Program& program = made.program;
  reporter.reset();
  if (!c.out.empty()) write_plan(c.out, program);
  if (!c.trace.empty()) write_chrome_trace(c.trace, program, spans_of(simulate_timeline(program, 3)));
  if (!c.report.empty()) write_report(c.report, program);
  if (c.output.json) {
    print_json({{"planner", program.planner},
                {"device_bytes_needed", needed},
                {"device_bytes_limit", device.memory_bytes},
                {"host_bytes", program.host_bytes},
                {"cached", made.cached},
                {"predicted", predicted_json(program.predicted)},
                {"search", search_json(program.search)}});
    return;
  }
  if (made.cached) fmt::print("{}\n", describe(made));
  print_prediction(program, needed);
}

void run_simulate(const std::string& path, const std::string& trace, const std::string& report,
                  const OutputOptions& output) {
  check_writable({trace, report});
  Program program = read_plan(path);
  if (const Verdict verdict = verify(program); !verdict.valid) fail("{}: not valid: {}", path, verdict.error);
  const std::int64_t fallback = program.predicted.fallback_bytes;
  program.predicted = simulate(program);
  program.predicted.fallback_bytes = fallback;
  if (!trace.empty()) write_chrome_trace(trace, program, spans_of(simulate_timeline(program, 3)));
  if (!report.empty()) write_report(report, program);
  if (output.json) {
    print_json({{"predicted", predicted_json(program.predicted)}, {"search", search_json(program.search)}});
    return;
  }
  print_prediction(program, 0);
}

/// A plan whose indices are out of range is refused while it is read: not valid either. A file that cannot be read
/// says nothing about a plan: throws `Error`.
Verdict verdict_on(const std::string& path) {
  try {
    return verify(read_plan(path));
  } catch (const Error& error) {
    if (!std::ifstream(path) || std::filesystem::is_directory(path)) throw;
    return {false, error.what()};
  }
}

void run_verify(const std::string& path, const OutputOptions& output) {
  const Verdict verdict = verdict_on(path);
  if (output.json) {
    nlohmann::ordered_json object{{"valid", verdict.valid}};
    if (!verdict.valid) object["error"] = verdict.error;
    print_json(object);
  } else if (verdict.valid) {
    fmt::print("{}: valid\n", path);
  }
  if (verdict.valid) return;
  if (verdict.error.starts_with(path)) fail("{}", verdict.error);
  fail("{}: not valid: {}", path, verdict.error);
}

}  // namespace

void add_plan_command(CLI::App& app) {
  CLI::App* command =
      app.add_subcommand("plan", "Plan a model's or a graph's training step, without running it");
  auto c = std::make_shared<PlanCommand>();
  c->source.add_to(*command);
  c->plan.add_to(*command);
  add_parts_option(*command, c->parts);
  c->output.add_to(*command);
  command->add_option("--threads", c->threads, "Search threads; they change no answer")
      ->check(CLI::Range(1, 1024));
  command->add_option("--seed,--planner-seed", c->seed, "Seed of the search")->check(whole_seed())->capture_default_str();
  command->add_option("--out", c->out, "Write the plan to this file");
  command->add_option("--graph-out", c->graph_out, "Write the planned graph to this file");
  command->add_option("--trace", c->trace,
                      "Write the predicted timeline as a Chrome trace (opens in Perfetto)");
  command->add_option(
      "--report", c->report,
      "Write one HTML page about the plan: timeline, memory, stalls, swaps, search (opens in any browser)");
  command->callback([c] { run_plan(*c); });
}

void add_simulate_command(CLI::App& app) {
  CLI::App* command = app.add_subcommand("simulate", "Predict the iteration time of a plan");
  auto path = std::make_shared<std::string>(), trace = std::make_shared<std::string>(),
       report = std::make_shared<std::string>();
  auto output = std::make_shared<OutputOptions>();
  output->add_to(*command);
  command->add_option("PLAN", *path, "Plan v1 file")->required();
  command->add_option("--trace", *trace, "Write the timeline as a Chrome trace (opens in Perfetto)");
  command->add_option("--report", *report, "Write one HTML page about the plan (opens in any browser)");
  command->callback([=] { run_simulate(*path, *trace, *report, *output); });
}

void add_verify_command(CLI::App& app) {
  CLI::App* command = app.add_subcommand("verify", "Prove that a plan computes what its graph says");
  auto path = std::make_shared<std::string>();
  auto output = std::make_shared<OutputOptions>();
  output->add_to(*command);
  command->add_option("PLAN", *path, "Plan v1 file")->required();
  command->callback([=] { run_verify(*path, *output); });
}

}  // namespace swapadvisor
