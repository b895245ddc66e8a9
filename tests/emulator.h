// Runs a Program on tags instead of numbers, its three streams interleaved at random, block by block: an
// oracle for the verifier that knows nothing of clocks or lists.
#pragma once

#include <swapadvisor/core/program.h>

#include <array>
#include <cstdint>
#include <random>
#include <vector>

namespace swapadvisor::test {

class Emulator {
 public:
  /// `program` is well formed.
  Emulator(const Program& program, std::uint32_t seed);

  /// Whether every run computed what the graph defines and the boundaries held, over `iterations`. Gives up
  /// when one execution goes wrong; several seeds are needed to meet a rare interleaving.
  bool run(int iterations);

 private:
  using Tag = std::uint64_t;
  using Blocks = std::vector<Tag>;  // one per 256 bytes
  struct Stream {
    std::vector<std::size_t> list;
    std::size_t done = 0;   // over all iterations
    std::size_t micro = 0;  // steps of the current instruction done
    Blocks moving;          // what an op has computed, or a copy has read
  };

  void reference_iteration(int k);
  bool ready(const Stream& stream) const;
  bool step(std::size_t s);
  bool start_run(Stream& stream, const Instruction& run, int k);
  bool iteration_ended(int k);
  void iteration_starts(int k);
  Blocks& slot(std::int32_t b, int k);
  std::size_t blocks(std::int32_t b) const;
  Tag read(std::int64_t offset, std::int32_t b) const;

  const Program& program_;
  std::mt19937 random_;
  std::array<Stream, stream_count> streams_;
  std::vector<std::size_t> rank_;  // of each instruction in its stream
  Blocks arena_;
  std::vector<std::array<Blocks, 2>> host_;
  // By iteration: what each op reads and writes, and what each buffer holds at the end.
  std::vector<std::vector<std::vector<Tag>>> expected_in_, expected_out_;
  std::vector<std::vector<Tag>> expected_end_;
  std::vector<Tag> current_;
};

}  // namespace swapadvisor::test
