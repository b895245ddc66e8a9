// Every experiment, on workloads so small that all of them take seconds.
#include <expect_error.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <swapadvisor/experiments/output.h>
#include <swapadvisor/experiments/plan_jobs.h>
#include <swapadvisor/experiments/search_methods.h>

#include <cmath>
#include <map>
#include <set>

namespace swapadvisor {
namespace {

ExperimentOptions tiny(int threads = 1) {
  ExperimentOptions options;
  options.scale = ExperimentScale::tiny;
  options.threads = threads;
  return options;
}

/// Rows by the names of their columns.
class Rows {
 public:
  explicit Rows(const ResultTable& table) : table_(table) {}
  std::size_t size() const { return table_.rows.size(); }
  const std::string& text(std::size_t row, const std::string& column) const {
    const auto at = std::find(table_.columns.begin(), table_.columns.end(), column);
    EXPECT_NE(at, table_.columns.end()) << column;
    return table_.rows.at(row).at(static_cast<std::size_t>(at - table_.columns.begin()));
  }
  /// NaN for a dash.
  double number(std::size_t row, const std::string& column) const {
    const std::string& cell = text(row, column);
    return cell == "-" ? std::nan("") : std::stod(cell);
  }

 private:
  const ResultTable& table_;
};

/// What holds for all of them.
void expect_sound(const Experiment& experiment, const ExperimentResult& result) {
  ASSERT_FALSE(result.tables.empty());
  EXPECT_EQ(result.tables[0].name, experiment.name);
  EXPECT_EQ(result.headline.find_first_of("\n"), std::string::npos);
  std::set<std::string> files;
  for (const ResultTable& table : result.tables) {
    EXPECT_TRUE(files.insert(table.name).second);
    EXPECT_THAT(experiment.tables, testing::Contains(table.name));
    EXPECT_FALSE(table.rows.empty());
    const std::set<std::string> columns(table.columns.begin(), table.columns.end());
    EXPECT_EQ(columns.size(), table.columns.size()) << "a column twice";
    for (const auto& row : table.rows) {
      EXPECT_EQ(row.size(), table.columns.size());
      for (const std::string& cell : row)
        EXPECT_THAT(cell, testing::Not(testing::MatchesRegex(".*(nan|inf).*")));
    }
  }
  for (const Figure& figure : result.figures) {
    EXPECT_FALSE(figure.title.empty());
    EXPECT_FALSE(figure.charts.empty());
    std::size_t points = 0;
    for (const Chart& chart : figure.charts)
      for (const Series& series : chart.series) {
        EXPECT_FALSE(series.name.empty());
        for (const auto& point : series.points) points += std::isfinite(point.second) ? 1 : 0;
        if (!series.spread.empty()) {
          EXPECT_EQ(series.spread.size(), series.points.size());
        }
      }
    EXPECT_GT(points, 0u);
    EXPECT_GT(figure_svg(figure).size(), 1000u);
  }
  ASSERT_FALSE(result.notes.empty());
  EXPECT_THAT(result.notes[0], testing::AnyOf(testing::HasSubstr("imulated"), testing::HasSubstr("easured")))
      << "a reader must know where the numbers come from";
}

ExperimentResult run(const std::string& name, const ExperimentOptions& options = tiny()) {
  for (const Experiment& experiment : experiment_list())
    if (experiment.name == name) {
      ExperimentResult result = experiment.run(options);
      expect_sound(experiment, result);
      return result;
    }
  ADD_FAILURE() << "no experiment " << name;
  return {};
}

std::string all_csv(const ExperimentResult& result) {
  std::string text;
  for (const ResultTable& table : result.tables) text += csv_text(table);
  return text;
}

TEST(Experiments, NamesAreThoseOfTheIssueAndDifferent) {
  std::vector<std::string> names;
  for (const Experiment& experiment : experiment_list()) {
    names.push_back(experiment.name);
    EXPECT_FALSE(experiment.summary.empty());
  }
  EXPECT_THAT(names, testing::ElementsAre("models", "throughput", "limit", "ablation", "search", "inference",
                                          "link", "prediction", "rivals"));
}

// Search budgets are in evaluations: neither threads nor the clock are in the numbers.
TEST(Experiments, NumbersDependOnNoThreadCount) {
  for (const char* name : {"models", "throughput", "limit", "ablation", "search", "inference", "link"})
    EXPECT_EQ(all_csv(run(name, tiny(1))), all_csv(run(name, tiny(3)))) << name;
}

TEST(Experiments, AStopEndsEachOfThem) {
  for (const Experiment& experiment : experiment_list()) {
    std::stop_source source;
    ExperimentOptions options = tiny();
    options.stop = source.get_token();
    std::int64_t last = 0, of = 0;
    options.progress = [&](std::int64_t done, std::int64_t total) {
      source.request_stop();
      last = done;
      of = total;
    };
    if (experiment.name == "rivals") continue;  // one job when tiny: it is done before it can be stopped
    expect_error([&] { experiment.run(options); }, "interrupted");
    EXPECT_LT(last, of) << experiment.name;
  }
}

TEST(Experiments, ProgressCountsToTheEnd) {
  for (const Experiment& experiment : experiment_list()) {
    ExperimentOptions options = tiny(2);
    std::int64_t last = 0, of = 0;
    options.progress = [&](std::int64_t done, std::int64_t total) {
      EXPECT_EQ(done, last + 1);
      if (of != 0) {
        EXPECT_EQ(total, of);
      }
      last = done;
      of = total;
    };
    experiment.run(options);
    EXPECT_EQ(last, of) << experiment.name;
    EXPECT_GT(of, 0);
  }
}

TEST(Experiments, WorkloadsOfThePaperKeepTheirNamesAndBars) {
  std::map<std::string, double> bars;
  for (const Workload& workload : workloads(ExperimentScale::paper)) {
    bars[workload.name] = workload.bar;
    EXPECT_NO_THROW(find_model(workload.model, workload.options)) << workload.name;
    EXPECT_GT(workload.batch_size, 0);
  }
  EXPECT_EQ(bars, (std::map<std::string, double>{{"RNN-8-8K", 0.95},
                                                 {"BRNN-4-8K", 0.95},
                                                 {"WResNet-152-4", 0.95},
                                                 {"WResNet-152-10", 0.95},
                                                 {"Inception-v4", 0.85},
                                                 {"NASNet-A 25", 0.85},
                                                 {"BERT-large", 0.95},
                                                 {"GPT-2 1.5B", 0.95}}));
}

// The batch is the smallest one that needs four times the memory. Shapes alone: nothing is allocated.
TEST(Experiments, BatchesAreTheSmallestAtFourTimesTheMemory) {
  for (const Workload& workload : workloads(ExperimentScale::paper)) {
    if (workload.model == "nasnet-a") continue;  // thousands of ops; as the others
    const auto need = [&](std::int64_t batch) {
      return device_bytes_needed(*training_graph(workload, batch, paper_compute()));
    };
    EXPECT_GE(need(workload.batch_size), 4 * paper_memory_bytes) << workload.name;
    EXPECT_LT(need(workload.batch_size - 1), 4 * paper_memory_bytes) << workload.name;
  }
}

TEST(Experiments, ModelsCountsWhatIsThere) {
  const ExperimentResult result = run("models");
  const Rows rows(result.tables[0]);
  ASSERT_EQ(rows.size(), 2u);
  // 16 x 16 inputs, 6 layers of 256, 10 classes.
  EXPECT_EQ(rows.text(0, "workload"), "MLP-6-256");
  EXPECT_EQ(rows.text(0, "parameters"), std::to_string(6 * (256 * 256 + 256) + 256 * 10 + 10));
  EXPECT_EQ(rows.text(0, "batch"), "64");
  for (std::size_t i = 0; i < rows.size(); ++i) {
    EXPECT_GT(rows.number(i, "ops"), 20);
    EXPECT_GT(rows.number(i, "buffer sizes"), 2);
    EXPECT_LE(rows.number(i, "buffer sizes"), rows.number(i, "ops") * 3);
    EXPECT_GT(rows.number(i, "joint, % of ideal"), 0);
    EXPECT_LE(rows.number(i, "joint, % of ideal"), rows.number(i, "at most, %") + 0.01);
    EXPECT_LE(rows.number(i, "at most, %"), 100);
    EXPECT_GE(rows.number(i, "evaluations"), 1);
  }
}

TEST(Experiments, ThroughputHasEveryPlannerAndNoneBeatsJoint) {
  const ExperimentResult result = run("throughput");
  const Rows rows(result.tables[0]);
  std::map<std::string, std::map<std::string, double>> of;  // by workload and batch, by planner
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::string key = rows.text(i, "workload") + "/" + rows.text(i, "batch");
    of[key][rows.text(i, "planner")] = rows.number(i, "% of ideal");
    EXPECT_EQ(rows.text(i, "samples/s") == "-", rows.text(i, "% of ideal") == "-");
    if (rows.text(i, "samples/s") != "-") {
      EXPECT_NEAR(rows.number(i, "samples/s") / rows.number(i, "samples/s ideal"),
                  rows.number(i, "% of ideal") / 100, 1e-3);
    }
  }
  EXPECT_EQ(of.size(), 10u);
  for (const auto& [key, by_planner] : of) {
    std::set<std::string> names, expected;
    for (const PlannerInfo& info : planner_list())
      if (info.name != "none") expected.insert(info.name);
    for (const auto& [planner, percent] : by_planner) {
      names.insert(planner);
      if (std::isfinite(percent)) {
        EXPECT_GE(by_planner.at("joint") + 0.005, percent) << key << ' ' << planner;
      }
    }
    EXPECT_EQ(names, expected) << key;
  }
}

TEST(Experiments, LimitFallsFromAllMemoryAndNeverPassesItsBound) {
  const ExperimentResult result = run("limit");
  const Rows rows(result.tables[0]);
  std::map<std::string, double> last;
  std::set<std::string> full;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::string workload = rows.text(i, "workload"), planner = rows.text(i, "planner");
    const double share = rows.number(i, "% of need"), percent = rows.number(i, "% of ideal");
    if (share == 100) {
      full.insert(workload);
      if (planner != "checkpoint") {  // it recomputes whatever the memory
        EXPECT_GT(percent, 99.9) << workload << ' ' << planner << ": everything fits";
      }
    }
    if (last.contains(workload + planner)) {
      EXPECT_LT(share, last[workload + planner]);
    }
    last[workload + planner] = share;
    if (std::isfinite(percent)) {
      EXPECT_LE(percent, rows.number(i, "upper bound, %") + 0.01);
    }
    EXPECT_LE(rows.number(i, "swap-only bound, %"), 100.0);
    EXPECT_GE(share, 6.2);
  }
  EXPECT_EQ(full.size(), 2u);
}

TEST(Experiments, AblationHasAllStepsAndAllDecisionsAreWorthSomething) {
  const ExperimentResult result = run("ablation");
  const ResultTable& table = result.tables[0];
  ASSERT_EQ(table.rows.size(), 8u);
  ASSERT_EQ(table.columns.size(), 3u);
  for (std::size_t w = 1; w < table.columns.size(); ++w) {
    for (const auto& row : table.rows) EXPECT_NE(row[w], "-") << row[0];
    EXPECT_GE(std::stod(table.rows.back()[w]), std::stod(table.rows.front()[w])) << table.columns[w];
  }
}

TEST(Experiments, SearchSpreadsHoldTheirMediansAndMoreEffortIsNoWorse) {
  const ExperimentResult result = run("search");
  const Rows rows(result.tables[0]);
  std::map<std::string, std::array<double, 3>> last;
  std::set<std::string> methods;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::string method = rows.text(i, "method");
    methods.insert(method);
    const std::array now{rows.number(i, "lowest, %"), rows.number(i, "median, %"),
                         rows.number(i, "highest, %")};
    EXPECT_LE(now[0], now[1]);
    EXPECT_LE(now[1], now[2]);
    EXPECT_GT(now[0], 0);
    EXPECT_LE(now[2], 100.01);
    const std::string key = rows.text(i, "workload") + method;
    if (last.contains(key) && method == "random") {  // one search, looked at twice
      for (std::size_t k = 0; k < 3; ++k) EXPECT_GE(now[k], last[key][k]) << key;
    }
    if (last.contains(key) && method == "greedy seeds") {
      EXPECT_EQ(now, last[key]);
    }
    last[key] = now;
  }
  EXPECT_EQ(methods.size(), 5u);
}

// The same seed is the same search; the longer one's first part is the shorter one.
TEST(Experiments, SearchesOfASeedRepeat) {
  const Workload workload = workloads(ExperimentScale::tiny)[0];
  const SharedGraph graph = training_graph(workload, workload.batch_size, paper_compute());
  const DeviceSpec device = paper_device(ExperimentScale::tiny);
  for (SearchMethod method : {SearchMethod::random, SearchMethod::annealing, SearchMethod::genetic}) {
    const auto twice =
        run_searches({{graph, device, method, {20, 60}, 5}, {graph, device, method, {20, 60}, 5}}, tiny(2));
    EXPECT_EQ(twice[0], twice[1]) << name_of(method);
  }
  const auto parts = run_searches(
      {{graph, device, SearchMethod::random, {20, 60}, 5}, {graph, device, SearchMethod::random, {20}, 5}},
      tiny());
  EXPECT_EQ(parts[0][0], parts[1][0]);
}

// Baselines are planned once for all budgets, yet each result is what the planner gives.
TEST(Experiments, SearchesOfPlannersAreWhatThePlannersFind) {
  for (const Workload& workload : workloads(ExperimentScale::tiny)) {
    const SharedGraph graph = training_graph(workload, workload.batch_size, paper_compute());
    // Plenty, little, and so little that baselines win at times.
    for (std::int64_t memory : {100'000'000, 2'000'000, 1'200'000})
      for (const auto& [method, planner] :
           {std::pair(SearchMethod::joint, "joint"), std::pair(SearchMethod::genetic, "swapadvisor")}) {
        PlanJob job{graph, paper_device(ExperimentScale::tiny), planner, 0, 3};
        job.device.memory_bytes = memory;
        const std::vector<std::int64_t> budgets{1, 30};
        const auto found = run_searches({{graph, job.device, method, budgets, job.seed}}, tiny());
        for (std::size_t i = 0; i < budgets.size(); ++i) {
          job.evaluations = budgets[i];
          const double percent = run_jobs({job}, tiny()).front().efficiency();
          EXPECT_EQ(percent_cell(found[0][i]), percent_cell(percent))
              << workload.name << ' ' << planner << ' ' << memory;
        }
      }
  }
}

// An op that does not fit alone: no method has a plan, and all say so instead of failing the whole
// experiment.
TEST(Experiments, PlansThatAreRefusedAreDashes) {
  const Workload workload = workloads(ExperimentScale::tiny)[0];
  const SharedGraph graph = training_graph(workload, workload.batch_size, paper_compute());
  DeviceSpec device = paper_device(ExperimentScale::tiny);
  device.memory_bytes = 1024;
  std::vector<PlanJob> jobs;
  for (const PlannerInfo& info : planner_list()) jobs.push_back({graph, device, info.name, 50});
  for (const PlanOutcome& outcome : run_jobs(jobs, tiny(2))) {
    EXPECT_FALSE(outcome.planned());
    EXPECT_THAT(outcome.refusal, testing::Not(testing::IsEmpty()));
    EXPECT_EQ(percent_cell(outcome.efficiency()), "-");
  }
  for (SearchMethod method : {SearchMethod::genetic, SearchMethod::annealing, SearchMethod::random,
                              SearchMethod::greedy, SearchMethod::joint}) {
    const auto found = run_searches({{graph, device, method, {10, 20}, 1}}, tiny());
    ASSERT_EQ(found.at(0).size(), 2u) << name_of(method);
    for (double percent : found[0]) EXPECT_TRUE(std::isnan(percent)) << name_of(method);
  }
}

TEST(Experiments, InferenceIsFastestAllResidentAndTailsAreNoShorter) {
  const ExperimentResult result = run("inference");
  const Rows rows(result.tables[0]);
  std::map<std::string, double> all_resident;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const double share = rows.number(i, "% of all resident");
    if (rows.text(i, "p50, ms") == "-") continue;
    EXPECT_LE(rows.number(i, "p50, ms"), rows.number(i, "p99, ms"));
    EXPECT_GT(rows.number(i, "requests/s"), 0);
    if (share == 100) {
      EXPECT_GT(rows.number(i, "% of all resident's speed"), 99);
      all_resident[rows.text(i, "planner")] = rows.number(i, "requests/s");
    } else {
      EXPECT_LE(rows.number(i, "requests/s"), all_resident.at(rows.text(i, "planner")) * 1.001);
    }
  }
  EXPECT_EQ(all_resident.size(), 3u);
}

TEST(Experiments, FasterLinksAreNoWorseAndFasterCardsSufferMore) {
  const ExperimentResult result = run("link");
  const Rows rows(result.tables[0]);
  std::map<std::string, std::pair<double, double>> last;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const double speed = rows.number(i, "GB/s each way"), bound = rows.number(i, "upper bound, %");
    EXPECT_LE(rows.number(i, "% of ideal"), bound + 0.01);
    const std::string key = rows.text(i, "workload") + rows.text(i, "compute") + rows.text(i, "planner");
    if (last.contains(key)) {
      EXPECT_GT(speed, last[key].first);
      EXPECT_GE(bound, last[key].second);
    }
    last[key] = {speed, bound};
  }
  EXPECT_EQ(last.size(), 2u * 3u * 2u);
}

TEST(Experiments, PredictionMeasuresAndChangesNoParameter) {
  const ExperimentResult result = run("prediction");
  ASSERT_EQ(result.tables.size(), 2u);
  const Rows rows(result.tables[0]), summary(result.tables[1]);
  double sum = 0, worst = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    EXPECT_EQ(rows.text(i, "same parameters"), "yes");
    EXPECT_GT(rows.number(i, "measured, ms"), 0);
    EXPECT_GT(rows.number(i, "predicted, ms"), 0);
    sum += std::abs(rows.number(i, "error, %"));
    worst = std::max(worst, std::abs(rows.number(i, "error, %")));
  }
  EXPECT_EQ(summary.text(0, "configurations"), std::to_string(rows.size()));
  EXPECT_NEAR(summary.number(0, "mean error, %"), sum / static_cast<double>(rows.size()), 0.11);
  EXPECT_NEAR(summary.number(0, "worst error, %"), worst, 0.11);
  for (const std::string& part : {summary.text(0, "configurations"), summary.text(0, "mean error, %"),
                                  summary.text(0, "worst error, %"), summary.text(0, "worst configuration")})
    EXPECT_THAT(result.headline, testing::HasSubstr(part));
}

TEST(Experiments, RivalsSaysWhoMeasuredAndWhoSimulates) {
  const ExperimentResult result = run("rivals");
  const Rows rows(result.tables[0]);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const double speed = rows.number(i, "joint, % of full speed (simulated)");
    EXPECT_NEAR(rows.number(i, "joint, overhead %"), 1e4 / speed - 100, 0.1);
    EXPECT_LE(speed, rows.number(i, "at most, %") + 0.01);
    EXPECT_FALSE(rows.text(i, "it reports (measured)").empty());
  }
}

// What --measure is given is checked before hours of planning, not after.
TEST(Experiments, MeasuringOnNoGpuIsRefused) {
  ExperimentOptions options = tiny();
  options.measure_on = "gpu";
  expect_error([&] { run_limit(options); }, "--measure takes cuda or cuda:N, not 'gpu'");
}

}  // namespace
}  // namespace swapadvisor
