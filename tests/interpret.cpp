#include "interpret.h"

#include <swapadvisor/core/parallel.h>

#include <algorithm>

namespace swapadvisor {
namespace {

constexpr std::int64_t alignment = 256, guard_bytes = 256;
constexpr std::byte guard{0xA5};

constexpr std::size_t index(int id) {
  return static_cast<std::size_t>(id);
}

/// Memory at a chosen distance from a multiple of 256, with guard bytes on both sides.
class Block {
 public:
  Block() = default;
  Block(std::int64_t bytes, std::int64_t shift, std::byte content)
      : bytes_(bytes), memory_(static_cast<std::size_t>(bytes + 2 * guard_bytes + alignment + shift), guard) {
    const auto address = reinterpret_cast<std::uintptr_t>(memory_.data()) + guard_bytes;
    begin_ = static_cast<std::int64_t>((alignment - address % alignment) % alignment) + guard_bytes + shift;
    std::fill_n(data(), bytes, content);
  }
  std::byte* data() { return memory_.data() + begin_; }
  std::int64_t bytes() const { return bytes_; }
  bool intact() const {
    const auto is_guard = [](std::byte b) { return b == guard; };
    return std::all_of(memory_.begin(), memory_.begin() + begin_, is_guard) &&
           std::all_of(memory_.begin() + begin_ + bytes_, memory_.end(), is_guard);
  }

 private:
  std::int64_t bytes_ = 0, begin_ = 0;
  std::vector<std::byte> memory_;
};

/// All memory of one step.
class Step {
 public:
  Step(const Graph& graph, const InterpretOptions& options, const HostBuffers& host)
      : graph_(graph), options_(options) {
    for (const Buffer& buffer : graph.buffers()) {
      blocks_.emplace_back(buffer.spec.bytes(), options.shift_bytes, options.poison);
      if (buffer.kind != BufferKind::temporary && buffer.kind != BufferKind::output) load(buffer, host);
    }
  }

  void run(int id, const Kernel& kernel) {
    const Node& node = graph_.nodes()[index(id)];
    std::vector<const void*> inputs;
    std::vector<void*> outputs;
    for (int t : node.outputs) outputs.push_back(address(t));
    for (int t : node.inputs) inputs.push_back(address(t));
    if (options_.alias && options_.alias->node == id) share(node, inputs, outputs);
    Block workspace(kernel.workspace_bytes(), options_.shift_bytes, options_.poison);
    const auto before = read_only_contents(node);
    kernel.run(nullptr, {inputs, outputs, kernel.workspace_bytes() == 0 ? nullptr : workspace.data()});
    if (!workspace.intact()) fail("[{} {}] wrote outside its workspace", node.op->type(), node.name);
    for (int t : node.outputs)
      if (!block(t).intact()) fail("[{} {}] wrote outside an output", node.op->type(), node.name);
    if (before != read_only_contents(node)) fail("[{} {}] wrote to an input", node.op->type(), node.name);
  }

  void store(HostBuffers& host) {
    for (std::size_t i = 0; i < blocks_.size(); ++i)
      host[graph_.buffers()[i].name].assign(blocks_[i].data(), blocks_[i].data() + blocks_[i].bytes());
  }

 private:
  Block& block(int tensor) { return blocks_[index(graph_.tensors()[index(tensor)].buffer)]; }
  std::byte* address(int tensor) {
    return block(tensor).data() + graph_.tensors()[index(tensor)].byte_offset;
  }

  void load(const Buffer& buffer, const HostBuffers& host) {
    const auto found = host.find(buffer.name);
    if (found == host.end()) fail("no contents for buffer '{}'", buffer.name);
    if (static_cast<std::int64_t>(found->second.size()) != buffer.spec.bytes())
      fail("buffer '{}' has {} bytes, got {}", buffer.name, buffer.spec.bytes(), found->second.size());
    std::copy(found->second.begin(), found->second.end(), blocks_.back().data());
  }

  /// The shared memory is the output's own, with the input copied to it, so that the input survives for later
  /// readers.
  void share(const Node& node, std::vector<const void*>& inputs, const std::vector<void*>& outputs) {
    const auto [id, output, input] = *options_.alias;
    const int tensor = node.inputs[index(input)];
    const auto bytes = static_cast<std::size_t>(graph_.spec(tensor).bytes());
    std::memcpy(outputs[index(output)], inputs[index(input)], bytes);
    for (std::size_t i = 0; i < inputs.size(); ++i)
      if (&block(node.inputs[i]) == &block(tensor)) inputs[i] = outputs[index(output)];
  }

  std::vector<std::vector<std::byte>> read_only_contents(const Node& node) {
    std::vector<std::vector<std::byte>> contents;
    for (int t : node.inputs) {
      const bool updated = std::any_of(node.outputs.begin(), node.outputs.end(),
                                       [&](int out) { return &block(out) == &block(t); });
      if (!updated) contents.emplace_back(block(t).data(), block(t).data() + block(t).bytes());
    }
    return contents;
  }

  const Graph& graph_;
  const InterpretOptions& options_;
  std::vector<Block> blocks_;
};

/// Calls f(logical index, storage index) for all elements.
template <class F>
void for_each_element(const TensorSpec& spec, F f) {
  std::array<std::int64_t, Shape::max_rank> position{};
  const std::int64_t n = spec.numel();
  for (std::int64_t i = 0; i < n; ++i) {
    std::int64_t offset = 0;
    for (int d = 0; d < spec.rank(); ++d) offset += position[index(d)] * spec.strides[d];
    f(static_cast<std::size_t>(i), static_cast<std::size_t>(offset));
    for (int d = spec.rank() - 1; d >= 0 && ++position[index(d)] == spec.shape[d]; --d)
      position[index(d)] = 0;
  }
}

template <class T>
std::vector<double> gather(const TensorSpec& spec, const std::vector<std::byte>& bytes) {
  const std::vector<T> stored = from_bytes<T>(bytes);
  std::vector<double> values(stored.size());
  for_each_element(spec,
                   [&](std::size_t i, std::size_t at) { values[i] = static_cast<double>(stored.at(at)); });
  return values;
}

template <class T>
std::vector<std::byte> scatter(const TensorSpec& spec, const std::vector<double>& values) {
  std::vector<T> stored(values.size());
  for_each_element(spec,
                   [&](std::size_t i, std::size_t at) { stored.at(at) = static_cast<T>(values.at(i)); });
  return to_bytes(stored);
}

std::int64_t buffer_bytes(const Graph& graph, int tensor) {
  return graph.buffers()[index(graph.tensors()[index(tensor)].buffer)].spec.bytes();
}

}  // namespace

Interpreter::Interpreter(const Graph& graph, const KernelSet& kernels, const InterpretOptions& options)
    : graph_(graph), options_(options) {
  set_thread_count(options.threads);
  kernels_ = prepare_kernels(graph, kernels, {options.threads, options.seed});
}

void Interpreter::step(HostBuffers& buffers) const {
  set_thread_count(options_.threads);
  Step step(graph_, options_, buffers);
  for (std::size_t i = 0; i < kernels_.size(); ++i) step.run(static_cast<int>(i), *kernels_[i]);
  step.store(buffers);
}

void interpret(const Graph& graph, const KernelSet& kernels, HostBuffers& buffers,
               const InterpretOptions& options) {
  Interpreter(graph, kernels, options).step(buffers);
}

HostBuffers initial_buffers(const Graph& graph, std::uint64_t seed) {
  HostBuffers buffers;
  for (const Buffer& buffer : graph.buffers()) {
    if (!is_persistent(buffer.kind)) continue;
    auto& bytes = buffers[buffer.name];
    bytes.resize(static_cast<std::size_t>(buffer.spec.bytes()));
    initialize(bytes, buffer.spec, buffer.init, buffer.name, seed);
  }
  return buffers;
}

std::vector<std::byte> tensor_bytes(const Tensor& tensor, const HostBuffers& buffers) {
  const std::vector<std::byte>& all = buffers.at(tensor.name());
  const std::int64_t offset = tensor.graph().tensors()[index(tensor.id())].byte_offset;
  return {all.begin() + offset, all.begin() + offset + tensor.spec().bytes()};
}

std::vector<Alias> allowed_aliases(const Graph& graph) {
  std::vector<Alias> aliases;
  for (std::size_t i = 0; i < graph.nodes().size(); ++i) {
    const Node& node = graph.nodes()[i];
    if (!node.op->traits().inplace) continue;
    for (std::size_t out = 0; out < node.outputs.size(); ++out)
      for (std::size_t in = 0; in < node.inputs.size(); ++in)
        if (buffer_bytes(graph, node.outputs[out]) == buffer_bytes(graph, node.inputs[in]))
          aliases.push_back({static_cast<int>(i), static_cast<int>(out), static_cast<int>(in)});
  }
  return aliases;
}

std::vector<double> to_logical(const TensorSpec& spec, const std::vector<std::byte>& bytes) {
  switch (spec.dtype) {
    case DType::f32:
      return gather<float>(spec, bytes);
    case DType::f64:
      return gather<double>(spec, bytes);
    case DType::u8:
      return gather<std::uint8_t>(spec, bytes);
    case DType::i32:
      return gather<std::int32_t>(spec, bytes);
    case DType::i64:
      return gather<std::int64_t>(spec, bytes);
    case DType::bf16:
      return gather<BFloat16>(spec, bytes);
  }
  return {};
}

std::vector<std::byte> from_logical(const TensorSpec& spec, const std::vector<double>& values) {
  SWAPADVISOR_ASSERT(static_cast<std::int64_t>(values.size()) == spec.numel(), "{} values for {}",
                     values.size(), to_string(spec));
  switch (spec.dtype) {
    case DType::f32:
      return scatter<float>(spec, values);
    case DType::f64:
      return scatter<double>(spec, values);
    case DType::u8:
      return scatter<std::uint8_t>(spec, values);
    case DType::i32:
      return scatter<std::int32_t>(spec, values);
    case DType::i64:
      return scatter<std::int64_t>(spec, values);
    case DType::bf16:
      return scatter<BFloat16>(spec, values);
  }
  return {};
}

}  // namespace swapadvisor
