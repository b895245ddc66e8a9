// Runs a kernel on memory with guards around every operand and the workspace: kernels own exactly the bytes
// they are given. Libraries below us have overrun their own scratchpads.
#pragma once

#include <gtest/gtest.h>
#include <swapadvisor/core/graph.h>
#include <swapadvisor/core/kernel.h>
#include <swapadvisor/core/program.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

namespace swapadvisor {

/// A block with guards on both sides, aligned as the arena's offsets are.
class Guarded {
 public:
  explicit Guarded(std::int64_t bytes)
      : bytes_(bytes), storage_(static_cast<std::size_t>(bytes + 2 * guard_bytes + arena_alignment), guard) {
    void* start = storage_.data() + guard_bytes;
    std::size_t space = storage_.size() - guard_bytes;
    data_ =
        static_cast<std::byte*>(std::align(arena_alignment, static_cast<std::size_t>(bytes), start, space));
  }
  std::byte* data() { return data_; }
  std::vector<std::byte> bytes() const { return {data_, data_ + bytes_}; }
  bool intact() const {
    const std::byte* first = storage_.data();
    const std::byte* last = first + storage_.size();
    const auto untouched = [](const std::byte* a, const std::byte* b) {
      return std::all_of(a, b, [](std::byte x) { return x == guard; });
    };
    return untouched(first, data_) && untouched(data_ + bytes_, last);
  }

 private:
  static constexpr std::int64_t guard_bytes = 8192;
  static constexpr auto guard = std::byte{0xA7};

  std::int64_t bytes_;
  std::vector<std::byte> storage_;
  std::byte* data_;
};

/// Outputs of one run of `kernel` on `inputs`, one vector of bytes per operand of `node`.
inline std::vector<std::vector<std::byte>> run_guarded(const Graph& graph, const Node& node,
                                                       const Kernel& kernel,
                                                       const std::vector<std::vector<std::byte>>& inputs) {
  std::vector<Guarded> blocks;
  std::vector<const void*> in;
  std::vector<void*> out;
  const auto outputs = graph.output_specs(node);
  blocks.reserve(inputs.size() + outputs.size() + 1);
  for (const auto& bytes : inputs) {
    blocks.emplace_back(std::ssize(bytes));
    std::memcpy(blocks.back().data(), bytes.data(), bytes.size());
    in.push_back(blocks.back().data());
  }
  for (const TensorSpec& spec : outputs) {
    blocks.emplace_back(spec.bytes());
    out.push_back(blocks.back().data());
  }
  blocks.emplace_back(std::max<std::int64_t>(kernel.workspace_bytes(), 1));
  kernel.run(nullptr, {in, out, kernel.workspace_bytes() > 0 ? blocks.back().data() : nullptr});
  for (std::size_t i = 0; i < blocks.size(); ++i)
    EXPECT_TRUE(blocks[i].intact()) << "operand " << i << " of " << node.op->type() << ", workspace last";
  std::vector<std::vector<std::byte>> results;
  for (std::size_t i = 0; i < outputs.size(); ++i) results.push_back(blocks[inputs.size() + i].bytes());
  return results;
}

}  // namespace swapadvisor
