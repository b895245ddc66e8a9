// Runs that are killed: resuming gives the bits of a run that was not.
#include <gtest/gtest.h>
#include <signal.h>
#include <swapadvisor/core/rng.h>
#include <temporary_folder.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "process.h"

namespace swapadvisor {
namespace {

using Words = std::vector<std::string>;

Words operator+(Words a, const Words& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

constexpr int steps = 48;

/// With everything that has a state: moments, averages, dropout, micro-batches, a shuffled order, an uneven
/// last batch. The checkpoints take a good part of the time, so that some kills hit one half written.
Words training() {
  return {"train",        "mlp",
          "--image-size", "8",
          "--hidden",     "192",
          "--layers",     "3",
          "--dropout",    "0.1",
          "--batch-size", "24",
          "--accumulate", "2",
          "--last-batch", "pad",
          "--optimizer",  "adam",
          "--ema",        "0.9",
          "--clip",       "1",
          "--threads",    "1",
          "--steps",      std::to_string(steps),
          "--json",       "--lr-schedule",
          "cosine"};
}

std::pair<std::string, std::string> result_of(Process& process) {
  EXPECT_EQ(process.finish(), 0) << process.error();
  const nlohmann::json result = nlohmann::json::parse(process.out());
  return {result.at("parameters_hash"), result.at("final_loss_hex")};
}

std::ptrdiff_t lines(const TemporaryFolder& folder) {
  const std::string log = folder.read("log.jsonl");
  return std::count(log.begin(), log.end(), '\n');
}

TEST(Crash, KilledAtAnyMomentARunResumesToTheSameBits) {
  const char* wanted = std::getenv("SWAPADVISOR_KILLS");
  const int kills = wanted ? std::max(1, std::atoi(wanted)) : 5;
  Process whole(training());
  const auto expected = result_of(whole);
  int killed = 0;
  for (int trial = 0; trial < kills; ++trial) {
    SCOPED_TRACE(trial);
    const TemporaryFolder folder;
    const Words checkpointed = training() + Words{"--checkpoint-dir",
                                                  folder.path("checkpoints"),
                                                  "--checkpoint-every",
                                                  "2",
                                                  "--resume",
                                                  "--log",
                                                  folder.path("log.jsonl")};
    const RandomStream random{42, static_cast<std::uint32_t>(trial)};
    {
      Process victim(checkpointed);
      const auto moment = static_cast<std::ptrdiff_t>(random.below(0, steps - 6));
      while (victim.is_running() && lines(folder) < moment) ::usleep(200);
      ::usleep(random.below(1, 6000));
      victim.signal(SIGKILL);
      killed += victim.finish() == 128 + SIGKILL;
    }
    const Words other_plan = trial % 2 == 0 ? Words{} : Words{"--memory-limit", "60%", "--planner", "lru"};
    Process heir(checkpointed + other_plan);
    EXPECT_EQ(result_of(heir), expected);
    EXPECT_GE(lines(folder), steps);
  }
  EXPECT_GT(killed, 0) << "every run ended before its kill";
}

}  // namespace
}  // namespace swapadvisor
