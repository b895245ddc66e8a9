#include "project.h"

#include <swapadvisor/ops/check.h>

namespace swapadvisor {
namespace {

class ProjectBackwardOp final : public Op {
 public:
  std::string_view type() const override { return "test_project_backward"; }
  std::vector<TensorSpec> infer(std::span<const TensorSpec> inputs) const override { return {inputs[1]}; }
};

class ProjectOp final : public Op {
 public:
  std::string_view type() const override { return "test_project"; }
  std::vector<TensorSpec> infer(std::span<const TensorSpec> inputs) const override {
    require_same(inputs[0], "x", inputs[1], "w");
    return {TensorSpec::dense(inputs[0].dtype, {})};
  }
  std::vector<Tensor> vjp(const VjpContext& context) const override {
    const Tensor dy = context.output_gradients[0];
    return dy.graph().apply(std::make_shared<ProjectBackwardOp>(), {dy, context.inputs[1]}, context.name);
  }
};

}  // namespace

Tensor project(Tensor x, Tensor w, std::string_view name) {
  return x.graph().apply(std::make_shared<ProjectOp>(), {x, w}, name)[0];
}

void add_project_kernels(KernelSet& set) {
  set.add("test_project", [](const KernelRequest& request) {
    const std::int64_t n = request.inputs[0].numel();
    return visit_floating(request.inputs[0].dtype, [n]<class T>() {
      return make_kernel([n](const KernelArgs& args) {
        double sum = 0;
        for (std::int64_t i = 0; i < n; ++i) sum += static_cast<double>(args.in<T>(0)[i]) * args.in<T>(1)[i];
        *args.out<T>(0) = static_cast<T>(sum);
      });
    });
  });
  set.add("test_project_backward", [](const KernelRequest& request) {
    const std::int64_t n = request.outputs[0].numel();
    return visit_floating(request.outputs[0].dtype, [n]<class T>() {
      return make_kernel([n](const KernelArgs& args) {
        for (std::int64_t i = 0; i < n; ++i) args.out<T>(0)[i] = *args.in<T>(0) * args.in<T>(1)[i];
      });
    });
  });
}

}  // namespace swapadvisor
