// `experiment limit --measure` on the stand-in: what a GPU does with it, but for the speed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <process.h>
#include <swapadvisor/experiments/experiment.h>
#include <temporary_folder.h>

#include <algorithm>
#include <filesystem>

#include "standin_backend.h"

namespace swapadvisor::test {
namespace {

using testing::HasSubstr;

const std::string standin_library = std::string("SWAPADVISOR_CUDA_LIBRARY=") + SWAPADVISOR_STANDIN;

ExperimentOptions measured_tiny() {
  ExperimentOptions options;
  options.scale = ExperimentScale::tiny;
  options.threads = 2;
  options.measure_on = "cuda:0";
  return options;
}

TEST(MeasuredExperiment, PutsMeasuredBesidePredicted) {
  open_standin();
  ExperimentOptions options = measured_tiny();
  std::int64_t last = 0, of = 0;
  options.progress = [&](std::int64_t done, std::int64_t total) {
    EXPECT_EQ(done, last + 1);
    last = done;
    of = total;
  };
  const ExperimentResult result = run_limit(options);
  EXPECT_EQ(standin().faults(), 0) << first_fault();
  EXPECT_EQ(last, of) << "the runs count, too";
  ASSERT_EQ(result.tables.size(), 2u);
  const ResultTable& measured = result.tables[1];
  EXPECT_EQ(measured.name, "measured");
  ASSERT_EQ(measured.rows.size(), 2u);
  for (const auto& row : measured.rows) {
    ASSERT_EQ(row.size(), measured.columns.size());
    EXPECT_EQ(row[1], "cuda:0");
    EXPECT_EQ(row[5], "") << row[0];
    for (std::size_t column : {3u, 4u}) EXPECT_GT(std::stod(row[column]), 0) << row[0];
    EXPECT_LE(std::stod(row[3]), 100.001);
  }
  EXPECT_THAT(result.notes.back(), HasSubstr("easured on cuda:0"));
}

// What does not fit is said in its row; what was simulated is not lost.
TEST(MeasuredExperiment, AGpuThatIsTooSmallIsANote) {
  open_standin();
  standin().set_memory(1'000'000, -1);
  const ExperimentResult result = run_limit(measured_tiny());
  standin().set_memory(-1, -1);
  EXPECT_FALSE(result.tables.at(0).rows.empty());
  ASSERT_EQ(result.tables.at(1).rows.size(), 2u);
  for (const auto& row : result.tables[1].rows) {
    EXPECT_EQ(row[3], "-");
    EXPECT_EQ(row[4], "-");
    EXPECT_THAT(row[5], HasSubstr("memory"));
  }
}

TEST(MeasuredExperiment, AStopEndsIt) {
  open_standin();
  ExperimentOptions options = measured_tiny();
  std::stop_source source;
  options.stop = source.get_token();
  // After all plans, before the last run.
  options.progress = [&](std::int64_t done, std::int64_t total) {
    if (done == total - 1) source.request_stop();
  };
  EXPECT_THROW(run_limit(options), Error);
}

// One sentence, before anything is planned or made.
TEST(MeasuredExperiment, WithoutAGpuItIsOneSentenceAtOnce) {
  const TemporaryFolder folder;
  const std::string out = folder.path("out");
  const auto refused = [&](const std::string& name, const std::string& device,
                           const std::vector<std::string>& environment, const std::string& part) {
    Process process({"experiment", name, "--out", out, "--measure", device}, environment);
    EXPECT_EQ(process.finish(), 1) << process.error();
    EXPECT_THAT(process.error(), testing::StartsWith("swapadvisor: --measure " + device + ": "));
    EXPECT_THAT(process.error(), HasSubstr(part));
    EXPECT_EQ(std::count(process.error().begin(), process.error().end(), '\n'), 1) << process.error();
    EXPECT_EQ(process.out(), "");
    EXPECT_FALSE(std::filesystem::exists(out));
  };
  for (const char* name : {"all", "limit"}) {
    refused(name, "cuda", {"SWAPADVISOR_CUDA_LIBRARY=/nowhere/libcuda.so"}, "there is no CUDA library");
    refused(name, "cuda", {standin_library, "SWAPADVISOR_STANDIN_NO_DRIVER=1"}, "driver");
    refused(name, "cuda:7", {standin_library}, "no GPU 7");
  }
}

}  // namespace
}  // namespace swapadvisor::test
