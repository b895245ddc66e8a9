// Checkpoints of the command line: when to write them, and which one to go on from.
#pragma once

#include <swapadvisor/train/checkpoint.h>
#include <swapadvisor/train/cli.h>
#include <swapadvisor/train/trainer.h>

#include <memory>
#include <optional>
#include <string>

namespace swapadvisor {

struct CheckpointCommandOptions {
  std::string folder;
  std::int64_t every = 0, keep = 3;
  bool resume = false;

  void add_to(CLI::App& command);
};

/// The checkpoints of one run of `train`. Does nothing without a folder.
class RunCheckpoints {
 public:
  /// `run`: model, seed, threads and options of this run. Finds the checkpoint to resume from. Throws `Error`
  /// when it is of another run, and when there are checkpoints but the run is not to be resumed.
  RunCheckpoints(const CheckpointCommandOptions& options, CheckpointState run);

  /// Where the run begins, and that it is to save.
  void set_up(TrainerOptions& options, std::int64_t steps_per_epoch);
  /// Reads the checkpoint, if there is one, into what `trainer` was made with. `trainer`'s host store is
  /// `host`.
  void load(const Trainer& trainer, HostStore& host);
  const std::optional<CheckpointFolder::Found>& resumed() const { return resumed_; }

 private:
  CheckpointCommandOptions options_;
  CheckpointState run_;
  std::unique_ptr<CheckpointFolder> folder_;
  std::optional<CheckpointFolder::Found> resumed_;
  const Graph* graph_ = nullptr;
  HostStore* host_ = nullptr;
};

}  // namespace swapadvisor
