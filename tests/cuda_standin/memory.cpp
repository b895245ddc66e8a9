#include "memory.h"

#include <sys/mman.h>

#include <cstdlib>
#include <cstring>

namespace standin {
namespace {

std::size_t pages(std::size_t bytes) {
  return (bytes + 4095) / 4096 * 4096;
}

void* map(std::size_t bytes) {
  void* address = ::mmap(nullptr, pages(bytes), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return address == MAP_FAILED ? nullptr : address;
}

}  // namespace

Memory::Memory() : total_(std::size_t{1} << 30) {
  if (const char* text = std::getenv("SWAPADVISOR_STANDIN_MEMORY")) total_ = std::strtoull(text, nullptr, 10);
}

void* Memory::allocate(std::size_t bytes) {
  if (bytes == 0 || pages(bytes) > total_ - used_) return nullptr;
  void* address = map(bytes);
  if (!address) return nullptr;
  std::memset(address, 0xFF, pages(bytes));
  device_[reinterpret_cast<std::uintptr_t>(address)] = bytes;
  used_ += pages(bytes);
  return address;
}

bool Memory::free(void* address) {
  const auto found = device_.find(reinterpret_cast<std::uintptr_t>(address));
  if (found == device_.end()) return false;
  // The addresses stay reserved: whoever still uses them is stopped.
  ::mmap(address, pages(found->second), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED,
         -1, 0);
  used_ -= pages(found->second);
  device_.erase(found);
  return true;
}

void* Memory::allocate_pinned(std::size_t bytes) {
  void* address = bytes == 0 ? nullptr : map(bytes);
  if (address) pinned_[reinterpret_cast<std::uintptr_t>(address)] = bytes;
  return address;
}

bool Memory::free_pinned(void* address) {
  const auto found = pinned_.find(reinterpret_cast<std::uintptr_t>(address));
  if (found == pinned_.end()) return false;
  ::munmap(address, pages(found->second));
  pinned_.erase(found);
  return true;
}

bool Memory::on_device(const void* address, std::size_t bytes) const {
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  auto after = device_.upper_bound(at);
  if (after == device_.begin()) return false;
  const auto& [base, size] = *std::prev(after);
  return at - base <= size && bytes <= size - (at - base);
}

Memory& memory() {
  static auto* const one = new Memory;
  return *one;
}

}  // namespace standin
