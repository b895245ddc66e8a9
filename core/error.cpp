#include <swapadvisor/core/error.h>

#include <cstdio>
#include <cstdlib>

namespace swapadvisor {

void assertion_failed(const char* condition, const char* file, int line, const std::string& message) {
  std::fprintf(stderr, "swapadvisor: internal error: %s (%s) at %s:%d\n", message.c_str(), condition, file, line);
  std::abort();
}

}  // namespace swapadvisor
