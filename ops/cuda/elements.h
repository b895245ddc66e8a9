// Elements in device code: the types that kernels store and the type they compute in, packs of elements that
// are moved at once, and loops over packs.
#pragma once

#include <swapadvisor/core/cuda/launch.h>
#include <swapadvisor/core/kernel.h>
#include <swapadvisor/ops/cuda/unroll.h>

#include <cstdint>
#include <type_traits>
#include <utility>

namespace swapadvisor::cuda {

template <class T>
struct Accumulation {
  using type = T;
};
template <>
struct Accumulation<BFloat16> {
  using type = float;
};
/// What elements of type T are computed in: float for bf16, else T itself.
template <class T>
using Acc = typename Accumulation<T>::type;

template <class T>
__device__ inline Acc<T> widen(T value) {
  return static_cast<Acc<T>>(value);
}

/// Elements that are loaded or stored by one instruction.
template <class T, int width>
struct alignas(sizeof(T) * width) Pack {
  T at[width];
};

template <int width, class T>
__device__ inline Pack<T, width> load_pack(const T* from) {
  return *reinterpret_cast<const Pack<T, width>*>(from);
}
template <int width, class T>
__device__ inline void store_pack(T* to, const Pack<T, width>& pack) {
  *reinterpret_cast<Pack<T, width>*>(to) = pack;
}

/// Elements per pack for operands of these types: 16 bytes of the widest.
template <class... T>
inline constexpr int pack_width = 16 / static_cast<int>(std::max({sizeof(T)...}));

template <int width>
using Width = std::integral_constant<int, width>;

__device__ inline std::int64_t thread_index() {
  return std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
}
__device__ inline std::int64_t thread_count() {
  return std::int64_t{gridDim.x} * blockDim.x;
}

/// Calls body(Width<w>(), first element) for this thread's packs of [0, n): whole packs, then single
/// elements.
template <int width, class Body>
__device__ inline void for_each_pack(std::int64_t n, Body body) {
  const std::int64_t packs = n / width, step = thread_count();
  for (std::int64_t i = thread_index(); i < packs; i += step) body(Width<width>(), i * width);
  if constexpr (width > 1)
    for (std::int64_t i = packs * width + thread_index(); i < n; i += step) body(Width<1>(), i);
}

/// Calls f(Width<w>()) with the packs that these addresses allow: all aligned, or single elements. What is
/// computed for an element does not depend on it.
template <class F, class... T>
void with_width(F f, const T*... operands) {
  constexpr int width = pack_width<T...>;
  const bool aligned = ((reinterpret_cast<std::uintptr_t>(operands) % (sizeof(T) * width) == 0) && ...);
  if (aligned)
    f(Width<width>());
  else
    f(Width<1>());
}

/// Calls f.template operator()<T>() with T = float, double or BFloat16.
template <class F>
decltype(auto) visit_elements(DType dtype, F&& f) {
  if (dtype == DType::bf16) return f.template operator()<BFloat16>();
  return visit_floating(dtype, std::forward<F>(f));
}

/// Calls f<T, G>() for an update: of T = float or double parameters (inputs[0]) by gradients of the same
/// type, or of float ones by bf16 gradients (inputs[1]).
template <class F>
std::unique_ptr<Kernel> visit_update(const KernelRequest& request, F&& f) {
  const DType parameter = request.inputs[0].dtype;
  if (parameter == DType::f32 && request.inputs[1].dtype == DType::bf16)
    return f.template operator()<float, BFloat16>();
  return visit_floating(parameter, [&]<class T>() { return f.template operator()<T, T>(); });
}

/// A kernel from a callable f(cudaStream_t, const KernelArgs&).
template <class F>
std::unique_ptr<Kernel> device_kernel(F f, std::int64_t workspace_bytes = 0) {
  class FunctionKernel final : public Kernel {
   public:
    FunctionKernel(F function, std::int64_t bytes) : function_(std::move(function)), bytes_(bytes) {}
    std::int64_t workspace_bytes() const override { return bytes_; }
    void run(NativeStream stream, const KernelArgs& args) const override {
      function_(static_cast<cudaStream_t>(stream), args);
    }

   private:
    F function_;
    std::int64_t bytes_;
  };
  return std::make_unique<FunctionKernel>(std::move(f), workspace_bytes);
}

}  // namespace swapadvisor::cuda
