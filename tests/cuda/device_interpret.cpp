#include "device_interpret.h"

#include <algorithm>

#include "standin_backend.h"

namespace swapadvisor::test {
namespace {

constexpr std::int64_t alignment = 256, guard_bytes = 256;
constexpr std::byte guard{0xA5};

constexpr std::size_t index(int id) {
  return static_cast<std::size_t>(id);
}

/// A kernel from what `run` does with the device's stream.
template <class F>
std::unique_ptr<Kernel> make_declared_kernel(F f) {
  class DeclaredKernel final : public Kernel {
   public:
    explicit DeclaredKernel(F function) : function_(std::move(function)) {}
    void run(NativeStream stream, const KernelArgs&) const override { function_(stream); }

   private:
    F function_;
  };
  return std::make_unique<DeclaredKernel>(std::move(f));
}

/// All memory of one step: the arena, and a copy of it on the host.
class DeviceStep {
 public:
  DeviceStep(const Backend& backend, const Graph& graph, const KernelSet& host_kernels,
             const InterpretOptions& options)
      : graph_(graph),
        options_(options),
        stream_(backend.device->stream(StreamKind::compute)) {
    for (const Node& node : graph.nodes())
      kernels_.push_back(prepare(backend.kernels.contains(node.op->type()) ? backend.kernels : host_kernels,
                                 node, backend.kernels.contains(node.op->type())));
    std::int64_t workspace = 0;
    for (const auto& kernel : kernels_) workspace = std::max(workspace, kernel->workspace_bytes());
    for (const Buffer& buffer : graph.buffers()) offsets_.push_back(place(buffer.spec.bytes()));
    workspace_ = place(workspace);
    constexpr std::int64_t usual_bytes = std::int64_t{16} << 20;  // so that it rarely grows
    arena_ = backend.device->arena(std::max(end_, usual_bytes));
    host_ = backend.device->host_alloc(end_);
    std::fill_n(host_->data(), end_, guard);
  }

  void load(const HostBuffers& buffers) {
    for (std::size_t i = 0; i < offsets_.size(); ++i) {
      const Buffer& buffer = graph_.buffers()[i];
      std::byte* to = host_->data() + offsets_[i];
      std::fill_n(to, buffer.spec.bytes(), options_.poison);
      if (buffer.kind == BufferKind::temporary || buffer.kind == BufferKind::output) continue;
      const auto& bytes = buffers.at(buffer.name);
      std::copy(bytes.begin(), bytes.end(), to);
    }
    stream_.copy(arena_, host_->data(), end_);
  }

  void run(int id) {
    const Node& node = graph_.nodes()[index(id)];
    const Kernel& kernel = *kernels_[index(id)];
    if (!on_device_[index(id)]) return run_on_host(node, kernel);
    std::vector<const void*> inputs;
    std::vector<void*> outputs;
    for (int t : node.outputs) outputs.push_back(arena_ + offset(t));
    for (int t : node.inputs) inputs.push_back(arena_ + offset(t));
    if (options_.alias && options_.alias->node == id) share(node, inputs, outputs);
    launch_declared(kernel, node,
                    {inputs, outputs, kernel.workspace_bytes() == 0 ? nullptr : arena_ + workspace_});
  }

  void store(HostBuffers& buffers) {
    stream_.copy(host_->data(), arena_, end_);
    stream_.synchronize();
    check_guards();
    for (std::size_t i = 0; i < offsets_.size(); ++i) {
      const Buffer& buffer = graph_.buffers()[i];
      const std::byte* from = host_->data() + offsets_[i];
      buffers[buffer.name].assign(from, from + buffer.spec.bytes());
    }
  }

 private:
  std::unique_ptr<Kernel> prepare(const KernelSet& set, const Node& node, bool on_device) {
    std::vector<TensorSpec> inputs, outputs;
    for (int t : node.inputs) inputs.push_back(graph_.spec(t));
    for (int t : node.outputs) outputs.push_back(graph_.spec(t));
    on_device_.push_back(on_device);
    const KernelContext context{1, options_.seed};
    return set.prepare({*node.op, inputs, outputs, context});
  }

  std::int64_t place(std::int64_t bytes) {
    const std::int64_t at =
        (end_ + guard_bytes + alignment - 1) / alignment * alignment + options_.shift_bytes;
    used_.emplace_back(at, at + bytes);
    end_ = at + bytes + guard_bytes;
    return at;
  }
  std::int64_t offset(int tensor) const {
    const auto& t = graph_.tensors()[index(tensor)];
    return offsets_[index(t.buffer)] + t.byte_offset;
  }

  /// As the interpreter of the CPU: the output's own memory holds a copy of the input.
  void share(const Node& node, std::vector<const void*>& inputs, const std::vector<void*>& outputs) {
    const auto [id, output, input] = *options_.alias;
    const int tensor = node.inputs[index(input)];
    const std::int64_t bytes = graph_.spec(tensor).bytes();
    stream_.copy(host_->data(), inputs[index(input)], bytes);
    stream_.copy(outputs[index(output)], host_->data(), bytes);
    stream_.synchronize();
    const int buffer = graph_.tensors()[index(tensor)].buffer;
    for (std::size_t i = 0; i < inputs.size(); ++i)
      if (graph_.tensors()[index(node.inputs[i])].buffer == buffer) inputs[i] = outputs[index(output)];
  }

  /// Whole buffers from the operand on: strided views end somewhere in theirs.
  std::int64_t reach(int tensor) const {
    const auto& t = graph_.tensors()[index(tensor)];
    return graph_.buffers()[index(t.buffer)].spec.bytes() - t.byte_offset;
  }
  /// Tells the stand-in what the launches of `kernel` may read and write.
  void launch_declared(const Kernel& kernel, const Node& node, const KernelArgs& args) {
    std::vector<std::int64_t> read_bytes, write_bytes;
    std::vector<void*> writes(args.outputs.begin(), args.outputs.end());
    for (int t : node.inputs) read_bytes.push_back(reach(t));
    for (int t : node.outputs) write_bytes.push_back(reach(t));
    if (args.workspace != nullptr) {
      writes.push_back(args.workspace);
      write_bytes.push_back(kernel.workspace_bytes());
    }
    standin().clear_faults();
    const auto declared = make_declared_kernel([&](NativeStream stream) {
      standin().operands(stream, args.inputs.data(), read_bytes.data(), static_cast<int>(read_bytes.size()),
                         writes.data(), write_bytes.data(), static_cast<int>(writes.size()));
      kernel.run(stream, args);
      standin().end_operands(stream);
    });
    stream_.launch(*declared, args);
    stream_.synchronize();
    if (standin().faults() > 0)
      fail("[{} {}] {}", node.op->type(), node.name, std::string(standin().fault(0)));
  }

  void run_on_host(const Node& node, const Kernel& kernel) {
    stream_.copy(host_->data(), arena_, end_);
    stream_.synchronize();
    std::vector<const void*> inputs;
    std::vector<void*> outputs;
    for (int t : node.outputs) outputs.push_back(host_->data() + offset(t));
    for (int t : node.inputs) inputs.push_back(host_->data() + offset(t));
    std::vector<std::byte> workspace(static_cast<std::size_t>(kernel.workspace_bytes()));
    kernel.run(nullptr, {inputs, outputs, workspace.empty() ? nullptr : workspace.data()});
    stream_.copy(arena_, host_->data(), end_);
    stream_.synchronize();
  }

  void check_guards() const {
    std::int64_t at = 0;
    for (const auto& [begin, end] : used_) {
      if (std::any_of(host_->data() + at, host_->data() + begin, [](std::byte b) { return b != guard; }))
        fail("a kernel wrote outside its outputs and workspace, between bytes {} and {}", at, begin);
      at = end;
    }
  }

  const Graph& graph_;
  const InterpretOptions& options_;
  Stream& stream_;
  std::vector<std::unique_ptr<Kernel>> kernels_;
  std::vector<bool> on_device_;
  std::vector<std::int64_t> offsets_;
  std::vector<std::pair<std::int64_t, std::int64_t>> used_;
  std::int64_t workspace_ = 0, end_ = 0;
  std::byte* arena_ = nullptr;
  std::unique_ptr<HostMemory> host_;
};

}  // namespace

void interpret_on_device(const Backend& backend, const Graph& graph, const KernelSet& host_kernels,
                         HostBuffers& buffers, const InterpretOptions& options) {
  DeviceStep step(backend, graph, host_kernels, options);
  step.load(buffers);
  for (std::size_t i = 0; i < graph.nodes().size(); ++i) step.run(static_cast<int>(i));
  step.store(buffers);
}

}  // namespace swapadvisor::test
