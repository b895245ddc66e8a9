#include <swapadvisor/core/graph.h>

namespace swapadvisor {

const TensorSpec& Tensor::spec() const { return graph_->spec(id_); }

const std::string& Tensor::name() const {
  const int buffer = graph_->tensors()[static_cast<std::size_t>(id_)].buffer;
  return graph_->buffers()[static_cast<std::size_t>(buffer)].name;
}

double bytes_of(std::span<const TensorSpec> inputs, std::span<const TensorSpec> outputs) {
  double bytes = 0;
  for (const TensorSpec& spec : inputs) bytes += static_cast<double>(spec.bytes());
  for (const TensorSpec& spec : outputs) bytes += static_cast<double>(spec.bytes());
  return bytes;
}

Cost Op::cost(std::span<const TensorSpec> inputs, std::span<const TensorSpec> outputs) const {
  return {0, bytes_of(inputs, outputs)};
}

std::vector<Tensor> Op::vjp(const VjpContext& context) const {
  fail("[{} {}] has no gradient", type(), context.name);
}

bool in_scope(std::string_view name, std::string_view path) {
  if (path.empty() || name == path) return true;
  return name.size() > path.size() && name.starts_with(path) && name[path.size()] == '.';
}

int Graph::add_buffer(std::string name, BufferKind kind, const TensorSpec& spec, const Initializer& init) {
  const int id = static_cast<int>(buffers_.size());
  if (!buffer_by_name_.emplace(name, id).second) fail("the graph has two buffers named '{}'", name);
  buffers_.push_back({std::move(name), kind, spec, init, -1});
  return id;
}

int Graph::add_tensor(TensorInfo info) {
  tensors_.push_back(std::move(info));
  return static_cast<int>(tensors_.size()) - 1;
}

Tensor Graph::named_buffer(const std::string& name, BufferKind kind, const TensorSpec& spec, const Initializer& init) {
  if (name.empty()) fail("a parameter, state or input needs a name");
  const int buffer = add_buffer(name, kind, spec, init);
  const int tensor = add_tensor({spec, buffer, 0, -1, -1});
  buffers_[static_cast<std::size_t>(buffer)].tensor = tensor;
  return {*this, tensor};
}

Tensor Graph::parameter(const std::string& name, const TensorSpec& spec, const Initializer& init) {
  return named_buffer(name, BufferKind::parameter, spec, init);
}

Tensor Graph::state(const std::string& name, const TensorSpec& spec, const Initializer& init) {
  return named_buffer(name, BufferKind::state, spec, init);
}

Tensor Graph::input(const std::string& name, const TensorSpec& spec) {
  return named_buffer(name, BufferKind::input, spec, {});
}

void Graph::tie(const std::string& name, Tensor tensor) {
  const TensorInfo& info = tensors_[static_cast<std::size_t>(tensor.id())];
  Buffer& buffer = buffers_[static_cast<std::size_t>(info.buffer)];
  if (!is_persistent(buffer.kind) || info.base >= 0)
    fail("'{}' can be tied to a whole parameter or state only, not to '{}'", name, buffer.name);
  const auto [found, added] = buffer_by_name_.emplace(name, info.buffer);
  if (found->second != info.buffer) fail("the graph has two buffers named '{}'", name);
  if (added) buffer.aliases.push_back(name);
}

void Graph::output(Tensor tensor, const std::string& name) {
  const TensorInfo& info = tensors_[static_cast<std::size_t>(tensor.id())];
  Buffer& buffer = buffers_[static_cast<std::size_t>(info.buffer)];
  if (buffer.kind != BufferKind::temporary || info.base >= 0)
    fail("output '{}' must be a whole temporary value, not a view or '{}'", name, buffer.name);
  if (name != buffer.name && !buffer_by_name_.emplace(name, info.buffer).second)
    fail("the graph has two buffers named '{}'", name);
  if (name != buffer.name) buffer_by_name_.erase(buffer.name);
  buffer.name = name;
  buffer.kind = BufferKind::output;
}

std::vector<Tensor> Graph::apply(std::shared_ptr<const Op> op, std::vector<Tensor> inputs, std::string_view name) {
  Node node{name.empty() ? fmt::format("{}_{}", op->type(), nodes_.size()) : std::string(name), op, {}, {}};
  const int id = static_cast<int>(nodes_.size());
  for (const Tensor& input : inputs) {
    SWAPADVISOR_ASSERT(input && &input.graph() == this, "[{} {}] has an operand of no or another graph", op->type(),
                       node.name);
    const TensorInfo& info = tensors_[static_cast<std::size_t>(input.id())];
    const Buffer& buffer = buffers_[static_cast<std::size_t>(info.buffer)];
    const int current = tensors_[static_cast<std::size_t>(buffer.tensor)].writer;
    if (info.writer != current)
      fail("[{} {}] reads '{}' as it was before '{}' overwrote it", op->type(), node.name, buffer.name,
           nodes_[static_cast<std::size_t>(current)].name);
    node.inputs.push_back(input.id());
  }
  std::vector<TensorSpec> specs;
  try {
    specs = op->infer(input_specs(node));
  } catch (const Error& error) {
    fail("[{} {}] {}", op->type(), node.name, error.what());
  }
  std::vector<int> updated(specs.size(), -1);
  for (auto [out, in] : op->traits().updates) updated[static_cast<std::size_t>(out)] = in;
  std::vector<Tensor> outputs;
  for (std::size_t i = 0; i < specs.size(); ++i) {
    int buffer = -1;
    if (updated[i] >= 0) {
      const TensorInfo& info = tensors_[static_cast<std::size_t>(node.inputs[static_cast<std::size_t>(updated[i])])];
      buffer = info.buffer;
      const Buffer& target = buffers_[static_cast<std::size_t>(buffer)];
      if (info.base >= 0) fail("[{} {}] cannot update '{}' through a view", op->type(), node.name, target.name);
      if (target.kind == BufferKind::input) fail("[{} {}] cannot update input '{}'", op->type(), node.name, target.name);
    } else {
      const std::string suffix = specs.size() > 1 ? fmt::format(":{}", i) : "";
      buffer = add_buffer(node.name + suffix, BufferKind::temporary, specs[i], {});
    }
    const int tensor = add_tensor({specs[i], buffer, 0, id, -1});
    buffers_[static_cast<std::size_t>(buffer)].tensor = tensor;
    node.outputs.push_back(tensor);
    outputs.emplace_back(*this, tensor);
  }
  nodes_.push_back(std::move(node));
  return outputs;
}

Tensor Graph::add_view(Tensor tensor, const TensorSpec& spec, const View& view, std::int64_t offset) {
  TensorInfo info = tensors_[static_cast<std::size_t>(tensor.id())];
  info.spec = spec;
  info.byte_offset += offset * size_of(spec.dtype);
  info.base = tensor.id();
  info.view = view;
  return {*this, add_tensor(info)};
}

Tensor Graph::reshape(Tensor tensor, const Shape& shape) {
  const std::optional<TensorSpec> spec = reshaped(tensor.spec(), shape);
  if (!spec) fail("cannot view {} as {}", to_string(tensor.spec()), to_string(shape));
  return add_view(tensor, *spec, {});
}

Tensor Graph::permute(Tensor tensor, const Shape& order) {
  TensorSpec spec = tensor.spec();
  std::array<bool, Shape::max_rank> used{};
  bool valid = order.rank() == spec.rank();
  for (int i = 0; valid && i < spec.rank(); ++i) {
    valid = order[i] >= 0 && order[i] < spec.rank() && !used[static_cast<std::size_t>(order[i])];
    if (valid) used[static_cast<std::size_t>(order[i])] = true;
  }
  if (!valid) fail("cannot order the dimensions of {} as {}", to_string(spec), to_string(order));
  for (int i = 0; i < spec.rank(); ++i) {
    const int from = static_cast<int>(order[i]);
    spec.shape[i] = tensor.spec().shape[from];
    spec.strides[i] = tensor.spec().strides[from];
  }
  return add_view(tensor, spec, {.kind = View::Kind::permute, .order = order});
}

Tensor Graph::slice(Tensor tensor, int dimension, std::int64_t start, std::int64_t length) {
  TensorSpec spec = tensor.spec();
  if (dimension < 0 || dimension >= spec.rank()) fail("{} has no dimension {}", to_string(spec), dimension);
  const std::int64_t extent = spec.shape[dimension];
  if (start < 0 || length < 1 || start > extent - length)
    fail("cannot take {} elements from {} on of dimension {} of {}", length, start, dimension, to_string(spec));
  spec.shape[dimension] = length;
  return add_view(tensor, spec, {.kind = View::Kind::slice, .order = {}, .dimension = dimension, .start = start},
                  start * spec.strides[dimension]);
}

Tensor Graph::find(const std::string& name) {
  const int buffer = find_buffer(name);
  return buffer < 0 ? Tensor() : Tensor(*this, buffers_[static_cast<std::size_t>(buffer)].tensor);
}

int Graph::find_buffer(const std::string& name) const {
  const auto found = buffer_by_name_.find(name);
  return found == buffer_by_name_.end() ? -1 : found->second;
}

std::vector<Tensor> Graph::parameters() {
  std::vector<Tensor> found;
  for (const Buffer& buffer : buffers_)
    if (buffer.kind == BufferKind::parameter) found.emplace_back(*this, buffer.tensor);
  return found;
}

std::vector<Tensor> Graph::trainable_parameters() {
  std::vector<Tensor> found;
  for (const Buffer& buffer : buffers_)
    if (buffer.kind == BufferKind::parameter && !buffer.frozen) found.emplace_back(*this, buffer.tensor);
  return found;
}

void Graph::freeze(std::string_view path) {
  bool found = false;
  for (Buffer& buffer : buffers_)
    if (buffer.kind == BufferKind::parameter && in_scope(buffer.name, path)) buffer.frozen = found = true;
  if (!found) fail("graph '{}' has no parameter '{}' to freeze, and none below it", name_, path);
}

void Graph::defer_update(std::function<void(Tensor finite)> update) { deferred_.push_back(std::move(update)); }

void Graph::apply_deferred_updates(Tensor finite) {
  for (const auto& update : std::exchange(deferred_, {})) update(finite);
}

std::vector<TensorSpec> Graph::input_specs(const Node& node) const {
  std::vector<TensorSpec> specs;
  for (int tensor : node.inputs) specs.push_back(spec(tensor));
  return specs;
}

std::vector<TensorSpec> Graph::output_specs(const Node& node) const {
  std::vector<TensorSpec> specs;
  for (int tensor : node.outputs) specs.push_back(spec(tensor));
  return specs;
}

PlanGraph lower(const Graph& graph, const std::vector<OpProfile>& profiles) {
  SWAPADVISOR_ASSERT(profiles.empty() || profiles.size() == graph.nodes().size(), "{} profiles for {} nodes",
                     profiles.size(), graph.nodes().size());
  PlanGraph plan{graph.name(), {}, {}};
  for (const Buffer& buffer : graph.buffers()) plan.buffers.push_back({buffer.name, buffer.spec.bytes(), buffer.kind});
  for (std::size_t i = 0; i < graph.nodes().size(); ++i) {
    const Node& node = graph.nodes()[i];
    const Traits traits = node.op->traits();
    const OpProfile profile = profiles.empty() ? OpProfile{} : profiles[i];
    PlanOp op{node.name, std::string(node.op->type()), {}, {}, profile.workspace_bytes, profile.seconds,
              traits.recomputable && traits.updates.empty(), traits.inplace, profile.algorithm};
    for (int tensor : node.inputs) op.inputs.push_back(graph.tensors()[static_cast<std::size_t>(tensor)].buffer);
    for (int tensor : node.outputs) op.outputs.push_back(graph.tensors()[static_cast<std::size_t>(tensor)].buffer);
    plan.ops.push_back(std::move(op));
  }
  return plan;
}

}  // namespace swapadvisor
