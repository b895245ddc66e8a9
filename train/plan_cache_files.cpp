// The folder of the cache: its files, its size, where the user has it.
#include <swapadvisor/core/error.h>
#include <swapadvisor/core/units.h>
#include <swapadvisor/train/plan_cache.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <vector>

namespace swapadvisor {
namespace {

namespace fs = std::filesystem;

// A running process may still rename a younger one.
constexpr std::chrono::hours oldest_temporary{1};

struct Entry {
  fs::path path;
  std::int64_t bytes = 0;
  fs::file_time_type used;
  bool temporary = false;
};

// A SHA-256 and ".plan.json"; with more and ".tmp" behind it while it is written. Nothing else is ours.
bool is_ours(const std::string& name, bool& temporary) {
  constexpr std::size_t digits = 64;
  constexpr std::string_view ending = ".plan.json";
  if (name.size() < digits + ending.size()) return false;
  if (name.find_first_not_of("0123456789abcdef") != digits) return false;
  if (std::string_view(name).substr(digits, ending.size()) != ending) return false;
  temporary = name.size() > digits + ending.size();
  return !temporary || name.ends_with(".tmp");
}

std::vector<Entry> entries_of(const std::string& directory) {
  std::vector<Entry> entries;
  std::error_code error;
  for (fs::directory_iterator file(directory, error), end; !error && file != end; file.increment(error)) {
    Entry entry;
    entry.path = file->path();
    // Another process may remove it meanwhile.
    std::error_code gone;
    if (!is_ours(entry.path.filename().string(), entry.temporary) || !file->is_regular_file(gone)) continue;
    entry.bytes = static_cast<std::int64_t>(file->file_size(gone));
    if (gone) continue;
    entry.used = file->last_write_time(gone);
    if (!gone) entries.push_back(std::move(entry));
  }
  return entries;
}

// What a process that was killed while it wrote has left.
bool is_abandoned(const Entry& entry) {
  return entry.temporary && entry.used + oldest_temporary < fs::file_time_type::clock::now();
}

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::string user_directory() {
  if (const std::string own = variable("SWAPADVISOR_CACHE_DIR"); !own.empty()) return own;
  // The XDG base directory specification: relative paths do not count.
  if (const fs::path base = variable("XDG_CACHE_HOME"); base.is_absolute())
    return (base / "swapadvisor").string();
  if (const fs::path home = variable("HOME"); home.is_absolute())
    return (home / ".cache" / "swapadvisor").string();
  return "";
}

std::int64_t user_bytes() {
  const std::string size = variable("SWAPADVISOR_CACHE_SIZE");
  if (size.empty()) return PlanCache::default_bytes;
  try {
    return parse_size(size);
  } catch (const Error& error) {
    fail("SWAPADVISOR_CACHE_SIZE: {}", error.what());
  }
}

}  // namespace

PlanCache::Contents PlanCache::contents() const {
  Contents contents;
  for (const Entry& entry : entries_of(directory_))
    if (!entry.temporary) ++contents.plans, contents.bytes += entry.bytes;
  return contents;
}

PlanCache::Contents PlanCache::clear() const {
  Contents removed;
  for (const Entry& entry : entries_of(directory_)) {
    if (entry.temporary && !is_abandoned(entry)) continue;
    std::error_code error;
    fs::remove(entry.path, error);
    if (error) fail("cannot remove '{}': {}", entry.path.string(), error.message());
    if (!entry.temporary) ++removed.plans, removed.bytes += entry.bytes;
  }
  return removed;
}

void PlanCache::shrink(const std::string& newest) const {
  std::vector<Entry> entries = entries_of(directory_);
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) { return a.used < b.used; });
  std::int64_t bytes = 0;
  for (const Entry& entry : entries) bytes += entry.temporary ? 0 : entry.bytes;
  std::error_code ignored;
  for (const Entry& entry : entries) {
    if (entry.path == newest || (entry.temporary && !is_abandoned(entry))) continue;
    if (!entry.temporary && bytes <= max_bytes_) continue;
    if (fs::remove(entry.path, ignored) && !entry.temporary) bytes -= entry.bytes;
  }
}

std::optional<PlanCache> user_plan_cache() {
  const std::int64_t bytes = user_bytes();
  const std::string directory = user_directory();
  if (directory.empty()) return std::nullopt;
  return PlanCache(directory, bytes);
}

}  // namespace swapadvisor
