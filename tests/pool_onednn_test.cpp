// Float32 pooling over many shapes: nothing is written outside outputs and workspace, and oneDNN's kernels,
// also those that a slow processor does not choose, give what the portable ones give.
#include <swapadvisor/core/rng.h>
#include <swapadvisor/ops/avg_pool2d.h>
#include <swapadvisor/ops/cpu/cpu_kernels.h>
#include <swapadvisor/ops/max_pool2d.h>
#ifdef SWAPADVISOR_ONEDNN
#include <swapadvisor/ops/cpu/pool2d_onednn.h>
#endif

#include <cmath>
#include <limits>

#include "guarded_memory.h"
#include "interpret.h"

namespace swapadvisor {
namespace {

using Bytes = std::vector<std::byte>;

/// Draws pooling problems that pass the checks of the ops.
class Problems {
 public:
  struct Problem {
    Shape x;
    Layout layout;
    bool maximum;
    Pool2dOptions options;
  };

  Problem next() {
    constexpr std::int64_t channels[] = {1, 2, 3, 5, 7, 8, 9, 15, 16, 17, 31, 33, 64, 70};
    Problem p;
    Pool2dOptions& o = p.options;
    std::array<std::int64_t, 2> size{};
    for (std::size_t i = 0; i < 2; ++i) {
      o.kernel[i] = 1 + below(4);
      o.stride[i] = 1 + below(4);
      o.padding[i] = below(static_cast<std::uint32_t>(o.kernel[i] / 2 + 1));
      size[i] = o.kernel[i] + below(14);
    }
    o.ceil_mode = below(2) == 0;
    o.count_include_pad = below(2) == 0;
    p.x = {1 + below(4), channels[below(std::size(channels))], size[0], size[1]};
    p.layout = below(5) == 0 ? Layout::row_major : Layout::channels_last;
    p.maximum = below(2) == 0;
    return p;
  }
  std::int64_t below(std::uint32_t n) { return random_.below(draw_++, n); }

 private:
  RandomStream random_{23, 0, 0};
  std::uint64_t draw_ = 0;
};

std::string describe(const Problems::Problem& p) {
  const Pool2dOptions& o = p.options;
  return fmt::format("{} {} {} kernel {} {} stride {} {} padding {} {}{}{}", p.maximum ? "max" : "avg",
                     to_string(p.x), p.layout == Layout::channels_last ? "nhwc" : "nchw", o.kernel[0],
                     o.kernel[1], o.stride[0], o.stride[1], o.padding[0], o.padding[1],
                     o.ceil_mode ? " ceil" : "", o.count_include_pad ? " with padding" : "");
}

/// Forward (node 0) and backward (node 1) of one problem.
struct Pooling {
  explicit Pooling(const Problems::Problem& p) {
    const TensorSpec spec = TensorSpec::dense(DType::f32, p.x, p.layout);
    const Tensor x = graph.input("x", spec);
    if (p.maximum) {
      const auto y = graph.apply(std::make_shared<MaxPool2dOp>(p.options), {x}, "pool");
      const Tensor dy = graph.input("dy", y[0].spec());
      graph.apply(std::make_shared<MaxPool2dBackwardOp>(p.options, spec), {dy, y[1]}, "grad");
    } else {
      const Tensor dy = graph.input("dy", avg_pool2d(x, p.options).spec());
      graph.apply(std::make_shared<AvgPool2dBackwardOp>(p.options, spec), {dy}, "grad");
    }
  }
  /// y (and the index), then dx.
  std::vector<Bytes> run(const KernelSet& kernels, const Bytes& x, const Bytes& dy, int threads) const {
    const KernelContext context{threads, 1};
    const auto kernel = [&](const Node& node) {
      const auto inputs = graph.input_specs(node), outputs = graph.output_specs(node);
      return kernels.prepare({*node.op, inputs, outputs, context});
    };
    std::vector<Bytes> results = run_guarded(graph, forward(), *kernel(forward()), {x});
    std::vector<Bytes> inputs{dy};
    if (results.size() > 1) inputs.push_back(results[1]);
    results.push_back(run_guarded(graph, backward(), *kernel(backward()), inputs)[0]);
    return results;
  }
  const Node& forward() const { return graph.nodes()[0]; }
  const Node& backward() const { return graph.nodes()[1]; }
  /// `levels` different values: many ties when they are few.
  Bytes values(const Node& node, Problems& random, std::uint32_t levels) const {
    std::vector<float> v(static_cast<std::size_t>(graph.input_specs(node)[0].numel()));
    for (float& e : v) e = static_cast<float>(random.below(levels)) / 8 - 1;
    return to_bytes(v);
  }

  Graph graph;
};

void expect_near(const Bytes& a, const Bytes& b) {
  const auto x = from_bytes<float>(a), y = from_bytes<float>(b);
  ASSERT_EQ(x.size(), y.size());
  for (std::size_t i = 0; i < x.size(); ++i)
    ASSERT_NEAR(x[i], y[i], 1e-5 * std::max(1.0f, std::abs(y[i]))) << i;
}

TEST(Pooling, NothingIsWrittenOutsideOutputsAndWorkspace) {
  Problems random;
  const KernelSet kernels = cpu_kernels(), portable = portable_kernels();
  for (int round = 0; round < 300; ++round) {
    const Problems::Problem p = random.next();
    SCOPED_TRACE(describe(p));
    const Pooling pooling(p);
    const Bytes x = pooling.values(pooling.forward(), random, 100),
                dy = pooling.values(pooling.backward(), random, 17);
    const auto ours = pooling.run(kernels, x, dy, 1 + round % 2), reference = pooling.run(portable, x, dy, 1);
    for (std::size_t i = 0; i < ours.size(); ++i)
      if (p.maximum && i < 2)
        EXPECT_EQ(ours[i], reference[i]);
      else
        expect_near(ours[i], reference[i]);
  }
}

#ifdef SWAPADVISOR_ONEDNN

/// Pooling on oneDNN wherever it can; counts the kernels that are its own.
class WherePossible {
 public:
  WherePossible() {
    for (const char* type : {"max_pool2d", "max_pool2d_backward", "avg_pool2d", "avg_pool2d_backward"})
      set.add(type, [this](const KernelRequest& r) {
        auto portable = portable_.prepare(r);
        const Kernel* before = portable.get();
        auto kernel = onednn_pool2d(r, std::move(portable), OnednnPooling::where_possible);
        used += kernel.get() != before;
        return kernel;
      });
  }
  WherePossible(const WherePossible&) = delete;
  WherePossible& operator=(const WherePossible&) = delete;

  KernelSet set;
  int used = 0;

 private:
  KernelSet portable_ = portable_kernels();
};

TEST(PoolingOnednn, AgreesWithThePortableKernels) {
  Problems random;
  WherePossible onednn;
  const KernelSet portable = portable_kernels();
  for (int round = 0; round < 300; ++round) {
    const Problems::Problem p = random.next();
    SCOPED_TRACE(describe(p));
    const Pooling pooling(p);
    // Few levels: the first of several maxima counts.
    const Bytes x = pooling.values(pooling.forward(), random, 4),
                dy = pooling.values(pooling.backward(), random, 17);
    const auto reference = pooling.run(portable, x, dy, 1);
    for (int threads : {1, 2, 3}) {
      const auto first = pooling.run(onednn.set, x, dy, threads);
      EXPECT_TRUE(first == pooling.run(onednn.set, x, dy, threads)) << threads << " threads, run twice";
      for (std::size_t i = 0; i < first.size(); ++i)
        if (p.maximum && i < 2)
          EXPECT_EQ(first[i], reference[i]);
        else
          expect_near(first[i], reference[i]);
    }
  }
#ifdef __x86_64__
  EXPECT_GT(onednn.used,
            600);  // of 1200 kernels: the rest are row major, or averages over half-outside windows
#endif
}

TEST(PoolingOnednn, NanAndInfinityAreMaximaAsInThePortableKernels) {
  WherePossible onednn;
  const KernelSet portable = portable_kernels();
  const Pooling pooling({{2, 24, 9, 9}, Layout::channels_last, true, {{3, 3}, {2, 2}, {1, 1}, false, true}});
  const Bytes dy = to_bytes(std::vector<float>(2 * 24 * 5 * 5, 0.5f));
  constexpr float infinity = std::numeric_limits<float>::infinity();
  for (float special : {std::numeric_limits<float>::quiet_NaN(), infinity, -infinity})
    for (bool everywhere : {false, true}) {
      std::vector<float> x(2 * 24 * 9 * 9, everywhere ? special : -1.5f);
      x[1234] = special;
      EXPECT_EQ(pooling.run(onednn.set, to_bytes(x), dy, 2), pooling.run(portable, to_bytes(x), dy, 1))
          << special;
    }
}

#endif

}  // namespace
}  // namespace swapadvisor
