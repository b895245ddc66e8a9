// square_sum, gradient_clip, ema_update, count_share, scale_by: what a training step needs around its
// optimizer.
#include <swapadvisor/ops/cpu/reduce.h>
#include <swapadvisor/ops/cpu/register.h>
#include <swapadvisor/ops/gradient_clip.h>
#include <swapadvisor/ops/micro_batch.h>

#include <cmath>

namespace swapadvisor {
namespace {

template <class T>
SWAPADVISOR_INLINE double square_sum_loop(const T* x, std::int64_t n) {
  constexpr std::int64_t lanes = reduction_lanes;
  double sums[lanes] = {};
  const std::int64_t whole = n / lanes * lanes;
  for (std::int64_t i = 0; i < whole; i += lanes) {
    SWAPADVISOR_VECTORISE
    for (std::int64_t l = 0; l < lanes; ++l) {
      const double wide = x[i + l];
      sums[l] += wide * wide;
    }
  }
  for (std::int64_t i = whole; i < n; ++i) sums[i - whole] += double{x[i]} * double{x[i]};
  double sum = 0;
  for (double s : sums) sum += s;
  return sum;
}

template <class T>
SWAPADVISOR_INLINE void ema_loop(T* average, const T* x, T fresh, std::int64_t n) {
  SWAPADVISOR_VECTORISE
  for (std::int64_t i = 0; i < n; ++i) average[i] += fresh * (x[i] - average[i]);
}

template <class T>
SWAPADVISOR_INLINE void scale_by_loop(const T* x, T factor, T* y, std::int64_t n) {
  SWAPADVISOR_VECTORISE
  for (std::int64_t i = 0; i < n; ++i) y[i] = factor * x[i];
}

SWAPADVISOR_MULTIVERSION double square_sum_block(const float* x, std::int64_t n) {
  return square_sum_loop(x, n);
}
double square_sum_block(const double* x, std::int64_t n) {
  return square_sum_loop(x, n);
}

SWAPADVISOR_MULTIVERSION void ema_chunk(float* average, const float* x, float fresh, std::int64_t n) {
  ema_loop(average, x, fresh, n);
}
void ema_chunk(double* average, const double* x, double fresh, std::int64_t n) {
  ema_loop(average, x, fresh, n);
}

SWAPADVISOR_MULTIVERSION void scale_by_chunk(const float* x, float factor, float* y, std::int64_t n) {
  scale_by_loop(x, factor, y, n);
}
void scale_by_chunk(const double* x, double factor, double* y, std::int64_t n) {
  scale_by_loop(x, factor, y, n);
}

std::unique_ptr<Kernel> make_square_sum(const KernelRequest& request) {
  const std::int64_t n = request.inputs[0].numel(), blocks = reduction_blocks(n);
  return visit_floating(request.inputs[0].dtype, [=]<class T>() {
    return make_kernel(
        [=](const KernelArgs& args) {
          const T* x = args.in<T>(0);
          auto* sums = static_cast<double*>(args.workspace);
          for_each_block(n, [=](std::int64_t block, std::int64_t b, std::int64_t e) {
            sums[block] = square_sum_block(x + b, e - b);
          });
          double sum = 0;
          for (std::int64_t block = 0; block < blocks; ++block) sum += sums[block];
          *args.out<double>(0) = sum;
        },
        blocks * static_cast<std::int64_t>(sizeof(double)));
  });
}

std::unique_ptr<Kernel> make_gradient_clip(const KernelRequest& request) {
  const double most = request.as<GradientClipOp>().max_norm();
  return make_kernel([most](const KernelArgs& args) {
    double squares = 0;
    for (std::size_t i = 0; i < args.inputs.size(); ++i) squares += *args.in<double>(static_cast<int>(i));
    const double norm = std::sqrt(squares), factor = most / (norm + 1e-6);
    *args.out<double>(0) = factor >= 1 ? 1 : factor;  // NaN stays
    *args.out<double>(1) = norm;
  });
}

std::unique_ptr<Kernel> make_ema_update(const KernelRequest& request) {
  const std::int64_t n = request.inputs[0].numel();
  return visit_floating(request.inputs[0].dtype, [n]<class T>() {
    return make_kernel([n](const KernelArgs& args) {
      if (*args.in<std::int32_t>(3) == 0) return;
      const double decay = *args.in<double>(2);
      const T* x = args.in<T>(1);
      T* average = args.out<T>(0);
      parallel_for(n, elementwise_grain, [=](std::int64_t b, std::int64_t e) {
        if (decay == 0)
          std::copy(x + b, x + e, average + b);
        else
          ema_chunk(average + b, x + b, static_cast<T>(1 - decay), e - b);
      });
    });
  });
}

std::unique_ptr<Kernel> make_scale_by(const KernelRequest& request) {
  const std::int64_t n = request.inputs[0].numel();
  return visit_floating(request.inputs[0].dtype, [n]<class T>() {
    return make_kernel([n](const KernelArgs& args) {
      const T *x = args.in<T>(0), factor = static_cast<T>(*args.in<double>(1));
      T* y = args.out<T>(0);
      parallel_for(n, elementwise_grain,
                   [=](std::int64_t b, std::int64_t e) { scale_by_chunk(x + b, factor, y + b, e - b); });
    });
  });
}

std::unique_ptr<Kernel> make_count_share(const KernelRequest& request) {
  const int index = request.as<CountShareOp>().index();
  return make_kernel([index](const KernelArgs& args) {
    std::int64_t total = 0;
    for (std::size_t i = 0; i < args.inputs.size(); ++i) total += *args.in<std::int64_t>(static_cast<int>(i));
    const auto mine = static_cast<double>(*args.in<std::int64_t>(index));
    *args.out<double>(0) = total > 0 ? mine / static_cast<double>(total) : 0;
  });
}

}  // namespace

void add_step_kernels(KernelSet& set) {
  set.add("square_sum", make_square_sum);
  set.add("gradient_clip", make_gradient_clip);
  set.add("ema_update", make_ema_update);
  set.add("count_share", make_count_share);
  set.add("scale_by", make_scale_by);
}

}  // namespace swapadvisor
