// Threads of a block as fibers on one host thread, switched at barriers and shuffles.
#pragma once

#include <standin/kernel_language.h>

#include <cstdint>
#include <memory>
#include <random>

namespace standin {

/// In which order a block's threads get their turns.
enum class ThreadOrder : std::uint8_t { forward, reversed, random };

/// Runs blocks, one after the other. Belongs to one host thread; its stacks are used again.
class BlockRunner {
 public:
  BlockRunner();
  ~BlockRunner();
  BlockRunner(const BlockRunner&) = delete;
  BlockRunner& operator=(const BlockRunner&) = delete;

  /// Runs all blocks of `launch`. A deadlock (a barrier that some threads never reach) ends the process with
  /// a message.
  void run(const Launch& launch, ThreadOrder order, std::uint32_t seed);

  // Called from fibers.
  const Position& position() const;
  void* dynamic_shared() const;
  void block_barrier();
  void exchange(unsigned mask, void* value, std::size_t bytes, unsigned lane);
  unsigned lane() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// The runner of this host thread.
BlockRunner& block_runner();

}  // namespace standin
