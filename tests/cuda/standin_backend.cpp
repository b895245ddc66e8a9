#include "standin_backend.h"

#include <dlfcn.h>

#include <cstdlib>
#include <type_traits>

namespace swapadvisor::test {
namespace {

StandinControl load() {
  const auto find = [](auto& function, const char* name) {
    function = reinterpret_cast<std::decay_t<decltype(function)>>(standin_symbol(name));
  };
  StandinControl control{};
  find(control.configure, "standin_configure");
  find(control.operands, "standin_operands");
  find(control.end_operands, "standin_end_operands");
  find(control.name, "standin_name");
  find(control.call, "standin_call");
  find(control.host_access, "standin_host_access");
  find(control.faults, "standin_faults");
  find(control.fault, "standin_fault");
  find(control.clear_faults, "standin_clear_faults");
  find(control.set_memory, "standin_set_memory");
  find(control.device_bytes, "standin_device_bytes");
  find(control.pinned_bytes, "standin_pinned_bytes");
  find(control.set_driver, "standin_set_driver");
  find(control.queued, "standin_queued");
  find(control.run, "standin_run");
  return control;
}

}  // namespace

const StandinControl& standin() {
  static const StandinControl control = load();
  return control;
}

Backend open_standin(CudaOptions options) {
  ::setenv("SWAPADVISOR_CUDA_LIBRARY", SWAPADVISOR_STANDIN, 1);
  standin().configure(standin_at_once, standin_forward, 1);
  standin().set_memory(-1, -1);
  standin().set_driver(1);
  standin().clear_faults();
  return open_cuda(options);
}

void* standin_symbol(const char* name) {
  void* const library = ::dlopen(SWAPADVISOR_STANDIN, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  SWAPADVISOR_ASSERT(library, "{}", ::dlerror());
  void* const symbol = ::dlsym(library, name);
  SWAPADVISOR_ASSERT(symbol, "{}", ::dlerror());
  return symbol;
}

std::string first_fault() {
  const char* const fault = standin().fault(0);
  return fault ? fault : "";
}

}  // namespace swapadvisor::test
