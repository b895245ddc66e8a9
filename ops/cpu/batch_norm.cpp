// batch_norm and its backward and inference forms. One pass for the statistics, one for the result; sums in
// double over blocks that depend on the shape only, so results do not depend on the number of threads.
#include <swapadvisor/core/parallel.h>
#include <swapadvisor/ops/batch_norm.h>
#include <swapadvisor/ops/cpu/batch_norm_loops.h>
#include <swapadvisor/ops/cpu/register.h>
#include <swapadvisor/ops/cpu/vector.h>

#include <cmath>

namespace swapadvisor {
namespace {

/// Elements are [outer][channels][inner]. With inner = 1 (channels-last, matrices) memory is rows of
/// channels, taken `width` elements at a time: whole rows, several of them when there are few channels.
struct Geometry {
  explicit Geometry(const TensorSpec& x) {
    channels = x.shape[1];
    const bool last = x.layout() == Layout::channels_last;
    inner = last ? 1 : x.numel() / (x.shape[0] * channels);
    outer = x.numel() / (channels * inner);
    constexpr std::int64_t shortest_loop = 64, fewest_rows = 32, most_blocks = 64;
    width = inner > 1 ? channels : channels * std::max<std::int64_t>(1, shortest_loop / channels);
    blocks = inner > 1 ? 1 : std::clamp<std::int64_t>(outer * channels / width / fewest_rows, 1, most_blocks);
  }
  std::int64_t count() const { return outer * inner; }
  std::int64_t numel() const { return outer * channels * inner; }
  /// First row of a block of rows.
  std::int64_t block_begin(std::int64_t block) const { return outer * block / blocks; }

  std::int64_t outer = 0, channels = 0, inner = 0, width = 0, blocks = 0;
};

/// Workspace: two sums per block and column, then coefficients per column.
template <class T>
struct Workspace {
  static constexpr int coefficients = 4;
  static std::int64_t bytes(const Geometry& g) {
    return 2 * g.blocks * g.width * std::int64_t{sizeof(double)} +
           coefficients * g.width * std::int64_t{sizeof(T)};
  }
  Workspace(const Geometry& g, void* memory) : width(g.width), sums(static_cast<double*>(memory)) {
    values = reinterpret_cast<T*>(sums + 2 * g.blocks * g.width);
  }
  double* block(std::int64_t b) const { return sums + 2 * b * width; }
  T* coefficient(int i) const { return values + i * width; }
  BatchNormCoefficients<T> rows() const {
    return {width, {coefficient(0), coefficient(1), coefficient(2), coefficient(3)}};
  }

  std::int64_t width;
  double* sums;
  T* values;
};

/// Sums of both terms per channel, into the first `channels` entries of block 0. `rows(begin, count, first,
/// second)` and `plane(begin, channel, first, second)` add the terms of elements from `begin` on.
template <class T, class Rows, class Plane>
void channel_sums(const Geometry& g, const Workspace<T>& w, Rows rows, Plane plane) {
  if (g.inner > 1) {
    const std::int64_t grain = std::max<std::int64_t>(1, elementwise_grain / g.count());
    parallel_for(g.channels, grain, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t c = begin; c < end; ++c) {
        double first[reduction_lanes] = {}, second[reduction_lanes] = {};
        for (std::int64_t n = 0; n < g.outer; ++n) plane((n * g.channels + c) * g.inner, c, first, second);
        double &a = w.block(0)[c], &b = w.block(0)[g.width + c];
        a = b = 0;
        for (int l = 0; l < reduction_lanes; ++l) a += first[l], b += second[l];
      }
    });
    return;
  }
  const std::int64_t grain = std::max<std::int64_t>(1, elementwise_grain * g.blocks / g.numel());
  parallel_for(g.blocks, grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t b = begin; b < end; ++b) {
      const std::int64_t row = g.block_begin(b), last = g.block_begin(b + 1);
      std::fill_n(w.block(b), 2 * g.width, 0.0);
      rows(row * g.channels, (last - row) * g.channels, w.block(b), w.block(b) + g.width);
    }
  });
  for (std::int64_t half = 0; half < 2 * g.width; half += g.width) {
    double* total = w.block(0) + half;
    for (std::int64_t b = 1; b < g.blocks; ++b) {
      const double* part = w.block(b) + half;
      SWAPADVISOR_VECTORISE
      for (std::int64_t c = 0; c < g.width; ++c) total[c] += part[c];
    }
    for (std::int64_t c = g.channels; c < g.width; ++c) total[c % g.channels] += total[c];
  }
}

/// Coefficients of the first channels, repeated over the width.
template <class T>
void repeat(const Geometry& g, T* coefficient) {
  for (std::int64_t c = g.channels; c < g.width; ++c) coefficient[c] = coefficient[c - g.channels];
}

/// Calls rows(begin, count) on whole rows, or plane(begin, channel) on planes, in parallel.
template <class Rows, class Plane>
void for_all(const Geometry& g, Rows rows, Plane plane) {
  if (g.inner > 1) {
    const std::int64_t grain = std::max<std::int64_t>(1, elementwise_grain / g.inner);
    parallel_for(g.outer * g.channels, grain, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t p = begin; p < end; ++p) plane(p * g.inner, p % g.channels);
    });
    return;
  }
  const std::int64_t grain = std::max<std::int64_t>(1, elementwise_grain / g.channels);
  parallel_for(g.outer, grain, [&](std::int64_t begin, std::int64_t end) {
    rows(begin * g.channels, (end - begin) * g.channels);
  });
}

template <class T>
void normalise(const Geometry& g, const Workspace<T>& w, const T* x, T* y) {
  for (int i = 0; i < 3; ++i) repeat(g, w.coefficient(i));
  for_all(
      g,
      [&](std::int64_t begin, std::int64_t count) { normalise_rows(x + begin, w.rows(), y + begin, count); },
      [&](std::int64_t begin, std::int64_t c) {
        normalise_plane(x + begin, w.coefficient(0)[c], w.coefficient(1)[c], w.coefficient(2)[c], y + begin,
                        g.inner);
      });
}

/// Small outputs are written last, since in place they may be the memory of any input of their size.
template <class T>
void forward(const Geometry& g, double epsilon, const KernelArgs& args) {
  const Workspace<T> w(g, args.workspace);
  const T *x = args.in<T>(0), *gamma = args.in<T>(1), *beta = args.in<T>(2);
  T *mean = w.coefficient(0), *scale = w.coefficient(1), *shift = w.coefficient(2),
    *inverse = w.coefficient(3);
  // Deviations from a sample of each channel instead of from 0: no cancellation when the mean is large.
  for (std::int64_t c = 0; c < g.channels; ++c) shift[c] = x[c * g.inner];
  repeat(g, shift);
  channel_sums(
      g, w,
      [&](std::int64_t begin, std::int64_t count, double* first, double* second) {
        sum_deviations(x + begin, shift, count, g.width, first, second);
      },
      [&](std::int64_t begin, std::int64_t c, double* first, double* second) {
        sum_plane_deviations(x + begin, shift[c], g.inner, first, second);
      });
  const auto count = static_cast<double>(g.count());
  const double *sum = w.block(0), *squares = w.block(0) + g.width;
  for (std::int64_t c = 0; c < g.channels; ++c) {
    const double offset = sum[c] / count, variance = squares[c] / count - offset * offset;
    const double deviation = 1 / std::sqrt((variance < 0 ? 0 : variance) + epsilon);
    mean[c] = static_cast<T>(shift[c] + offset);
    inverse[c] = static_cast<T>(deviation);
    scale[c] = static_cast<T>(gamma[c] * deviation);
    shift[c] = beta[c];
  }
  normalise(g, w, x, args.out<T>(0));
  std::copy_n(mean, g.channels, args.out<T>(1));
  std::copy_n(inverse, g.channels, args.out<T>(2));
}

template <class T>
void inference(const Geometry& g, double epsilon, const KernelArgs& args) {
  const Workspace<T> w(g, args.workspace);
  const T *gamma = args.in<T>(1), *beta = args.in<T>(2), *mean = args.in<T>(3), *variance = args.in<T>(4);
  for (std::int64_t c = 0; c < g.channels; ++c) {
    w.coefficient(0)[c] = mean[c];
    w.coefficient(1)[c] = static_cast<T>(gamma[c] / std::sqrt(variance[c] + epsilon));
    w.coefficient(2)[c] = beta[c];
  }
  normalise(g, w, args.in<T>(0), args.out<T>(0));
}

template <class T>
void backward(const Geometry& g, const KernelArgs& args) {
  const Workspace<T> w(g, args.workspace);
  const T *dy = args.in<T>(0), *x = args.in<T>(1), *gamma = args.in<T>(2), *inverse = args.in<T>(4);
  T *mean = w.coefficient(0), *mean_dy = w.coefficient(1), *slope = w.coefficient(2),
    *scale = w.coefficient(3);
  T* dx = args.out<T>(0);
  std::copy_n(args.in<T>(3), g.channels, mean);
  repeat(g, mean);
  channel_sums(
      g, w,
      [&](std::int64_t begin, std::int64_t count, double* first, double* second) {
        sum_gradients(dy + begin, x + begin, mean, count, g.width, first, second);
      },
      [&](std::int64_t begin, std::int64_t c, double* first, double* second) {
        sum_plane_gradients(dy + begin, x + begin, mean[c], g.inner, first, second);
      });
  const auto count = static_cast<double>(g.count());
  double *dbeta = w.block(0), *dgamma = w.block(0) + g.width;
  for (std::int64_t c = 0; c < g.channels; ++c) {
    const double deviation = inverse[c];
    mean_dy[c] = static_cast<T>(dbeta[c] / count);
    slope[c] = static_cast<T>(dgamma[c] * deviation * deviation / count);
    scale[c] = static_cast<T>(gamma[c] * deviation);
    dgamma[c] *= deviation;
  }
  for (T* coefficient : {mean_dy, slope, scale}) repeat(g, coefficient);
  for_all(
      g,
      [&](std::int64_t begin, std::int64_t n) {
        backward_rows(dy + begin, x + begin, w.rows(), dx + begin, n);
      },
      [&](std::int64_t begin, std::int64_t c) {
        backward_plane(dy + begin, x + begin, mean[c], mean_dy[c], slope[c], scale[c], dx + begin, g.inner);
      });
  for (std::int64_t c = 0; c < g.channels; ++c) {
    args.out<T>(1)[c] = static_cast<T>(dgamma[c]);
    args.out<T>(2)[c] = static_cast<T>(dbeta[c]);
  }
}

}  // namespace

void add_batch_norm_kernels(KernelSet& set) {
  set.add("batch_norm", [](const KernelRequest& request) {
    const Geometry g(request.inputs[0]);
    const double epsilon = request.as<BatchNormOp>().epsilon();
    return visit_floating(request.inputs[0].dtype, [=]<class T>() {
      return make_kernel([=](const KernelArgs& args) { forward<T>(g, epsilon, args); },
                         Workspace<T>::bytes(g));
    });
  });
  set.add("batch_norm_inference", [](const KernelRequest& request) {
    const Geometry g(request.inputs[0]);
    const double epsilon = request.as<BatchNormInferenceOp>().epsilon();
    return visit_floating(request.inputs[0].dtype, [=]<class T>() {
      return make_kernel([=](const KernelArgs& args) { inference<T>(g, epsilon, args); },
                         Workspace<T>::bytes(g));
    });
  });
  set.add("batch_norm_backward", [](const KernelRequest& request) {
    const Geometry g(request.inputs[1]);
    return visit_floating(request.inputs[1].dtype, [=]<class T>() {
      return make_kernel([=](const KernelArgs& args) { backward<T>(g, args); }, Workspace<T>::bytes(g));
    });
  });
}

}  // namespace swapadvisor
