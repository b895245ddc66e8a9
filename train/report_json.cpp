#include <swapadvisor/core/error.h>
#include <swapadvisor/swap/plan_json.h>
#include <swapadvisor/swap/planner.h>
#include <swapadvisor/train/report_clock.h>
#include <swapadvisor/train/report_json.h>

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>

namespace swapadvisor::report {
namespace {

using nlohmann::ordered_json;

// Instructions of the plans besides the first that get their details: a page of several plans stays a few
// megabytes.
constexpr std::size_t detailed_instructions = 30'000;

// Times as whole ticks.
class Ticks {
 public:
  // Nanoseconds, unless the numbers would get longer than JavaScript is exact for.
  explicit Ticks(double seconds) : seconds_(std::max(1e-9, seconds * 1e-12)) {}
  double seconds() const { return seconds_; }
  std::int64_t of(double seconds) const { return std::llround(seconds / seconds_); }

 private:
  double seconds_;
};

class References {
 public:
  explicit References(std::size_t instructions) : count_(static_cast<std::int64_t>(instructions)) {}
  std::int64_t operator()(const std::optional<Reference>& r) const {
    return r ? (r->iteration - Clock::first_iteration) * count_ + r->instruction : -1;
  }

 private:
  std::int64_t count_;
};

ordered_json graph_json(const PlanGraph& graph) {
  ordered_json names = ordered_json::array(), types = ordered_json::array(), type_of = ordered_json::array(),
               seconds = ordered_json::array(), workspace = ordered_json::array(),
               inputs = ordered_json::array(), outputs = ordered_json::array();
  std::map<std::string, std::size_t> known;
  for (const PlanOp& op : graph.ops) {
    names.push_back(op.name);
    const auto [it, is_new] = known.emplace(op.type, known.size());
    if (is_new) types.push_back(op.type);
    type_of.push_back(it->second);
    seconds.push_back(op.seconds);
    workspace.push_back(op.workspace_bytes);
    inputs.push_back(op.inputs);
    outputs.push_back(op.outputs);
  }
  ordered_json buffer_names = ordered_json::array(), bytes = ordered_json::array(),
               kinds = ordered_json::array();
  for (const PlanBuffer& buffer : graph.buffers) {
    buffer_names.push_back(buffer.name);
    bytes.push_back(buffer.bytes);
    kinds.push_back(static_cast<int>(buffer.kind));
  }
  return {{"name", graph.name},
          {"ops",
           {{"name", names},
            {"type", type_of},
            {"types", types},
            {"seconds", seconds},
            {"workspace", workspace},
            {"inputs", inputs},
            {"outputs", outputs}}},
          {"buffers", {{"name", buffer_names}, {"bytes", bytes}, {"kind", kinds}}}};
}

ordered_json device_json(const DeviceSpec& device) {
  ordered_json json{{"name", device.name},
                    {"memory_bytes", device.memory_bytes},
                    {"h2d_bytes_per_second", device.h2d_bytes_per_second},
                    {"d2h_bytes_per_second", device.d2h_bytes_per_second},
                    {"duplex_bytes_per_second", device.duplex_bytes_per_second},
                    {"copy_latency_seconds", device.copy_latency_seconds},
                    {"compute_slowdown_while_copying", device.compute_slowdown_while_copying}};
  if (device.memory_bytes == DeviceSpec::unbounded) json["memory_bytes"] = nullptr;
  if (device.host_bytes != DeviceSpec::unbounded) json["host_bytes"] = device.host_bytes;
  return json;
}

std::vector<std::int64_t> instruction_numbers(const Program& program, const Analysis& analysis,
                                              const References& reference) {
  std::vector<std::int64_t> numbers;
  for (std::size_t i = 0; i < program.instructions.size(); ++i) {
    const Purpose& purpose = analysis.purposes[i];
    numbers.insert(numbers.end(),
                   {static_cast<std::int64_t>(program.instructions[i].kind), program.instructions[i].target,
                    reference(purpose.taken_by), reference(purpose.next_reader), purpose.again ? 1 : 0});
  }
  return numbers;
}

std::vector<std::int64_t> span_numbers(const std::vector<Span>& spans, const Ticks& ticks,
                                       const References& reference) {
  std::vector<std::int64_t> numbers;
  std::int64_t before = 0;
  for (const Span& span : spans) {
    std::optional<Reference> blocker = span.blocker;
    if (blocker) blocker->iteration += span.iteration;
    const std::int64_t begin = ticks.of(span.begin), end = ticks.of(span.end);
    numbers.insert(numbers.end(),
                   {span.instruction, span.iteration, begin - before, end - begin, reference(blocker)});
    before = end;
  }
  return numbers;
}

std::vector<std::int64_t> stall_numbers(const std::vector<Stall>& stalls, const Ticks& ticks,
                                        const References& reference) {
  std::vector<std::int64_t> numbers;
  for (const Stall& stall : stalls)
    numbers.insert(numbers.end(),
                   {stall.instruction, ticks.of(stall.begin), ticks.of(stall.end) - ticks.of(stall.begin),
                    reference(stall.blocker), static_cast<std::int64_t>(stall.cause), stall.queued,
                    ticks.of(stall.queue_begin), reference(stall.root)});
  return numbers;
}

std::vector<std::int64_t> stay_numbers(const std::vector<Stay>& stays, const Ticks& ticks,
                                       const References& reference) {
  std::vector<std::size_t> order(stays.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return stays[a].begin < stays[b].begin; });
  std::vector<std::int64_t> numbers;
  std::int64_t before = 0;
  for (std::size_t s : order) {
    const Stay& stay = stays[s];
    const std::int64_t begin = ticks.of(stay.begin);
    numbers.insert(numbers.end(), {stay.target, static_cast<std::int64_t>(stay.occupant),
                                   stay.offset / arena_alignment, begin - before, ticks.of(stay.end) - begin,
                                   reference(stay.placed_by), reference(stay.taken_by)});
    before = begin;
  }
  return numbers;
}

std::vector<std::int64_t> memory_numbers(const std::vector<MemoryStep>& steps, const Ticks& ticks) {
  std::vector<std::int64_t> numbers;
  MemoryStep last;
  std::int64_t before = 0;
  for (const MemoryStep& step : steps) {
    const std::int64_t begin = ticks.of(step.seconds);
    for (std::size_t o = 0; o < occupant_count; ++o) {
      if (step.bytes[o] == last.bytes[o]) continue;
      numbers.insert(numbers.end(),
                     {begin - before, static_cast<std::int64_t>(o), step.bytes[o] - last.bytes[o]});
      before = begin;
    }
    last = step;
  }
  return numbers;
}

ordered_json plan_json(const ReportPlan& plan) {
  const Program& program = plan.program;
  const Analysis analysis = analyse(program);
  const Ticks ticks(std::max(analysis.last, -analysis.first));
  const References reference(program.instructions.size());
  ordered_json spans = ordered_json::array();
  for (const std::vector<Span>& stream : analysis.spans)
    spans.push_back(span_numbers(stream, ticks, reference));
  return {{"planner", plan.planner},
          {"seed", program.seed},
          {"device", device_json(program.device)},
          {"arena_bytes", program.arena_bytes},
          {"host_bytes", program.host_bytes},
          {"predicted", predicted_json(program.predicted)},
          {"search", search_json(program.search)},
          {"tick", ticks.seconds()},
          {"seconds", ticks.of(analysis.seconds)},
          {"first", ticks.of(analysis.first)},
          {"last", ticks.of(analysis.last)},
          {"instructions", instruction_numbers(program, analysis, reference)},
          {"spans", spans},
          {"stalls", stall_numbers(analysis.stalls, ticks, reference)},
          {"stays", stay_numbers(analysis.stays, ticks, reference)},
          {"memory", memory_numbers(analysis.memory, ticks)}};
}

ordered_json row_json(const ReportPlan& plan) {
  ordered_json row{{"planner", plan.planner}};
  if (!plan.refusal.empty()) {
    row["refusal"] = plan.refusal;
    return row;
  }
  if (!plan.invalid.empty()) row["invalid"] = plan.invalid;
  row["planning_seconds"] = plan.planning_seconds;
  row["predicted"] = predicted_json(plan.program.predicted);
  return row;
}

// Those with details, the one to open first: valid before invalid, `none` last, fast before slow.
std::vector<std::size_t> detailed_plans(std::span<const ReportPlan> plans) {
  std::vector<std::size_t> order;
  for (std::size_t p = 0; p < plans.size(); ++p)
    if (plans[p].refusal.empty() && plans[p].invalid.empty()) order.push_back(p);
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    const auto key = [&](std::size_t p) {
      return std::pair(plans[p].planner == "none", plans[p].program.predicted.iteration_seconds);
    };
    return key(a) < key(b);
  });
  std::vector<std::size_t> chosen;
  std::size_t instructions = 0;
  for (std::size_t p : order) {
    const std::size_t more = plans[p].program.instructions.size();
    if (!chosen.empty() && instructions + more > detailed_instructions) continue;
    if (!chosen.empty()) instructions += more;
    chosen.push_back(p);
  }
  return chosen;
}

}  // namespace

ordered_json report_json(std::span<const ReportPlan> plans, bool table) {
  ordered_json json{
      {"format", "swapadvisor.report"}, {"version", 1}, {"graph", nullptr}, {"device_bytes_needed", 0}};
  ordered_json details = ordered_json::array(), rows = ordered_json::array();
  std::vector<std::int64_t> details_of(plans.size(), -1);
  for (std::size_t p : detailed_plans(plans)) {
    const PlanGraph& graph = plans[p].program.graph;
    if (details.empty()) {
      json["graph"] = graph_json(graph);
      json["device_bytes_needed"] = device_bytes_needed(graph);
    }
    details_of[p] = static_cast<std::int64_t>(details.size());
    details.push_back(plan_json(plans[p]));
  }
  json["plans"] = std::move(details);
  if (!table) return json;
  for (std::size_t p = 0; p < plans.size(); ++p) {
    rows.push_back(row_json(plans[p]));
    rows.back()["details"] = details_of[p];
  }
  json["planners"] = std::move(rows);
  return json;
}

std::string script_json(const ordered_json& json) {
  std::string text;
  for (char c : json.dump(-1, ' ', true, ordered_json::error_handler_t::replace))
    if (c == '<' || c == '>' || c == '&')
      text += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    else
      text += c;
  return text;
}

std::string html_text(const std::string& text) {
  const ordered_json valid =
      ordered_json::parse(ordered_json(text).dump(-1, ' ', false, ordered_json::error_handler_t::replace));
  std::string safe;
  for (char c : valid.get<std::string>()) {
    if (c == '&')
      safe += "&amp;";
    else if (c == '<')
      safe += "&lt;";
    else if (c == '>')
      safe += "&gt;";
    else if (c == '"')
      safe += "&quot;";
    else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f)
      safe += ' ';
    else
      safe += c;
  }
  return safe;
}

}  // namespace swapadvisor::report
