// The CUDA device of the stand-in, and its control.
#pragma once

#include <standin/standin.h>
#include <swapadvisor/core/backend.h>

namespace swapadvisor::test {

/// The stand-in's functions, looked up in the library that `open_standin` opens.
struct StandinControl {
  decltype(&standin_configure) configure;
  decltype(&standin_operands) operands;
  decltype(&standin_end_operands) end_operands;
  decltype(&standin_faults) faults;
  decltype(&standin_fault) fault;
  decltype(&standin_clear_faults) clear_faults;
};

const StandinControl& standin();
Backend open_standin(CudaOptions options = {});

}  // namespace swapadvisor::test
