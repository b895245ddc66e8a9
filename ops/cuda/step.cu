// ema_update, scale_by, count_share, finite_check, bn_running_update: what a training step needs around its
// optimizer.
#include <swapadvisor/ops/batch_norm.h>
#include <swapadvisor/ops/cuda/block_reduce.h>
#include <swapadvisor/ops/cuda/elements.h>
#include <swapadvisor/ops/cuda/pointer_list.h>
#include <swapadvisor/ops/cuda/register.h>
#include <swapadvisor/ops/micro_batch.h>

#include <algorithm>

namespace swapadvisor::cuda {
namespace {

template <int width, class T, class X>
__global__ void __launch_bounds__(element_threads)
    ema_step(std::int64_t n, T* average, const X* x, const double* decay_of, const std::int32_t* finite) {
  if (*finite == 0) return;
  const double decay = *decay_of;
  const T fresh = static_cast<T>(1 - decay);
  for_each_pack<width>(n, [&]<int w>(Width<w>, std::int64_t i) {
    const Pack<X, w> values = load_pack<w>(x + i);
    Pack<T, w> kept = load_pack<w>(average + i);
    SWAPADVISOR_UNROLL
    for (int j = 0; j < w; ++j) {
      const T value = static_cast<T>(widen(values.at[j]));
      kept.at[j] = decay == 0 ? value : kept.at[j] + fresh * (value - kept.at[j]);
    }
    store_pack(average + i, kept);
  });
}

/// The factor is read before anything is written: the result may take its memory where it is no larger than
/// one pack of one thread.
template <int width, class T>
__global__ void __launch_bounds__(element_threads)
    scale_elements(std::int64_t n, T* y, const T* x, const double* factor_of) {
  const Acc<T> factor = static_cast<Acc<T>>(*factor_of);
  for_each_pack<width>(n, [&]<int w>(Width<w>, std::int64_t i) {
    const Pack<T, w> values = load_pack<w>(x + i);
    Pack<T, w> scaled;
    SWAPADVISOR_UNROLL
    for (int j = 0; j < w; ++j) scaled.at[j] = static_cast<T>(factor * widen(values.at[j]));
    store_pack(y + i, scaled);
  });
}

/// For tensors of 8 bytes, whose memory may be the factor's: by one thread.
template <class T>
__global__ void scale_few(int n, T* y, const T* x, const double* factor_of) {
  const Acc<T> factor = static_cast<Acc<T>>(*factor_of);
  for (int i = 0; i < n; ++i) y[i] = static_cast<T>(factor * widen(x[i]));
}

std::unique_ptr<Kernel> make_ema_update(const KernelRequest& request) {
  const std::int64_t n = request.inputs[0].numel();
  return visit_update(request, [n]<class T, class X>() {
    return device_kernel([n](cudaStream_t stream, const KernelArgs& args) {
      T* average = args.out<T>(0);
      const X* x = args.in<X>(1);
      with_width(
          [&]<int width>(Width<width>) {
            launch(ema_step<width, T, X>, element_blocks((n + width - 1) / width), element_threads, 0, stream,
                   n, average, x, args.in<double>(2), args.in<std::int32_t>(3));
          },
          static_cast<const T*>(average), x);
    });
  });
}

std::unique_ptr<Kernel> make_scale_by(const KernelRequest& request) {
  const std::int64_t n = request.inputs[0].numel();
  return visit_elements(request.inputs[0].dtype, [n]<class T>() {
    return device_kernel([n](cudaStream_t stream, const KernelArgs& args) {
      T* y = args.out<T>(0);
      const T* x = args.in<T>(0);
      const double* factor = args.in<double>(1);
      if (n * std::int64_t{sizeof(T)} == sizeof(double))
        return launch(scale_few<T>, 1, 1, 0, stream, n, y, x, factor);
      with_width(
          [&]<int width>(Width<width>) {
            launch(scale_elements<width, T>, element_blocks((n + width - 1) / width), element_threads, 0,
                   stream, n, y, x, factor);
          },
          static_cast<const T*>(y), x);
    });
  });
}

/// The numbers of earlier launches are in *total; the last launch divides.
__global__ void share(std::int64_t* total, bool first, bool last, double* result, const std::int64_t* mine,
                      PointerList<const std::int64_t> counts) {
  std::int64_t sum = first ? 0 : *total;
  for (int i = 0; i < counts.count; ++i) sum += *counts.at[i];
  *total = sum;
  if (last) *result = sum > 0 ? static_cast<double>(*mine) / static_cast<double>(sum) : 0.0;
}

std::unique_ptr<Kernel> make_count_share(const KernelRequest& request) {
  const int index = request.as<CountShareOp>().index();
  return device_kernel(
      [index](cudaStream_t stream, const KernelArgs& args) {
        using List = PointerList<const std::int64_t>;
        constexpr std::size_t at_once = List::most;
        for (std::size_t from = 0; from < args.inputs.size(); from += at_once) {
          List counts;
          for (std::size_t i = from; i < std::min(args.inputs.size(), from + at_once); ++i)
            counts.add(args.in<std::int64_t>(static_cast<int>(i)));
          launch(share, 1, 1, 0, stream, static_cast<std::int64_t*>(args.workspace), from == 0,
                 from + at_once >= args.inputs.size(), args.out<double>(0), args.in<std::int64_t>(index),
                 counts);
        }
      },
      sizeof(std::int64_t));
}

// One block.
template <class T>
__global__ void __launch_bounds__(element_threads)
    check_finite(std::int64_t n, std::int32_t* flag, const T* x) {
  int infinite = 0;
  for (std::int64_t i = threadIdx.x; i < n; i += blockDim.x) {
    const Acc<T> value = widen(x[i]);
    infinite += !(value - value == Acc<T>(0));  // ∞ − ∞ is NaN
  }
  infinite = block_reduce(infinite, Plus());
  if (threadIdx.x == 0 && infinite > 0) *flag = 0;
}

template <class T>
__global__ void __launch_bounds__(element_threads)
    update_running(double momentum, double epsilon, double count, std::int64_t channels, T* running_mean,
                   T* running_variance, std::int64_t* batches, const T* mean, const T* inverse,
                   const std::int32_t* finite) {
  if (*finite == 0) return;
  for (std::int64_t c = thread_index(); c < channels; c += thread_count()) {
    const double deviation = inverse[c], biased = 1 / (deviation * deviation) - epsilon;
    const double variance = (biased > 0 ? biased : 0.0) * count / (count - 1);
    running_mean[c] = static_cast<T>((1 - momentum) * running_mean[c] + momentum * mean[c]);
    running_variance[c] = static_cast<T>((1 - momentum) * running_variance[c] + momentum * variance);
  }
  if (thread_index() == 0) ++*batches;
}

}  // namespace

void add_step_kernels(KernelSet& set) {
  set.add("ema_update", make_ema_update);
  set.add("scale_by", make_scale_by);
  set.add("count_share", make_count_share);
  set.add("finite_check", [](const KernelRequest& request) {
    const std::int64_t n = request.inputs[0].numel();
    return visit_elements(request.inputs[0].dtype, [n]<class T>() {
      return device_kernel([n](cudaStream_t stream, const KernelArgs& args) {
        launch(check_finite<T>, 1, element_threads, 0, stream, n, args.out<std::int32_t>(0), args.in<T>(0));
      });
    });
  });
  set.add("bn_running_update", [](const KernelRequest& request) {
    const auto& op = request.as<BnRunningUpdateOp>();
    const double momentum = op.momentum(), epsilon = op.epsilon(), count = static_cast<double>(op.count());
    const std::int64_t channels = request.inputs[0].numel();
    return visit_floating(request.inputs[0].dtype, [=]<class T>() {
      return device_kernel([=](cudaStream_t stream, const KernelArgs& args) {
        launch(update_running<T>, element_blocks(channels), element_threads, 0, stream, momentum, epsilon,
               count, channels, args.out<T>(0), args.out<T>(1), args.out<std::int64_t>(2), args.in<T>(0),
               args.in<T>(1), args.in<std::int32_t>(5));
      });
    });
  });
}

}  // namespace swapadvisor::cuda
