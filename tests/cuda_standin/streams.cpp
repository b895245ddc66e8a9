#include "streams.h"

#include <algorithm>

namespace standin {

void Scheduler::configure(StandinSchedule schedule, std::uint32_t seed) {
  (void)drain_all();
  std::vector<std::jthread> ended;
  {
    const std::lock_guard lock(mutex_);
    for (StreamState* stream : order_) ended.push_back(std::move(stream->thread));
    schedule_ = schedule;
    random_.seed(seed);
  }
  for (std::jthread& thread : ended) thread.request_stop();
  ended.clear();
  const std::lock_guard lock(mutex_);
  if (schedule_ == standin_threads)
    for (StreamState* stream : order_) start_thread(*stream);
}

StreamState* Scheduler::create_stream() {
  auto* stream = new StreamState;
  stream->number = hazards().open_stream();
  const std::lock_guard lock(mutex_);
  streams_.insert(stream);
  order_.push_back(stream);
  if (schedule_ == standin_threads) start_thread(*stream);
  return stream;
}

void Scheduler::destroy_stream(StreamState* stream) {
  stream->thread = {};  // stops and joins
  hazards().close_stream(stream->number);
  const std::lock_guard lock(mutex_);
  streams_.erase(stream);
  std::erase(order_, stream);
  delete stream;
}

void Scheduler::enqueue(StreamState& stream, Work work) {
  {
    const std::lock_guard lock(mutex_);
    if (work.record) work.record->records.emplace_back(work.ticket, &stream);
    if (work.run) ++queued_;
    stream.queue.push_back(std::move(work));
  }
  if (schedule_ == standin_threads)
    changed_.notify_all();
  else
    progress();
}

void Scheduler::push(StreamState& stream, std::function<void()> work) {
  enqueue(stream, {std::move(work)});
}

void Scheduler::record(StreamState& stream, const SharedEvent& event) {
  event->clock = hazards().clock(stream.number);
  enqueue(stream, {{}, event, nullptr, ++event->queued});
}

void Scheduler::wait(StreamState& stream, const SharedEvent& event) {
  if (event->queued == 0) return;
  hazards().wait(stream.number, event->clock);
  enqueue(stream, {{}, nullptr, event, event->queued});
}

bool Scheduler::reached(const EventState& event) {
  const std::lock_guard lock(mutex_);
  return event.reached >= event.queued;
}

bool Scheduler::ready(const StreamState& stream) {
  if (stream.queue.empty()) return false;
  const Work& head = stream.queue.front();
  return !head.wait || head.wait->reached >= head.ticket;
}

// What follows the work of the head, and the next head.
void Scheduler::finish(StreamState& stream) {
  Work& head = stream.queue.front();
  if (head.run) ++run_;
  if (head.record) {
    head.record->reached = std::max(head.record->reached, head.ticket);
    head.record->time = std::chrono::steady_clock::now();
    std::erase_if(head.record->records, [&](const auto& r) { return r.first <= head.ticket; });
  }
  stream.queue.pop_front();
}

bool Scheduler::step(StreamState& stream) {
  if (!ready(stream)) return false;
  if (const auto& run = stream.queue.front().run) {
    if (!open_) open_.emplace();
    run();
  }
  finish(stream);
  return true;
}

// One step of a stream that has one; the streams take turns by chance.
bool Scheduler::step_random() {
  const std::size_t n = order_.size(), first = n > 0 ? random_() % n : 0;
  for (std::size_t i = 0; i < n; ++i)
    if (step(*order_[(first + i) % n])) return true;
  return false;
}

// One step of what must run before the record is reached.
bool Scheduler::step_towards(SharedEvent event, std::uint64_t ticket) {
  for (;;) {
    const auto record = std::find_if(event->records.begin(), event->records.end(),
                                     [&](const auto& r) { return r.first >= ticket; });
    if (record == event->records.end()) return false;
    StreamState& stream = *record->second;
    if (step(stream)) return true;
    if (stream.queue.empty()) return false;
    const Work& head = stream.queue.front();
    ticket = head.ticket;
    event = head.wait;
  }
}

bool Scheduler::step_towards_end(StreamState& stream) {
  if (step(stream)) return true;
  if (stream.queue.empty()) return false;
  const Work& head = stream.queue.front();
  return step_towards(head.wait, head.ticket);
}

/// What runs while the host goes on.
void Scheduler::progress() {
  const std::lock_guard lock(mutex_);
  if (schedule_ == standin_at_once) {
    for (bool any = true; any;) {
      any = false;
      for (StreamState* stream : order_)
        while (step(*stream)) any = true;
    }
  } else if (schedule_ == standin_random && random_() % 4 == 0) {
    for (auto turns = random_() % 16; turns > 0; --turns) step(*order_[random_() % order_.size()]);
  }
  open_.reset();
}

template <class Done, class Step>
bool Scheduler::run_until(std::unique_lock<std::mutex>& lock, const Done& done, const Step& step_late) {
  if (done()) return true;
  if (schedule_ == standin_threads) {
    changed_.wait(lock, done);
    return true;
  }
  bool moved = true;
  while (moved && !done()) moved = schedule_ == standin_random ? step_random() : step_late();
  open_.reset();
  return moved;
}

bool Scheduler::drain(StreamState& stream) {
  std::unique_lock lock(mutex_);
  return run_until(
      lock, [&] { return stream.queue.empty(); }, [&] { return step_towards_end(stream); });
}

bool Scheduler::drain_all() {
  std::unique_lock lock(mutex_);
  const auto idle = [](const StreamState* s) { return s->queue.empty(); };
  return run_until(
      lock, [&] { return std::all_of(order_.begin(), order_.end(), idle); }, [&] { return step_random(); });
}

bool Scheduler::reach(const SharedEvent& event, std::uint64_t ticket) {
  std::unique_lock lock(mutex_);
  return run_until(
      lock, [&] { return event->reached >= ticket; }, [&] { return step_towards(event, ticket); });
}

void Scheduler::start_thread(StreamState& stream) {
  const auto seed = static_cast<std::uint32_t>(random_());
  stream.thread =
      std::jthread([this, &stream, seed](const std::stop_token& stop) { serve(stop, stream, seed); });
}

void Scheduler::serve(const std::stop_token& stop, StreamState& stream, std::uint32_t seed) {
  std::mt19937 random(seed);
  std::unique_lock lock(mutex_);
  while (changed_.wait(lock, stop, [&] { return ready(stream); })) {
    Work& head = stream.queue.front();  // nobody else takes it, and a deque's elements stay where they are
    lock.unlock();
    if (random() % 8 == 0) std::this_thread::sleep_for(std::chrono::microseconds(random() % 200));
    if (head.run) {
      const OpenMemory open;
      head.run();
    }
    lock.lock();
    finish(stream);
    changed_.notify_all();
  }
}

Scheduler& scheduler() {
  // Never destroyed: the program may end while a library still holds streams.
  static auto* const one = new Scheduler;
  return *one;
}

HazardChecker& hazards() {
  static auto* const one = new HazardChecker;
  return *one;
}

}  // namespace standin
