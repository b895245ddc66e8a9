// Checkpoints: all that a training run needs to go on to the same bits, in a safetensors file.
#pragma once

#include <swapadvisor/core/graph.h>
#include <swapadvisor/core/host_store.h>

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace swapadvisor {

/// What a checkpoint says besides its tensors. Random numbers and the order of the data are functions of seed
/// and step, so these two are the whole state of both.
struct CheckpointState {
  std::string model;       ///< name of the training graph
  std::int64_t steps = 0;  ///< done: the next batch is number `steps` of the run, counted from 0
  std::int64_t epoch = 0;  ///< of the next batch
  std::uint64_t seed = 0;
  double loss = 0;  ///< of the last step
  int threads = 0;  ///< compute threads: another number of them gives other roundings
  /// What decides the numbers of the run, by the names of the command line: "lr" → "0.1".
  std::map<std::string, std::string> options;

  friend bool operator==(const CheckpointState&, const CheckpointState&) = default;
};

/// Writes parameters, states and optimizer states of `graph` atomically: the file is complete or not there.
/// Sessions must have been drained.
void write_checkpoint(const std::string& path, const Graph& graph, HostStore& host,
                      const CheckpointState& state);

/// Reads the state, and checks every byte of the file against its checksum. Throws `Error` when it is not a
/// checkpoint or not as it was written.
CheckpointState read_checkpoint(const std::string& path);

/// Reads every tensor into the host store, bit by bit. Throws `Error` listing up to ten tensors that are
/// missing, that `graph` does not have, or that have another shape or type; then nothing has changed.
void load_checkpoint(const std::string& path, const Graph& graph, HostStore& host);

/// Throws `Error` listing up to ten differences in model and options, unless `there` is a checkpoint of this
/// run.
void require_same_run(const std::string& path, const CheckpointState& there, const CheckpointState& here);

/// Writes the model's parameters and states of a checkpoint as weights (names as PyTorch's); `averages`: with
/// the moving averages in the place of the parameters that have one. Returns the number of tensors. Throws
/// `Error` when there are no averages.
int export_checkpoint(const std::string& path, const std::string& out, bool averages);

/// A folder of checkpoints "step-000001234.safetensors". One run at a time may write to it.
class CheckpointFolder {
 public:
  struct Found {
    std::string path;
    CheckpointState state;
  };

  /// Makes the folder if there is none; removes what runs that were killed left of unfinished files. `keep`:
  /// how many of the newest to keep, at least 1.
  CheckpointFolder(std::string folder, std::int64_t keep);

  /// Paths of all of them, the newest first.
  std::vector<std::string> list() const;
  /// The newest one that is as it was written. Those that are not are renamed to "….corrupt", each with a
  /// warning.
  std::optional<Found> newest(const std::function<void(const std::string&)>& warn);
  /// Writes one, then removes the oldest ones beyond those to keep.
  void save(const Graph& graph, HostStore& host, const CheckpointState& state);

 private:
  std::string folder_;
  std::int64_t keep_;
};

}  // namespace swapadvisor
