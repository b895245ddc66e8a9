// libFuzzer's entry point of one target.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "targets.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const swapadvisor::fuzz::Run run = [] {
    for (const swapadvisor::fuzz::Target& target : swapadvisor::fuzz::targets())
      if (target.name == SWAPADVISOR_FUZZ_TARGET) return target.run;
    std::abort();
  }();
  run({reinterpret_cast<const char*>(data), size});
  return 0;
}
