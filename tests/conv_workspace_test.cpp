// Workspace and outputs of convolutions, with guards around them, over many shapes.
#include <swapadvisor/autograd/gradients.h>
#include <swapadvisor/core/rng.h>
#include <swapadvisor/ops/conv2d.h>
#include <swapadvisor/ops/cpu/cpu_kernels.h>
#include <swapadvisor/ops/flatten.h>
#include <swapadvisor/ops/matmul.h>

#include <vector>

#include "guarded_memory.h"

namespace swapadvisor {
namespace {

void expect_contained(const Graph& graph, const Node& node, int threads) {
  const KernelContext context{threads, 1};
  const auto inputs = graph.input_specs(node), outputs = graph.output_specs(node);
  const auto kernel = cpu_kernels().prepare({*node.op, inputs, outputs, context});
  std::vector<std::vector<std::byte>> zeros;
  for (const TensorSpec& spec : inputs) zeros.emplace_back(static_cast<std::size_t>(spec.bytes()));
  run_guarded(graph, node, *kernel, zeros);
}

TEST(ConvolutionMemory, NothingIsWrittenOutsideOutputsAndWorkspace) {
  constexpr std::uint32_t channels[] = {1, 2, 3, 4, 5, 7, 8, 9, 12, 16, 17, 20, 24, 31, 32, 48, 64};
  constexpr std::uint32_t sizes[] = {1, 2, 3, 5, 6, 7, 8, 12, 13, 28};
  const RandomStream random{17, 0, 0};
  std::uint64_t draw = 0;
  const auto pick = [&](const auto& values) {
    return std::int64_t{values[random.below(draw++, std::size(values))]};
  };
  for (int round = 0; round < 400; ++round) {
    const std::int64_t batch = 1 + random.below(draw++, 6), in = pick(channels), out = pick(channels);
    const std::int64_t size = pick(sizes), kernel = random.below(draw++, 2) ? 1 : 3;
    Conv2dOptions options;
    options.stride = {1 + random.below(draw++, 2), 1 + random.below(draw++, 2)};
    options.padding = {kernel / 2, kernel / 2};
    const Layout layout = random.below(draw++, 4) ? Layout::channels_last : Layout::row_major;
    SCOPED_TRACE(fmt::format("batch {}, {} -> {} channels, {}x{}, kernel {}, stride {} {}, {}", batch, in,
                             out, size, size, kernel, options.stride[0], options.stride[1],
                             layout == Layout::channels_last ? "nhwc" : "nchw"));
    Graph graph;
    const Tensor x = graph.parameter("x", TensorSpec::dense(DType::f32, {batch, in, size, size}, layout), {});
    const Tensor w = graph.parameter("w", TensorSpec::dense(DType::f32, {out, in, kernel, kernel}), {});
    const Tensor y = flatten(conv2d(x, w, options));
    const std::int64_t n = y.spec().numel();
    const Tensor flat = graph.reshape(y, {1, n});
    const Tensor ones = graph.input("ones", TensorSpec::dense(DType::f32, {n, 1}));
    const Tensor loss = matmul(flat, ones, false, false);
    const std::vector<Tensor> wanted{x, w};
    gradients(loss, wanted);
    for (const Node& node : graph.nodes())
      if (node.op->type().starts_with("conv2d"))
        expect_contained(graph, node, 1 + static_cast<int>(round % 2));
  }
}

}  // namespace
}  // namespace swapadvisor
