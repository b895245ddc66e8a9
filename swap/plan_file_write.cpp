#include <swapadvisor/core/error.h>
#include <swapadvisor/core/file.h>
#include <swapadvisor/swap/plan_file.h>
#include <swapadvisor/swap/plan_json.h>

#include <cmath>
#include <nlohmann/json.hpp>

namespace swapadvisor {
namespace {

using nlohmann::ordered_json;

// nlohmann writes NaN and infinity as null, which nothing reads back.
double finite(double value, const char* what) {
  if (!std::isfinite(value)) fail("cannot write {} {}: it is not finite", what, value);
  return value;
}

std::string dump(const ordered_json& value) {
  try {
    return value.dump();
  } catch (const nlohmann::json::exception&) {
    fail("cannot write a name that is not UTF-8");
  }
}

// `"key":[` with one element a line; `element(i)` makes the i-th.
template <class Element>
std::string lines(const char* key, std::size_t count, Element element) {
  std::string text = fmt::format("\"{}\":[", key);
  for (std::size_t i = 0; i < count; ++i) text += (i ? ",\n" : "\n") + dump(element(i));
  return text + "]";
}

const char* name_of(BufferKind kind) {
  switch (kind) {
    case BufferKind::parameter:
      return "parameter";
    case BufferKind::state:
      return "state";
    case BufferKind::input:
      return "input";
    case BufferKind::output:
      return "output";
    case BufferKind::temporary:
      return "temporary";
  }
  return "";
}

ordered_json to_object(const PlanBuffer& buffer) {
  return {{"name", buffer.name}, {"bytes", buffer.bytes}, {"kind", name_of(buffer.kind)}};
}

ordered_json to_object(const PlanOp& op) {
  ordered_json object = {
      {"name", op.name}, {"type", op.type}, {"inputs", op.inputs}, {"outputs", op.outputs}};
  if (op.workspace_bytes > 0) object["workspace_bytes"] = op.workspace_bytes;
  object["seconds"] = finite(op.seconds, "op seconds");
  object["recomputable"] = op.recomputable;
  object["inplace"] = op.inplace;
  if (!op.algorithm.empty()) object["algorithm"] = op.algorithm;
  return object;
}

ordered_json to_object(const DeviceSpec& device) {
  ordered_json object = {{"format", "swapadvisor.device"}, {"version", 1}, {"name", device.name}};
  if (device.memory_bytes != DeviceSpec::unbounded) object["memory_bytes"] = device.memory_bytes;
  if (device.host_bytes != DeviceSpec::unbounded) object["host_bytes"] = device.host_bytes;
  object["h2d_bytes_per_second"] = finite(device.h2d_bytes_per_second, "bandwidth");
  object["d2h_bytes_per_second"] = finite(device.d2h_bytes_per_second, "bandwidth");
  object["duplex_bytes_per_second"] = finite(device.duplex_bytes_per_second, "bandwidth");
  object["copy_latency_seconds"] = finite(device.copy_latency_seconds, "copy latency");
  object["compute_slowdown_while_copying"] = finite(device.compute_slowdown_while_copying, "slowdown");
  return object;
}

ordered_json to_object(const Instruction& instruction) {
  ordered_json object;
  switch (instruction.kind) {
    case InstructionKind::run:
      object = {
          {"stream", "compute"}, {"do", "run"}, {"op", instruction.target}, {"offsets", instruction.offsets}};
      break;
    case InstructionKind::swap_in:
    case InstructionKind::swap_out: {
      const bool in = instruction.kind == InstructionKind::swap_in;
      object = {{"stream", in ? "in" : "out"},
                {"do", in ? "swap_in" : "swap_out"},
                {"buffer", instruction.target},
                {"offset", instruction.offsets.front()}};
    }
  }
  if (!instruction.wait.empty()) object["wait"] = instruction.wait;
  if (!instruction.wait_previous.empty()) object["wait_previous"] = instruction.wait_previous;
  return object;
}

ordered_json to_object(const Resident& resident) {
  return {{"buffer", resident.buffer}, {"offset", resident.offset}, {"dirty", resident.dirty}};
}

}  // namespace

ordered_json predicted_json(const Prediction& p) {
  return {{"iteration_seconds", finite(p.iteration_seconds, "iteration seconds")},
          {"ideal_seconds", finite(p.ideal_seconds, "ideal seconds")},
          {"bound_seconds", finite(p.bound_seconds, "bound seconds")},
          {"swap_bound_seconds", finite(p.swap_bound_seconds, "swap bound seconds")},
          {"efficiency", finite(p.efficiency, "efficiency")},
          {"swap_in_bytes", p.swap_in_bytes},
          {"swap_out_bytes", p.swap_out_bytes},
          {"fallback_bytes", p.fallback_bytes},
          {"recompute_seconds", finite(p.recompute_seconds, "recompute seconds")},
          {"peak_bytes", p.peak_bytes}};
}

ordered_json search_json(const SearchReport& search) {
  ordered_json history = ordered_json::array();
  for (const auto& [seconds, best] : search.history)
    history.push_back(
        ordered_json::array({finite(seconds, "search seconds"), finite(best, "iteration seconds")}));
  return {{"seconds", finite(search.seconds, "search seconds")},
          {"evaluations", search.evaluations},
          {"history", std::move(history)}};
}

std::string graph_to_json(const PlanGraph& graph) {
  std::string text =
      fmt::format("{{\"format\":\"swapadvisor.graph\",\"version\":1,\"name\":{},\n", dump(graph.name));
  text += lines("buffers", graph.buffers.size(), [&](std::size_t b) { return to_object(graph.buffers[b]); }) +
          ",\n";
  return text + lines("ops", graph.ops.size(), [&](std::size_t i) { return to_object(graph.ops[i]); }) +
         "}\n";
}

std::string device_to_json(const DeviceSpec& device) {
  return dump(to_object(device)) + "\n";
}

std::string plan_to_json(const Program& program) {
  std::string text =
      fmt::format("{{\"format\":\"swapadvisor.plan\",\"version\":1,\"planner\":{},\"seed\":{},\n",
                  dump(program.planner), program.seed);
  text += "\"graph\":" + graph_to_json(program.graph) + ",\"device\":" + device_to_json(program.device);
  text += fmt::format(",\"arena_bytes\":{},\"host_bytes\":{},\n", program.arena_bytes, program.host_bytes);
  text += lines("resident", program.resident.size(),
                [&](std::size_t i) { return to_object(program.resident[i]); }) +
          ",\n";
  text += lines("instructions", program.instructions.size(),
                [&](std::size_t i) { return to_object(program.instructions[i]); }) +
          ",\n";
  return text + fmt::format("\"predicted\":{},\n\"search\":{}}}\n", dump(predicted_json(program.predicted)),
                            dump(search_json(program.search)));
}

void write_graph(const std::string& path, const PlanGraph& graph) {
  write_file_atomic(path, graph_to_json(graph));
}
void write_device(const std::string& path, const DeviceSpec& device) {
  write_file_atomic(path, device_to_json(device));
}
void write_plan(const std::string& path, const Program& program) {
  write_file_atomic(path, plan_to_json(program));
}

}  // namespace swapadvisor
