// embedding, embedding_grad, shift_labels.
#include <swapadvisor/ops/cuda/block_reduce.h>
#include <swapadvisor/ops/cuda/elements.h>
#include <swapadvisor/ops/cuda/register.h>
#include <swapadvisor/ops/embedding.h>
#include <swapadvisor/ops/softmax_cross_entropy.h>

#include <limits>

namespace swapadvisor::cuda {
namespace {

struct Table {
  std::int64_t places, rows, features, padding_row;
};

/// A block per place; `packs` per row of the table.
template <int width, class T>
__global__ void __launch_bounds__(element_threads)
    look_up(Table t, std::int64_t packs, T* y, const std::int32_t* ids, const T* weight) {
  const std::int64_t place = blockIdx.x, id = ids[place];
  const bool known = id >= 0 && id < t.rows;
  for (std::int64_t k = threadIdx.x; k < packs; k += blockDim.x) {
    Pack<T, width> values;
    if (known)
      values = load_pack<width>(weight + id * t.features + k * width);
    else
      for (T& value : values.at) value = static_cast<T>(std::numeric_limits<float>::quiet_NaN());
    store_pack(y + place * t.features + k * width, values);
  }
}

template <class T>
__global__ void __launch_bounds__(element_threads) clear_elements(std::int64_t n, T* y) {
  for (std::int64_t i = thread_index(); i < n; i += thread_count()) y[i] = T(0);
}

/// Bit l is set where lane l's `flag` is; the same in all lanes.
__device__ inline unsigned ballot(bool flag) {
  unsigned bits = flag ? 1u << (threadIdx.x % warp_threads) : 0u;
  for (int lanes = warp_threads / 2; lanes > 0; lanes /= 2) bits |= __shfl_xor_sync(whole_warp, bits, lanes);
  return bits;
}

constexpr int warps = element_threads / warp_threads;
/// Sums that a thread keeps, and features of a block.
constexpr int sums_per_thread = 4;
constexpr std::int64_t block_features = sums_per_thread * element_threads;

/// Calls f(place) for the places in [begin, end) that have this id, in order, in all threads of the block.
/// Stops when f returns false, and returns false then.
template <class F>
__device__ inline bool for_each_place(const std::int32_t* ids, std::int64_t begin, std::int64_t end,
                                      std::int32_t id, F f) {
  __shared__ unsigned found[warps];
  for (std::int64_t first = begin; first < end; first += element_threads) {
    const std::int64_t mine = first + threadIdx.x;
    const unsigned bits = ballot(mine < end && ids[mine] == id);
    __syncthreads();  // the last tile's bits have been read
    if (threadIdx.x % warp_threads == 0) found[threadIdx.x / warp_threads] = bits;
    __syncthreads();
    for (int w = 0; w < warps; ++w) {
      unsigned left = found[w];
      for (int lane = 0; left != 0; ++lane, left >>= 1)
        if ((left & 1u) != 0 && !f(first + w * warp_threads + lane)) return false;
    }
  }
  return true;
}

/// A block per place and piece of the features. The first place of an id sums for all of them, in order; the
/// others have nothing to do. Sums are double: an id may occur thousands of times.
template <class T>
__global__ void __launch_bounds__(element_threads)
    gather_places(Table t, T* dweight, const T* dy, const std::int32_t* ids) {
  const std::int64_t place = blockIdx.x, from = std::int64_t{blockIdx.y} * block_features + threadIdx.x;
  const std::int32_t id = ids[place];
  if (id < 0 || id >= t.rows || id == t.padding_row) return;
  if (!for_each_place(ids, 0, place, id, [](std::int64_t) { return false; })) return;
  double sums[sums_per_thread] = {};
  for_each_place(ids, place, t.places, id, [&](std::int64_t at) {
    SWAPADVISOR_UNROLL
    for (int k = 0; k < sums_per_thread; ++k) {
      const std::int64_t i = from + k * element_threads;
      if (i < t.features) sums[k] += static_cast<double>(widen(dy[at * t.features + i]));
    }
    return true;
  });
  SWAPADVISOR_UNROLL
  for (int k = 0; k < sums_per_thread; ++k) {
    const std::int64_t i = from + k * element_threads;
    if (i < t.features) dweight[id * t.features + i] = static_cast<T>(sums[k]);
  }
}

__global__ void __launch_bounds__(element_threads)
    shift(std::int64_t n, std::int64_t length, std::int32_t* shifted, const std::int32_t* labels) {
  for (std::int64_t i = thread_index(); i < n; i += thread_count())
    shifted[i] = i % length + 1 < length ? labels[i + 1] : ignored_label;
}

template <class T>
void run_look_up(cudaStream_t stream, const Table& t, const KernelArgs& args) {
  T* y = args.out<T>(0);
  const T* weight = args.in<T>(1);
  with_width(
      [&]<int aligned>(Width<aligned>) {
        const auto go = [&]<int width>(Width<width>) {
          launch(look_up<width, T>, static_cast<unsigned>(t.places), element_threads, 0, stream, t,
                 t.features / width, y, args.in<std::int32_t>(0), weight);
        };
        if (t.features % aligned == 0)
          go(Width<aligned>());
        else
          go(Width<1>());
      },
      static_cast<const T*>(y), weight);
}

template <class T>
void run_gather(cudaStream_t stream, const Table& t, const KernelArgs& args) {
  const std::int64_t n = t.rows * t.features;
  launch(clear_elements<T>, element_blocks(n), element_threads, 0, stream, n, args.out<T>(0));
  const dim3 grid(static_cast<unsigned>(t.places),
                  static_cast<unsigned>((t.features + block_features - 1) / block_features));
  launch(gather_places<T>, grid, element_threads, 0, stream, t, args.out<T>(0), args.in<T>(0),
         args.in<std::int32_t>(1));
}

}  // namespace

void add_embedding_kernels(KernelSet& set) {
  set.add("embedding", [](const KernelRequest& request) {
    const TensorSpec& weight = request.inputs[1];
    const Table t{request.inputs[0].numel(), weight.shape[0], weight.shape[1], no_padding_row};
    return visit_elements(weight.dtype, [=]<class T>() {
      return device_kernel(
          [=](cudaStream_t stream, const KernelArgs& args) { run_look_up<T>(stream, t, args); });
    });
  });
  set.add("embedding_grad", [](const KernelRequest& request) {
    const TensorSpec& dweight = request.outputs[0];
    const Table t{request.inputs[1].numel(), dweight.shape[0], dweight.shape[1],
                  request.as<EmbeddingGradOp>().padding_row()};
    return visit_elements(dweight.dtype, [=]<class T>() {
      return device_kernel(
          [=](cudaStream_t stream, const KernelArgs& args) { run_gather<T>(stream, t, args); });
    });
  });
  set.add("shift_labels", [](const KernelRequest& request) {
    const std::int64_t n = request.inputs[0].numel(), length = request.inputs[0].shape[1];
    return device_kernel([=](cudaStream_t stream, const KernelArgs& args) {
      launch(shift, element_blocks(n), element_threads, 0, stream, n, length, args.out<std::int32_t>(0),
             args.in<std::int32_t>(0));
    });
  });
}

}  // namespace swapadvisor::cuda
