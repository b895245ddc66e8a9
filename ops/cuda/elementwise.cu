// relu, relu_backward, add, accumulate, sub, mul, scale, cast, fill.
#include <swapadvisor/ops/cuda/map.h>
#include <swapadvisor/ops/cuda/register.h>
#include <swapadvisor/ops/fill.h>
#include <swapadvisor/ops/scale.h>

namespace swapadvisor::cuda {
namespace {

// As on the CPU, NaNs pass and what is not above 0 has no gradient.
struct Relu {
  template <class A>
  __device__ A operator()(A x) const {
    return x < A(0) ? A(0) : x;
  }
};
struct ReluBackward {
  template <class A>
  __device__ A operator()(A dy, A y) const {
    return y <= A(0) ? A(0) : dy;
  }
};
struct Add {
  template <class A>
  __device__ A operator()(A a, A b) const {
    return a + b;
  }
};
struct Sub {
  template <class A>
  __device__ A operator()(A a, A b) const {
    return a - b;
  }
};
struct Mul {
  template <class A>
  __device__ A operator()(A a, A b) const {
    return a * b;
  }
};
struct Scale {
  double factor;
  template <class A>
  __device__ A operator()(A x) const {
    return x * static_cast<A>(factor);
  }
};
struct Same {
  template <class A>
  __device__ A operator()(A x) const {
    return x;
  }
};
struct Constant {
  double value;
  __device__ double operator()() const { return value; }
};

template <class From, class To>
std::unique_ptr<Kernel> cast_kernel(std::int64_t n) {
  return device_kernel([n](cudaStream_t stream, const KernelArgs& args) {
    launch_map(stream, Same(), n, args.out<To>(0), args.in<From>(0));
  });
}

std::unique_ptr<Kernel> make_cast(const KernelRequest& request) {
  const std::int64_t n = request.outputs[0].numel();
  const DType from = request.inputs[0].dtype;
  return visit_elements(request.outputs[0].dtype, [n, from]<class To>() -> std::unique_ptr<Kernel> {
    switch (from) {
      case DType::f32:
        return cast_kernel<float, To>(n);
      case DType::f64:
        return cast_kernel<double, To>(n);
      case DType::u8:
        return cast_kernel<std::uint8_t, To>(n);
      case DType::i32:
        return cast_kernel<std::int32_t, To>(n);
      case DType::i64:
        return cast_kernel<std::int64_t, To>(n);
      case DType::bf16:
        return cast_kernel<BFloat16, To>(n);
    }
    return nullptr;
  });
}

std::unique_ptr<Kernel> make_fill(const KernelRequest& request) {
  const std::int64_t n = request.outputs[0].numel();
  const Constant constant{request.as<FillOp>().value()};
  return visit_elements(request.outputs[0].dtype, [=]<class T>() {
    return device_kernel([=](cudaStream_t stream, const KernelArgs& args) {
      launch_map(stream, constant, n, args.out<T>(0));
    });
  });
}

}  // namespace

void add_elementwise_kernels(KernelSet& set) {
  set.add("relu", [](const KernelRequest& r) { return unary_kernel(r, Relu()); });
  set.add("relu_backward", [](const KernelRequest& r) { return binary_kernel(r, ReluBackward()); });
  set.add("add", [](const KernelRequest& r) { return binary_kernel(r, Add()); });
  set.add("accumulate", [](const KernelRequest& r) { return binary_kernel(r, Add()); });
  set.add("sub", [](const KernelRequest& r) { return binary_kernel(r, Sub()); });
  set.add("mul", [](const KernelRequest& r) { return binary_kernel(r, Mul()); });
  set.add("scale", [](const KernelRequest& r) { return unary_kernel(r, Scale{r.as<ScaleOp>().factor()}); });
  set.add("cast", make_cast);
  set.add("fill", make_fill);
}

}  // namespace swapadvisor::cuda
