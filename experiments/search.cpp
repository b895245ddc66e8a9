// experiment search: how efficiency grows with search effort, method by method, ten seeds each.
#include <swapadvisor/experiments/plan_jobs.h>
#include <swapadvisor/experiments/search_methods.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace swapadvisor {
namespace {

struct Spread {
  double low = 0, middle = 0, high = 0;
};

Spread spread_of(std::vector<double> values) {
  std::erase_if(values, [](double value) { return std::isnan(value); });
  if (values.empty()) values.push_back(std::nan(""));
  std::sort(values.begin(), values.end());
  return {values.front(), values[values.size() / 2], values.back()};
}

}  // namespace

ExperimentResult run_search(const ExperimentOptions& options) {
  const bool tiny = options.scale == ExperimentScale::tiny;
  const int seeds = tiny ? 2 : 10;
  std::vector<std::int64_t> budgets{50, 100, 200, 400, 800};
  if (options.full) budgets.insert(budgets.end(), {1600, 3200, 6400});
  if (tiny) budgets.resize(2);
  std::vector<Workload> chosen;
  for (const Workload& workload : workloads(options.scale))
    if (tiny || workload.model == "rnn" || workload.model == "wresnet152-10") chosen.push_back(workload);

  const std::array methods{SearchMethod::genetic, SearchMethod::annealing, SearchMethod::random,
                           SearchMethod::greedy, SearchMethod::joint};
  std::vector<SearchJob> jobs;
  for (const Workload& workload : chosen) {
    const SharedGraph graph = training_graph(workload, workload.batch_size, paper_compute());
    for (SearchMethod method : methods)
      for (int seed = 0; seed < seeds; ++seed)
        jobs.push_back({graph, paper_device(options.scale), method, budgets,
                        options.seed + static_cast<std::uint64_t>(seed)});
  }
  const std::vector<std::vector<double>> outcomes = run_searches(jobs, options);

  ResultTable table{
      "search", {"workload", "method", "evaluations", "seeds", "lowest, %", "median, %", "highest, %"}, {}};
  Figure figure{"search", fmt::format("Efficiency found against search effort, {} seeds", seeds), {}};
  std::size_t at = 0;
  for (const Workload& workload : chosen) {
    Chart chart{workload.name, "evaluations", "% of ideal", true, false, {}, {}};
    for (SearchMethod method : methods) {
      Series series{std::string(name_of(method)), {}, {}, method == SearchMethod::greedy};
      for (std::size_t b = 0; b < budgets.size(); ++b) {
        std::vector<double> values;
        for (int seed = 0; seed < seeds; ++seed)
          values.push_back(outcomes[at + static_cast<std::size_t>(seed)][b]);
        const Spread spread = spread_of(values);
        series.points.push_back({static_cast<double>(budgets[b]), spread.middle});
        series.spread.push_back({spread.low, spread.high});
        table.rows.push_back({workload.name, std::string(name_of(method)), fmt::format("{}", budgets[b]),
                              fmt::format("{}", seeds), percent_cell(spread.low), percent_cell(spread.middle),
                              percent_cell(spread.high)});
      }
      at += static_cast<std::size_t>(seeds);
      chart.series.push_back(std::move(series));
    }
    figure.charts.push_back(std::move(chart));
  }
  return {{table},
          {figure},
          {"Simulated on v100-16g. Genetic, annealing and random search the paper's encoding: an order, the "
           "size -> class "
           "map and the objects per class. Greedy is the best of that encoding's starting points without any "
           "search. joint "
           "searches ours. An evaluation walks and simulates one candidate, in all of them."}};
}

}  // namespace swapadvisor
