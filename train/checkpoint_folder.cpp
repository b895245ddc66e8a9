#include <signal.h>
#include <swapadvisor/core/error.h>
#include <swapadvisor/core/file.h>
#include <swapadvisor/train/checkpoint.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <filesystem>
#include <system_error>

namespace swapadvisor {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view prefix = "step-", suffix = ".safetensors";

/// A whole number that is all of `text`.
std::optional<std::int64_t> whole(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || end != text.data() + text.size() || value < 0)
    return std::nullopt;
  return value;
}

/// The step of a checkpoint's file name; absent for other files.
std::optional<std::int64_t> step_of(std::string_view name) {
  if (!name.starts_with(prefix) || !name.ends_with(suffix) || name.size() <= prefix.size() + suffix.size())
    return std::nullopt;
  return whole(name.substr(prefix.size(), name.size() - prefix.size() - suffix.size()));
}

/// Whether `name` is a temporary name of a checkpoint (see AtomicFile) whose process has ended.
bool is_abandoned(std::string_view name) {
  constexpr std::string_view temporary = ".tmp";
  const std::size_t end = name.find(suffix);
  if (end == std::string_view::npos || !step_of(name.substr(0, end + suffix.size())) ||
      !name.ends_with(temporary))
    return false;
  const std::string_view rest = name.substr(end + suffix.size());  // ".PROCESS.ATTEMPT.tmp"
  const std::size_t dot = rest.find('.', 1);
  if (rest.size() < 2 || rest[0] != '.' || dot == std::string_view::npos) return false;
  const std::optional<std::int64_t> process = whole(rest.substr(1, dot - 1));
  return process && *process > 0 && ::kill(static_cast<pid_t>(*process), 0) != 0 && errno == ESRCH;
}

std::vector<std::pair<std::int64_t, std::string>> checkpoints(const std::string& folder) {
  std::vector<std::pair<std::int64_t, std::string>> found;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error))
    if (const auto step = step_of(at->path().filename().string()))
      found.emplace_back(*step, at->path().string());
  if (error) fail("cannot read the folder '{}': {}", folder, error.message());
  std::sort(found.rbegin(), found.rend());
  return found;
}

/// A name that no file has: those that were set aside before stay.
std::string aside(const std::string& path) {
  std::string name = path + ".corrupt";
  std::error_code error;
  for (int i = 2; fs::exists(fs::symlink_status(name, error)); ++i)
    name = fmt::format("{}.corrupt{}", path, i);
  return name;
}

}  // namespace

CheckpointFolder::CheckpointFolder(std::string folder, std::int64_t keep)
    : folder_(std::move(folder)), keep_(keep) {
  SWAPADVISOR_ASSERT(keep >= 1, "{} checkpoints are to be kept", keep);
  std::error_code error;
  fs::create_directories(folder_, error);
  if (error) fail("cannot make the folder '{}': {}", folder_, error.message());
  std::vector<fs::path> abandoned;
  for (fs::directory_iterator at(folder_, error), end; !error && at != end; at.increment(error))
    if (is_abandoned(at->path().filename().string())) abandoned.push_back(at->path());
  if (error) fail("cannot read the folder '{}': {}", folder_, error.message());
  for (const fs::path& path : abandoned) fs::remove(path, error);
}

std::vector<std::string> CheckpointFolder::list() const {
  std::vector<std::string> paths;
  for (auto& [step, path] : checkpoints(folder_)) paths.push_back(std::move(path));
  return paths;
}

std::optional<CheckpointFolder::Found> CheckpointFolder::newest(
    const std::function<void(const std::string&)>& warn) {
  const std::vector<std::string> paths = list();
  for (const std::string& path : paths) {
    const RegularFile openable(path);  // one that is not may be as good as it was written
    try {
      return Found{path, read_checkpoint(path)};
    } catch (const Error& problem) {
      // Out of the way: it must not count as one to keep.
      std::error_code error;
      fs::rename(path, aside(path), error);
      warn(
          fmt::format("{}; it is set aside, and {}", problem.what(),
                      path == paths.back() ? "there is none before it" : "the checkpoint before it is used"));
    }
  }
  return std::nullopt;
}

void CheckpointFolder::save(const Graph& graph, HostStore& host, const CheckpointState& state) {
  const std::string name = fmt::format("{}{:09}{}", prefix, state.steps, suffix);
  write_checkpoint((fs::path(folder_) / name).string(), graph, host, state);
  std::int64_t kept = 0;
  std::error_code ignored;  // an old one that stays does no harm
  for (const auto& [step, path] : checkpoints(folder_))
    if (step <= state.steps && ++kept > keep_) fs::remove(path, ignored);
}

}  // namespace swapadvisor
