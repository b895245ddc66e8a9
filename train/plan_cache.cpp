// What a plan depends on, and when a stored one is believed; plan_cache_files.cpp looks after the folder.
#include <fmt/chrono.h>
#include <swapadvisor/core/error.h>
#include <swapadvisor/core/file.h>
#include <swapadvisor/swap/json_stream.h>
#include <swapadvisor/swap/plan_file.h>
#include <swapadvisor/swap/simulate.h>
#include <swapadvisor/swap/verify.h>
#include <swapadvisor/train/plan_cache.h>
#include <swapadvisor/train/sha256.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>

namespace swapadvisor {
namespace {

constexpr std::int64_t largest_file = std::int64_t{512} << 20;
constexpr double nearest = 1.25;     // ratio of measured numbers, see the header
constexpr double other_ops = 0.25;   // share of the seconds
constexpr double least_kept = 0.9;   // of the efficiency
constexpr double from_bound = 1.05;  // iteration time over that of any plan
constexpr int layout_version = 1;    // of the file names and of what is around the plan
constexpr const char* date_digits = "0123456789-:TZ";

// The same for all measurements of one graph on one device.
PlanGraph without_seconds(PlanGraph graph) {
  for (PlanOp& op : graph.ops) op.seconds = 0;
  return graph;
}

DeviceSpec without_speeds(const DeviceSpec& device) {
  DeviceSpec plain;
  plain.name = device.name;
  plain.memory_bytes = device.memory_bytes;
  plain.host_bytes = device.host_bytes;
  return plain;
}

bool near(double a, double b) {
  return std::max(a, b) <= nearest * std::min(a, b);
}

// Both directions together reach no more than each alone.
double duplex(const DeviceSpec& device) {
  const double sum = device.h2d_bytes_per_second + device.d2h_bytes_per_second;
  return device.duplex_bytes_per_second > 0 ? std::min(sum, device.duplex_bytes_per_second) : sum;
}

// Throws where the plan was made for measurements too different from `graph`'s and `device`'s.
void check_near(const Program& plan, const PlanGraph& graph, const DeviceSpec& device) {
  const double before = total_seconds(plan.graph), now = total_seconds(graph);
  const auto check_link = [&](double speed_before, double speed_now) {
    if (!near(before * speed_before, now * speed_now))
      fail("it was made for another speed of the ops beside the link's: {:.3g} bytes a step then, {:.3g} now",
           before * speed_before, now * speed_now);
  };
  check_link(plan.device.h2d_bytes_per_second, device.h2d_bytes_per_second);
  check_link(plan.device.d2h_bytes_per_second, device.d2h_bytes_per_second);
  check_link(duplex(plan.device), duplex(device));
  if (!near(plan.device.compute_slowdown_while_copying, device.compute_slowdown_while_copying))
    fail("it was made for ops that copies slow down by {:.3g}, now {:.3g}",
         plan.device.compute_slowdown_while_copying, device.compute_slowdown_while_copying);
  double moved = 0;
  for (std::size_t i = 0; before > 0 && now > 0 && i < graph.ops.size(); ++i)
    moved += std::abs(plan.graph.ops[i].seconds / before - graph.ops[i].seconds / now) / 2;
  if (moved > other_ops)
    fail("it was made for other op seconds: {:.0f} % were spent in other ops", 100 * moved);
}

void check_equal(const Program& plan, const PlanRequest& request) {
  const auto& ops = request.graph->ops;
  const bool seconds = std::equal(ops.begin(), ops.end(), plan.graph.ops.begin(),
                                  [](const PlanOp& a, const PlanOp& b) { return a.seconds == b.seconds; });
  if (!seconds || plan.graph.name != request.graph->name) fail("it was made for another graph");
  if (device_to_json(plan.device) != device_to_json(request.device)) fail("it was made for another device");
}

// Throws unless the plan, simulated with the times of now, is about as good as one that was searched for
// them.
void check_serves(const Program& plan, const Program& before) {
  if (plan.predicted.iteration_seconds <= from_bound * plan.predicted.bound_seconds) return;
  check_near(before, plan.graph, plan.device);
  if (plan.predicted.efficiency < least_kept * before.predicted.efficiency)
    fail("its efficiency was {:.1f} %, and with the times measured now is {:.1f} %",
         100 * before.predicted.efficiency, 100 * plan.predicted.efficiency);
}

// The request's plan from a stored one, with a prediction of now. Throws `Error` where it does not serve.
Program adopt(const Program& stored, const PlannerInfo& planner, const PlanRequest& request,
              PlanMatch match) {
  if (stored.planner != planner.name || stored.seed != request.seed)
    fail("it was made by another planner or seed");
  if (!same_structure(stored.graph, *request.graph)) fail("it was made for another graph");
  if (match == PlanMatch::exact) check_equal(stored, request);
  Program plan = stored;
  plan.graph = *request.graph;
  plan.device = request.device;
  if (const Verdict verdict = verify(plan); !verdict.valid) fail("it is not valid: {}", verdict.error);
  plan.predicted = simulate(plan);
  plan.predicted.fallback_bytes = stored.predicted.fallback_bytes;
  if (match == PlanMatch::similar) check_serves(plan, stored);
  return plan;
}

// A plan file with one line more at its start.
std::string to_text(const Program& program, const std::string& planned) {
  return fmt::format("{{\"cache\":{{\"planned\":\"{}\"}},\n", planned) + plan_to_json(program).substr(1);
}

std::string planned_in(const std::string& text, const std::string& file) {
  const std::size_t end = text.find(",\n");
  if (end == std::string::npos) fail("{}: it has no first line", file);
  JsonSection cache, root;
  cache.where = root.where = file;
  cache.names = {"planned"};
  root.sections = {{"cache", &cache}};
  read_json(text.substr(0, end) + "}", root);
  const std::string planned = cache.fields().text("planned");
  if (planned.size() != 20 || planned.find_first_not_of(date_digits) != std::string::npos)
    fail("{}: '{}' is not a date", file, planned);
  return planned;
}

}  // namespace

std::string PlanCache::path_of(const PlannerInfo& planner, const PlanRequest& request, PlanMatch match,
                               const std::string& context) const {
  const bool exact = match == PlanMatch::exact;
  std::string key =
      fmt::format("swapadvisor {} plan cache {}\nplanner {} version {} seed {}\n", SWAPADVISOR_VERSION,
                  layout_version, planner.name, planner.version, request.seed);
  key += fmt::format("seconds {:a} evaluations {}\n", request.search_seconds, request.search_evaluations);
  // With the clock as the budget, more threads find more.
  if (request.search_seconds > 0) key += fmt::format("threads {}\n", request.threads);
  const JointParts& parts = request.parts;
  key += fmt::format("parts {:d}{:d}{:d}{:d}{:d}\n", parts.order, parts.offsets, parts.eviction, parts.clean_eviction,
                     parts.recompute);
  key += fmt::format("match {} context {} {}\n", exact ? "exact" : "similar", context.size(), context);
  key += device_to_json(exact ? request.device : without_speeds(request.device));
  key += graph_to_json(exact ? *request.graph : without_seconds(*request.graph));
  return (std::filesystem::path(directory_) / (sha256_hex(key) + ".plan.json")).string();
}

bool PlanCache::find(const PlannerInfo& planner, const PlanRequest& request, PlanMatch match,
                     CachedPlan& result) const {
  std::error_code ignored;
  if (!std::filesystem::exists(result.file, ignored)) return false;
  try {
    const std::string text = read_file(result.file, largest_file);
    result.planned = planned_in(text, result.file);
    result.program = adopt(plan_from_json(text, result.file), planner, request, match);
  } catch (const Error& error) {
    if (!std::filesystem::exists(result.file, ignored)) return false;  // removed by another process meanwhile
    const std::string why = error.what();
    const bool named = why.find(result.file) != std::string::npos;
    result.unused = fmt::format("the plan in the cache was not used: {}{}{}", named ? "" : result.file,
                                named ? "" : ": ", why);
    result.planned.clear();
    return false;
  }
  // The time of last use: what was used longest ago goes first.
  std::filesystem::last_write_time(result.file, std::filesystem::file_time_type::clock::now(), ignored);
  result.cached = true;
  return true;
}

CachedPlan PlanCache::plan(const Planner& planner, const PlanRequest& request, PlanMatch match,
                           const std::string& context) const {
  CachedPlan result;
  const PlannerInfo info = planner.info();
  const bool worth_it = info.searches && max_bytes_ > 0;
  if (worth_it) {
    try {
      result.file = path_of(info, request, match, context);
    } catch (const Error& error) {  // a name that no file can have
      result.unstored = fmt::format("the plan cannot be kept in the cache: {}", error.what());
    }
  }
  if (!result.file.empty() && find(info, request, match, result)) return result;
  result.program = planner.plan(request);
  const bool whole = !request.stop.stop_requested() && result.program.search.evaluations > 0;
  if (!whole) result.file.clear();
  if (!result.file.empty()) store(result);
  return result;
}

void PlanCache::store(CachedPlan& result) const {
  const auto now = std::chrono::time_point_cast<std::chrono::seconds>(std::chrono::system_clock::now());
  try {
    const std::string text =
        to_text(result.program,
                fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::chrono::system_clock::to_time_t(now))));
    const std::int64_t bytes = std::ssize(text);
    if (bytes > max_bytes_) fail("it has {} bytes, the cache at most {}", bytes, max_bytes_);
    std::error_code error;
    std::filesystem::create_directories(directory_, error);
    if (error) fail("cannot make the folder '{}': {}", directory_, error.message());
    write_file_atomic(result.file, text);
    shrink(result.file);
  } catch (const Error& error) {
    result.unstored = fmt::format("the plan cannot be kept in the cache: {}", error.what());
    result.file.clear();
  }
}

}  // namespace swapadvisor
