#include <swapadvisor/core/error.h>
#include <swapadvisor/core/file.h>
#include <swapadvisor/swap/trace.h>

#include <nlohmann/json.hpp>

namespace swapadvisor {
namespace {

using nlohmann::ordered_json;

// Names come from the user's graph; one that is not UTF-8 must not cost the trace.
std::string dump(const ordered_json& value) {
  return value.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
}

ordered_json track_name(StreamKind stream, const char* name) {
  return {{"name", "thread_name"},
          {"ph", "M"},
          {"pid", 0},
          {"tid", static_cast<int>(stream)},
          {"args", {{"name", name}}}};
}

ordered_json event_of(const Program& program, const InstructionSpan& span) {
  SWAPADVISOR_ASSERT(
      span.instruction >= 0 && static_cast<std::size_t>(span.instruction) < program.instructions.size(),
      "a trace names instruction {}", span.instruction);
  const Instruction& instruction = program.instructions[static_cast<std::size_t>(span.instruction)];
  const auto target = static_cast<std::size_t>(instruction.target);
  ordered_json args = {{"iteration", span.iteration}, {"instruction", span.instruction}};
  std::string name;
  if (instruction.kind == InstructionKind::run) {
    const PlanOp& op = program.graph.ops[target];
    name = op.name;
    args["type"] = op.type;
    args["offsets"] = instruction.offsets;
  } else {
    const PlanBuffer& buffer = program.graph.buffers[target];
    name = (instruction.kind == InstructionKind::swap_in ? "swap-in " : "swap-out ") + buffer.name;
    args["bytes"] = buffer.bytes;
    args["offset"] = instruction.offsets.front();
  }
  return {{"name", std::move(name)},
          {"cat", instruction.kind == InstructionKind::run ? "run" : "copy"},
          {"ph", "X"},
          {"pid", 0},
          {"tid", static_cast<int>(instruction.stream())},
          {"ts", span.start_seconds * 1e6},
          {"dur", (span.end_seconds - span.start_seconds) * 1e6},
          {"args", std::move(args)}};
}

}  // namespace

std::vector<InstructionSpan> spans_of(const Timeline& timeline) {
  std::vector<InstructionSpan> spans;
  spans.reserve(timeline.start.size());
  for (std::int32_t k = 0; k < timeline.iterations; ++k)
    for (std::int32_t i = 0; i < timeline.instructions; ++i) {
      const std::size_t at = static_cast<std::size_t>(k) * static_cast<std::size_t>(timeline.instructions) +
                             static_cast<std::size_t>(i);
      spans.push_back({k, i, timeline.start[at], timeline.end[at]});
    }
  return spans;
}

std::string chrome_trace(const Program& program, std::span<const InstructionSpan> spans) {
  std::string text = "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n";
  text += dump(track_name(StreamKind::compute, "compute")) + ",\n";
  text += dump(track_name(StreamKind::in, "swap in")) + ",\n";
  text += dump(track_name(StreamKind::out, "swap out"));
  for (const InstructionSpan& span : spans) text += ",\n" + dump(event_of(program, span));
  return text + "]}\n";
}

void write_chrome_trace(const std::string& path, const Program& program,
                        std::span<const InstructionSpan> spans) {
  write_file_atomic(path, chrome_trace(program, spans));
}

}  // namespace swapadvisor
