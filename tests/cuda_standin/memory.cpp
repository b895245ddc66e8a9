#include "memory.h"

#include <sys/mman.h>

#include <cstdlib>
#include <cstring>
#include <limits>

namespace standin {
namespace {

constexpr std::size_t page = 4096;
constexpr std::size_t alignment = 256;  // of cudaMalloc

std::size_t round_up(std::size_t bytes, std::size_t multiple) {
  return (bytes + multiple - 1) / multiple * multiple;
}

std::byte* map(std::size_t bytes, int protection) {
  void* address = ::mmap(nullptr, bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return address == MAP_FAILED ? nullptr : static_cast<std::byte*>(address);
}

std::size_t limit(std::int64_t bytes, const char* variable, std::size_t otherwise) {
  if (bytes >= 0) return static_cast<std::size_t>(bytes);
  const char* text = std::getenv(variable);
  return text ? std::strtoull(text, nullptr, 10) : otherwise;
}

}  // namespace

Memory::Memory() {
  set_limits(-1, -1);
}

void Memory::set_limits(std::int64_t device_bytes, std::int64_t pinned_bytes) {
  total_ = limit(device_bytes, "SWAPADVISOR_STANDIN_MEMORY", std::size_t{1} << 30);
  pinned_total_ = limit(pinned_bytes, "SWAPADVISOR_STANDIN_PINNED", std::numeric_limits<std::size_t>::max());
}

void* Memory::allocate(std::size_t bytes) {
  if (bytes == 0 || used_ > total_ || bytes > total_ - used_) return nullptr;
  const std::lock_guard lock(mutex_);
  Block block{nullptr, round_up(bytes, page), bytes};
  std::byte* whole = map(block.page_bytes + 2 * page, PROT_NONE);
  if (!whole) return nullptr;
  block.pages = whole + page;
  if (::mprotect(block.pages, block.page_bytes, PROT_READ | PROT_WRITE) != 0) return nullptr;
  std::memset(block.pages, 0xFF, block.page_bytes);
  if (open_ == 0) ::mprotect(block.pages, block.page_bytes, PROT_NONE);
  std::byte* address = block.pages + block.page_bytes - round_up(bytes, alignment);
  device_[reinterpret_cast<std::uintptr_t>(address)] = block;
  used_ += bytes;
  return address;
}

bool Memory::free(void* address, std::size_t& bytes) {
  const std::lock_guard lock(mutex_);
  const auto found = device_.find(reinterpret_cast<std::uintptr_t>(address));
  if (found == device_.end()) return false;
  const Block& block = found->second;
  // The addresses stay reserved: whoever still uses them is stopped.
  ::mmap(block.pages, block.page_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED,
         -1, 0);
  bytes = block.bytes;
  used_ -= bytes;
  device_.erase(found);
  return true;
}

void* Memory::allocate_pinned(std::size_t bytes) {
  if (bytes == 0 || pinned_used_ > pinned_total_ || bytes > pinned_total_ - pinned_used_) return nullptr;
  std::byte* address = map(round_up(bytes, page), PROT_READ | PROT_WRITE);
  if (!address) return nullptr;
  pinned_[reinterpret_cast<std::uintptr_t>(address)] = {address, round_up(bytes, page), bytes};
  pinned_used_ += bytes;
  return address;
}

bool Memory::free_pinned(void* address, std::size_t& bytes) {
  const auto found = pinned_.find(reinterpret_cast<std::uintptr_t>(address));
  if (found == pinned_.end()) return false;
  bytes = found->second.bytes;
  ::munmap(address, found->second.page_bytes);
  pinned_used_ -= bytes;
  pinned_.erase(found);
  return true;
}

bool Memory::within(const Blocks& blocks, const void* address, std::size_t bytes) {
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  const auto after = blocks.upper_bound(at);
  if (after == blocks.begin()) return false;
  const auto& [base, block] = *std::prev(after);
  return at - base <= block.bytes && bytes <= block.bytes - (at - base);
}

bool Memory::on_device(const void* address, std::size_t bytes) const {
  return within(device_, address, bytes);
}

bool Memory::is_pinned(const void* address, std::size_t bytes) const {
  return within(pinned_, address, bytes);
}

void Memory::protect(int protection) {
  for (const auto& [address, block] : device_) ::mprotect(block.pages, block.page_bytes, protection);
}

void Memory::open() {
  const std::lock_guard lock(mutex_);
  if (open_++ == 0) protect(PROT_READ | PROT_WRITE);
}

void Memory::close() {
  const std::lock_guard lock(mutex_);
  if (--open_ == 0) protect(PROT_NONE);
}

Memory& memory() {
  static auto* const one = new Memory;
  return *one;
}

}  // namespace standin
