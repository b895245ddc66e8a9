#include <swapadvisor/autograd/gradients.h>
#include <swapadvisor/ops/add.h>
#include <swapadvisor/ops/contiguous.h>
#include <swapadvisor/ops/fill.h>
#include <swapadvisor/ops/reshape.h>
#include <swapadvisor/ops/slice.h>

#include <algorithm>
#include <limits>
#include <unordered_set>

namespace swapadvisor {
namespace {

constexpr std::size_t index(int id) {
  return static_cast<std::size_t>(id);
}

/// "grad/", or "grad2/" … when nodes of that prefix exist already.
std::string unused_prefix(const Graph& graph) {
  constexpr std::string_view word = "grad";
  std::unordered_set<std::string_view> used;
  for (const Node& node : graph.nodes()) {
    const std::string_view name = node.name;
    if (name.starts_with(word)) used.insert(name.substr(0, name.find('/') + 1));  // npos + 1: nothing
  }
  for (int k = 1;; ++k) {
    std::string prefix = k == 1 ? "grad/" : fmt::format("grad{}/", k);
    if (!used.contains(prefix)) return prefix;
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

/// A slice of a tensor and its gradient.
struct SlicePart {
  View view;
  Tensor gradient;
};

/// The slice of `parts` along `dimension` that starts first, at `start` or later; −1 if there is none.
int first_from(const std::vector<SlicePart>& parts, int dimension, std::int64_t start) {
  int best = -1;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const View& view = parts[i].view;
    if (view.dimension != dimension || view.start < start) continue;
    if (best < 0 || view.start < parts[index(best)].view.start) best = static_cast<int>(i);
  }
  return best;
}

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
    for (const Tensor& w : wanted)
      if (w) wanted_ids_.insert(w.id());
    if (complete_) find_completions(wanted);
  }

  /// Every use of a tensor (a view, or a node's output) has a larger id than the tensor, so one walk down the
  /// ids sees all contributions to a tensor before it hands its gradient on.
  void run() {
    if (!depends_[index(loss_.id())]) return;
    contribute(loss_.id(), fill(graph_, loss_.spec(), 1, prefix_ + "seed"));
    for (int t = loss_.id(); t >= 0; --t) {
      if (!depends_[index(t)]) continue;
      join_slices(t);
      const TensorInfo info = graph_.tensors()[index(t)];
      if (info.base < 0 || wanted_ids_.contains(t)) give_own_strides(t);
      if (info.base >= 0)
        through_view(t, info.base, info.view);
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

  /// Where the walk has seen all uses of a wanted tensor: at the tensor itself, which keeps updates next to
  /// the layer that reads it. When something older than the loss's own part reads it as well (another
  /// micro-batch), the tensor lies far below, and its gradient would wait for long: then at the lowest use,
  /// if none is a view.
  void find_completions(std::span<const Tensor> wanted) {
    std::vector<bool> reaches(partial_.size(), false);
    reaches[index(loss_.id())] = true;
    std::unordered_map<int, int> lowest_use;
    std::unordered_set<int> read_elsewhere;
    for (const Tensor& w : wanted)
      if (w) lowest_use.emplace(w.id(), std::numeric_limits<int>::max());
    const auto read = [&](int t, bool for_loss, int walked_at) {
      if (for_loss) reaches[index(t)] = true;
      const auto found = lowest_use.find(t);
      if (found == lowest_use.end()) return;
      if (for_loss && walked_at >= 0)
        found->second = std::min(found->second, walked_at);
      else if (!for_loss)
        read_elsewhere.insert(t);
    };
    for (int t = loss_.id(); t >= 0; --t) {
      const TensorInfo& info = graph_.tensors()[index(t)];
      if (info.base >= 0) {
        read(info.base, reaches[index(t)], info.base);
      } else if (info.writer >= 0) {
        const Node& node = graph_.nodes()[index(info.writer)];
        if (t != std::min(node.outputs.back(), loss_.id()))
          continue;  // once per node, when all its readers are known
        const bool for_loss = std::any_of(node.outputs.begin(), node.outputs.end(), [&](int output) {
          return output <= loss_.id() && reaches[index(output)];
        });
        for (int input : node.inputs) read(input, for_loss, first_dependent_output(info.writer));
      }
    }
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      if (!wanted[i]) continue;
      const int w = wanted[i].id(), use = lowest_use.at(w);
      const bool early = read_elsewhere.contains(w) && use != std::numeric_limits<int>::max();
      completions_.emplace(early ? use : w, std::pair(i, w));
    }
  }

  void tell_complete(int t) {
    for (auto [at, end] = completions_.equal_range(t); at != end; ++at) {
      const auto [i, w] = at->second;
      give_own_strides(w);
      if (partial_[index(w)].value) complete_(i, partial_[index(w)].value);
    }
  }

  /// Views take gradients in any strides. Ops, and whoever asked for the gradient, get it like the tensor.
  void give_own_strides(int t) {
    Tensor& value = partial_[index(t)].value;
    if (value) value = like_tensor(value, t);
  }

  void through_view(int t, int base, const View& view) {
    const Tensor gradient = partial_[index(t)].value;
    if (!gradient || !depends_[index(base)]) return;
    switch (view.kind) {
      case View::Kind::reshape:
        return contribute(base, numbered("copy", base, [&](const std::string& name) {
                            return reshape(gradient, graph_.spec(base).shape, name);
                          }));
      case View::Kind::permute: {
        Shape inverse = view.order;
        for (int i = 0; i < inverse.rank(); ++i) inverse[static_cast<int>(view.order[i])] = i;
        return contribute(base, graph_.permute(gradient, inverse));
      }
      case View::Kind::slice:
        slices_[base].push_back({view, gradient});
    }
  }

  /// Slices wait until all of a tensor's are there, so that those of a split become one op, not a sum of
  /// padded ones.
  void join_slices(int t) {
    const auto found = slices_.find(t);
    if (found == slices_.end()) return;
    std::vector<SlicePart> parts = std::move(found->second);
    slices_.erase(found);
    while (!parts.empty()) {
      // One pass along the dimension of the first part; what overlaps is left for the next.
      const int dimension = parts[0].view.dimension;
      std::vector<Tensor> row;
      std::vector<std::int64_t> starts;
      std::int64_t end = 0;
      for (int i = first_from(parts, dimension, 0); i >= 0; i = first_from(parts, dimension, end)) {
        const SlicePart& part = parts[index(i)];
        row.push_back(part.gradient);
        starts.push_back(part.view.start);
        end = part.view.start + part.gradient.shape()[dimension];
        parts.erase(parts.begin() + i);
      }
      contribute(t, numbered("slices", t, [&](const std::string& name) {
                   return slice_backward(row, graph_.spec(t), dimension, starts, name);
                 }));
    }
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
    const TensorSpec& spec = graph_.spec(t);
    if (value.dtype() != spec.dtype || value.shape() != spec.shape)
      fail("the gradient of '{}' is {} but the tensor is {}; they must be alike", Tensor(graph_, t).name(),
           to_string(value.spec()), to_string(spec));
    Partial& partial = partial_[index(t)];
    if (!partial.value) {
      partial.value = value;
      return;
    }
    value = like_tensor(value, t);
    give_own_strides(t);
    partial.value = numbered("sum", t, [&](const std::string& name) {
      return partial.is_sum ? accumulate(partial.value, value, name) : add(partial.value, value, name);
    });
    partial.is_sum = true;
  }

  Tensor like_tensor(Tensor value, int t) {
    return numbered("copy", t,
                    [&](const std::string& name) { return contiguous_like(value, graph_.spec(t), name); });
  }

  /// What `build` makes, under the name "grad/WHAT/BUFFER/1", …: a buffer may have several tensors (views,
  /// updates), each with several such nodes. Where no node was needed the number stays free.
  template <class F>
  Tensor numbered(const char* what, int t, F build) {
    const std::string path = fmt::format("{}{}/{}/", prefix_, what, Tensor(graph_, t).name());
    const std::size_t nodes = graph_.nodes().size();
    int& number = numbers_[path];
    const Tensor made = build(path + std::to_string(number + 1));
    if (graph_.nodes().size() > nodes) ++number;
    return made;
  }

  Graph& graph_;
  std::unordered_multimap<int, std::pair<std::size_t, int>>
      completions_;  ///< tensor → index in `wanted`, its id
  const std::function<void(std::size_t, Tensor)>& complete_;
  std::unordered_set<int> wanted_ids_;
  Tensor loss_;
  std::string prefix_;
  std::vector<bool> depends_;
  std::vector<Partial> partial_;
  std::unordered_map<int, std::vector<SlicePart>> slices_;
  std::unordered_map<std::string, int> numbers_;
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
