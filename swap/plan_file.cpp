// The reading half; plan_file_write.cpp is the other.
#include <swapadvisor/core/error.h>
#include <swapadvisor/core/file.h>
#include <swapadvisor/swap/device_spec.h>
#include <swapadvisor/swap/json_fields.h>
#include <swapadvisor/swap/plan_file.h>
#include <swapadvisor/swap/program_check.h>

#include <unordered_set>

namespace swapadvisor {
namespace {

using nlohmann::json;

constexpr std::int64_t largest_file = std::int64_t{512} << 20;
constexpr std::int64_t largest_size = std::int64_t{1} << 60;
constexpr std::int64_t largest_count = std::int64_t{1} << 30;
constexpr double largest_number = 1e300;
constexpr double longest_seconds = 1e9;

void check_format(const JsonFields& fields, const char* format) {
  const std::string found = fields.text("format");
  if (found != format) fail("{} has format '{}': expected '{}'", fields.where(), found, format);
  const std::int64_t version = fields.integer("version", 0, largest_count);
  if (version != 1) fail("{} has version {} of {}: only version 1 is known", fields.where(), version, format);
}

// "plan.json: op 3 'conv1'"
std::string entry(const std::string& source, const char* what, std::size_t index, const json& value) {
  std::string where = fmt::format("{}: {} {}", source, what, index);
  if (value.is_object() && value.contains("name") && value["name"].is_string())
    where += fmt::format(" '{}'", value["name"].get_ref<const std::string&>());
  return where;
}

BufferKind parse_kind(const JsonFields& fields) {
  const std::string kind = fields.text("kind");
  if (kind == "parameter") return BufferKind::parameter;
  if (kind == "state") return BufferKind::state;
  if (kind == "input") return BufferKind::input;
  if (kind == "output") return BufferKind::output;
  if (kind == "temporary") return BufferKind::temporary;
  fail("{} has kind '{}': expected parameter, state, input, output or temporary", fields.where(), kind);
}

void check_count(const json& array, const std::string& source, const char* what) {
  if (array.size() > static_cast<std::size_t>(largest_count))
    fail("{}: too many {}: {}", source, what, array.size());
}

void parse_buffers(const JsonFields& fields, const std::string& source, PlanGraph& graph) {
  const json& buffers = fields.array("buffers", true);
  check_count(buffers, source, "buffers");
  std::unordered_set<std::string> names;
  for (const json& value : buffers) {
    const JsonFields buffer(value, entry(source, "buffer", graph.buffers.size(), value));
    graph.buffers.push_back(
        {buffer.text("name", ""), buffer.integer("bytes", 1, largest_size), parse_kind(buffer)});
    const std::string& name = graph.buffers.back().name;
    if (!name.empty() && !names.insert(name).second)
      fail("{} has the name of an earlier buffer", buffer.where());
  }
}

void parse_ops(const JsonFields& fields, const std::string& source, PlanGraph& graph) {
  const json& ops = fields.array("ops", true);
  check_count(ops, source, "ops");
  const auto buffers = static_cast<std::int64_t>(graph.buffers.size());
  for (const json& value : ops) {
    const JsonFields fields_of_op(value, entry(source, "op", graph.ops.size(), value));
    PlanOp op;
    op.name = fields_of_op.text("name", "");
    op.type = fields_of_op.text("type", "");
    op.inputs = fields_of_op.indices("inputs", buffers, true);
    op.outputs = fields_of_op.indices("outputs", buffers, true);
    op.workspace_bytes = fields_of_op.integer("workspace_bytes", 0, largest_size, 0);
    op.seconds = fields_of_op.number("seconds", 0, longest_seconds);
    op.recomputable = fields_of_op.boolean("recomputable", false);
    op.inplace = fields_of_op.boolean("inplace", false);
    graph.ops.push_back(std::move(op));
  }
}

// Runs a check whose messages do not know the file.
template <class Check>
void check_in(const std::string& source, Check check_it) {
  try {
    check_it();
  } catch (const Error& error) {
    fail("{}: {}", source, error.what());
  }
}

PlanGraph parse_graph(const json& value, const std::string& source) {
  const JsonFields fields(value, source);
  check_format(fields, "swapadvisor.graph");
  PlanGraph graph;
  graph.name = fields.text("name", "");
  parse_buffers(fields, source, graph);
  parse_ops(fields, source, graph);
  check_in(source, [&] { check(graph); });
  return graph;
}

DeviceSpec parse_device(const json& value, const std::string& source) {
  const JsonFields fields(value, source);
  check_format(fields, "swapadvisor.device");
  DeviceSpec device;
  device.name = fields.text("name", "");
  device.memory_bytes = fields.integer("memory_bytes", 0, DeviceSpec::unbounded, DeviceSpec::unbounded);
  device.host_bytes = fields.integer("host_bytes", 0, DeviceSpec::unbounded, DeviceSpec::unbounded);
  device.h2d_bytes_per_second = fields.number("h2d_bytes_per_second", 0, largest_number);
  device.d2h_bytes_per_second = fields.number("d2h_bytes_per_second", 0, largest_number);
  device.duplex_bytes_per_second = fields.number("duplex_bytes_per_second", 0, 2 * largest_number,
                                                 device.h2d_bytes_per_second + device.d2h_bytes_per_second);
  device.copy_latency_seconds = fields.number("copy_latency_seconds", 0, longest_seconds, 0);
  device.compute_slowdown_while_copying = fields.number("compute_slowdown_while_copying", 1, 1e6, 1);
  check_in(source, [&] { check(device); });
  return device;
}

InstructionKind parse_instruction_kind(const JsonFields& fields) {
  const std::string what = fields.text("do");
  InstructionKind kind;
  if (what == "run") {
    kind = InstructionKind::run;
  } else if (what == "swap_in") {
    kind = InstructionKind::swap_in;
  } else if (what == "swap_out") {
    kind = InstructionKind::swap_out;
  } else {
    fail("{} has do '{}': expected run, swap_in or swap_out", fields.where(), what);
  }
  constexpr const char* streams[] = {"compute", "in", "out"};
  const char* expected = streams[static_cast<std::size_t>(stream_of(kind))];
  const std::string stream = fields.text("stream", expected);
  if (stream != expected) fail("{} has stream '{}': a {} is on '{}'", fields.where(), stream, what, expected);
  return kind;
}

void parse_instructions(const JsonFields& fields, const std::string& source, Program& program) {
  const json& instructions = fields.array("instructions", true);
  check_count(instructions, source, "instructions");
  const auto count = static_cast<std::int64_t>(instructions.size());
  const auto buffers = static_cast<std::int64_t>(program.graph.buffers.size());
  const auto ops = static_cast<std::int64_t>(program.graph.ops.size());
  for (const json& value : instructions) {
    const JsonFields part(value, fmt::format("{}: instruction {}", source, program.instructions.size()));
    Instruction instruction;
    instruction.kind = parse_instruction_kind(part);
    if (instruction.kind == InstructionKind::run) {
      instruction.target = static_cast<std::int32_t>(part.integer("op", 0, ops - 1));
      instruction.offsets = part.integers("offsets", 0, largest_size);
    } else {
      instruction.target = static_cast<std::int32_t>(part.integer("buffer", 0, buffers - 1));
      instruction.offsets = {part.integer("offset", 0, largest_size)};
    }
    instruction.wait = part.indices("wait", count, false);
    instruction.wait_previous = part.indices("wait_previous", count, false);
    program.instructions.push_back(std::move(instruction));
  }
}

void parse_residents(const JsonFields& fields, const std::string& source, Program& program) {
  const auto buffers = static_cast<std::int64_t>(program.graph.buffers.size());
  for (const json& value : fields.array("resident", false)) {
    const JsonFields part(value, fmt::format("{}: resident {}", source, program.resident.size()));
    program.resident.push_back({static_cast<std::int32_t>(part.integer("buffer", 0, buffers - 1)),
                                part.integer("offset", 0, largest_size), part.boolean("dirty", false)});
  }
}

Prediction parse_predicted(const json& value, const std::string& where) {
  const JsonFields fields(value, where);
  const auto seconds = [&](const char* name) { return fields.number(name, 0, largest_number, 0); };
  const auto bytes = [&](const char* name) { return fields.integer(name, 0, DeviceSpec::unbounded, 0); };
  Prediction prediction;
  prediction.iteration_seconds = seconds("iteration_seconds");
  prediction.ideal_seconds = seconds("ideal_seconds");
  prediction.bound_seconds = seconds("bound_seconds");
  prediction.swap_bound_seconds = seconds("swap_bound_seconds");
  prediction.efficiency = seconds("efficiency");
  prediction.swap_in_bytes = bytes("swap_in_bytes");
  prediction.swap_out_bytes = bytes("swap_out_bytes");
  prediction.fallback_bytes = bytes("fallback_bytes");
  prediction.recompute_seconds = seconds("recompute_seconds");
  prediction.peak_bytes = bytes("peak_bytes");
  return prediction;
}

SearchReport parse_search(const json& value, const std::string& where) {
  const JsonFields fields(value, where);
  SearchReport search;
  search.seconds = fields.number("seconds", 0, largest_number, 0);
  search.evaluations = fields.integer("evaluations", 0, DeviceSpec::unbounded, 0);
  for (const json& point : fields.array("history", false)) {
    if (!point.is_array() || point.size() != 2 || !point[0].is_number() || !point[1].is_number())
      fail("{}: entry {} of 'history' is not a pair of numbers", where, search.history.size());
    search.history.emplace_back(point[0].get<double>(), point[1].get<double>());
  }
  return search;
}

}  // namespace

PlanGraph graph_from_json(std::string_view text, const std::string& source) {
  return parse_graph(parse_json(text, source), source);
}

DeviceSpec device_from_json(std::string_view text, const std::string& source) {
  return parse_device(parse_json(text, source), source);
}

Program plan_from_json(std::string_view text, const std::string& source) {
  const json value = parse_json(text, source);
  const JsonFields fields(value, source);
  check_format(fields, "swapadvisor.plan");
  Program program;
  program.planner = fields.text("planner", "");
  program.seed = fields.unsigned_integer("seed", 0);
  program.graph = parse_graph(fields.value("graph"), source + ": graph");
  program.device = parse_device(fields.value("device"), source + ": device");
  program.arena_bytes = fields.integer("arena_bytes", 0, largest_size);
  parse_residents(fields, source, program);
  parse_instructions(fields, source, program);
  check_in(source, [&] { check_indices(program); });
  program.host_bytes =
      fields.integer("host_bytes", 0, largest_size, host_bytes_needed(program.graph, program.instructions));
  if (fields.has("predicted"))
    program.predicted = parse_predicted(fields.value("predicted"), source + ": predicted");
  if (fields.has("search")) program.search = parse_search(fields.value("search"), source + ": search");
  return program;
}

PlanGraph read_graph(const std::string& path) {
  return graph_from_json(read_file(path, largest_file), path);
}
DeviceSpec read_device(const std::string& path) {
  return device_from_json(read_file(path, largest_file), path);
}
Program read_plan(const std::string& path) {
  return plan_from_json(read_file(path, largest_file), path);
}

}  // namespace swapadvisor
