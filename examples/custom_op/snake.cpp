#include "snake.h"

#include <swapadvisor/core/parallel.h>
#include <swapadvisor/ops/check.h>

#include <cmath>

using namespace swapadvisor;

std::vector<TensorSpec> SnakeOp::infer(std::span<const TensorSpec> inputs) const {
  require_floating(inputs[0], "x");
  require_dense(inputs[0], "x");
  if (frequency_ == 0) fail("the frequency must not be 0");
  return {inputs[0]};
}

Cost SnakeOp::cost(std::span<const TensorSpec> inputs, std::span<const TensorSpec> outputs) const {
  // Three products, a sum, and a sine of about 20 operations.
  return {24.0 * static_cast<double>(inputs[0].numel()), bytes_of(inputs, outputs)};
}

std::vector<Tensor> SnakeOp::vjp(const VjpContext& context) const {
  const Tensor dy = context.output_gradients[0], x = context.inputs[0];
  return dy.graph().apply(std::make_shared<SnakeBackwardOp>(frequency_), {dy, x}, context.name);
}

std::vector<TensorSpec> SnakeBackwardOp::infer(std::span<const TensorSpec> inputs) const {
  require_same(inputs[0], "dy", inputs[1], "x");
  return {inputs[1]};
}

Tensor snake(Tensor x, double frequency, std::string_view name) {
  return x.graph().apply(std::make_shared<SnakeOp>(frequency), {x}, name)[0];
}

namespace {

constexpr std::int64_t grain = 4096;  // elements that are worth a thread

std::unique_ptr<Kernel> make_snake(const KernelRequest& request) {
  const std::int64_t n = request.outputs[0].numel();
  const double frequency = request.as<SnakeOp>().frequency();
  return visit_floating(request.outputs[0].dtype, [n, frequency]<class T>() {
    return make_kernel([n, a = static_cast<T>(frequency)](const KernelArgs& args) {
      const T* x = args.in<T>(0);
      T* y = args.out<T>(0);
      parallel_for(n, grain, [=](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) {
          const T sine = std::sin(a * x[i]);
          y[i] = x[i] + sine * sine / a;
        }
      });
    });
  });
}

std::unique_ptr<Kernel> make_snake_backward(const KernelRequest& request) {
  const std::int64_t n = request.outputs[0].numel();
  const double frequency = request.as<SnakeBackwardOp>().frequency();
  return visit_floating(request.outputs[0].dtype, [n, frequency]<class T>() {
    return make_kernel([n, a = static_cast<T>(frequency)](const KernelArgs& args) {
      const T *dy = args.in<T>(0), *x = args.in<T>(1);
      T* dx = args.out<T>(0);
      parallel_for(n, grain, [=](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) dx[i] = dy[i] * (1 + std::sin(2 * a * x[i]));
      });
    });
  });
}

}  // namespace

void add_snake_kernels(KernelSet& kernels) {
  kernels.add("snake", make_snake);
  kernels.add("snake_backward", make_snake_backward);
}
