// sub, mul, broadcast_add, broadcast_sub, broadcast_mul, broadcast_to.
#include <swapadvisor/core/parallel.h>
#include <swapadvisor/ops/broadcast.h>
#include <swapadvisor/ops/cpu/register.h>
#include <swapadvisor/ops/cpu/strided_copy.h>
#include <swapadvisor/ops/cpu/vector.h>

#include <algorithm>

namespace swapadvisor {
namespace {

struct Add {
  template <class T>
  SWAPADVISOR_INLINE T operator()(T a, T b) const {
    return a + b;
  }
};
struct Sub {
  template <class T>
  SWAPADVISOR_INLINE T operator()(T a, T b) const {
    return a - b;
  }
};
struct Mul {
  template <class T>
  SWAPADVISOR_INLINE T operator()(T a, T b) const {
    return a * b;
  }
};

template <class F, class T>
SWAPADVISOR_MULTIVERSION void apply_dense(F f, const T* a, const T* b, T* y, std::int64_t n) {
  SWAPADVISOR_VECTORISE
  for (std::int64_t i = 0; i < n; ++i) y[i] = f(a[i], b[i]);
}

template <class F, class T>
SWAPADVISOR_MULTIVERSION void apply_to_number(F f, const T* a, T b, T* y, std::int64_t n) {
  SWAPADVISOR_VECTORISE
  for (std::int64_t i = 0; i < n; ++i) y[i] = f(a[i], b);
}

template <class F, class T>
SWAPADVISOR_MULTIVERSION void apply_number(F f, T a, const T* b, T* y, std::int64_t n) {
  SWAPADVISOR_VECTORISE
  for (std::int64_t i = 0; i < n; ++i) y[i] = f(a, b[i]);
}

/// n results next to each other, from operands with these steps.
template <class F, class T>
void apply_run(F f, const T* a, std::int64_t step_a, const T* b, std::int64_t step_b, T* y, std::int64_t n) {
  if (step_a == 1 && step_b == 1) return apply_dense(f, a, b, y, n);
  if (step_a == 1 && step_b == 0) return apply_to_number(f, a, *b, y, n);
  if (step_a == 0 && step_b == 1) return apply_number(f, *a, b, y, n);
  for (std::int64_t i = 0; i < n; ++i) y[i] = f(a[i * step_a], b[i * step_b]);
}

template <class F>
std::unique_ptr<Kernel> elementwise(const KernelRequest& request, F f) {
  const std::int64_t n = request.outputs[0].numel();
  return visit_floating(request.outputs[0].dtype, [n, f]<class T>() {
    return make_kernel([n, f](const KernelArgs& args) {
      const T *a = args.in<T>(0), *b = args.in<T>(1);
      T* y = args.out<T>(0);
      parallel_for(n, elementwise_grain, [=](std::int64_t begin, std::int64_t end) {
        apply_dense(f, a + begin, b + begin, y + begin, end - begin);
      });
    });
  });
}

/// Walks the result in memory order; operands a, b and the result.
template <class F>
std::unique_ptr<Kernel> broadcasting(const KernelRequest& request, F f) {
  const TensorSpec& result = request.outputs[0];
  auto dims =
      strided_dims<3>(result.shape, {broadcast_strides(request.inputs[0], result.shape),
                                     broadcast_strides(request.inputs[1], result.shape), result.strides});
  std::stable_sort(dims.begin(), dims.end(),
                   [](const auto& x, const auto& y) { return x.strides[2] > y.strides[2]; });
  dims = merged(dims);
  StridedDim<3> inner{1, {1, 1, 1}};
  if (!dims.empty()) {
    inner = dims.back();
    dims.pop_back();
  }
  return visit_floating(result.dtype, [=, n = result.numel()]<class T>() {
    return make_kernel([=](const KernelArgs& args) {
      parallel_for(n, elementwise_grain, [&](std::int64_t begin, std::int64_t end) {
        StridedCursor<3> at(dims, begin / inner.extent);
        for (std::int64_t first = begin % inner.extent; begin < end; first = 0, at.next()) {
          const std::int64_t count = std::min(inner.extent - first, end - begin);
          apply_run(f, args.in<T>(0) + at[0] + first * inner.strides[0], inner.strides[0],
                    args.in<T>(1) + at[1] + first * inner.strides[1], inner.strides[1],
                    args.out<T>(0) + at[2] + first, count);
          begin += count;
        }
      });
    });
  });
}

std::unique_ptr<Kernel> make_broadcast_to(const KernelRequest& r) {
  const TensorSpec &x = r.inputs[0], &y = r.outputs[0];
  return make_kernel([copy = StridedCopy(y.shape, broadcast_strides(x, y.shape), y.strides),
                      bytes = size_of(x.dtype)](const KernelArgs& args) {
    copy.run(args.inputs[0], args.outputs[0], bytes);
  });
}

}  // namespace

void add_arithmetic_kernels(KernelSet& set) {
  set.add("sub", [](const KernelRequest& r) { return elementwise(r, Sub()); });
  set.add("mul", [](const KernelRequest& r) { return elementwise(r, Mul()); });
  set.add("broadcast_add", [](const KernelRequest& r) { return broadcasting(r, Add()); });
  set.add("broadcast_sub", [](const KernelRequest& r) { return broadcasting(r, Sub()); });
  set.add("broadcast_mul", [](const KernelRequest& r) { return broadcasting(r, Mul()); });
  set.add("broadcast_to", make_broadcast_to);
}

}  // namespace swapadvisor
