#include "op_table.h"

#include <swapadvisor/autograd/gradients.h>
#include <swapadvisor/ops/add.h>

#include "project.h"

namespace swapadvisor {

Generator normal_values(double mean, double deviation) {
  return [=](const RandomStream& random, std::uint64_t i) { return mean + deviation * random.normal(i); };
}

Generator uniform_values(double low, double high) {
  return [=](const RandomStream& random, std::uint64_t i) { return low + (high - low) * random.uniform(i); };
}

Generator nonzero_values() {
  return [](const RandomStream& random, std::uint64_t i) {
    const double magnitude = 0.1 + 0.9 * random.uniform(2 * i);
    return random.uniform(2 * i + 1) < 0.5 ? -magnitude : magnitude;
  };
}

Generator distinct_values() {
  // Multiples of a number modulo a prime, larger than any case, differ.
  return [](const RandomStream& random, std::uint64_t i) {
    constexpr std::uint64_t prime = 1'000'003;
    const std::uint64_t stride = 1 + random.below(0, prime - 1);
    return 2e-5 * (static_cast<double>((i + 1) * stride % prime) - prime / 2.0);
  };
}

Generator integer_values(std::uint32_t below) {
  return [=](const RandomStream& random, std::uint64_t i) { return random.below(i, below); };
}

Generator constant_values(double value) {
  return [=](const RandomStream&, std::uint64_t) { return value; };
}

std::vector<OpCase> op_table() {
  std::vector<OpCase> table;
  for (auto part : {elementwise_cases, activation_cases, transformer_cases, batch_norm_cases, loss_cases,
                    update_cases, convolution_cases, pooling_cases, matrix_cases, view_cases, batched_cases,
                    broadcast_cases, reduce_cases, recurrent_cases, step_cases, vision_cases})
    for (OpCase& op_case : part()) table.push_back(std::move(op_case));
  return table;
}

OpVariant::OpVariant(const OpCase& op_case, DType dtype, Layout layout, bool with_gradients)
    : case_(op_case) {
  for (std::size_t i = 0; i < op_case.operands.size(); ++i) {
    const Operand& operand = op_case.operands[i];
    const std::string name = fmt::format("operand{}", i);
    const Layout stored = operand.layout == Operand::Layout::of_case ? layout : Layout::row_major;
    const DType type = operand.dtype == DType::f32 ? dtype : operand.dtype;
    const TensorSpec spec = TensorSpec::dense(type, operand.shape, stored);
    operands.push_back(operand.kind == BufferKind::input ? graph.input(name, spec)
                                                         : graph.state(name, spec, {}));
    if (operand.differentiable && operand.dtype == DType::f32) wanted.push_back(operands.back());
  }
  results = op_case.build({operands, dtype, layout});
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (!is_floating(results[i].dtype())) continue;
    const Tensor weights = graph.input(fmt::format("projection{}", i), results[i].spec());
    const Tensor term = project(results[i], weights);
    loss = loss ? add(loss, term) : term;
  }
  if (loss && with_gradients) gradients = swapadvisor::gradients(loss, wanted);
}

HostBuffers OpVariant::buffers() const {
  HostBuffers buffers;
  const auto generate = [&](const Buffer& buffer, const Generator& generator) {
    const RandomStream random{7, static_cast<std::uint32_t>(hash_name(buffer.name)), 0};
    std::vector<double> values;
    for (std::int64_t i = 0; i < buffer.spec.numel(); ++i)
      values.push_back(static_cast<float>(generator(random, static_cast<std::uint64_t>(i))));
    buffers[buffer.name] = from_logical(buffer.spec, values);
  };
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const int id = graph.find_buffer(fmt::format("operand{}", i));
    generate(graph.buffers()[static_cast<std::size_t>(id)], case_.operands[i].values);
  }
  for (const Buffer& buffer : graph.buffers())
    if (buffer.name.starts_with("projection")) generate(buffer, normal_values());
  return buffers;
}

KernelSet with_test_ops(KernelSet kernels) {
  add_project_kernels(kernels);
  return kernels;
}

}  // namespace swapadvisor
