// relu, relu_backward, add, accumulate, scale, cast, fill: one pass over memory.
#include <swapadvisor/core/parallel.h>
#include <swapadvisor/ops/cast.h>
#include <swapadvisor/ops/cpu/register.h>
#include <swapadvisor/ops/cpu/vector.h>
#include <swapadvisor/ops/fill.h>
#include <swapadvisor/ops/scale.h>

namespace swapadvisor {
namespace {

/// What elements of type T are computed in.
template <class T>
using Arithmetic = std::conditional_t<std::is_same_v<T, BFloat16>, float, T>;

/// As `visit_floating`, with bf16.
template <class F>
decltype(auto) visit_elements(DType dtype, F&& f) {
  if (dtype == DType::bf16) return f.template operator()<BFloat16>();
  return visit_floating(dtype, f);
}

template <class T>
SWAPADVISOR_INLINE void relu_loop(const T* x, T* y, std::int64_t n) {
  SWAPADVISOR_VECTORISE
  for (std::int64_t i = 0; i < n; ++i) {
    const T v = x[i];
    y[i] = v < T(0) ? T(0) : v;
  }
}

template <class T>
SWAPADVISOR_INLINE void relu_backward_loop(const T* dy, const T* y, T* dx, std::int64_t n) {
  SWAPADVISOR_VECTORISE
  for (std::int64_t i = 0; i < n; ++i) {
    const T g = dy[i], v = y[i];
    dx[i] = v <= T(0) ? T(0) : g;
  }
}

template <class T>
SWAPADVISOR_INLINE void add_loop(const T* a, const T* b, T* y, std::int64_t n) {
  SWAPADVISOR_VECTORISE
  for (std::int64_t i = 0; i < n; ++i) y[i] = T(a[i] + b[i]);
}

template <class T>
SWAPADVISOR_INLINE void scale_loop(const T* x, Arithmetic<T> factor, T* y, std::int64_t n) {
  SWAPADVISOR_VECTORISE
  for (std::int64_t i = 0; i < n; ++i) y[i] = T(x[i] * factor);
}

SWAPADVISOR_MULTIVERSION void relu_chunk(const float* x, float* y, std::int64_t n) {
  relu_loop(x, y, n);
}
void relu_chunk(const double* x, double* y, std::int64_t n) {
  relu_loop(x, y, n);
}

SWAPADVISOR_MULTIVERSION void relu_backward_chunk(const float* dy, const float* y, float* dx,
                                                  std::int64_t n) {
  relu_backward_loop(dy, y, dx, n);
}
void relu_backward_chunk(const double* dy, const double* y, double* dx, std::int64_t n) {
  relu_backward_loop(dy, y, dx, n);
}

SWAPADVISOR_MULTIVERSION void add_chunk(const float* a, const float* b, float* y, std::int64_t n) {
  add_loop(a, b, y, n);
}
void add_chunk(const double* a, const double* b, double* y, std::int64_t n) {
  add_loop(a, b, y, n);
}

SWAPADVISOR_MULTIVERSION void scale_chunk(const float* x, float factor, float* y, std::int64_t n) {
  scale_loop(x, factor, y, n);
}
void scale_chunk(const double* x, double factor, double* y, std::int64_t n) {
  scale_loop(x, factor, y, n);
}

SWAPADVISOR_MULTIVERSION void relu_chunk(const BFloat16* x, BFloat16* y, std::int64_t n) {
  relu_loop(x, y, n);
}
SWAPADVISOR_MULTIVERSION void relu_backward_chunk(const BFloat16* dy, const BFloat16* y, BFloat16* dx,
                                                  std::int64_t n) {
  relu_backward_loop(dy, y, dx, n);
}
SWAPADVISOR_MULTIVERSION void add_chunk(const BFloat16* a, const BFloat16* b, BFloat16* y, std::int64_t n) {
  add_loop(a, b, y, n);
}
SWAPADVISOR_MULTIVERSION void scale_chunk(const BFloat16* x, float factor, BFloat16* y, std::int64_t n) {
  scale_loop(x, factor, y, n);
}

std::unique_ptr<Kernel> make_relu(const KernelRequest& request) {
  const std::int64_t n = request.outputs[0].numel();
  return visit_elements(request.outputs[0].dtype, [n]<class T>() {
    return make_kernel([n](const KernelArgs& args) {
      const T* x = args.in<T>(0);
      T* y = args.out<T>(0);
      parallel_for(n, elementwise_grain,
                   [=](std::int64_t b, std::int64_t e) { relu_chunk(x + b, y + b, e - b); });
    });
  });
}

std::unique_ptr<Kernel> make_relu_backward(const KernelRequest& request) {
  const std::int64_t n = request.outputs[0].numel();
  return visit_elements(request.outputs[0].dtype, [n]<class T>() {
    return make_kernel([n](const KernelArgs& args) {
      const T *dy = args.in<T>(0), *y = args.in<T>(1);
      T* dx = args.out<T>(0);
      parallel_for(n, elementwise_grain, [=](std::int64_t b, std::int64_t e) {
        relu_backward_chunk(dy + b, y + b, dx + b, e - b);
      });
    });
  });
}

/// Also `accumulate`: its output is its first input.
std::unique_ptr<Kernel> make_add(const KernelRequest& request) {
  const std::int64_t n = request.outputs[0].numel();
  return visit_elements(request.outputs[0].dtype, [n]<class T>() {
    return make_kernel([n](const KernelArgs& args) {
      const T *x = args.in<T>(0), *y = args.in<T>(1);
      T* sum = args.out<T>(0);
      parallel_for(n, elementwise_grain,
                   [=](std::int64_t b, std::int64_t e) { add_chunk(x + b, y + b, sum + b, e - b); });
    });
  });
}

std::unique_ptr<Kernel> make_scale(const KernelRequest& request) {
  const std::int64_t n = request.outputs[0].numel();
  const double factor = request.as<ScaleOp>().factor();
  return visit_elements(request.outputs[0].dtype, [n, factor]<class T>() {
    return make_kernel([n, factor](const KernelArgs& args) {
      const T* x = args.in<T>(0);
      T* y = args.out<T>(0);
      parallel_for(n, elementwise_grain, [=](std::int64_t b, std::int64_t e) {
        scale_chunk(x + b, static_cast<Arithmetic<T>>(factor), y + b, e - b);
      });
    });
  });
}

template <class From, class To>
std::unique_ptr<Kernel> cast_kernel(std::int64_t n) {
  return make_kernel([n](const KernelArgs& args) {
    const From* x = args.in<From>(0);
    To* y = args.out<To>(0);
    parallel_for(n, elementwise_grain, [=](std::int64_t b, std::int64_t e) {
      for (std::int64_t i = b; i < e; ++i) y[i] = static_cast<To>(x[i]);
    });
  });
}

std::unique_ptr<Kernel> make_cast(const KernelRequest& request) {
  const std::int64_t n = request.outputs[0].numel();
  const DType from = request.inputs[0].dtype;
  const auto make = [n, from]<class To>() -> std::unique_ptr<Kernel> {
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
  };
  return visit_elements(request.outputs[0].dtype, make);
}

std::unique_ptr<Kernel> make_fill(const KernelRequest& request) {
  const std::int64_t n = request.outputs[0].numel();
  const double value = request.as<FillOp>().value();
  return visit_elements(request.outputs[0].dtype, [n, value]<class T>() {
    return make_kernel([n, value](const KernelArgs& args) {
      T* y = args.out<T>(0);
      parallel_for(n, elementwise_grain,
                   [=](std::int64_t b, std::int64_t e) { std::fill(y + b, y + e, static_cast<T>(value)); });
    });
  });
}

}  // namespace

void add_elementwise_kernels(KernelSet& set) {
  set.add("relu", make_relu);
  set.add("relu_backward", make_relu_backward);
  set.add("add", make_add);
  set.add("accumulate", make_add);
  set.add("scale", make_scale);
  set.add("cast", make_cast);
  set.add("fill", make_fill);
}

}  // namespace swapadvisor
