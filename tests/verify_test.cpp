#include <fmt/core.h>
#include <gtest/gtest.h>
#include <swapadvisor/swap/verify.h>

#include <algorithm>
#include <functional>

#include "program_builder.h"

namespace swapadvisor {
namespace {

using test::exchange;
using test::ProgramBuilder;
using test::resident_step;
using test::streamed_step;

void expect_valid(const Program& program) {
  const Verdict verdict = verify(program);
  EXPECT_TRUE(verdict.valid) << verdict.error;
  EXPECT_EQ(verdict.error, "");
}

// Rejected, for the reason given.
void expect_error(const Program& program, const std::string& part) {
  const Verdict verdict = verify(program);
  EXPECT_FALSE(verdict.valid) << "expected: " << part;
  EXPECT_NE(verdict.error.find(part), std::string::npos)
      << "'" << verdict.error << "' lacks '" << part << "'";
}

void expect_error(Program program, const std::function<void(Program&)>& change, const std::string& part) {
  change(program);
  expect_error(program, part);
}

// Without instruction `index`; waits for it are dropped, later ones renumbered.
Program without(Program program, std::int32_t index) {
  program.instructions.erase(program.instructions.begin() + index);
  const auto renumber = [&](std::vector<std::int32_t>& waits) {
    waits.erase(std::remove(waits.begin(), waits.end(), index), waits.end());
    for (std::int32_t& i : waits) i -= i > index ? 1 : 0;
  };
  for (Instruction& instruction : program.instructions) {
    renumber(instruction.wait);
    renumber(instruction.wait_previous);
  }
  return program;
}

TEST(Verify, AcceptsValidPrograms) {
  expect_valid(streamed_step());
  expect_valid(resident_step(false));
  expect_valid(resident_step(true));
  Program empty;
  empty.device = streamed_step().device;
  expect_valid(empty);
}

TEST(Verify, EveryDroppedWaitIsFound) {
  for (const Program& program : {streamed_step(), resident_step(false), resident_step(true)})
    for (std::size_t i = 0; i < program.instructions.size(); ++i) {
      SCOPED_TRACE(fmt::format("{} instructions, waits of {}", program.instructions.size(), i));
      for (std::size_t w = 0; w < program.instructions[i].wait.size(); ++w)
        expect_error(
            program,
            [&](Program& p) {
              p.instructions[i].wait.erase(p.instructions[i].wait.begin() + static_cast<std::ptrdiff_t>(w));
            },
            "no wait orders it after");
      for (std::size_t w = 0; w < program.instructions[i].wait_previous.size(); ++w)
        expect_error(
            program,
            [&](Program& p) {
              p.instructions[i].wait_previous.erase(p.instructions[i].wait_previous.begin() +
                                                    static_cast<std::ptrdiff_t>(w));
            },
            "no wait orders it after");
    }
}

TEST(Verify, EveryMissingInstructionIsFound) {
  for (const Program& program : {streamed_step(), resident_step(false), resident_step(true)})
    for (std::size_t i = 0; i < program.instructions.size(); ++i) {
      const Verdict verdict = verify(without(program, static_cast<std::int32_t>(i)));
      EXPECT_FALSE(verdict.valid) << "without instruction " << i;
    }
  // Of the recomputation only the wait is needed: y is still there, but backward must follow the swap-in of
  // h.
  Program kept = without(streamed_step(), 8);
  kept.instructions[8].wait = {7};
  expect_valid(kept);
}

TEST(Verify, MissingSwapsSayWhatIsMissing) {
  expect_error(without(streamed_step(), 0), "reads 'x' at offset 0, which holds no whole value");
  expect_error(without(resident_step(false), 4),
               "output 'loss' is not swapped out after its last write in iteration 0");
  expect_error(without(streamed_step(), 4), "reads the host slot of 'h', which holds no value of it");
  expect_error(without(streamed_step(), 11),
               "the host slot of 'w', which is not resident, does not hold its new value");
  expect_error(without(resident_step(true), 7), "the host slot of 'w', resident and not dirty");
  expect_error(without(streamed_step(), 10), "op 4 'sgd' never runs");
}

TEST(Verify, EveryShiftedOffsetOfAValueIsFound) {
  const Program program = streamed_step();
  for (std::size_t i = 0; i < program.instructions.size(); ++i)
    for (std::size_t o = 0; o < program.instructions[i].offsets.size(); ++o) {
      const bool workspace = program.instructions[i].kind == InstructionKind::run &&
                             program.instructions[i].target == 1 && o == 2;
      for (std::int64_t shift : {-256, 256}) {
        Program changed = program;
        changed.instructions[i].offsets[o] += shift;
        const Verdict verdict = verify(changed);
        // A workspace may lie anywhere that is free: one step up hits gw, dead at that time.
        EXPECT_TRUE(workspace || !verdict.valid) << "instruction " << i << " offset " << o << " by " << shift;
      }
      expect_error(
          program, [&](Program& p) { p.instructions[i].offsets[o] += 100; }, "not a multiple of 256");
      expect_error(
          program, [&](Program& p) { p.instructions[i].offsets[o] = 4096; }, "leaves the arena");
      expect_error(
          program, [&](Program& p) { p.instructions[i].offsets[o] = -256; }, "not a multiple of 256");
    }
}

TEST(Verify, StaleHostCopyIsFound) {
  // w is swapped out before the update instead of after it.
  Program early = streamed_step();
  exchange(early, 10);
  early.instructions[10].wait = {9};
  early.instructions[11].wait = {10};
  expect_error(early, "the host slot of 'w'");
  // h is swapped out one iteration late: what comes back is the value of the iteration before.
  Program late = streamed_step();
  std::swap(late.instructions[4], late.instructions[7]);
  late.instructions[4].wait = {3};
  late.instructions[7].wait = {4};
  EXPECT_FALSE(verify(late).valid);
}

TEST(Verify, ValueOfThePreviousIterationIsNotThisOnes) {
  // backward reads y before act has run: in iteration 1, y of iteration 0 is there.
  Program program = resident_step(false);
  std::swap(program.instructions[2], program.instructions[5]);
  expect_error(program, "reads 'y' at offset 2048, which holds no whole value");
  // An input prefetched an iteration ahead comes from the wrong slot.
  ProgramBuilder b;
  const auto x = b.buffer("x", 256, BufferKind::input);
  const auto t = b.buffer("t", 256, BufferKind::temporary);
  b.op("f", {x}, {t});
  b.in(x, 0);
  b.run(0, {0, 512}, {0});
  b.in(x, 0, {1});
  Program prefetch = b.take();
  std::swap(prefetch.instructions[0], prefetch.instructions[2]);
  EXPECT_FALSE(verify(prefetch).valid);
}

TEST(Verify, OrderMayChangeWhereValuesDoNot) {
  // a and b are independent; r reads p before u updates it.
  ProgramBuilder b;
  const auto p = b.buffer("p", 256, BufferKind::parameter);
  const auto r = b.buffer("r", 256, BufferKind::temporary);
  const auto s = b.buffer("s", 256, BufferKind::temporary);
  b.op("read", {p}, {r});
  b.op("other", {p}, {s});
  b.op("update", {p, s}, {p});
  b.program.resident.push_back({p, 0, true});
  b.run(0, {0, 256});
  b.run(1, {0, 512});
  b.run(2, {0, 512, 0});
  const Program program = b.take();
  expect_valid(program);
  Program swapped = program;
  exchange(swapped, 0);
  expect_valid(swapped);
  exchange(swapped, 1);  // read after update
  expect_error(swapped, "reads 'p' at offset 0, which holds another value of it");
  exchange(swapped, 0);  // update before other
  EXPECT_FALSE(verify(swapped).valid);
}

TEST(Verify, RecomputeOnlyWhereAllowed) {
  expect_error(
      streamed_step(), [](Program& p) { p.graph.ops[1].recomputable = false; },
      "instruction 8 (run of op 1 'act') runs an op again that is not recomputable");
  Program twice = resident_step(false);
  twice.graph.ops[4].recomputable = true;
  twice.instructions.push_back(twice.instructions[6]);
  expect_error(twice, "writes persistent buffer 'w'");
  ProgramBuilder b;
  const auto x = b.buffer("x", 256, BufferKind::input);
  const auto t = b.buffer("t", 256, BufferKind::temporary);
  b.op("make", {x}, {t});
  b.op("update", {t}, {t}, 1, true);
  b.in(x, 0, {}, {1});
  b.run(0, {0, 256}, {0});
  b.run(1, {256, 256});
  b.run(1, {256, 256});
  expect_error(b.take(), "updates buffer 't' in place");
}

TEST(Verify, RecomputeNeedsTheSameInputValues) {
  // h is recomputed from w, but after w's update.
  Program program = resident_step(false);
  program.graph.ops[0].recomputable = true;
  program.instructions.push_back(program.instructions[1]);
  program.instructions.back().wait.clear();
  program.instructions[0].wait_previous = {7};
  expect_error(program, "reads 'w' at offset 256, which holds another value of it");
  std::swap(program.instructions[6], program.instructions[7]);
  program.instructions[0].wait_previous = {6};
  expect_valid(program);
}

TEST(Verify, OperandsMustBeDisjoint) {
  expect_error(
      resident_step(false), [](Program& p) { p.instructions[5].offsets[2] = 1536; }, "overlap");
  expect_error(
      resident_step(false), [](Program& p) { p.instructions[2].offsets[2] = 1024; },
      "instruction 2 (run of op 1 'act') has");
  expect_error(
      resident_step(false), [](Program& p) { p.instructions[6].offsets[2] = 768; },
      "updates 'w' in place, but reads it at offset 256 and writes it at 768");
}

TEST(Verify, InplaceAllowsOnePairOfEqualBytes) {
  // gw takes the place of y, which backward reads last.
  Program program = resident_step(false);
  program.instructions[5].offsets[2] = 2048;
  program.instructions[6].offsets[1] = 2048;
  expect_error(program, "overlap");
  program.graph.ops[3].inplace = true;
  expect_valid(program);
  program.graph.ops[4].inputs.push_back(3);  // sgd reads y as well: it is gone
  program.instructions[6].offsets.insert(program.instructions[6].offsets.begin() + 2, 2048);
  EXPECT_FALSE(verify(program).valid);
  Program unequal = resident_step(false);
  unequal.graph.ops[3].inplace = true;
  unequal.instructions[5].offsets[2] = 1024;  // h has 1024 bytes, gw 512
  expect_error(unequal, "overlap");
}

TEST(Verify, InplaceAllowsOnlyOnePair) {
  ProgramBuilder b;
  const auto x = b.buffer("x", 256, BufferKind::input);
  const auto y = b.buffer("y", 256, BufferKind::input);
  const auto s = b.buffer("s", 256, BufferKind::temporary);
  const auto t = b.buffer("t", 256, BufferKind::temporary);
  b.op("two", {x, y}, {s, t});
  b.program.graph.ops[0].inplace = true;
  b.in(x, 0, {}, {2});
  b.in(y, 256, {}, {2});
  b.run(0, {0, 256, 0, 512}, {1});
  Program program = b.take();
  expect_valid(program);
  program.instructions[2].offsets = {0, 256, 0, 256};
  expect_error(program, "overlap");
}

TEST(Verify, OneInputTwiceIsNoOverlap) {
  ProgramBuilder b;
  const auto x = b.buffer("x", 256, BufferKind::input);
  const auto t = b.buffer("t", 256, BufferKind::temporary);
  b.op("square", {x, x}, {t});
  b.in(x, 0, {}, {1});
  b.run(0, {0, 0, 256}, {0});
  expect_valid(b.take());
}

TEST(Verify, ResidentsMustBePersistentUniqueDisjointAndInPlace) {
  const Program program = resident_step(false);
  expect_error(
      program,
      [](Program& p) {
        p.resident.push_back({3, 2048, true});
      },
      "'y' is not a parameter or state");
  expect_error(
      program, [](Program& p) { p.resident.push_back(p.resident[0]); }, "'w' is resident twice");
  expect_error(
      program, [](Program& p) { p.resident[0].offset = 512; }, "reads 'w' at offset 256");
  expect_error(
      program, [](Program& p) { p.resident[0].offset = 4096; }, "leaves the arena");
  expect_error(
      program, [](Program& p) { p.resident[0].offset = 10; }, "not a multiple");
  expect_error(
      program, [](Program& p) { p.resident[0].buffer = 6; }, "resident 0 is buffer 6, but there are 6 buffers");
  expect_error(
      program, [](Program& p) { p.resident[0].dirty = false; }, "resident and not dirty");
  expect_error(
      program, [](Program& p) { p.resident.clear(); }, "reads 'w'");
  expect_error(
      program,
      [](Program& p) {
        p.graph.buffers.push_back({"m", 512, BufferKind::state});
        p.host_bytes += 4096;
        p.resident.push_back({6, 512, true});
      },
      "overlap");
  // A value destroyed at the end of the iteration.
  expect_error(
      program, [](Program& p) { p.instructions[2].offsets[2] = 512; }, "");
}

TEST(Verify, UnusedPersistentValuesSurvive) {
  Program program = resident_step(false);
  program.graph.buffers.push_back({"m", 256, BufferKind::state});
  program.host_bytes += 4096;
  expect_valid(program);  // in the host store, untouched
  program.resident.push_back({6, 3840, false});
  expect_valid(program);                      // never written: the copies stay equal
  program.instructions[2].offsets[2] = 3840;  // act's workspace destroys it
  expect_error(program, "resident buffer 'm' is not at offset 3840");
}

TEST(Verify, SwapInOfADirtyResidentIsStale) {
  Program program = resident_step(false);
  program.instructions.push_back({InstructionKind::swap_in, 1, {256}, {6}, {}});
  expect_error(program, "reads the host slot of 'w', which holds no value of it");
}

TEST(Verify, PartlyOverwrittenValuesAreGone) {
  Program program = resident_step(false);
  program.instructions[3].offsets[1] = 1792;  // loss over the end of h
  program.instructions[4].offsets[0] = 1792;
  expect_error(program, "reads 'h' at offset 1024, which holds no whole value");
}

TEST(Verify, MemoryLimits) {
  const Program program = streamed_step();
  expect_error(
      program, [](Program& p) { p.device.memory_bytes = 4095; }, "the arena has 4096 bytes");
  expect_error(
      program, [](Program& p) { p.arena_bytes = 3839; }, "leaves the arena of 3839 bytes");
  expect_error(
      program, [](Program& p) { p.arena_bytes = -1; }, "the arena has -1 bytes");
  expect_error(
      program, [](Program& p) { p.host_bytes -= 1; }, "host_bytes is");
  expect_error(
      program, [](Program& p) { p.device.host_bytes = p.host_bytes - 1; }, "bytes of host memory");
}

TEST(Verify, Indices) {
  const Program program = streamed_step();
  expect_error(
      program, [](Program& p) { p.instructions[2].target = 5; }, "instruction 2 names op 5, but there are 5");
  expect_error(
      program, [](Program& p) { p.instructions[0].target = -1; }, "instruction 0 names buffer -1");
  expect_error(
      program, [](Program& p) { p.instructions[2].offsets.pop_back(); }, "has 2 offsets: expected 3");
  expect_error(
      program, [](Program& p) { p.instructions[3].offsets.pop_back(); }, "has 2 offsets: expected 3");
  expect_error(
      program, [](Program& p) { p.instructions[4].offsets.push_back(0); }, "has 2 offsets: expected 1");
  expect_error(
      program, [](Program& p) { p.instructions[4].wait = {4}; },
      "waits for instruction 4, which is not earlier");
  expect_error(
      program, [](Program& p) { p.instructions[4].wait = {-1}; }, "not earlier");
  expect_error(
      program, [](Program& p) { p.instructions[4].wait_previous = {12}; }, "of the previous iteration");
  expect_error(
      program, [](Program& p) { p.graph.ops[2].seconds = -1; }, "op 2 'lossop' takes -1 seconds");
  expect_error(
      program, [](Program& p) { p.device.d2h_bytes_per_second = 0; }, "link");
}

TEST(Verify, HostSlotOfATemporaryIsGuardedAcrossIterations) {
  // t goes out and comes back to another address; nothing orders the next iteration's swap-out after the
  // swap-in but its wait for the previous one.
  ProgramBuilder b;
  const auto t = b.buffer("t", 256, BufferKind::temporary);
  const auto u = b.buffer("u", 256, BufferKind::temporary);
  b.op("make", {}, {t});
  b.op("use", {t}, {u});
  b.run(0, {0}, {}, {1});
  b.out(t, 0, {0}, {2});
  b.in(t, 512, {1});
  b.run(1, {512, 1024}, {2});
  Program program = b.take();
  program.instructions[2].wait_previous = {3};
  expect_valid(program);  // use, on the compute stream, follows the swap-in, and make follows use
  // With the swap-in after the last op that waits for it, only the previous wait is left.
  program.instructions[3].offsets[0] = 0;
  program.instructions[3].wait = {};
  program.instructions[2].wait_previous = {};
  expect_valid(program);
  program.instructions[1].wait_previous.clear();
  expect_error(program,
               "writes the host slot of 't', but no wait orders it after instruction 2 (swap_in of 't')");
}

}  // namespace
}  // namespace swapadvisor
