// Small Programs for tests, written by hand.
#pragma once

#include <swapadvisor/core/program.h>
#include <swapadvisor/swap/plan_file.h>

#include <string>
#include <utility>
#include <vector>

namespace swapadvisor::test {

struct ProgramBuilder {
  Program program;

  ProgramBuilder() {
    program.planner = "hand";
    program.device = {"tiny", 1 << 20, DeviceSpec::unbounded, 10, 10, 20, 0, 1};
    program.arena_bytes = 4096;
  }

  std::int32_t buffer(std::string name, std::int64_t bytes, BufferKind kind) {
    program.graph.buffers.push_back({std::move(name), bytes, kind});
    return static_cast<std::int32_t>(program.graph.buffers.size() - 1);
  }
  std::int32_t op(std::string name, std::vector<std::int32_t> inputs, std::vector<std::int32_t> outputs,
                  double seconds = 1, bool recomputable = false) {
    PlanOp op;
    op.name = std::move(name);
    op.type = "test";
    op.inputs = std::move(inputs);
    op.outputs = std::move(outputs);
    op.seconds = seconds;
    op.recomputable = recomputable;
    program.graph.ops.push_back(std::move(op));
    return static_cast<std::int32_t>(program.graph.ops.size() - 1);
  }
  std::int32_t add(InstructionKind kind, std::int32_t target, std::vector<std::int64_t> offsets,
                   std::vector<std::int32_t> wait, std::vector<std::int32_t> wait_previous) {
    program.instructions.push_back(
        {kind, target, std::move(offsets), std::move(wait), std::move(wait_previous)});
    return static_cast<std::int32_t>(program.instructions.size() - 1);
  }
  std::int32_t run(std::int32_t op, std::vector<std::int64_t> offsets, std::vector<std::int32_t> wait = {},
                   std::vector<std::int32_t> wait_previous = {}) {
    return add(InstructionKind::run, op, std::move(offsets), std::move(wait), std::move(wait_previous));
  }
  std::int32_t in(std::int32_t buffer, std::int64_t offset, std::vector<std::int32_t> wait = {},
                  std::vector<std::int32_t> wait_previous = {}) {
    return add(InstructionKind::swap_in, buffer, {offset}, std::move(wait), std::move(wait_previous));
  }
  std::int32_t out(std::int32_t buffer, std::int64_t offset, std::vector<std::int32_t> wait = {},
                   std::vector<std::int32_t> wait_previous = {}) {
    return add(InstructionKind::swap_out, buffer, {offset}, std::move(wait), std::move(wait_previous));
  }
  Program take() {
    program.host_bytes = host_bytes_needed(program.graph, program.instructions);
    return std::move(program);
  }
};

/// One training step in miniature: h = forward(x, w), y = act(h), loss = lossop(y), gw = backward(h, y),
/// w = sgd(w, gw). Buffers: x 0, w 1, h 2, y 3, loss 4, gw 5; ops in that order.
inline ProgramBuilder training_step() {
  ProgramBuilder b;
  b.buffer("x", 256, BufferKind::input);
  b.buffer("w", 512, BufferKind::parameter);
  b.buffer("h", 1024, BufferKind::temporary);
  b.buffer("y", 512, BufferKind::temporary);
  b.buffer("loss", 256, BufferKind::output);
  b.buffer("gw", 512, BufferKind::temporary);
  b.op("forward", {0, 1}, {2}, 3);
  b.op("act", {2}, {3}, 1, true);
  b.op("lossop", {3}, {4}, 1);
  b.op("backward", {2, 3}, {5}, 4);
  b.op("sgd", {1, 5}, {1}, 2);
  b.program.graph.ops[1].workspace_bytes = 256;
  return b;
}

/// The step with w streamed, h swapped out and in as loss takes its place, y recomputed. Every wait in it is
/// needed.
inline Program streamed_step() {
  ProgramBuilder b = training_step();
  b.in(0, 0);                         // 0: x; after h of the iteration before, so after forward
  b.in(1, 256, {}, {11});             // 1: w
  b.run(0, {0, 256, 1024}, {1});      // 2: forward
  b.run(1, {1024, 2048, 3072});       // 3: act
  b.out(2, 1024, {2});                // 4: h
  b.run(2, {2048, 1024}, {4});        // 5: lossop
  b.out(4, 1024, {5});                // 6: loss
  b.in(2, 1024, {6});                 // 7: h
  b.run(1, {1024, 2048, 3072}, {7});  // 8: act again
  b.run(3, {1024, 2048, 3328});       // 9: backward
  b.run(4, {256, 3328, 256});         // 10: sgd
  b.out(1, 256, {10});                // 11: w
  return b.take();
}

/// The step with w resident at 256; the host copy is kept equal when `clean`. Every wait in it is needed.
inline Program resident_step(bool clean) {
  ProgramBuilder b = training_step();
  b.in(0, 0, {}, {1});              // 0: x
  b.run(0, {0, 256, 1024}, {0});    // 1: forward
  b.run(1, {1024, 2048, 3072});     // 2: act
  b.run(2, {2048, 2560}, {}, {4});  // 3: lossop
  b.out(4, 2560, {3});              // 4: loss
  b.run(3, {1024, 2048, 3328});     // 5: backward
  b.run(4, {256, 3328, 256}, {},
        clean ? std::vector<std::int32_t>{7} : std::vector<std::int32_t>{});  // 6: sgd
  if (clean) b.out(1, 256, {6});                                              // 7: w
  b.program.resident.push_back({1, 256, !clean});
  return b.take();
}

// Exchanges instructions `index` and `index + 1`, where neither waits for the other.
inline void exchange(Program& program, std::int32_t index) {
  std::swap(program.instructions[static_cast<std::size_t>(index)],
            program.instructions[static_cast<std::size_t>(index) + 1]);
  const auto renumber = [&](std::vector<std::int32_t>& waits) {
    for (std::int32_t& i : waits) i = i == index ? index + 1 : i == index + 1 ? index : i;
  };
  for (Instruction& instruction : program.instructions) {
    renumber(instruction.wait);
    renumber(instruction.wait_previous);
  }
}

}  // namespace swapadvisor::test
