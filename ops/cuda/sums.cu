// square_sum, gradient_clip, lamb: sums of squares over whole tensors, in double, in parts of a fixed size.
#include <swapadvisor/ops/cuda/block_reduce.h>
#include <swapadvisor/ops/cuda/elements.h>
#include <swapadvisor/ops/cuda/pointer_list.h>
#include <swapadvisor/ops/cuda/register.h>
#include <swapadvisor/ops/gradient_clip.h>
#include <swapadvisor/ops/lamb.h>

#include <algorithm>
#include <cmath>

namespace swapadvisor::cuda {
namespace {

/// Blocks of a sum over n elements, each of which leaves a partial sum: by n alone.
std::int64_t sum_blocks(std::int64_t n) {
  return std::clamp<std::int64_t>(n / (8 * element_threads), 1, 512);
}

template <class T>
__global__ void __launch_bounds__(element_threads) add_squares(std::int64_t n, double* partial, const T* x) {
  double sum = 0;
  for (std::int64_t i = thread_index(); i < n; i += thread_count()) {
    const double wide = widen(x[i]);
    sum += wide * wide;
  }
  sum = block_reduce(sum, Plus());
  if (threadIdx.x == 0) partial[blockIdx.x] = sum;
}

/// In every thread of a block.
__device__ inline double sum_of(const double* values, std::int64_t n) {
  double sum = 0;
  for (std::int64_t i = threadIdx.x; i < n; i += blockDim.x) sum += values[i];
  return block_reduce(sum, Plus());
}

// One block.
__global__ void __launch_bounds__(element_threads)
    add_partial(std::int64_t n, double* sum_to, const double* partial) {
  const double sum = sum_of(partial, n);
  if (threadIdx.x == 0) *sum_to = sum;
}

std::unique_ptr<Kernel> make_square_sum(const KernelRequest& request) {
  const std::int64_t n = request.inputs[0].numel(), blocks = sum_blocks(n);
  return visit_elements(request.inputs[0].dtype, [=]<class T>() {
    return device_kernel(
        [=](cudaStream_t stream, const KernelArgs& args) {
          auto* partial = static_cast<double*>(args.workspace);
          launch(add_squares<T>, static_cast<unsigned>(blocks), element_threads, 0, stream, n, partial,
                 args.in<T>(0));
          launch(add_partial, 1, element_threads, 0, stream, blocks, args.out<double>(0), partial);
        },
        blocks * std::int64_t{sizeof(double)});
  });
}

// One block: adds the squares to *norm, which a first launch starts and a last one takes the root of.
__global__ void __launch_bounds__(PointerList<const double>::most)
    clip(double most, bool first, bool last, double* scale, double* norm, PointerList<const double> squares) {
  __shared__ double values[PointerList<const double>::most];
  if (static_cast<int>(threadIdx.x) < squares.count) values[threadIdx.x] = *squares.at[threadIdx.x];
  __syncthreads();
  if (threadIdx.x != 0) return;
  double sum = first ? 0.0 : *norm;
  for (int i = 0; i < squares.count; ++i) sum += values[i];
  if (!last) {
    *norm = sum;
    return;
  }
  const double root = std::sqrt(sum), factor = most / (root + 1e-6);
  *scale = factor >= 1 ? 1.0 : factor;  // NaN stays
  *norm = root;
}

std::unique_ptr<Kernel> make_gradient_clip(const KernelRequest& request) {
  const double most = request.as<GradientClipOp>().max_norm();
  return device_kernel([most](cudaStream_t stream, const KernelArgs& args) {
    constexpr std::size_t at_once = PointerList<const double>::most;
    for (std::size_t from = 0; from < args.inputs.size(); from += at_once) {
      PointerList<const double> squares;
      for (std::size_t i = from; i < std::min(args.inputs.size(), from + at_once); ++i)
        squares.add(args.in<double>(static_cast<int>(i)));
      launch(clip, 1, PointerList<const double>::most, 0, stream, most, from == 0,
             from + at_once >= args.inputs.size(), args.out<double>(0), args.out<double>(1), squares);
    }
  });
}

/// Computed in double, used in A.
template <class A>
struct LambCoefficients {
  A scale, fresh1, beta2, fresh2, epsilon, mean, deviation, decay;
};

template <class A>
__device__ inline LambCoefficients<A> lamb_coefficients(const LambOptions& o, const double* correction1,
                                                        const double* correction2, const double* scale_of) {
  return {static_cast<A>(scale_of == nullptr ? 1.0 : *scale_of),
          static_cast<A>(1 - o.beta1),
          static_cast<A>(o.beta2),
          static_cast<A>(1 - o.beta2),
          static_cast<A>(o.epsilon),
          static_cast<A>(1 / *correction1),
          static_cast<A>(1 / std::sqrt(*correction2)),
          static_cast<A>(o.weight_decay)};
}

/// u, from the new moments. The second pass computes it again rather than keep it.
template <class A>
__device__ inline A direction(const LambCoefficients<A>& k, A p, A m, A v) {
  return k.mean * m / (std::sqrt(v) * k.deviation + k.epsilon) + k.decay * p;
}

/// New moments; the squares of parameter and direction, partial[two][blocks].
template <class T, class G>
__global__ void __launch_bounds__(element_threads)
    lamb_moments(LambOptions o, std::int64_t n, T* exp_avg, T* exp_avg_sq, double* partial,
                 const T* parameter, const G* gradient, const double* correction1, const double* correction2,
                 const std::int32_t* finite, const double* scale_of) {
  if (*finite == 0) return;
  const LambCoefficients<T> k = lamb_coefficients<T>(o, correction1, correction2, scale_of);
  double squares = 0, of_direction = 0;
  for (std::int64_t i = thread_index(); i < n; i += thread_count()) {
    const T p = parameter[i], g = k.scale * static_cast<T>(widen(gradient[i]));
    const T m = exp_avg[i] + k.fresh1 * (g - exp_avg[i]);
    const T v = k.beta2 * exp_avg_sq[i] + k.fresh2 * g * g;
    exp_avg[i] = m;
    exp_avg_sq[i] = v;
    const double wide_p = p, wide_u = direction(k, p, m, v);
    squares += wide_p * wide_p;
    of_direction += wide_u * wide_u;
  }
  squares = block_reduce(squares, Plus());
  of_direction = block_reduce(of_direction, Plus());
  if (threadIdx.x != 0) return;
  partial[blockIdx.x] = squares;
  partial[gridDim.x + blockIdx.x] = of_direction;
}

template <class T>
__global__ void __launch_bounds__(element_threads)
    lamb_step(LambOptions o, std::int64_t n, std::int64_t parts, T* parameter, const T* exp_avg,
              const T* exp_avg_sq, const double* partial, const double* rate_of, const double* correction1,
              const double* correction2, const std::int32_t* finite, const double* scale_of) {
  if (*finite == 0) return;
  const double squares = sum_of(partial, parts), of_direction = sum_of(partial + parts, parts);
  const double ratio = squares > 0 && of_direction > 0 ? std::sqrt(squares) / std::sqrt(of_direction) : 1.0;
  const LambCoefficients<T> k = lamb_coefficients<T>(o, correction1, correction2, scale_of);
  const T step = static_cast<T>(*rate_of * ratio);
  for (std::int64_t i = thread_index(); i < n; i += thread_count())
    parameter[i] -= step * direction(k, parameter[i], exp_avg[i], exp_avg_sq[i]);
}

template <class T, class G>
void run_lamb(cudaStream_t stream, const LambOptions& options, std::int64_t n, const KernelArgs& args) {
  const std::int64_t blocks = sum_blocks(n);
  auto* partial = static_cast<double*>(args.workspace);
  const double* scale_of = options.scaled_gradient ? args.in<double>(8) : nullptr;
  launch(lamb_moments<T, G>, static_cast<unsigned>(blocks), element_threads, 0, stream, options, n,
         args.out<T>(1), args.out<T>(2), partial, args.out<T>(0), args.in<G>(1), args.in<double>(3),
         args.in<double>(4), args.in<std::int32_t>(5), scale_of);
  launch(lamb_step<T>, static_cast<unsigned>(blocks), element_threads, 0, stream, options, n, blocks,
         args.out<T>(0), args.out<T>(1), args.out<T>(2), partial, args.in<double>(2), args.in<double>(3),
         args.in<double>(4), args.in<std::int32_t>(5), scale_of);
}

}  // namespace

void add_sum_kernels(KernelSet& set) {
  set.add("square_sum", make_square_sum);
  set.add("gradient_clip", make_gradient_clip);
  set.add("lamb", [](const KernelRequest& request) {
    const LambOptions options = request.as<LambOp>().options();
    const std::int64_t n = request.inputs[0].numel();
    return visit_update(request, [=]<class T, class G>() {
      return device_kernel(
          [=](cudaStream_t stream, const KernelArgs& args) { run_lamb<T, G>(stream, options, n, args); },
          2 * sum_blocks(n) * std::int64_t{sizeof(double)});
    });
  });
}

}  // namespace swapadvisor::cuda
