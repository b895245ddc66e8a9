#include <swapadvisor/autograd/gradients.h>
#include <swapadvisor/ops/add.h>
#include <swapadvisor/ops/check.h>
#include <swapadvisor/ops/fill.h>

#include <algorithm>

namespace swapadvisor {
namespace {

constexpr std::size_t index(int id) {
  return static_cast<std::size_t>(id);
}

/// "grad/", or "grad2/" … when nodes of that prefix exist already.
std::string unused_prefix(const Graph& graph) {
  for (int k = 1;; ++k) {
    const std::string prefix = k == 1 ? "grad/" : fmt::format("grad{}/", k);
    const bool used = std::any_of(graph.nodes().begin(), graph.nodes().end(),
                                  [&](const Node& node) { return node.name.starts_with(prefix); });
    if (!used) return prefix;
  }
}

/// Per tensor up to the loss: does it depend, differentiably, on a wanted one?
std::vector<bool> depends_on(const Graph& graph, std::span<const Tensor> wanted, int last) {
  std::vector<bool> depends(index(last) + 1, false);
  for (const Tensor& w : wanted)
    if (w && w.id() <= last && is_floating(w.dtype())) depends[index(w.id())] = true;
  for (int t = 0; t <= last; ++t) {
    const TensorInfo& info = graph.tensors()[index(t)];
    if (depends[index(t)] || !is_floating(info.spec.dtype)) continue;
    if (info.base >= 0) {
      depends[index(t)] = depends[index(info.base)];
    } else if (info.writer >= 0) {
      const Node& node = graph.nodes()[index(info.writer)];
      depends[index(t)] =
          std::any_of(node.inputs.begin(), node.inputs.end(), [&](int in) { return depends[index(in)]; });
    }
  }
  return depends;
}

/// The gradient of one tensor as far as its uses have been seen. A sum is ours to update in place; a single
/// contribution is not, for a gradient rule may hand out the same tensor twice.
struct Partial {
  Tensor value;
  bool is_sum = false;
};

class Differentiation {
 public:
  Differentiation(Tensor loss, std::span<const Tensor> wanted,
                  const std::function<void(std::size_t, Tensor)>& complete)
      : graph_(loss.graph()),
        complete_(complete),
        loss_(loss),
        prefix_(unused_prefix(graph_)),
        depends_(depends_on(graph_, wanted, loss.id())),
        partial_(depends_.size()) {
    for (std::size_t i = 0; i < wanted.size(); ++i)
      if (wanted[i]) wanted_by_id_.emplace(wanted[i].id(), i);
  }

  /// Every use of a tensor (a view, or a node's output) has a larger id than the tensor, so one walk down the
  /// ids sees all contributions to a tensor before it hands its gradient on.
  void run() {
    if (!depends_[index(loss_.id())]) return;
    contribute(loss_.id(), fill(graph_, loss_.spec(), 1, prefix_ + "seed"));
    for (int t = loss_.id(); t >= 0; --t) {
      if (!depends_[index(t)]) continue;
      const TensorInfo info = graph_.tensors()[index(t)];
      if (info.base >= 0)
        through_view(t, info.base);
      else if (info.writer >= 0 && t == first_dependent_output(info.writer))
        through_node(info.writer);
      tell_complete(t);
    }
  }

  Tensor gradient(const Tensor& w) const {
    return w && index(w.id()) < partial_.size() ? partial_[index(w.id())].value : Tensor();
  }

 private:
  /// Of a node's outputs, consecutive ids, the one the walk reaches last: by then all their gradients are
  /// complete.
  int first_dependent_output(int node) const {
    for (int output : graph_.nodes()[index(node)].outputs)
      if (index(output) < depends_.size() && depends_[index(output)]) return output;
    return -1;
  }

  void tell_complete(int t) {
    if (!complete_ || !partial_[index(t)].value) return;
    for (auto [at, end] = wanted_by_id_.equal_range(t); at != end; ++at)
      complete_(at->second, partial_[index(t)].value);
  }

  void through_view(int view, int base) {
    const Tensor gradient = partial_[index(view)].value;
    if (gradient && depends_[index(base)])
      contribute(base, graph_.reshape(gradient, graph_.spec(base).shape));
  }

  void through_node(int id) {
    const Node node = graph_.nodes()[index(id)];  // a copy: appending nodes moves them
    std::vector<Tensor> inputs, outputs, output_gradients;
    std::vector<bool> wanted;
    for (int t : node.inputs) inputs.emplace_back(graph_, t), wanted.push_back(depends_[index(t)]);
    for (int t : node.outputs) {
      outputs.emplace_back(graph_, t);
      output_gradients.push_back(index(t) < partial_.size() ? partial_[index(t)].value : Tensor());
    }
    const auto any = [](const auto& range) {
      return std::find(range.begin(), range.end(), true) != range.end();
    };
    const bool reached = std::any_of(output_gradients.begin(), output_gradients.end(),
                                     [](const Tensor& g) { return bool(g); });
    if (!reached || !any(wanted)) return;
    const std::vector<Tensor> found =
        node.op->vjp({inputs, outputs, output_gradients, wanted, prefix_ + node.name});
    SWAPADVISOR_ASSERT(found.size() <= inputs.size(), "[{} {}] gave {} gradients for {} inputs",
                       node.op->type(), node.name, found.size(), inputs.size());
    for (std::size_t i = 0; i < found.size(); ++i)
      if (found[i] && wanted[i]) contribute(node.inputs[i], found[i]);
  }

  void contribute(int t, Tensor value) {
    require_same(value.spec(), fmt::format("the gradient of '{}'", Tensor(graph_, t).name()), graph_.spec(t),
                 "the tensor");
    Partial& partial = partial_[index(t)];
    if (!partial.value) {
      partial.value = value;
    } else if (!partial.is_sum) {
      partial = {add(partial.value, value, sum_name(t)), true};
    } else {
      partial.value = accumulate(partial.value, value, sum_name(t));
    }
  }

  /// Numbered per buffer, which may have several tensors (views, updates) with several partial sums each.
  std::string sum_name(int t) {
    const int buffer = graph_.tensors()[index(t)].buffer;
    return fmt::format("{}sum/{}/{}", prefix_, Tensor(graph_, t).name(), ++sums_[buffer]);
  }

  Graph& graph_;
  std::unordered_multimap<int, std::size_t> wanted_by_id_;
  const std::function<void(std::size_t, Tensor)>& complete_;
  Tensor loss_;
  std::string prefix_;
  std::vector<bool> depends_;
  std::vector<Partial> partial_;
  std::unordered_map<int, int> sums_;
};

}  // namespace

std::vector<Tensor> gradients(Tensor loss, std::span<const Tensor> wanted,
                              const std::function<void(std::size_t, Tensor)>& complete) {
  if (!loss || !is_floating(loss.dtype()) || loss.spec().numel() != 1)
    fail("gradients need a loss of one f32 or f64 element, got {}",
         loss ? to_string(loss.spec()) : "nothing");
  Differentiation differentiation(loss, wanted, complete);
  differentiation.run();
  std::vector<Tensor> found;
  for (const Tensor& w : wanted) found.push_back(differentiation.gradient(w));
  return found;
}

}  // namespace swapadvisor
