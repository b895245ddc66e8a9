// dropout, drop_path and their backward ops: draws are made as they are used, the same as on the CPU.
#include <swapadvisor/core/rng.h>
#include <swapadvisor/ops/cuda/elements.h>
#include <swapadvisor/ops/cuda/register.h>
#include <swapadvisor/ops/drop_path.h>
#include <swapadvisor/ops/dropout.h>

#include <cmath>

namespace swapadvisor::cuda {
namespace {

/// Draws that one run of Philox makes, and elements per thread. The elements are read before any is written:
/// the result may take the memory of the step number where it is no larger.
constexpr int draws = 4;

/// Calls keep(element) for the elements of this thread's groups of `draws`, and stores them.
template <class T, class Keep>
__device__ inline void for_each_group(std::int64_t n, const T* x, T* y, Keep keep) {
  for (std::int64_t group = thread_index(); group * draws < n; group += thread_count()) {
    const std::int64_t first = group * draws;
    T values[draws];
    if (first + draws <= n) {
      SWAPADVISOR_UNROLL
      for (int j = 0; j < draws; ++j) values[j] = x[first + j];
      keep(group, values, draws);
      SWAPADVISOR_UNROLL
      for (int j = 0; j < draws; ++j) y[first + j] = values[j];
    } else {
      const int count = static_cast<int>(n - first);
      for (int j = 0; j < count; ++j) values[j] = x[first + j];
      keep(group, values, count);
      for (int j = 0; j < count; ++j) y[first + j] = values[j];
    }
  }
}

template <class T>
__global__ void __launch_bounds__(element_threads)
    drop_elements(RandomStream random, std::uint32_t threshold, double kept_scale, std::int64_t n, T* y,
                  const T* x, const std::int64_t* step) {
  const auto at_step = static_cast<std::uint32_t>(*step);
  const Acc<T> scale = static_cast<Acc<T>>(kept_scale);
  for_each_group(n, x, y, [&](std::int64_t group, T* values, int count) {
    const auto number = static_cast<std::uint64_t>(group);
    const PhiloxBlock bits = philox(
        {static_cast<std::uint32_t>(number), static_cast<std::uint32_t>(number >> 32), at_step, random.id},
        random.seed);
    for (int j = 0; j < count; ++j)
      values[j] =
          bits[static_cast<std::size_t>(j)] < threshold ? T(0) : static_cast<T>(widen(values[j]) * scale);
  });
}

/// `size` elements per sample, which share a draw.
template <class T>
__global__ void __launch_bounds__(element_threads)
    drop_samples(RandomStream random, double most, std::int64_t rise_steps, std::int64_t size, std::int64_t n,
                 T* y, const T* x, const std::int64_t* step) {
  const double p = drop_path_probability(most, rise_steps, *step);
  random.step = static_cast<std::uint32_t>(*step);
  const Acc<T> scale = static_cast<Acc<T>>(1 / (1 - p));
  for_each_group(n, x, y, [&](std::int64_t group, T* values, int count) {
    std::int64_t sample = -1;
    bool dropped = false;
    for (int j = 0; j < count; ++j) {
      const std::int64_t of_element = (group * draws + j) / size;
      if (of_element != sample) dropped = random.uniform(static_cast<std::uint64_t>(of_element)) < p;
      sample = of_element;
      values[j] = dropped ? T(0) : static_cast<T>(widen(values[j]) * scale);
    }
  });
}

dim3 group_blocks(std::int64_t n) {
  return element_blocks((n + draws - 1) / draws);
}

std::unique_ptr<Kernel> make_dropout(const KernelRequest& request) {
  const auto& op = request.as<DropoutOp>();
  const std::int64_t n = request.inputs[0].numel();
  const double p = op.p();
  // uniform(i) = (bits + 1/2)/2^32 < p, as a comparison of integers.
  const auto threshold = static_cast<std::uint32_t>(std::max(0.0, std::ceil(p * 0x1p32 - 0.5)));
  const RandomStream random{request.context.seed, op.draw_id(), 0};
  return visit_elements(request.inputs[0].dtype, [=]<class T>() {
    return device_kernel([=](cudaStream_t stream, const KernelArgs& args) {
      launch(drop_elements<T>, group_blocks(n), element_threads, 0, stream, random, threshold, 1 / (1 - p), n,
             args.out<T>(0), args.in<T>(0), args.in<std::int64_t>(1));
    });
  });
}

std::unique_ptr<Kernel> make_drop_path(const KernelRequest& request) {
  const auto& op = request.as<DropPathOp>();
  const std::int64_t n = request.inputs[0].numel(), size = n / request.inputs[0].shape[0];
  const RandomStream random{request.context.seed, op.draw_id(), 0};
  const double p = op.p();
  const std::int64_t rise_steps = op.rise_steps();
  return visit_elements(request.inputs[0].dtype, [=]<class T>() {
    return device_kernel([=](cudaStream_t stream, const KernelArgs& args) {
      launch(drop_samples<T>, group_blocks(n), element_threads, 0, stream, random, p, rise_steps, size, n,
             args.out<T>(0), args.in<T>(0), args.in<std::int64_t>(1));
    });
  });
}

}  // namespace

void add_random_kernels(KernelSet& set) {
  set.add("dropout", make_dropout);
  set.add("dropout_backward", make_dropout);
  set.add("drop_path", make_drop_path);
  set.add("drop_path_backward", make_drop_path);
}

}  // namespace swapadvisor::cuda
