#include <gtest/gtest.h>
#include <swapadvisor/core/cpu_device.h>
#include <swapadvisor/core/error.h>
#include <swapadvisor/core/graph.h>
#include <swapadvisor/core/kernel.h>
#include <swapadvisor/ops/relu.h>
#include <swapadvisor/swap/profile.h>

#include <atomic>
#include <cstring>
#include <memory>
#include <vector>

namespace swapadvisor {
namespace {

constexpr std::int64_t workspace_bytes = 1 << 16;

/// Fills operands and workspace, and looks again and again whether someone else has written there.
std::unique_ptr<Kernel> watchful_kernel(std::int64_t operand_bytes, std::atomic<int>& intrusions) {
  return make_kernel(
      [operand_bytes, &intrusions](const KernelArgs& args) {
        const auto pattern = [&](void* memory, std::int64_t bytes) {
          std::memset(memory, 0x5A, static_cast<std::size_t>(bytes));
        };
        const auto intact = [&](const void* memory, std::int64_t bytes) {
          const auto* at = static_cast<const volatile unsigned char*>(memory);
          for (std::int64_t k = 0; k < bytes; ++k)
            if (at[k] != 0x5A) return false;
          return true;
        };
        pattern(args.outputs[0], operand_bytes);
        pattern(args.workspace, workspace_bytes);
        for (int look = 0; look < 40; ++look)
          if (!intact(args.outputs[0], operand_bytes) || !intact(args.workspace, workspace_bytes)) ++intrusions;
      },
      workspace_bytes);
}

struct Profiled {
  Profiled() : graph("g") {
    Tensor y = graph.input("x", TensorSpec::dense(DType::f32, Shape{1024}));
    for (int k = 0; k < 3; ++k) y = relu(y);
    graph.output(y, "y");
    for (std::size_t i = 0; i < graph.nodes().size(); ++i) kernels.push_back(watchful_kernel(4096, intrusions));
  }

  Graph graph;
  std::atomic<int> intrusions{0};
  std::vector<std::unique_ptr<Kernel>> kernels;
};

// Library kernels keep the state of their threads in the workspace: a copy there can hang them.
TEST(ProfileLink, CopiesNeverTouchWhatAnOpUses) {
  // With room beside the ops, and where the neediest op fills the limit.
  for (std::int64_t limit : {std::int64_t{1} << 24, workspace_bytes + 2 * 4096}) {
    Profiled p;
    const auto device = make_cpu_device({});
    ProfileOptions options;
    options.memory_limit = limit;
    options.repeats = 1;
    const std::vector<OpProfile> profiles = profile_ops(p.graph, p.kernels, *device, options);
    const DeviceSpec link = profile_link(p.graph, p.kernels, profiles, *device, options);
    EXPECT_EQ(p.intrusions, 0) << "limit " << limit;
    EXPECT_GT(link.h2d_bytes_per_second, 0);
    EXPECT_GT(link.d2h_bytes_per_second, 0);
    EXPECT_LE(link.duplex_bytes_per_second, link.h2d_bytes_per_second + link.d2h_bytes_per_second);
    EXPECT_GE(link.compute_slowdown_while_copying, 1);
    EXPECT_LE(device->arena_bytes(), limit);
  }
}

TEST(ProfileOps, NamesTheOpThatDoesNotFit) {
  Profiled p;
  const auto device = make_cpu_device({});
  ProfileOptions options;
  options.memory_limit = workspace_bytes;
  try {
    profile_ops(p.graph, p.kernels, *device, options);
    FAIL() << "fitted";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("relu"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace swapadvisor
