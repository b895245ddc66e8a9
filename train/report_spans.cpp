// The shown iteration on the clock, and what its ops wait for.
#include <swapadvisor/train/report_analysis.h>
#include <swapadvisor/train/report_clock.h>

namespace swapadvisor::report {
namespace {

// Less is rounding.
constexpr double least_gap = 0.5e-9;
// How much of the iterations around the shown one is told.
constexpr double margin = 0.1;

std::optional<Reference> last_awaited(const Instruction& instruction, const Clock& clock,
                                      std::int32_t iteration) {
  std::optional<Reference> last;
  double latest = -std::numeric_limits<double>::infinity();
  const auto consider = [&](std::int32_t i, std::int32_t back) {
    if (iteration - back < Clock::first_iteration) return;
    const double end = clock.end(iteration - back, i);
    if (end <= latest) return;
    latest = end;
    last = Reference{i, -back};
  };
  for (std::int32_t i : instruction.wait) consider(i, 0);
  for (std::int32_t i : instruction.wait_previous) consider(i, 1);
  return last;
}

// All executions of a stream's instructions, in order.
std::vector<Span> stream_spans(const Program& program, const Clock& clock, StreamKind stream) {
  std::vector<Span> spans;
  double free_since = -std::numeric_limits<double>::infinity();
  for (std::int32_t k = Clock::first_iteration; k <= Clock::last_iteration; ++k)
    for (std::size_t i = 0; i < program.instructions.size(); ++i) {
      const Instruction& instruction = program.instructions[i];
      if (instruction.stream() != stream) continue;
      const auto at = static_cast<std::int32_t>(i);
      Span span{at, k, clock.begin(k, at), clock.end(k, at), std::nullopt};
      if (span.begin - free_since > least_gap) span.blocker = last_awaited(instruction, clock, k);
      free_since = span.end;
      spans.push_back(span);
    }
  return spans;
}

// Where an execution is in its stream's list of all executions.
class Ranks {
 public:
  explicit Ranks(const Program& program) : rank_(program.instructions.size()) {
    for (std::size_t i = 0; i < program.instructions.size(); ++i)
      rank_[i] = count_[static_cast<std::size_t>(program.instructions[i].stream())]++;
  }
  std::size_t of(const Program& program, const Reference& r) const {
    const auto i = static_cast<std::size_t>(r.instruction);
    const std::int32_t length = count_[static_cast<std::size_t>(program.instructions[i].stream())];
    return static_cast<std::size_t>((r.iteration - Clock::first_iteration) * length + rank_[i]);
  }

 private:
  std::array<std::int32_t, stream_count> count_{};
  std::vector<std::int32_t> rank_;
};

std::optional<Reference> from_shown(const Span& span) {
  if (!span.blocker) return std::nullopt;
  return Reference{span.blocker->instruction, span.blocker->iteration + span.iteration};
}

// Why `blocker`, a copy, ended no earlier: back along its stream as long as that never paused.
void explain(const std::vector<Span>& copies, std::size_t blocker, Stall& stall) {
  std::size_t first = blocker;
  while (first > 0 && copies[first].begin - copies[first - 1].end <= least_gap) --first;
  stall.queued = static_cast<std::int32_t>(blocker - first);
  stall.cause = stall.queued > 0 ? StallCause::link : StallCause::dependency;
  stall.queue_begin = copies[first].begin;
  stall.root = from_shown(copies[first]);
}

std::vector<Stall> find_stalls(const Program& program,
                               const std::array<std::vector<Span>, stream_count>& spans) {
  const Ranks ranks(program);
  std::vector<Stall> stalls;
  const std::vector<Span>& runs = spans[static_cast<std::size_t>(StreamKind::compute)];
  for (std::size_t r = 1; r < runs.size(); ++r) {
    const Span& run = runs[r];
    if (run.iteration != 0 || !run.blocker) continue;
    Stall stall;
    stall.instruction = run.instruction;
    stall.begin = runs[r - 1].end;
    stall.end = run.begin;
    stall.blocker = *from_shown(run);
    const StreamKind stream =
        program.instructions[static_cast<std::size_t>(stall.blocker.instruction)].stream();
    if (stream != StreamKind::compute)
      explain(spans[static_cast<std::size_t>(stream)], ranks.of(program, stall.blocker), stall);
    stalls.push_back(stall);
  }
  return stalls;
}

// The shown iteration's own copies may start before it and end behind it.
void choose_extent(const std::array<std::vector<Span>, stream_count>& spans, Analysis& analysis) {
  analysis.first = -margin * analysis.seconds;
  analysis.last = analysis.seconds + margin * analysis.seconds;
  for (const std::vector<Span>& stream : spans)
    for (const Span& span : stream)
      if (span.iteration == 0) {
        analysis.first = std::min(analysis.first, span.begin);
        analysis.last = std::max(analysis.last, span.end);
      }
}

void keep_extent(Analysis& analysis) {
  for (std::vector<Span>& stream : analysis.spans)
    std::erase_if(stream, [&](const Span& s) { return s.end < analysis.first || s.begin > analysis.last; });
  std::erase_if(analysis.stays,
                [&](const Stay& s) { return s.end <= analysis.first || s.begin >= analysis.last; });
  for (Stay& stay : analysis.stays) {
    stay.begin = std::max(stay.begin, analysis.first);
    stay.end = std::min(stay.end, analysis.last);
  }
}

}  // namespace

Analysis analyse(const Program& program) {
  const Clock clock(program);
  Analysis analysis;
  analysis.seconds = clock.seconds();
  analysis.purposes.resize(program.instructions.size());
  for (std::size_t s = 0; s < stream_count; ++s)
    analysis.spans[s] = stream_spans(program, clock, static_cast<StreamKind>(s));
  analysis.stalls = find_stalls(program, analysis.spans);
  find_readers(program, analysis.purposes);
  analysis.stays = find_stays(program, clock, analysis.purposes);
  choose_extent(analysis.spans, analysis);
  keep_extent(analysis);
  analysis.memory = memory_steps(analysis.stays);
  return analysis;
}

}  // namespace swapadvisor::report
