#include "fibers.h"

#include <sys/mman.h>
#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#endif

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <numeric>

#if !defined(__x86_64__)
#error "the switch between fibers is written for x86-64"
#endif

// Saves the registers that a call must keep on the current stack, and continues on another one.
extern "C" void standin_switch(void** from, void* to);
asm(R"(
.text
.globl standin_switch
.hidden standin_switch
.type standin_switch, @function
standin_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size standin_switch, .-standin_switch
)");

namespace standin {
namespace {

constexpr std::size_t stack_bytes = 128 * 1024;
constexpr unsigned warp_size = 32;

/// A stack with an unreadable page below it.
class Stack {
 public:
  Stack() {
    base_ = static_cast<std::byte*>(::mmap(nullptr, stack_bytes, PROT_READ | PROT_WRITE,
                                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
    if (base_ == MAP_FAILED) std::abort();
    ::mprotect(base_, 4096, PROT_NONE);
  }
  ~Stack() { ::munmap(base_, stack_bytes); }
  Stack(const Stack&) = delete;
  Stack& operator=(const Stack&) = delete;
  std::byte* top() const { return base_ + stack_bytes; }
  /// A fiber leaves its last frames without a return: AddressSanitizer must not take them for frames in use.
  void forget() const {
#ifdef __SANITIZE_ADDRESS__
    __asan_unpoison_memory_region(base_, stack_bytes);
#endif
  }

 private:
  std::byte* base_;
};

enum class State : std::uint8_t { fresh, ready, at_barrier, in_warp, finished };

struct Fiber {
  State state = State::fresh;
  void* stack_pointer = nullptr;
  Stack* stack = nullptr;
  unsigned mask = 0;       // of the warp operation it waits in
  unsigned exchanges = 0;  // warp operations begun
};

/// Values that lanes give each other; two sets, so that a fast lane's next value does not meet a slow one's
/// last.
struct Warp {
  std::array<std::array<std::array<std::byte, 16>, warp_size>, 2> values;
};

thread_local BlockRunner* running = nullptr;

}  // namespace

struct BlockRunner::Impl {
  std::deque<Stack> stacks;
  std::vector<Stack*> free_stacks;
  std::vector<Fiber> fibers;
  std::vector<Warp> warps;
  std::vector<std::byte> shared;
  const Launch* launch = nullptr;
  Position position{};
  std::size_t current = 0;
  void* scheduler = nullptr;
  bool failed = false;

  static void fiber_main() {
    Impl& self = *running->impl_;
    self.launch->thread();
    self.fibers[self.current].state = State::finished;
    void* unused = nullptr;
    standin_switch(&unused, self.scheduler);
    std::abort();  // a finished fiber is never resumed
  }

  void locate(std::size_t i) {
    const auto index = static_cast<unsigned>(i);
    const dim3& b = position.block_size;
    position.thread = {index % b.x, index / b.x % b.y, index / (b.x * b.y)};
  }

  void resume(std::size_t i) {
    Fiber& fiber = fibers[i];
    if (fiber.state == State::fresh) {
      if (free_stacks.empty()) free_stacks.push_back(&stacks.emplace_back());
      fiber.stack = free_stacks.back();
      free_stacks.pop_back();
      fiber.stack->forget();
      // Six registers, then the address to return to; at a function's entry the stack is 8 short of 16-byte
      // alignment.
      auto** frame = reinterpret_cast<void**>(fiber.stack->top() - 64);
      std::fill(frame, frame + 8, nullptr);
      frame[6] = reinterpret_cast<void*>(&Impl::fiber_main);
      fiber.stack_pointer = frame;
    }
    fiber.state = State::ready;
    current = i;
    locate(i);
    standin_switch(&scheduler, fiber.stack_pointer);
    if (fiber.state == State::finished) free_stacks.push_back(fiber.stack);
  }

  void yield(State state) {
    fibers[current].state = state;
    standin_switch(&fibers[current].stack_pointer, scheduler);
  }

  bool release_warps() {
    bool any = false;
    for (std::size_t first = 0; first < fibers.size(); first += warp_size) {
      const std::size_t last = std::min(first + warp_size, fibers.size());
      for (std::size_t i = first; i < last; ++i) {
        if (fibers[i].state != State::in_warp) continue;
        const unsigned mask = fibers[i].mask;
        bool complete = true;
        for (std::size_t k = first; k < last; ++k)
          if (mask >> (k - first) & 1)
            complete = complete && fibers[k].state == State::in_warp && fibers[k].mask == mask &&
                       fibers[k].exchanges == fibers[i].exchanges;
        if (!complete) continue;
        for (std::size_t k = first; k < last; ++k)
          if (mask >> (k - first) & 1) fibers[k].state = State::ready;
        any = true;
      }
    }
    return any;
  }

  bool release_barrier() {
    for (const Fiber& fiber : fibers)
      if (fiber.state != State::at_barrier && fiber.state != State::finished) return false;
    bool any = false;
    for (Fiber& fiber : fibers)
      if (fiber.state == State::at_barrier) {
        fiber.state = State::ready;
        any = true;
      }
    return any;
  }

  void run_block(ThreadOrder order, std::mt19937& random) {
    const std::size_t n = fibers.size();
    std::fill(fibers.begin(), fibers.end(), Fiber{});
    std::vector<std::size_t> turns(n);
    std::iota(turns.begin(), turns.end(), std::size_t{0});
    if (order == ThreadOrder::reversed) std::reverse(turns.begin(), turns.end());
    for (;;) {
      if (order == ThreadOrder::random) std::shuffle(turns.begin(), turns.end(), random);
      for (std::size_t i : turns)
        if (fibers[i].state == State::fresh || fibers[i].state == State::ready) resume(i);
      if (release_warps() || release_barrier()) continue;
      const auto waits = std::count_if(fibers.begin(), fibers.end(),
                                       [](const Fiber& f) { return f.state != State::finished; });
      if (waits == 0) return;
      std::fprintf(stderr, "stand-in: deadlock: %td of %zu threads of a block wait for others\n", waits, n);
      std::abort();
    }
  }
};

BlockRunner::BlockRunner() : impl_(std::make_unique<Impl>()) {}
BlockRunner::~BlockRunner() = default;

void BlockRunner::run(const Launch& launch, ThreadOrder order, std::uint32_t seed) {
  Impl& impl = *impl_;
  running = this;
  impl.launch = &launch;
  const std::size_t threads = std::size_t{launch.block.x} * launch.block.y * launch.block.z;
  impl.fibers.resize(threads);
  impl.warps.resize((threads + warp_size - 1) / warp_size);
  impl.shared.assign(launch.shared_bytes + 64, std::byte{0xFF});
  impl.position.block_size = launch.block;
  impl.position.grid_size = launch.grid;
  std::mt19937 random(seed);
  for (unsigned z = 0; z < launch.grid.z; ++z)
    for (unsigned y = 0; y < launch.grid.y; ++y)
      for (unsigned x = 0; x < launch.grid.x; ++x) {
        impl.position.block = {x, y, z};
        impl.run_block(order, random);
      }
  impl.launch = nullptr;
}

const Position& BlockRunner::position() const {
  return impl_->position;
}

void* BlockRunner::dynamic_shared() const {
  const auto address = reinterpret_cast<std::uintptr_t>(impl_->shared.data());
  return reinterpret_cast<void*>((address + 63) / 64 * 64);
}

void BlockRunner::block_barrier() {
  impl_->yield(State::at_barrier);
  impl_->locate(impl_->current);
}

unsigned BlockRunner::lane() const {
  return static_cast<unsigned>(impl_->current % warp_size);
}

void BlockRunner::exchange(unsigned mask, void* value, std::size_t bytes, unsigned lane) {
  Impl& impl = *impl_;
  const std::size_t self = impl.current;
  Fiber& fiber = impl.fibers[self];
  auto& values = impl.warps[self / warp_size].values[fiber.exchanges % 2];
  std::memcpy(values[self % warp_size].data(), value, bytes);
  fiber.mask = mask;
  ++fiber.exchanges;
  impl.yield(State::in_warp);
  impl.locate(self);
  const std::size_t source = self / warp_size * warp_size + lane;
  if (source < impl.fibers.size()) std::memcpy(value, values[lane].data(), bytes);
}

BlockRunner& block_runner() {
  thread_local BlockRunner runner;
  return runner;
}

const Position& position() {
  return running->position();
}
void* dynamic_shared_bytes() {
  return running->dynamic_shared();
}
void block_barrier() {
  running->block_barrier();
}
void exchange(unsigned mask, void* value, std::size_t bytes, unsigned lane) {
  running->exchange(mask, value, bytes, lane);
}
unsigned lane_id() {
  return running->lane();
}

}  // namespace standin
