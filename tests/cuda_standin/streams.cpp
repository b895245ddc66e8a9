#include "streams.h"

#include <algorithm>

namespace standin {

void Scheduler::configure(StandinSchedule schedule, std::uint32_t seed) {
  schedule_ = schedule;
  random_.seed(seed);
}

StreamState* Scheduler::create_stream() {
  auto* stream = new StreamState;
  streams_.insert(stream);
  order_.push_back(stream);
  return stream;
}

void Scheduler::destroy_stream(StreamState* stream) {
  streams_.erase(stream);
  std::erase(order_, stream);
  delete stream;
}

void Scheduler::push(StreamState& stream, Work work) {
  stream.queue.push_back(std::move(work));
  progress();
}

void Scheduler::record(StreamState& stream, EventState& event) {
  push(stream, {{}, &event, nullptr, ++event.queued});
}

void Scheduler::wait(StreamState& stream, EventState& event) {
  if (event.queued > 0) push(stream, {{}, nullptr, &event, event.queued});
}

bool Scheduler::step(StreamState& stream) {
  if (stream.queue.empty()) return false;
  Work& head = stream.queue.front();
  if (head.wait && head.wait->reached < head.ticket) return false;
  if (head.run) head.run();
  if (head.record) {
    head.record->reached = std::max(head.record->reached, head.ticket);
    head.record->time = std::chrono::steady_clock::now();
  }
  stream.queue.pop_front();
  return true;
}

/// What runs while the host goes on.
void Scheduler::progress() {
  if (schedule_ == standin_at_once) {
    for (bool any = true; any;) {
      any = false;
      for (StreamState* stream : order_)
        while (step(*stream)) any = true;
    }
  } else if (schedule_ == standin_random) {
    for (auto turns = random_() % 4; turns > 0; --turns) step(*order_[random_() % order_.size()]);
  }
}

bool Scheduler::run_until(const std::function<bool()>& done, StreamState* first) {
  while (!done()) {
    if (schedule_ == standin_random) {
      // A few random turns; then whoever can, so that waiting ends.
      for (int i = 0; i < 8 && !done(); ++i) step(*order_[random_() % order_.size()]);
      if (done()) return true;
    }
    if (first && step(*first)) continue;
    if (std::none_of(order_.begin(), order_.end(), [&](StreamState* s) { return s != first && step(*s); }))
      return false;
  }
  return true;
}

bool Scheduler::drain(StreamState& stream) {
  return run_until([&] { return stream.queue.empty(); }, &stream);
}

bool Scheduler::drain_all() {
  return run_until(
      [&] { return std::all_of(order_.begin(), order_.end(), [](auto* s) { return s->queue.empty(); }); },
      nullptr);
}

bool Scheduler::reach(EventState& event, std::uint64_t ticket) {
  return run_until([&] { return event.reached >= ticket; }, nullptr);
}

Scheduler& scheduler() {
  // Never destroyed: the program may end while a library still holds streams.
  static auto* const one = new Scheduler;
  return *one;
}

}  // namespace standin
