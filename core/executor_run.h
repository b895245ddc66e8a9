// Arguments of a `run` instruction at the addresses it got. Internal to the executor.
#pragma once

#include <swapadvisor/core/executor.h>

namespace swapadvisor {

struct Executor::Run {
  std::vector<const void*> inputs;
  std::vector<void*> outputs;
  KernelArgs args;
};

}  // namespace swapadvisor
