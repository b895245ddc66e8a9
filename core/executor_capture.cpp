// Iterations as captured work: queued once for each of the two sets of host slots, then launched whole.
#include <swapadvisor/core/executor.h>
#include <swapadvisor/core/executor_run.h>

namespace swapadvisor {

/// Whether the iteration to be submitted runs as captured work; captures it where it was not yet.
bool Executor::prepare_captured(int parity) {
  if (options_.capture_from < 0 || submitted_ < options_.capture_from || capture_failed_) return false;
  if (captured_base_ != base_) {  // the arena has moved; all is idle since
    for (auto& work : captured_) work.reset();
    captured_base_ = base_;
  }
  const bool timed = submitted_ < options_.trace_iterations;
  if (captured_[parity] && is_timed_[parity] == timed) return true;
  captured_[parity].reset();
  auto* const capture = dynamic_cast<Capture*>(&device_);
  std::string reason =
      capture ? capture->obstacle() : fmt::format("device {} cannot capture work", device_.name());
  if (reason.empty()) {
    is_timed_[parity] = timed;
    try {
      capture_iteration(*capture, parity);
      return true;
    } catch (const Error& error) {
      reason = error.what();
    }
  }
  capture_failed_ = true;
  if (options_.on_no_capture) options_.on_no_capture(reason);
  return false;
}

void Executor::capture_iteration(Capture& capture, int parity) {
  if (!finished_[parity]) finished_[parity] = device_.make_event();
  Events done(program_.instructions.size());  // of this capture; only where someone waits
  for (const Instruction& instruction : program_.instructions)
    for (const std::int32_t w : instruction.wait)
      if (auto& event = done[static_cast<std::size_t>(w)]; !event) event = device_.make_event();
  captured_[parity] = capture.capture([&] {
    for (std::size_t i = 0; i < program_.instructions.size(); ++i)
      queue_captured(capture, done, static_cast<std::int32_t>(i), parity);
  });
}

// As `enqueue`, without waits for the previous iteration: all of it is over when this one is launched.
void Executor::queue_captured(Capture& capture, Events& done, std::int32_t index, int parity) {
  const auto i = static_cast<std::size_t>(index);
  const Instruction& instruction = program_.instructions[i];
  Stream& stream = device_.stream(instruction.stream());
  for (const std::int32_t w : instruction.wait) stream.wait(*done[static_cast<std::size_t>(w)]);
  if (is_timed_[parity]) capture.record_time(instruction.stream(), *started_[parity][i]);
  try {
    queue_work(index, parity);
  } catch (const Error& error) {
    if (instruction.kind != InstructionKind::run) throw;
    const PlanOp& op = program_.graph.ops[static_cast<std::size_t>(instruction.target)];
    fail("op '{}' ({}) cannot be captured: {}", op.name, op.type, error.what());
  }
  if (is_timed_[parity]) capture.record_time(instruction.stream(), *done_[parity][i]);
  if (done[i]) stream.record(*done[i]);
}

void Executor::launch_captured(int parity) {
  Stream& compute = device_.stream(StreamKind::compute);
  if (submitted_ > 0 && !is_captured_[1 - parity])
    for (const StreamKind kind : {StreamKind::in, StreamKind::out})
      if (const std::int32_t last = last_on_stream_[static_cast<int>(kind)]; last >= 0)
        compute.wait(*done_[1 - parity][static_cast<std::size_t>(last)]);
  captured_[parity]->launch();
  compute.record(*finished_[parity]);
  is_captured_[parity] = true;
  ++captured_iterations_;
}

}  // namespace swapadvisor
