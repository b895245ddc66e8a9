// The verifier against an oracle that runs programs, and on a long one.
#include <fmt/core.h>
#include <gtest/gtest.h>
#include <swapadvisor/swap/verify.h>

#include <algorithm>
#include <random>

#include "emulator.h"
#include "program_builder.h"

namespace swapadvisor {
namespace {

using test::exchange;
using test::ProgramBuilder;
using test::resident_step;
using test::streamed_step;

// Whatever the verifier accepts must compute the right values in every interleaving; most random changes must
// not pass.
TEST(Verify, AcceptedMutantsRunRightInRandomInterleavings) {
  std::mt19937 random(11);
  const auto below = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
  int accepted = 0, rejected = 0, caught_by_running = 0;
  for (int trial = 0; trial < 1500; ++trial) {
    Program program = trial % 3 == 0 ? streamed_step() : resident_step(trial % 3 == 1);
    for (std::size_t changes = 1 + below(2); changes > 0; --changes) {
      const std::size_t i = below(program.instructions.size());
      Instruction& instruction = program.instructions[i];
      switch (below(5)) {
        case 0:
          if (!instruction.wait.empty()) instruction.wait.pop_back();
          break;
        case 1:
          if (!instruction.wait_previous.empty()) instruction.wait_previous.pop_back();
          break;
        case 2:
          instruction.offsets[below(instruction.offsets.size())] = 256 * static_cast<std::int64_t>(below(16));
          break;
        case 3:
          if (i > 0) instruction.wait.push_back(static_cast<std::int32_t>(below(i)));
          break;
        case 4:
          if (i + 1 < program.instructions.size() &&
              std::count(program.instructions[i + 1].wait.begin(), program.instructions[i + 1].wait.end(),
                         i) == 0)
            exchange(program, static_cast<std::int32_t>(i));
      }
    }
    const Verdict verdict = verify(program);
    ++(verdict.valid ? accepted : rejected);
    if (verdict.error.find("leaves the arena") != std::string::npos) continue;
    bool right = true;
    for (std::uint32_t seed = 0; seed < 12 && right; ++seed) right = test::Emulator(program, seed).run(5);
    EXPECT_TRUE(right || !verdict.valid) << "trial " << trial;
    caught_by_running += right ? 0 : 1;
  }
  EXPECT_GT(accepted, 100);
  EXPECT_GT(rejected, 300);
  EXPECT_GT(caught_by_running, 200);  // the oracle can tell
}

// A long chain through a small arena: every value is swapped out at once and read back at the end.
TEST(Verify, TenThousandInstructions) {
  ProgramBuilder b;
  constexpr int values = 2500;
  for (int i = 0; i < values; ++i) b.buffer(fmt::format("t{}", i), 256, BufferKind::temporary);
  const auto sum = b.buffer("sum", 256, BufferKind::output);
  b.op("first", {}, {0});
  for (int i = 1; i < values; ++i) b.op("f", {i - 1}, {i});
  b.op("start", {values - 1}, {sum});
  for (int i = values - 2; i >= 0; --i) b.op("g", {i, sum}, {sum});
  // Forward: four slots in turn; the swap-out of a value precedes the write that reuses its slot.
  std::vector<std::int32_t> outs;
  const auto at = [](int i) { return static_cast<std::int64_t>(256 * (i % 4)); };
  for (int i = 0; i < values; ++i) {
    std::vector<std::int64_t> offsets =
        i == 0 ? std::vector<std::int64_t>{0} : std::vector<std::int64_t>{at(i - 1), at(i)};
    const auto run = b.run(i, offsets,
                           i >= 4 ? std::vector<std::int32_t>{outs[static_cast<std::size_t>(i - 4)]}
                                  : std::vector<std::int32_t>{});
    outs.push_back(b.out(i, at(i), {run}));
  }
  auto last = b.run(values, {at(values - 1), 1024}, {outs.back()});
  for (int i = values - 2; i >= 0; --i) {
    const auto in = b.in(i, at(i), {last, outs.back()});
    last = b.run(values + (values - 1 - i), {at(i), 1024, 1024}, {in});
  }
  b.out(sum, 1024, {last});
  Program program = b.take();
  // The next iteration starts where this one's copies are done.
  const auto n = static_cast<std::int32_t>(program.instructions.size());
  program.instructions[0].wait_previous = {n - 1};
  ASSERT_GT(n, 9990);
  const Verdict verdict = verify(program);
  EXPECT_TRUE(verdict.valid) << verdict.error;
  program.instructions[static_cast<std::size_t>(n / 2) + 100].wait.clear();
  EXPECT_FALSE(verify(program).valid);
}

}  // namespace
}  // namespace swapadvisor
