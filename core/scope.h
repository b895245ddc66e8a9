// Named parameters: a place in a model, such as "layer1.0.conv1", and how the model is being built.
#pragma once

#include <swapadvisor/core/graph.h>

#include <string>
#include <string_view>

namespace swapadvisor {

/// What the graph is for. Decides batch-norm statistics, dropout, and nothing else.
enum class Mode : std::uint8_t { train, eval };

/// How a model is built.
struct ModelContext {
  Mode mode = Mode::train;
  DType dtype = DType::f32;               ///< of activations; parameters too, but f32 where this is bf16
  Layout layout = Layout::channels_last;  ///< of image activations
};

/// The type of the parameters of a model that computes in `compute`: bf16 has too few bits to add small updates to.
constexpr DType parameter_type(DType compute) {
  return compute == DType::bf16 ? DType::f32 : compute;
}

/// A cheap value: copy it, or derive a child with `scope / "conv1"`. Parameter names join the path with dots.
class Scope {
 public:
  Scope(Graph& graph, const ModelContext& context) : graph_(&graph), context_(context) {}

  Scope operator/(std::string_view name) const {
    Scope child = *this;
    child.path_ = this->name(name);
    return child;
  }
  Scope operator/(int index) const { return *this / std::to_string(index); }

  /// The same place for another purpose: layers built in `scope.in_mode(Mode::eval)` use their running statistics and
  /// drop nothing, in a training graph too. For frozen parts: no gradient passes through batch norm in that mode.
  Scope in_mode(Mode mode) const {
    Scope other = *this;
    other.context_.mode = mode;
    return other;
  }

  /// The same place in micro-batch `number` of a step that has several: ops get other names,
  /// "micro2/layer1.0.conv1", parameters and states are those of the first one. For scopes without a path.
  Scope micro_batch(int number) const {
    Scope other = *this;
    other.path_ = fmt::format("micro{}/", number);
    other.prefix_ = other.path_.size();
    return other;
  }

  Graph& graph() const { return *graph_; }
  bool training() const { return context_.mode == Mode::train; }
  /// What layers compute in: the type of activations.
  DType dtype() const { return context_.dtype; }
  /// Of parameters and running statistics.
  DType parameter_dtype() const { return parameter_type(context_.dtype); }
  Layout layout() const { return context_.layout; }
  /// For names of ops; parameters go by `parameter` and `state`.
  const std::string& path() const { return path_; }
  std::string name(std::string_view leaf) const {
    return path_.size() == prefix_ ? path_ + std::string(leaf) : path_ + "." + std::string(leaf);
  }

  /// A trainable parameter "PATH.LEAF", row major, of `parameter_dtype`.
  Tensor parameter(std::string_view leaf, const Shape& shape, const Initializer& init) const {
    const TensorSpec spec = TensorSpec::dense(parameter_dtype(), shape);
    if (Tensor known = made_before(leaf, spec)) return known;
    return graph_->parameter(buffer_name(leaf), spec, init);
  }
  /// A persistent buffer that no gradient reaches, such as running statistics.
  Tensor state(std::string_view leaf, const TensorSpec& spec, const Initializer& init) const {
    if (Tensor known = made_before(leaf, spec)) return known;
    return graph_->state(buffer_name(leaf), spec, init);
  }

  /// "PATH.LEAF" becomes one more name of a parameter, see `Graph::tie`.
  void tie(std::string_view leaf, Tensor parameter) const { graph_->tie(buffer_name(leaf), parameter); }

  /// The number of the step, an i64 scalar input that random ops draw from; made when first asked for.
  Tensor step_number() const {
    if (Tensor known = graph_->find("step.number")) return known;
    return graph_->input("step.number", TensorSpec::dense(DType::i64, {}));
  }

 private:
  std::string buffer_name(std::string_view leaf) const { return name(leaf).substr(prefix_); }
  /// In all micro-batches but the first.
  Tensor made_before(std::string_view leaf, const TensorSpec& spec) const {
    if (prefix_ == 0) return {};
    const Tensor known = graph_->find(buffer_name(leaf));
    if (known && known.spec() != spec)
      fail("'{}' is {} in one micro-batch, {} in another", known.name(), to_string(known.spec()),
           to_string(spec));
    return known;
  }

  Graph* graph_;
  ModelContext context_;
  std::string path_;
  std::size_t prefix_ = 0;  ///< characters of `path_` that name a micro-batch
};

}  // namespace swapadvisor
