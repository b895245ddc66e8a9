// The static graph: buffers, tensors (views of buffers) and nodes (ops applied to tensors), all by index, in
// builder order. Forward, backward and optimizer update of one step are one graph.
#pragma once

#include <swapadvisor/core/initializer.h>
#include <swapadvisor/core/op.h>
#include <swapadvisor/core/plan_graph.h>

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace swapadvisor {

/// True for the name `path` itself and for names below it: "layer1" has "layer1.0.conv1.weight" in it, but
/// not "layer10.weight". An empty path has every name in it.
bool in_scope(std::string_view name, std::string_view path);

/// Storage. Its layout is the canonical one for parameters, states, inputs and outputs.
struct Buffer {
  std::string name;
  BufferKind kind = BufferKind::temporary;
  TensorSpec spec;
  Initializer init;                    ///< persistent buffers only
  int tensor = -1;                     ///< the tensor that is its current value
  bool frozen = false;                 ///< a parameter that is not trained, see `Graph::freeze`
  std::vector<std::string> aliases{};  ///< its other names, see `Graph::tie`
};

/// How a view shows the tensor it was made from.
struct View {
  /// What was changed.
  enum class Kind : std::uint8_t { reshape, permute, slice };

  Kind kind = Kind::reshape;
  Shape order;             ///< permute: dimension i of the view is dimension order[i] of the base
  int dimension = 0;       ///< slice: the dimension that is cut
  std::int64_t start = 0;  ///< slice: the first element of it
};

/// A tensor: a typed view of a buffer, as one node wrote it.
struct TensorInfo {
  TensorSpec spec;
  int buffer = -1;
  std::int64_t byte_offset = 0;
  int writer =
      -1;  ///< node that wrote the value; −1 for inputs and persistent buffers before their first update
  int base = -1;  ///< for views: the tensor viewed
  View view{};    ///< and how
};

/// An op applied to tensors.
struct Node {
  std::string name;
  std::shared_ptr<const Op> op;
  std::vector<int> inputs;   ///< tensor ids
  std::vector<int> outputs;  ///< tensor ids
};

/// Not copyable or movable, since tensors point to it. Not thread-safe while it is being built; const use is.
class Graph {
 public:
  explicit Graph(std::string name = {}) : name_(std::move(name)) {}
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  const std::string& name() const { return name_; }

  /// Named buffers. Throw `Error` when the name is taken or empty.
  Tensor parameter(const std::string& name, const TensorSpec& spec, const Initializer& init);
  Tensor state(const std::string& name, const TensorSpec& spec, const Initializer& init);
  Tensor input(const std::string& name, const TensorSpec& spec);

  /// Gives a persistent buffer one more name: weights that are tied are one buffer, with one gradient and one
  /// update. `find` and `find_buffer` know all names, files of weights may use any. Again the same: nothing
  /// happens. Throws `Error` when the name is another buffer's, or for views and other kinds of buffers.
  void tie(const std::string& name, Tensor tensor);

  /// Makes the value of `tensor`, a whole temporary buffer, an output that the host can read after each
  /// iteration: the loss, logits, or any intermediate value (`graph.output(graph.find("layer1.0.conv1"),
  /// "features")`). Of a buffer that is updated in place the host reads the last value. `name` becomes the
  /// buffer's name. Throws `Error` for views and for other kinds of buffers.
  void output(Tensor tensor, const std::string& name);

  /// Appends a node; returns its outputs. An empty name becomes "TYPE_INDEX". Throws `Error` prefixed "[type
  /// name]" when inference refuses, or when an operand is a value that a later op has overwritten.
  std::vector<Tensor> apply(std::shared_ptr<const Op> op, std::vector<Tensor> inputs,
                            std::string_view name = {});

  /// Read-only views of the same bytes, which keep the whole buffer alive. ops/reshape.h, transpose.h,
  /// slice.h and split.h have builders on top of them that copy where a view is not possible. With another
  /// shape of as many elements. Throws `Error` when no strides express it, see `reshaped`.
  Tensor reshape(Tensor tensor, const Shape& shape);
  /// With the dimensions in another order: dimension i of the view is dimension order[i] of `tensor`. Throws
  /// `Error` when `order` is not a permutation of 0, 1, ….
  Tensor permute(Tensor tensor, const Shape& order);
  /// Elements [start, start + length) of one dimension. Throws `Error` when they are not there.
  Tensor slice(Tensor tensor, int dimension, std::int64_t start, std::int64_t length);

  // Deques: references to elements, such as a tensor's name or spec, stay valid while the graph grows.
  const std::deque<Buffer>& buffers() const { return buffers_; }
  const std::deque<TensorInfo>& tensors() const { return tensors_; }
  const std::deque<Node>& nodes() const { return nodes_; }
  const TensorSpec& spec(int tensor) const { return tensors_[static_cast<std::size_t>(tensor)].spec; }

  /// The current value of a named buffer; absent if there is none of that name.
  Tensor find(const std::string& name);
  int find_buffer(const std::string& name) const;  ///< −1 if there is none
  /// Current values of all parameters, in builder order.
  std::vector<Tensor> parameters();
  /// Those that are not frozen.
  std::vector<Tensor> trainable_parameters();

  /// Freezes the parameters in the scope `path` (see `in_scope`; empty: all): no gradient, no update and no
  /// optimizer state is made for them. Call it before `minimize`. States such as running statistics are no
  /// parameters; layers built in `scope.in_mode(Mode::eval)` leave those alone too. Throws `Error` when no
  /// parameter is there.
  void freeze(std::string_view path);

  /// State updates of the forward pass (running statistics) that must not happen when the loss is not finite,
  /// so they wait until the flag exists: layers call `defer_update`, whoever builds the step calls
  /// `apply_deferred_updates`.
  void defer_update(std::function<void(Tensor finite)> update);
  void apply_deferred_updates(Tensor finite);

  std::vector<TensorSpec> input_specs(const Node& node) const;
  std::vector<TensorSpec> output_specs(const Node& node) const;

 private:
  Tensor named_buffer(const std::string& name, BufferKind kind, const TensorSpec& spec,
                      const Initializer& init);
  int add_buffer(std::string name, BufferKind kind, const TensorSpec& spec, const Initializer& init);
  int add_tensor(TensorInfo info);
  /// A view of `tensor` with another spec, `offset` elements further on.
  Tensor add_view(Tensor tensor, const TensorSpec& spec, const View& view, std::int64_t offset = 0);

  std::string name_;
  std::deque<Buffer> buffers_;
  std::deque<TensorInfo> tensors_;
  std::deque<Node> nodes_;
  std::unordered_map<std::string, int> buffer_by_name_;
  std::vector<std::function<void(Tensor)>> deferred_;
};

/// Measured or modelled cost of one node on a device.
struct OpProfile {
  double seconds = 0;
  std::int64_t workspace_bytes = 0;
  std::string algorithm{};  ///< as `PlanOp::algorithm`
};

/// The planner's view of a graph. `profiles`: one per node, or empty for zeros.
PlanGraph lower(const Graph& graph, const std::vector<OpProfile>& profiles);

}  // namespace swapadvisor
