// The CUDA device of the stand-in, and its control.
#pragma once

#include <standin/standin.h>
#include <swapadvisor/core/backend.h>

#include <string>

namespace swapadvisor::test {

/// The stand-in's functions, looked up in the library that `open_standin` opens.
struct StandinControl {
  decltype(&standin_configure) configure;
  decltype(&standin_operands) operands;
  decltype(&standin_end_operands) end_operands;
  decltype(&standin_name) name;
  decltype(&standin_call) call;
  decltype(&standin_host_access) host_access;
  decltype(&standin_faults) faults;
  decltype(&standin_fault) fault;
  decltype(&standin_clear_faults) clear_faults;
  decltype(&standin_set_memory) set_memory;
  decltype(&standin_device_bytes) device_bytes;
  decltype(&standin_pinned_bytes) pinned_bytes;
  decltype(&standin_set_driver) set_driver;
  decltype(&standin_queued) queued;
  decltype(&standin_run) run;
};

const StandinControl& standin();
/// The device as at the start of a process: everything at once, no faults, a driver, memory as by default.
Backend open_standin(CudaOptions options = {});
/// The first fault, or nothing.
std::string first_fault();

/// A function that the stand-in defines.
void* standin_symbol(const char* name);

/// The same, in the type of its declaration.
template <class Function>
Function* standin_function(Function*, const char* name) {
  return reinterpret_cast<Function*>(standin_symbol(name));
}

}  // namespace swapadvisor::test

/// A function of CUDA or its libraries as the stand-in defines it; its type is that of NVIDIA's declaration.
#define STANDIN(function) \
  swapadvisor::test::standin_function(static_cast<decltype(&function)>(nullptr), #function)
