#include "device_interpret.h"

#include <algorithm>

#include "declared_kernels.h"
#include "standin_backend.h"

namespace swapadvisor::test {
namespace {

constexpr std::int64_t alignment = 256, guard_bytes = 256;
constexpr std::byte guard{0xA5};

constexpr std::size_t index(int id) {
  return static_cast<std::size_t>(id);
}

/// All memory of one step: the arena, and a copy of it on the host.
class DeviceStep {
 public:
  DeviceStep(Device& device, const Graph& graph, const KernelSet& kernels, const InterpretOptions& options)
      : graph_(graph),
        options_(options),
        stream_(device.stream(StreamKind::compute)),
        kernels_(prepare_kernels(graph, kernels, {1, options.seed})) {
    std::int64_t workspace = 0;
    for (const auto& kernel : kernels_) workspace = std::max(workspace, kernel->workspace_bytes());
    for (const Buffer& buffer : graph.buffers()) offsets_.push_back(place(buffer.spec.bytes()));
    workspace_ = place(workspace);
    constexpr std::int64_t usual_bytes = std::int64_t{16} << 20;  // so that it rarely grows
    arena_ = device.arena(std::max(end_, usual_bytes));
    host_ = device.host_alloc(end_);
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
    std::vector<const void*> inputs;
    std::vector<void*> outputs;
    for (int t : node.outputs) outputs.push_back(arena_ + offset(t));
    for (int t : node.inputs) inputs.push_back(arena_ + offset(t));
    if (options_.alias && options_.alias->node == id) share(node, inputs, outputs);
    stream_.launch(kernel, {inputs, outputs, kernel.workspace_bytes() == 0 ? nullptr : arena_ + workspace_});
    if (standin().faults() > 0) fail("[{} {}] {}", node.op->type(), node.name, first_fault());
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
  std::vector<std::int64_t> offsets_;
  std::vector<std::pair<std::int64_t, std::int64_t>> used_;
  std::int64_t workspace_ = 0, end_ = 0;
  std::byte* arena_ = nullptr;
  std::unique_ptr<HostMemory> host_;
};

}  // namespace

KernelSet device_kernels(const KernelSet& kernels, const KernelSet& host_kernels) {
  KernelSet declared = declared_kernels(kernels);
  for (const std::string& type : host_kernels.types())
    if (!kernels.contains(type))
      declared.add(type, [host_kernels](const KernelRequest& request) -> std::unique_ptr<Kernel> {
        return std::make_unique<DeclaredKernel>(host_kernels.prepare(request), DeclaredKernel::How::on_host,
                                                request);
      });
  return declared;
}

void interpret_on_device(Device& device, const Graph& graph, const KernelSet& kernels, HostBuffers& buffers,
                         const InterpretOptions& options) {
  DeviceStep step(device, graph, kernels, options);
  step.load(buffers);
  for (std::size_t i = 0; i < graph.nodes().size(); ++i) step.run(static_cast<int>(i));
  step.store(buffers);
}

}  // namespace swapadvisor::test
