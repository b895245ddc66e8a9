// What a run's numbers depend on: two runs with the same identity, seed and threads give the same bits.
#pragma once

#include <swapadvisor/train/cli.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace swapadvisor {

/// Besides what the shared options say.
struct RunIdentity {
  std::string schedule, last_batch, augment;
  std::int64_t warmup = 0, steps = 0;
  std::vector<std::string> frozen;
};

/// By the names of the command line. `steps` counts where the learning rate depends on the length of the run.
std::map<std::string, std::string> run_options(const TaskOptions& task, const Model& model,
                                               const Dataset& train, const OptimizerCommandOptions& optimizer,
                                               const RunIdentity& rest);

}  // namespace swapadvisor
