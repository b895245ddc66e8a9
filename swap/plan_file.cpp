// The reading half; plan_file_write.cpp is the other.
#include <swapadvisor/core/error.h>
#include <swapadvisor/core/file.h>
#include <swapadvisor/swap/device_spec.h>
#include <swapadvisor/swap/json_stream.h>
#include <swapadvisor/swap/plan_file.h>
#include <swapadvisor/swap/program_check.h>

#include <unordered_map>

namespace swapadvisor {
namespace {

using nlohmann::json;

constexpr std::int64_t largest_file = std::int64_t{512} << 20;
constexpr std::int64_t largest_size = std::int64_t{1} << 60;
constexpr std::int64_t largest_index = std::numeric_limits<std::int32_t>::max();
constexpr std::size_t most_entries = std::size_t{1} << 22;  // buffers, ops
constexpr std::size_t most_instructions = std::size_t{1} << 24;
constexpr double largest_number = 1e300;
constexpr double longest_seconds = 1e9;

void check_format(const JsonFields& fields, const char* format) {
  const std::string found = fields.text("format");
  if (found != format) fail("{} has format '{}': expected '{}'", fields.where(), found, format);
}

void check_version(const JsonFields& fields, const char* format) {
  const std::int64_t version = fields.integer("version", 0, largest_index);
  if (version != 1) fail("{} has version {} of {}: only version 1 is known", fields.where(), version, format);
}

// A file with a format and a version, which writers put first: a wrong one is refused before its other fields
// are misread.
void expect_format(JsonSection& section, const char* format) {
  section.names.insert(section.names.end(), {"format", "version"});
  section.after_value = [&section, format] {
    if (section.values.contains("format")) check_format(section.fields(), format);
    if (section.values.contains("version")) check_version(section.fields(), format);
  };
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

template <class Entry>
void append(std::vector<Entry>& entries, Entry entry, std::size_t most, const JsonFields& fields) {
  if (entries.size() == most) fail("{} is one too many: {} are accepted", fields.where(), most);
  entries.push_back(std::move(entry));
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

/// A graph object, in a file of its own or in a plan.
class GraphReader {
 public:
  explicit GraphReader(std::string where) {
    section_.where = std::move(where);
    section_.names = {"name"};
    section_.lists = {{"buffers", "buffer", [this](const JsonFields& fields) { take_buffer(fields); }},
                      {"ops", "op", [this](const JsonFields& fields) { take_op(fields); }}};
    expect_format(section_, format);
  }
  GraphReader(const GraphReader&) = delete;
  GraphReader& operator=(const GraphReader&) = delete;

  JsonSection& section() { return section_; }

  // Once the section was read.
  PlanGraph take() {
    const JsonFields fields = section_.fields();
    check_format(fields, format);
    check_version(fields, format);
    for (const char* list : {"buffers", "ops"}) fields.array(list, true);
    graph_.name = fields.text("name", "");
    check_names();
    check_in(section_.where, [&] { check(graph_); });
    return std::move(graph_);
  }

 private:
  static constexpr const char* format = "swapadvisor.graph";

  void take_buffer(const JsonFields& fields) {
    PlanBuffer buffer{fields.text("name", ""), fields.integer("bytes", 1, largest_size), parse_kind(fields)};
    append(graph_.buffers, std::move(buffer), most_entries, fields);
  }

  void take_op(const JsonFields& fields) {
    PlanOp op;
    op.name = fields.text("name", "");
    op.type = fields.text("type", "");
    op.inputs = fields.indices("inputs", true);
    op.outputs = fields.indices("outputs", true);
    op.workspace_bytes = fields.integer("workspace_bytes", 0, largest_size, 0);
    op.seconds = fields.number("seconds", 0, longest_seconds);
    op.recomputable = fields.boolean("recomputable", false);
    op.inplace = fields.boolean("inplace", false);
    op.algorithm = fields.text("algorithm", "");
    append(graph_.ops, std::move(op), most_entries, fields);
  }

  // Weights, gradients and feeds are found by the names of their buffers; those of ops are only shown.
  void check_names() const {
    std::unordered_map<std::string_view, std::size_t> first;
    first.reserve(graph_.buffers.size());
    for (std::size_t b = 0; b < graph_.buffers.size(); ++b) {
      const std::string& name = graph_.buffers[b].name;
      if (name.empty()) continue;
      const auto [earlier, is_new] = first.emplace(name, b);
      if (!is_new)
        fail("{}: buffer {} has the name of buffer {}, '{}'", section_.where, b, earlier->second, name);
    }
  }

  JsonSection section_;
  PlanGraph graph_;
};

/// A device object, in a file of its own or in a plan.
class DeviceReader {
 public:
  explicit DeviceReader(std::string where) {
    section_.where = std::move(where);
    section_.names = {"name",
                      "memory_bytes",
                      "host_bytes",
                      "h2d_bytes_per_second",
                      "d2h_bytes_per_second",
                      "duplex_bytes_per_second",
                      "copy_latency_seconds",
                      "compute_slowdown_while_copying"};
    expect_format(section_, format);
  }
  DeviceReader(const DeviceReader&) = delete;
  DeviceReader& operator=(const DeviceReader&) = delete;

  JsonSection& section() { return section_; }

  // Once the section was read.
  DeviceSpec take() const {
    const JsonFields fields = section_.fields();
    check_format(fields, format);
    check_version(fields, format);
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
    check_in(section_.where, [&] { check(device); });
    return device;
  }

 private:
  static constexpr const char* format = "swapadvisor.device";

  JsonSection section_;
};

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

Instruction parse_instruction(const JsonFields& fields) {
  Instruction instruction;
  instruction.kind = parse_instruction_kind(fields);
  if (instruction.kind == InstructionKind::run) {
    instruction.target = static_cast<std::int32_t>(fields.integer("op", 0, largest_index));
    instruction.offsets = fields.integers("offsets", 0, largest_size);
  } else {
    instruction.target = static_cast<std::int32_t>(fields.integer("buffer", 0, largest_index));
    instruction.offsets = {fields.integer("offset", 0, largest_size)};
  }
  instruction.wait = fields.indices("wait", false);
  instruction.wait_previous = fields.indices("wait_previous", false);
  return instruction;
}

Resident parse_resident(const JsonFields& fields) {
  return {static_cast<std::int32_t>(fields.integer("buffer", 0, largest_index)),
          fields.integer("offset", 0, largest_size), fields.boolean("dirty", false)};
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
  GraphReader graph(source);
  read_json(text, graph.section());
  return graph.take();
}

DeviceSpec device_from_json(std::string_view text, const std::string& source) {
  DeviceReader device(source);
  read_json(text, device.section());
  return device.take();
}

Program plan_from_json(std::string_view text, const std::string& source) {
  constexpr const char* format = "swapadvisor.plan";
  Program program;
  GraphReader graph(source + ": graph");
  DeviceReader device(source + ": device");
  JsonSection plan;
  plan.where = source;
  plan.names = {"planner", "seed", "arena_bytes", "host_bytes", "predicted", "search"};
  plan.sections = {{"graph", &graph.section()}, {"device", &device.section()}};
  plan.lists = {{"resident", "resident",
                 [&](const JsonFields& fields) {
                   append(program.resident, parse_resident(fields), most_entries, fields);
                 }},
                {"instructions", "instruction", [&](const JsonFields& fields) {
                   append(program.instructions, parse_instruction(fields), most_instructions, fields);
                 }}};
  expect_format(plan, format);
  read_json(text, plan);

  const JsonFields fields = plan.fields();
  check_format(fields, format);
  check_version(fields, format);
  for (const char* part : {"graph", "device", "instructions"})
    if (!fields.has(part)) fail("{} has no '{}'", source, part);
  program.planner = fields.text("planner", "");
  program.seed = fields.unsigned_integer("seed", 0);
  program.graph = graph.take();
  program.device = device.take();
  program.arena_bytes = fields.integer("arena_bytes", 0, largest_size);
  check_in(source, [&] { check_indices(program); });
  program.host_bytes =
      fields.integer("host_bytes", 0, largest_size, host_bytes_needed(program.graph, program.instructions));
  if (fields.has("predicted"))
    program.predicted = parse_predicted(plan.values["predicted"], source + ": predicted");
  if (fields.has("search")) program.search = parse_search(plan.values["search"], source + ": search");
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
