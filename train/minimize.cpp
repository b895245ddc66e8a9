#include <swapadvisor/autograd/gradients.h>
#include <swapadvisor/ops/add.h>
#include <swapadvisor/ops/contiguous.h>
#include <swapadvisor/ops/finite_check.h>
#include <swapadvisor/ops/gradient_clip.h>
#include <swapadvisor/train/minimize.h>
#include <swapadvisor/train/training_graph.h>

namespace swapadvisor {
namespace {

/// Two parameters may have the same gradient, or parts of one: an output is a buffer of its own.
void output_gradient(Tensor gradient, const std::string& name) {
  Graph& graph = gradient.graph();
  const TensorInfo& info = graph.tensors()[static_cast<std::size_t>(gradient.id())];
  const Buffer& buffer = graph.buffers()[static_cast<std::size_t>(info.buffer)];
  const bool whole = info.base < 0 && buffer.kind == BufferKind::temporary;
  graph.output(whole ? gradient : copy(gradient, fmt::format("copy/{}", name)), name);
}

}  // namespace

Minimizer::Minimizer(Graph& graph, const OptimizerOptions& options, bool output_gradients)
    : graph_(graph),
      options_(options),
      output_gradients_(output_gradients),
      parameters_(graph.trainable_parameters()),
      sums_(parameters_.size()),
      is_ours_(parameters_.size(), false) {
  if (parameters_.empty()) fail("graph '{}' has no parameter to train", graph.name());
}

void Minimizer::add(std::size_t i, Tensor gradient) {
  Tensor& sum = sums_[i];
  if (!sum) {
    sum = gradient;  // perhaps of several parameters
    return;
  }
  const std::string name = fmt::format("micro{}/grad/{}", parts_, parameters_[i].name());
  sum = is_ours_[i] ? swapadvisor::accumulate(sum, gradient, name) : swapadvisor::add(sum, gradient, name);
  is_ours_[i] = true;
}

void Minimizer::accumulate(Tensor part) {
  gradients(part, parameters_, [&](std::size_t i, Tensor gradient) { add(i, gradient); });
  ++parts_;
}

void Minimizer::finish(Tensor last, Tensor loss) {
  const Tensor flag =
      graph_.state(names::finite, TensorSpec::dense(DType::i32, {}), Initializer::constant(1));
  const Tensor finite = finite_check(loss, flag, "finite_check");
  graph_.apply_deferred_updates(finite);
  Optimizer optimizer(graph_, options_);
  const auto update = [&](std::size_t i, Tensor scale) {
    optimizer.update(parameters_[i], sums_[i], finite, scale);
    if (output_gradients_) output_gradient(sums_[i], fmt::format("grad.{}", parameters_[i].name()));
  };
  std::vector<std::size_t> complete;  // in the order of the backward pass
  std::vector<bool> is_complete(parameters_.size(), false);
  std::vector<Tensor> squares;
  const auto finish_gradient = [&](std::size_t i) {
    complete.push_back(i);
    is_complete[i] = true;
    if (options_.clip_norm > 0)
      squares.push_back(square_sum(sums_[i], fmt::format("square_sum/{}", parameters_[i].name())));
    else
      update(i, {});
  };
  // Without clipping each update follows its gradient at once, so that few gradients live together.
  gradients(last, parameters_, [&](std::size_t i, Tensor gradient) {
    add(i, gradient);
    finish_gradient(i);
  });
  for (std::size_t i = 0; i < parameters_.size(); ++i)
    if (sums_[i] && !is_complete[i]) finish_gradient(i);  // a part before had one, the last has none
  if (!squares.empty()) {
    const GradientClip clip = gradient_clip(squares, options_.clip_norm, "gradient_clip");
    for (const std::size_t i : complete) update(i, clip.scale);
    graph_.output(clip.norm, names::gradient_norm);
  }
  graph_.output(loss, names::loss);
}

void minimize(Tensor loss, const OptimizerOptions& options, bool output_gradients) {
  Minimizer(loss.graph(), options, output_gradients).finish(loss, loss);
}

}  // namespace swapadvisor
