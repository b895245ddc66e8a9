// experiment inference: requests served one after the other, by one model or by several that share the
// device.
#include <swapadvisor/core/rng.h>
#include <swapadvisor/experiments/plan_jobs.h>
#include <swapadvisor/swap/simulate.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

namespace swapadvisor {
namespace {

ModelOptions tokens(std::int64_t length) {
  ModelOptions options;
  options.seq_len = length;
  return options;
}

struct Service {
  std::string name;
  std::vector<Workload> models;
  int requests;
};

std::vector<Service> services(ExperimentScale scale) {
  if (scale == ExperimentScale::tiny) return {{"two small models", workloads(scale), 6}};
  return {{"GPT-2 1.5B, 8 x 512 tokens", {{"GPT-2 1.5B", "gpt2-xl", tokens(512), 8}}, 4},
          {"four models by turns, batch 8",
           {{"BERT-large", "bert-large", tokens(384), 8},
            {"GPT-2 355M", "gpt2-medium", tokens(384), 8},
            {"WideResNet-101-2", "wide_resnet101_2", {}, 8},
            {"Inception-v4", "inception_v4", {}, 8}},
           24}};
}

/// A round of requests as one iteration: each model's parameters are there once, everything else once per
/// request.
struct Round {
  SharedGraph graph;
  std::vector<std::int32_t> last_op;  ///< per request
};

class RoundBuilder {
 public:
  void add(const PlanGraph& model, std::size_t index) {
    std::vector<std::int32_t> ids;
    for (const PlanBuffer& buffer : model.buffers) {
      const bool shared = is_persistent(buffer.kind);
      const std::string name = shared ? fmt::format("model{}/{}", index, buffer.name)
                                      : fmt::format("request{}/{}", round_.last_op.size(), buffer.name);
      const auto [found, is_new] =
          by_name_.try_emplace(name, static_cast<std::int32_t>(graph_.buffers.size()));
      if (is_new) {
        graph_.buffers.push_back(buffer);
        graph_.buffers.back().name = name;
      }
      ids.push_back(found->second);
    }
    for (PlanOp op : model.ops) {
      for (auto* operands : {&op.inputs, &op.outputs})
        for (std::int32_t& b : *operands) b = ids[static_cast<std::size_t>(b)];
      op.name = fmt::format("request{}/{}", round_.last_op.size(), op.name);
      graph_.ops.push_back(std::move(op));
    }
    round_.last_op.push_back(static_cast<std::int32_t>(graph_.ops.size()) - 1);
  }
  Round finish(const std::string& name) {
    graph_.name = name;
    round_.graph = std::make_shared<const PlanGraph>(std::move(graph_));
    return std::move(round_);
  }

 private:
  PlanGraph graph_;
  Round round_;
  std::map<std::string, std::int32_t> by_name_;
};

Round build_round(const Service& service, std::uint64_t seed) {
  std::vector<SharedGraph> graphs;
  for (const Workload& model : service.models)
    graphs.push_back(inference_graph(model, model.batch_size, paper_compute()));
  RoundBuilder builder;
  const RandomStream random{seed, 0x5e7e, 0};
  for (int r = 0; r < service.requests; ++r) {
    const std::size_t model =
        random.below(static_cast<std::uint64_t>(r), static_cast<std::uint32_t>(graphs.size()));
    builder.add(*graphs[model], model);
  }
  return builder.finish(service.name);
}

/// Seconds from the end of one request to the end of the next, in a steady round.
std::vector<double> latencies(const Program& program, const Round& round) {
  constexpr std::int32_t iterations = 5, steady = 3;
  const Timeline timeline = simulate_timeline(program, iterations);
  std::map<std::int32_t, double> end_of_op;
  double before = 0;
  for (std::int32_t i = 0; i < timeline.instructions; ++i) {
    const Instruction& instruction = program.instructions[static_cast<std::size_t>(i)];
    if (instruction.kind != InstructionKind::run) continue;
    const auto at = [&](std::int32_t iteration) {
      return timeline.end[static_cast<std::size_t>(iteration * timeline.instructions + i)];
    };
    before = std::max(before, at(steady - 1));
    end_of_op[instruction.target] = std::max(end_of_op[instruction.target], at(steady));
  }
  std::vector<double> seconds;
  for (std::int32_t op : round.last_op) {
    seconds.push_back(end_of_op[op] - before);
    before = end_of_op[op];
  }
  return seconds;
}

double quantile(std::vector<double> values, double q) {
  std::sort(values.begin(), values.end());
  const auto rank = static_cast<std::size_t>(std::ceil(q * static_cast<double>(values.size())));
  return values[std::min(values.size() - 1, rank > 0 ? rank - 1 : 0)];
}

}  // namespace

ExperimentResult run_inference(const ExperimentOptions& options) {
  const std::array planners{"lru", "belady", "joint"};
  const std::array shares{1.0, 0.75, 0.5, 0.25};
  const std::vector<Service> all = services(options.scale);
  std::vector<Round> rounds;
  std::vector<PlanJob> jobs;
  for (const Service& service : all) {
    rounds.push_back(build_round(service, options.seed));
    const SharedGraph& graph = rounds.back().graph;
    for (double share : shares)
      for (const char* planner : planners) {
        PlanJob job{graph, paper_device(options.scale), planner, 0, options.seed, {}, true};
        job.parts.order = false;  // requests are served as they come
        job.device.memory_bytes =
            static_cast<std::int64_t>(share * static_cast<double>(device_bytes_needed(*graph)));
        job.evaluations = evaluations_for(*graph, planner, options, 4);
        jobs.push_back(job);
      }
  }
  const std::vector<PlanOutcome> outcomes = run_jobs(jobs, options);
  ResultTable table{"inference",
                    {"service", "memory, GB", "% of all resident", "planner", "p50, ms", "p99, ms",
                     "requests/s", "% of all resident's speed"},
                    {}};
  Figure figure{"inference", "Serving under a memory limit (V100, simulated)", {}};
  std::size_t at = 0;
  for (std::size_t s = 0; s < all.size(); ++s) {
    Chart median{all[s].name + ": p50", "memory, % of all resident", "ms", true, true, {}, {}}, tail = median;
    tail.title = all[s].name + ": p99";
    for (const char* planner : planners)
      median.series.push_back({planner, {}}), tail.series.push_back({planner, {}});
    for (double share : shares)
      for (std::size_t p = 0; p < planners.size(); ++p, ++at) {
        const PlanOutcome& o = outcomes[at];
        std::vector<std::string> row{
            all[s].name, fmt::format("{:.2f}", static_cast<double>(jobs[at].device.memory_bytes) / 1e9),
            fmt::format("{:.0f}", 100 * share), planners[p]};
        if (o.planned()) {
          const std::vector<double> seconds = latencies(o.program, rounds[s]);
          const double p50 = 1e3 * quantile(seconds, 0.5), p99 = 1e3 * quantile(seconds, 0.99);
          median.series[p].points.push_back({100 * share, p50});
          tail.series[p].points.push_back({100 * share, p99});
          row.insert(row.end(), {fmt::format("{:.1f}", p50), fmt::format("{:.1f}", p99),
                                 fmt::format("{:.2f}", all[s].requests / o.predicted.iteration_seconds),
                                 percent_cell(o.efficiency())});
        } else {
          row.insert(row.end(), {"-", "-", "-", "-"});
        }
        table.rows.push_back(std::move(row));
      }
    figure.charts.push_back(std::move(median));
    figure.charts.push_back(std::move(tail));
  }
  return {{table},
          {figure},
          {"Simulated on v100-16g: requests come back to back in a random order that is known to the "
           "planner, and are served in that order; a latency counts from the end of the request before."}};
}

}  // namespace swapadvisor
