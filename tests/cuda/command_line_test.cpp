// `--device cuda` as a user meets it: on the stand-in, without a driver, without a library.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <process.h>
#include <temporary_folder.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace swapadvisor::test {
namespace {

using testing::HasSubstr;

const std::string standin_library = std::string("SWAPADVISOR_CUDA_LIBRARY=") + SWAPADVISOR_STANDIN;
const std::vector<std::string> tiny{"mlp", "--image-size", "8", "--hidden", "16", "--layers",
                                    "4",   "--batch-size", "8"};

std::vector<std::string> words(std::vector<std::string> first, const std::vector<std::string>& rest) {
  first.insert(first.end(), rest.begin(), rest.end());
  return first;
}

/// A failure says one sentence.
void expect_refusal(const std::vector<std::string>& arguments, const std::vector<std::string>& environment,
                    int code, const std::string& part) {
  Process process(arguments, environment);
  EXPECT_EQ(process.finish(), code) << process.error();
  EXPECT_THAT(process.error(), HasSubstr(part));
  EXPECT_EQ(std::count(process.error().begin(), process.error().end(), '\n'), 1) << process.error();
  EXPECT_EQ(process.out(), "");
}

TEST(CudaCommandLine, WithoutADriverOrALibraryItIsOneSentence) {
  const auto train = words({"train"}, words(tiny, {"--steps", "1", "--quiet", "--device", "cuda"}));
  expect_refusal(train, {standin_library, "SWAPADVISOR_STANDIN_NO_DRIVER=1"}, 1,
                 "cudaErrorInsufficientDriver");
  expect_refusal(train, {"SWAPADVISOR_CUDA_LIBRARY=/nowhere/libcuda.so"}, 1, "there is no CUDA library");
  expect_refusal(words({"train"}, words(tiny, {"--quiet", "--device", "cuda:7"})), {standin_library}, 1,
                 "no GPU 7");
}

TEST(CudaCommandLine, TheCpuNeedsNeither) {
  Process process(words({"train"}, words(tiny, {"--steps", "1", "--quiet", "--device", "cpu"})),
                  {"SWAPADVISOR_CUDA_LIBRARY=/nowhere/libcuda.so"});
  EXPECT_EQ(process.finish(), 0) << process.error();
}

TEST(CudaCommandLine, OptionsOfTheOtherDeviceAreBadUsage) {
  const auto refuse = [](const std::vector<std::string>& options, const std::string& part) {
    expect_refusal(words({"train"}, words(tiny, options)), {standin_library}, 2, part);
  };
  refuse({"--allow-tf32"}, "--allow-tf32 is an option of --device cuda");
  refuse({"--fast"}, "--fast is an option of --device cuda");
  refuse({"--cuda-graph"}, "--cuda-graph is an option of --device cuda");
  refuse({"--device", "cuda", "--threads", "2"}, "--threads is an option of --device cpu");
  refuse({"--device", "cuda", "--link-bandwidth", "2GB/s"}, "--link-bandwidth is an option of --device cpu");
  for (const char* device : {"cuda:", "cuda:x", "cuda:-1", "cuda:1x", "cuda1"})
    refuse({"--device", device}, device);
}

TEST(CudaCommandLine, DevicesShowsTheGpuOrWhyThereIsNone) {
  const auto gpu = [](const std::vector<std::string>& environment) {
    Process process({"devices", "--json"}, environment);
    EXPECT_EQ(process.finish(), 0) << process.error();
    return nlohmann::json::parse(process.out())["devices"][1];
  };
  const auto here = gpu({standin_library, "SWAPADVISOR_STANDIN_MEMORY=12345678"});
  EXPECT_EQ(here["name"], "cuda:0");
  EXPECT_EQ(here["runs_here"], true);
  EXPECT_EQ(here["memory_bytes"], 12345678);
  const auto none = gpu({standin_library, "SWAPADVISOR_STANDIN_NO_DRIVER=1"});
  EXPECT_EQ(none["runs_here"], false);
  EXPECT_THAT(none["reason"].get<std::string>(), HasSubstr("driver"));
}

TEST(CudaCommandLine, TrainsProfilesAndStepsWithTheSameBitsUnderALimit) {
  const TemporaryFolder folder;
  const auto hash = [&](const std::vector<std::string>& options) {
    Process process(
        words({"train"},
              words(tiny, words({"--steps", "3", "--quiet", "--json", "--device", "cuda"}, options))),
        {standin_library, "SWAPADVISOR_CACHE_SIZE=0"});
    EXPECT_EQ(process.finish(), 0) << process.error();
    return process.out().empty() ? nlohmann::json() : nlohmann::json::parse(process.out());
  };
  const auto free = hash({}), limited = hash({"--memory-limit", "85%", "--search-evaluations", "100"});
  EXPECT_EQ(free["parameters_hash"], limited["parameters_hash"]);
  EXPECT_LE(limited["device_bytes_peak"], limited["device_bytes_limit"]);
  EXPECT_GT(limited["swap_in_bytes"], free["swap_in_bytes"]);
  const std::string graph = folder.path("graph.json"), device = folder.path("device.json");
  Process profile(words({"profile"}, words(tiny, {"--device", "cuda", "--repeats", "1", "--quiet", "--out",
                                                  graph, "--device-out", device})),
                  {standin_library});
  EXPECT_EQ(profile.finish(), 0) << profile.error();
  Process plan(
      {"plan", "--graph", graph, "--device", device, "--memory-limit", "85%", "--search-evaluations", "50"},
      {"SWAPADVISOR_CACHE_SIZE=0"});
  EXPECT_EQ(plan.finish(), 0) << plan.error();
}

TEST(CudaCommandLine, CudaGraphRunsWhatIsPredictedToBeFasterWithTheSameBits) {
  const auto run = [&](const std::vector<std::string>& options) {
    Process process(words({"train"}, words(tiny, words({"--steps", "4", "--device", "cuda", "--memory-limit",
                                                        "85%", "--search-evaluations", "50"},
                                                       options))),
                    {standin_library, "SWAPADVISOR_CACHE_SIZE=0"});
    EXPECT_EQ(process.finish(), 0) << process.error();
    return std::pair(process.out(), process.error());
  };
  const auto plain = nlohmann::json::parse(run({"--quiet", "--json"}).first);
  const auto graph = nlohmann::json::parse(run({"--quiet", "--json", "--cuda-graph"}).first);
  EXPECT_FALSE(plain.contains("cuda_graph_steps"));
  const double streams = graph["iteration_seconds_predicted_streams"],
               captured = graph["iteration_seconds_predicted_graph"];
  EXPECT_EQ(graph["cuda_graph_steps"], captured < streams ? 3 : 0) << "the first step is never captured";
  EXPECT_EQ(graph["parameters_hash"], plain["parameters_hash"]);
  EXPECT_THAT(run({"--cuda-graph"}).second, HasSubstr("CUDA graph "));
}

TEST(CudaCommandLine, ProfilesRecordAlgorithmsAndPlansWithOthersAreRefused) {
  const TemporaryFolder folder;
  const std::string graph = folder.path("graph.json"), device = folder.path("device.json"),
                    plan = folder.path("plan.json");
  const std::vector<std::string> model{"resnet20", "--image-size", "8", "--width", "4", "--batch-size", "4"};
  const auto run = [&](const std::vector<std::string>& arguments, int code) {
    Process process(arguments, {standin_library, "SWAPADVISOR_CACHE_SIZE=0"});
    EXPECT_EQ(process.finish(), code) << process.error();
    return process.error();
  };
  run(words({"profile"}, words(model, {"--device", "cuda", "--repeats", "1", "--quiet", "--out", graph,
                                       "--device-out", device})),
      0);
  run({"plan", "--graph", graph, "--device", device, "--memory-limit", "85%", "--search-evaluations", "50",
       "--quiet", "--out", plan},
      0);
  auto written = nlohmann::json::parse(std::ifstream(plan));
  nlohmann::json* last = nullptr;
  for (auto& op : written["graph"]["ops"])
    if (op["type"].get<std::string>().starts_with("conv2d")) {
      EXPECT_TRUE(op.contains("algorithm")) << op["name"];
      last = &op;
    }
  ASSERT_NE(last, nullptr);
  const auto train =
      words({"train"}, words(model, {"--steps", "1", "--quiet", "--device", "cuda", "--plan", plan}));
  run(train, 0);
  (*last)["algorithm"] = "cuDNN other";
  std::ofstream(plan) << written;
  EXPECT_THAT(run(train, 1), HasSubstr("takes 'cuDNN other' there"));
}

}  // namespace
}  // namespace swapadvisor::test
