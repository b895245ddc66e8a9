#include "declared_kernels.h"

#include <swapadvisor/ops/cpu/cpu_kernels.h>

#include "standin_backend.h"

namespace swapadvisor::test {
namespace {

/// Bytes from the first to behind the last element of a view.
std::int64_t extent(const TensorSpec& spec) {
  std::int64_t last = 0;
  for (int d = 0; d < spec.rank(); ++d) last += (spec.shape[d] - 1) * spec.strides[d];
  return (last + 1) * size_of(spec.dtype);
}

}  // namespace

/// A run of a CPU kernel that waits in a queue, or is part of a graph and runs many times.
struct DeclaredKernel::HostRun {
  const Kernel* kernel;
  std::vector<const void*> inputs;
  std::vector<void*> outputs;
  void* workspace;

  static void run(void* argument) {
    const auto* self = static_cast<const HostRun*>(argument);
    self->kernel->run(nullptr, {self->inputs, self->outputs, self->workspace});
  }
};

DeclaredKernel::~DeclaredKernel() = default;

DeclaredKernel::DeclaredKernel(std::string name, How how, const Kernel* kernel,
                               std::vector<DeclaredRange> inputs, std::vector<std::int64_t> output_bytes,
                               std::int64_t workspace_bytes)
    : name_(std::move(name)),
      how_(how),
      kernel_(kernel),
      inputs_(std::move(inputs)),
      output_bytes_(std::move(output_bytes)),
      workspace_bytes_(workspace_bytes) {}

DeclaredKernel::DeclaredKernel(std::unique_ptr<Kernel> kernel, How how, const KernelRequest& request)
    : DeclaredKernel(std::string(request.op.type()), how, kernel.get(), {}, {}, kernel->workspace_bytes()) {
  owned_ = std::move(kernel);
  for (const TensorSpec& spec : request.inputs) inputs_.push_back({0, extent(spec)});
  for (const TensorSpec& spec : request.outputs) output_bytes_.push_back(extent(spec));
}

void DeclaredKernel::run(NativeStream stream, const KernelArgs& args) const {
  std::vector<const void*> reads;
  std::vector<std::int64_t> read_bytes, write_bytes = output_bytes_;
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    reads.push_back(static_cast<const std::byte*>(args.inputs[i]) + inputs_[i].offset);
    read_bytes.push_back(inputs_[i].bytes);
  }
  std::vector<void*> writes(args.outputs.begin(), args.outputs.end());
  if (args.workspace) {
    writes.push_back(args.workspace);
    write_bytes.push_back(workspace_bytes_);
  }
  standin().name(name_.c_str());
  standin().operands(stream, reads.data(), read_bytes.data(), static_cast<int>(reads.size()), writes.data(),
                     write_bytes.data(), static_cast<int>(writes.size()));
  run_declared(stream, args);
  standin().end_operands(stream);
}

void DeclaredKernel::run_declared(NativeStream stream, const KernelArgs& args) const {
  switch (how_) {
    case How::launched:
      return kernel_->run(stream, args);
    case How::on_host:
      runs_.push_back(std::make_unique<HostRun>(HostRun{kernel_,
                                                        {args.inputs.begin(), args.inputs.end()},
                                                        {args.outputs.begin(), args.outputs.end()},
                                                        args.workspace}));
      return standin().call(stream, &HostRun::run, runs_.back().get());
    case How::not_run:
      return;
  }
}

KernelSet declared_kernels(const KernelSet& set) {
  using How = DeclaredKernel::How;
  KernelSet declared;
  const auto add = [&](const KernelSet& from, How how) {
    for (const std::string& type : from.types())
      declared.add(type, [from, how](const KernelRequest& request) -> std::unique_ptr<Kernel> {
        return std::make_unique<DeclaredKernel>(from.prepare(request), how, request);
      });
  };
  add(portable_kernels(), How::on_host);
  add(set, How::launched);
  return declared;
}

std::vector<std::unique_ptr<Kernel>> declared_ops(const PlanGraph& graph,
                                                  const std::vector<std::unique_ptr<Kernel>>* kernels) {
  const auto bytes = [&](std::int32_t b) { return graph.buffers[static_cast<std::size_t>(b)].bytes; };
  std::vector<std::unique_ptr<Kernel>> declared;
  for (std::size_t i = 0; i < graph.ops.size(); ++i) {
    const PlanOp& op = graph.ops[i];
    std::vector<DeclaredRange> inputs;
    std::vector<std::int64_t> outputs;
    for (std::int32_t b : op.inputs) inputs.push_back({0, bytes(b)});
    for (std::int32_t b : op.outputs) outputs.push_back(bytes(b));
    declared.push_back(std::make_unique<DeclaredKernel>(
        op.name, kernels ? DeclaredKernel::How::on_host : DeclaredKernel::How::not_run,
        kernels ? (*kernels)[i].get() : nullptr, std::move(inputs), std::move(outputs), op.workspace_bytes));
  }
  return declared;
}

}  // namespace swapadvisor::test
