#include "standin_backend.h"

#include <dlfcn.h>

#include <cstdlib>

namespace swapadvisor::test {
namespace {

template <class F>
F look_up(void* library, const char* name) {
  void* const symbol = ::dlsym(library, name);
  SWAPADVISOR_ASSERT(symbol, "{}", ::dlerror());
  return reinterpret_cast<F>(symbol);
}

StandinControl load() {
  void* const library = ::dlopen(SWAPADVISOR_STANDIN, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  SWAPADVISOR_ASSERT(library, "{}", ::dlerror());
  StandinControl control{};
  control.configure = look_up<decltype(control.configure)>(library, "standin_configure");
  control.operands = look_up<decltype(control.operands)>(library, "standin_operands");
  control.end_operands = look_up<decltype(control.end_operands)>(library, "standin_end_operands");
  control.faults = look_up<decltype(control.faults)>(library, "standin_faults");
  control.fault = look_up<decltype(control.fault)>(library, "standin_fault");
  control.clear_faults = look_up<decltype(control.clear_faults)>(library, "standin_clear_faults");
  return control;
}

}  // namespace

const StandinControl& standin() {
  static const StandinControl control = load();
  return control;
}

Backend open_standin(CudaOptions options) {
  ::setenv("SWAPADVISOR_CUDA_LIBRARY", SWAPADVISOR_STANDIN, 1);
  standin();
  return open_cuda(options);
}

}  // namespace swapadvisor::test
