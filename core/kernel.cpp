#include <swapadvisor/core/graph.h>
#include <swapadvisor/core/kernel.h>

#include <algorithm>

namespace swapadvisor {

void KernelSet::add(std::string type, KernelFactory factory) {
  factories_.insert_or_assign(std::move(type), std::move(factory));
}

bool KernelSet::contains(std::string_view type) const { return factories_.contains(std::string(type)); }

std::vector<std::string> KernelSet::types() const {
  std::vector<std::string> types;
  for (const auto& entry : factories_) types.push_back(entry.first);
  std::sort(types.begin(), types.end());
  return types;
}

std::unique_ptr<Kernel> KernelSet::prepare(const KernelRequest& request) const {
  const auto found = factories_.find(std::string(request.op.type()));
  if (found == factories_.end()) fail("the device has no kernel for op type '{}'", request.op.type());
  return found->second(request);
}

std::vector<std::unique_ptr<Kernel>> prepare_kernels(const Graph& graph, const KernelSet& set,
                                                     const KernelContext& context) {
  std::vector<std::unique_ptr<Kernel>> kernels;
  kernels.reserve(graph.nodes().size());
  for (const Node& node : graph.nodes()) {
    const auto inputs = graph.input_specs(node), outputs = graph.output_specs(node);
    try {
      kernels.push_back(set.prepare({*node.op, inputs, outputs, context}));
    } catch (const Error& error) {
      fail("[{} {}] {}", node.op->type(), node.name, error.what());
    }
  }
  return kernels;
}

}  // namespace swapadvisor
