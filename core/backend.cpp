#include <dlfcn.h>
#include <swapadvisor/core/backend.h>

#include <cstdlib>
#include <filesystem>
#include <vector>

namespace swapadvisor {
namespace {

constexpr const char* library_name = "libswapadvisor_cuda.so";

std::vector<std::string> candidates() {
  if (const char* path = std::getenv("SWAPADVISOR_CUDA_LIBRARY"); path && *path) return {path};
  std::vector<std::string> paths;
  std::error_code none;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", none);
  if (!none) {
    const auto folder = program.parent_path();
    for (const char* where : {".", "../lib", "../lib64", "../lib/x86_64-linux-gnu"}) {
      const auto path = folder / where / library_name;
      if (std::filesystem::exists(path, none)) paths.push_back(path.string());
    }
  }
  paths.push_back(library_name);
  return paths;
}

}  // namespace

Backend open_cuda(const CudaOptions& options) {
  std::string reason;
  void* library = nullptr;
  for (const std::string& path : candidates()) {
    library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (library) break;
    reason = ::dlerror();
  }
  if (!library) fail("there is no CUDA library: {} (a build with -DSWAPADVISOR_CUDA=ON makes it)", reason);
  const auto open = reinterpret_cast<CudaEntryPoint>(::dlsym(library, cuda_entry_point));
  if (!open) fail("the CUDA library is of another version: {}", ::dlerror());
  const std::unique_ptr<Backend> backend(open(options));
  return std::move(*backend);
}

}  // namespace swapadvisor
