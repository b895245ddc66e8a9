#include <swapadvisor/ops/add.h>
#include <swapadvisor/ops/batch_norm.h>
#include <swapadvisor/ops/cpu/cpu_kernels.h>
#include <swapadvisor/ops/fill.h>
#include <swapadvisor/ops/relu.h>
#include <swapadvisor/ops/scale.h>

#include <fmt/format.h>

#include "expect_error.h"
#include "interpret.h"

namespace swapadvisor {
namespace {

const TensorSpec six = TensorSpec::dense(DType::f32, {2, 3});

TEST(Graph, NamesBuffersAfterNodes) {
  Graph graph("net");
  const Tensor x = graph.input("x", six);
  EXPECT_EQ(relu(x).name(), "relu_0");
  EXPECT_EQ(relu(x, "act").name(), "act");
  const Tensor gamma = graph.parameter("gamma", TensorSpec::dense(DType::f32, {3}), Initializer::constant(1));
  const BatchNormOutput out = batch_norm(x, gamma, gamma, 1e-5, "bn");
  EXPECT_EQ(out.y.name(), "bn:0");
  EXPECT_EQ(out.inverse_deviation.name(), "bn:2");
  EXPECT_EQ(graph.nodes().size(), 3U);
  EXPECT_EQ(graph.find("act").id(), graph.nodes()[1].outputs[0]);
  EXPECT_FALSE(graph.find("nothing"));
}

// Builders keep them while they add buffers and ops.
TEST(Graph, NamesAndSpecsStayWhereTheyAreWhileTheGraphGrows) {
  Graph graph("g");
  const TensorSpec spec = TensorSpec::dense(DType::f32, {2, 3});
  const Tensor x = graph.input("x", spec);
  const Tensor y = relu(x);
  const std::string *name = &x.name(), *made = &y.name();
  const TensorSpec* shape = &y.spec();
  for (int i = 0; i < 1000; ++i) relu(graph.state(fmt::format("s{}", i), spec, Initializer::zeros()));
  EXPECT_EQ(name, &x.name());
  EXPECT_EQ(made, &y.name());
  EXPECT_EQ(shape, &y.spec());
  EXPECT_EQ(*name, "x");
}

TEST(Graph, RefusesTakenAndEmptyNames) {
  Graph graph;
  const Tensor x = graph.input("x", six);
  expect_error([&] { graph.parameter("x", six, {}); }, "two buffers named 'x'");
  expect_error([&] { graph.state("", six, {}); }, "needs a name");
  expect_error([&] { relu(x, "x"); }, "two buffers named 'x'");
}

TEST(Graph, InferenceErrorsNameTheNode) {
  Graph graph;
  const Tensor a = graph.input("a", six), b = graph.input("b", TensorSpec::dense(DType::f32, {3, 2}));
  expect_error([&] { add(a, b, "block.sum"); },
               "[add block.sum] a is f32[2, 3] but b is f32[3, 2]; they must be alike");
  EXPECT_TRUE(graph.nodes().empty());
}

TEST(Graph, UpdatesGiveTheBufferANewValue) {
  Graph graph;
  const Tensor sum = graph.state("sum", six, {}), x = graph.input("x", six);
  const Tensor before = scale(sum, 2);
  const Tensor after = accumulate(sum, x, "step");
  EXPECT_EQ(after.name(), "sum");
  EXPECT_EQ(graph.find("sum").id(), after.id());
  EXPECT_NE(after.id(), sum.id());
  EXPECT_NO_THROW(scale(before, 2));
  expect_error([&] { relu(sum, "late"); }, "[relu late] reads 'sum' as it was before 'step' overwrote it");
}

TEST(Graph, RefusesUpdatesOfInputsAndThroughViews) {
  Graph graph;
  const Tensor x = graph.input("x", six), s = graph.state("s", six, {});
  expect_error([&] { accumulate(x, s); }, "cannot update input 'x'");
  const Tensor flat = graph.reshape(s, {6}), y = graph.input("y", TensorSpec::dense(DType::f32, {6}));
  expect_error([&] { accumulate(flat, y); }, "cannot update 's' through a view");
}

TEST(Graph, ViewsShareTheirBuffer) {
  Graph graph;
  const Tensor x = graph.input("x", six);
  const Tensor view = graph.reshape(x, {3, 2});
  EXPECT_EQ(view.name(), "x");
  EXPECT_EQ(view.shape(), (Shape{3, 2}));
  EXPECT_EQ(graph.tensors()[static_cast<std::size_t>(view.id())].base, x.id());
  EXPECT_EQ(graph.buffers().size(), 1U);
  expect_error([&] { graph.reshape(x, {4, 2}); }, "cannot view f32[2, 3] as [4, 2]");
  const Tensor nhwc = graph.input("i", TensorSpec::dense(DType::f32, {2, 3, 4, 5}, Layout::channels_last));
  expect_error([&] { graph.reshape(nhwc, {120}); }, "cannot view");
}

TEST(Graph, OutputsAreWholeTemporaries) {
  Graph graph;
  const Tensor x = graph.input("x", six), y = relu(x);
  graph.output(y, "result");
  EXPECT_EQ(graph.find("result").id(), y.id());
  EXPECT_EQ(graph.find_buffer("relu_0"), -1);
  expect_error([&] { graph.output(x, "other"); }, "must be a whole temporary value");
  expect_error([&] { graph.output(graph.reshape(relu(x, "z"), {6}), "other"); }, "not a view");
}

TEST(Graph, DeferredUpdatesRunOnce) {
  Graph graph;
  const Tensor flag = graph.state("flag", TensorSpec::dense(DType::i32, {}), {});
  int runs = 0;
  graph.defer_update([&](Tensor finite) { runs += finite.id() == flag.id(); });
  graph.apply_deferred_updates(flag);
  graph.apply_deferred_updates(flag);
  EXPECT_EQ(runs, 1);
}

TEST(Graph, LowersToAPlanGraph) {
  Graph graph("net");
  const Tensor x = graph.input("x", six), s = graph.state("s", six, {});
  const Tensor y = relu(x, "act");
  accumulate(s, y, "step");
  const Tensor z = fill(graph, six, 1, "ones");
  graph.output(z, "out");
  const PlanGraph plan = lower(graph, {{1.5, 0}, {2.5, 64}, {0.5, 0}});
  EXPECT_NO_THROW(check(plan));
  ASSERT_EQ(plan.ops.size(), 3U);
  EXPECT_EQ(plan.name, "net");
  EXPECT_EQ(plan.ops[0].type, "relu");
  EXPECT_TRUE(plan.ops[0].recomputable && plan.ops[0].inplace);
  EXPECT_EQ(plan.ops[0].seconds, 1.5);
  EXPECT_FALSE(plan.ops[1].recomputable);
  EXPECT_EQ(plan.ops[1].workspace_bytes, 64);
  EXPECT_EQ(plan.ops[1].inputs, (std::vector<std::int32_t>{1, 2}));
  EXPECT_EQ(plan.ops[1].outputs, std::vector<std::int32_t>{1});
  EXPECT_EQ(plan.buffers[0].kind, BufferKind::input);
  EXPECT_EQ(plan.buffers[2].bytes, 24);
  EXPECT_EQ(plan.buffers[3].kind, BufferKind::output);
}

TEST(Kernels, MissingAndRefusedOnesNameTheNode) {
  Graph graph;
  relu(graph.input("x", six), "act");
  expect_error([&] { prepare_kernels(graph, KernelSet(), {}); }, "[relu act] the device has no kernel");
  KernelSet refusing = cpu_kernels();
  refusing.add("relu", [](const KernelRequest&) -> std::unique_ptr<Kernel> { fail("too cold"); });
  expect_error([&] { prepare_kernels(graph, refusing, {}); }, "[relu act] too cold");
}

// The reference executor must notice kernels that break the rules, or its users test nothing.
TEST(Interpreter, NoticesWritesOutOfBounds) {
  Graph graph;
  relu(graph.input("x", six), "act");
  HostBuffers buffers{{"x", to_bytes(std::vector<float>(6, 1.0F))}};
  const auto with = [](auto function) {
    KernelSet set;
    set.add("relu", [=](const KernelRequest&) { return make_kernel(function, 8); });
    return set;
  };
  const auto run = [&](const KernelSet& set) { interpret(graph, set, buffers); };
  EXPECT_NO_THROW(run(with([](const KernelArgs& args) { args.out<float>(0)[5] = 0; })));
  expect_error([&] { run(with([](const KernelArgs& args) { args.out<float>(0)[6] = 0; })); },
               "outside an output");
  expect_error([&] { run(with([](const KernelArgs& args) { static_cast<float*>(args.workspace)[2] = 0; })); },
               "outside its workspace");
  expect_error(
      [&] { run(with([](const KernelArgs& args) { const_cast<float*>(args.in<float>(0))[0] = 2; })); },
      "wrote to an input");
  buffers.erase("x");
  expect_error([&] { run(cpu_kernels()); }, "no contents for buffer 'x'");
}

}  // namespace
}  // namespace swapadvisor
