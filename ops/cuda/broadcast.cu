// broadcast_add, broadcast_sub, broadcast_mul.
#include <swapadvisor/ops/broadcast.h>
#include <swapadvisor/ops/cuda/map.h>
#include <swapadvisor/ops/cuda/register.h>
#include <swapadvisor/ops/cuda/walk.h>

#include <algorithm>

namespace swapadvisor::cuda {
namespace {

template <class A>
__device__ inline A apply(BroadcastKind kind, A a, A b) {
  if (kind == BroadcastKind::add) return a + b;
  return kind == BroadcastKind::sub ? a - b : a * b;
}

/// Two dense operands.
struct Dense {
  BroadcastKind kind;
  template <class A>
  __device__ A operator()(A a, A b) const {
    return apply(kind, a, b);
  }
};

/// Elements of y in the order of its memory, where the operands' strides along the inner dimension may be 0.
template <class T>
__global__ void __launch_bounds__(element_threads)
    broadcast_elements(BroadcastKind kind, Walk<3> walk, std::int64_t n, T* y, const T* a, const T* b) {
  for (std::int64_t i = thread_index(); i < n; i += thread_count()) {
    std::int64_t at[3] = {};
    walk.locate(i, at);
    y[at[2]] = static_cast<T>(apply(kind, widen(a[at[0]]), widen(b[at[1]])));
  }
}

/// The same in packs: along the inner dimension, of a multiple of `width` elements, operands are contiguous
/// (`packed`) or one number.
template <int width, class T>
__global__ void __launch_bounds__(element_threads)
    broadcast_packs(BroadcastKind kind, Walk<3> walk, bool a_packed, bool b_packed, std::int64_t packs, T* y,
                    const T* a, const T* b) {
  for (std::int64_t i = thread_index(); i < packs; i += thread_count()) {
    std::int64_t at[3] = {};
    walk.locate(i, at);
    Pack<T, width> left, right, result;
    if (a_packed) left = load_pack<width>(a + at[0]);
    if (b_packed) right = load_pack<width>(b + at[1]);
    SWAPADVISOR_UNROLL
    for (int j = 0; j < width; ++j) {
      const T x = a_packed ? left.at[j] : a[at[0]], z = b_packed ? right.at[j] : b[at[1]];
      result.at[j] = static_cast<T>(apply(kind, widen(x), widen(z)));
    }
    store_pack(y + at[2], result);
  }
}

using Dims = std::vector<StridedDim<3>>;

/// Whether packs of `width` elements never straddle the end of the inner dimension and keep their alignment.
bool takes_packs(const Dims& dims, std::int64_t width) {
  const StridedDim<3>& inner = dims.back();
  if (inner.extent % width != 0 || inner.strides[2] != 1) return false;
  for (std::size_t k = 0; k < 2; ++k) {
    if (inner.strides[k] != 0 && inner.strides[k] != 1) return false;
    for (std::size_t d = 0; inner.strides[k] == 1 && d + 1 < dims.size(); ++d)
      if (dims[d].strides[k] % width != 0) return false;
  }
  return true;
}

/// Steps of whole packs instead of elements.
Dims in_packs(Dims dims, std::int64_t width) {
  StridedDim<3>& inner = dims.back();
  inner.extent /= width;
  for (std::int64_t& stride : inner.strides) stride *= width;
  return dims;
}

template <class T>
void run_broadcast(cudaStream_t stream, BroadcastKind kind, const Dims& dims, std::int64_t n, T* y,
                   const T* a, const T* b) {
  const auto is_dense = [](const StridedDim<3>& d) {
    return d.strides[0] == 1 && d.strides[1] == 1 && d.strides[2] == 1;
  };
  if (dims.size() == 1 && is_dense(dims[0])) return launch_map(stream, Dense{kind}, n, y, a, b);
  with_width(
      [&]<int width>(Width<width>) {
        if (width == 1 || dims.empty() || !takes_packs(dims, width))
          return launch(broadcast_elements<T>, element_blocks(n), element_threads, 0, stream, kind,
                        Walk<3>(dims), n, y, a, b);
        launch(broadcast_packs<width, T>, element_blocks(n / width), element_threads, 0, stream, kind,
               Walk<3>(in_packs(dims, width)), dims.back().strides[0] == 1, dims.back().strides[1] == 1,
               n / width, y, a, b);
      },
      static_cast<const T*>(y), a, b);
}

std::unique_ptr<Kernel> make_broadcast(const KernelRequest& request) {
  const TensorSpec& result = request.outputs[0];
  const BroadcastKind kind = request.as<BroadcastOp>().kind();
  Dims dims =
      strided_dims<3>(result.shape, {broadcast_strides(request.inputs[0], result.shape),
                                     broadcast_strides(request.inputs[1], result.shape), result.strides});
  std::stable_sort(dims.begin(), dims.end(),
                   [](const auto& x, const auto& y) { return x.strides[2] > y.strides[2]; });
  dims = merged(dims);
  return visit_elements(result.dtype, [=, n = result.numel()]<class T>() {
    return device_kernel([=](cudaStream_t stream, const KernelArgs& args) {
      run_broadcast(stream, kind, dims, n, args.out<T>(0), args.in<T>(0), args.in<T>(1));
    });
  });
}

}  // namespace

void add_broadcast_kernels(KernelSet& set) {
  for (const char* type : {"broadcast_add", "broadcast_sub", "broadcast_mul"}) set.add(type, make_broadcast);
}

}  // namespace swapadvisor::cuda
