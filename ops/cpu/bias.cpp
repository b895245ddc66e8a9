// bias_add and bias_grad.
#include <swapadvisor/core/parallel.h>
#include <swapadvisor/ops/cpu/register.h>
#include <swapadvisor/ops/cpu/vector.h>
#include <swapadvisor/ops/cpu/workspace.h>

#include <algorithm>

namespace swapadvisor {
namespace {

/// x as [rows, channels], or as planes [rows, channels, pixels] where channels are not innermost.
struct Sizes {
  std::int64_t rows, channels, pixels;
};

Sizes sizes_of(const TensorSpec& x, const TensorSpec& y) {
  if (x.rank() == 2) return {x.shape[0], x.shape[1], 1};
  const std::int64_t pixels = x.shape[2] * x.shape[3];
  if (x.is_channels_last() && y.is_channels_last()) return {x.shape[0] * pixels, x.shape[1], 1};
  return {x.shape[0], x.shape[1], pixels};
}

template <class T>
SWAPADVISOR_MULTIVERSION void add_rows(const T* x, const T* bias, T* y, std::int64_t rows,
                                       std::int64_t channels) {
  for (std::int64_t i = 0; i < rows * channels; i += channels) {
    SWAPADVISOR_VECTORISE
    for (std::int64_t c = 0; c < channels; ++c) y[i + c] = x[i + c] + bias[c];
  }
}

template <class T>
SWAPADVISOR_MULTIVERSION void add_number(const T* x, T bias, T* y, std::int64_t n) {
  SWAPADVISOR_VECTORISE
  for (std::int64_t i = 0; i < n; ++i) y[i] = x[i] + bias;
}

template <class T>
SWAPADVISOR_MULTIVERSION void sum_rows(const T* dy, double* sums, std::int64_t rows, std::int64_t channels) {
  std::fill_n(sums, channels, 0.0);
  for (std::int64_t i = 0; i < rows * channels; i += channels)
    for (std::int64_t c = 0; c < channels; ++c) sums[c] += static_cast<double>(dy[i + c]);
}

template <class T>
double sum_of(const T* x, std::int64_t n) {
  double sum = 0;
  for (std::int64_t i = 0; i < n; ++i) sum += static_cast<double>(x[i]);
  return sum;
}

template <class T>
void bias_add(const Sizes& s, const T* x, const T* bias, T* y) {
  const std::int64_t row = s.channels * s.pixels, grain = std::max<std::int64_t>(1, elementwise_grain / row);
  if (s.pixels == 1) {
    parallel_for(s.rows, grain, [&](std::int64_t b, std::int64_t e) {
      add_rows(x + b * row, bias, y + b * row, e - b, s.channels);
    });
    return;
  }
  parallel_for(s.rows * s.channels, std::max<std::int64_t>(1, elementwise_grain / s.pixels),
               [&](std::int64_t b, std::int64_t e) {
                 for (std::int64_t i = b; i < e; ++i)
                   add_number(x + i * s.pixels, bias[i % s.channels], y + i * s.pixels, s.pixels);
               });
}

/// Partial sums of rows: their number is fixed by the shape, so sums do not depend on threads.
std::int64_t parts_of(const Sizes& s) {
  return s.pixels == 1 ? std::clamp<std::int64_t>(s.rows / 256, 1, 32) : 0;
}

template <class T>
void bias_grad(const Sizes& s, const T* dy, double* partial, T* sums) {
  if (s.pixels > 1) {
    parallel_for(s.channels, 1, [&](std::int64_t b, std::int64_t e) {
      for (std::int64_t c = b; c < e; ++c) {
        double sum = 0;
        for (std::int64_t n = 0; n < s.rows; ++n)
          sum += sum_of(dy + (n * s.channels + c) * s.pixels, s.pixels);
        sums[c] = static_cast<T>(sum);
      }
    });
    return;
  }
  const std::int64_t parts = parts_of(s);
  parallel_for(parts, 1, [&](std::int64_t b, std::int64_t e) {
    for (std::int64_t i = b; i < e; ++i) {
      const std::int64_t first = s.rows * i / parts, last = s.rows * (i + 1) / parts;
      sum_rows(dy + first * s.channels, partial + i * s.channels, last - first, s.channels);
    }
  });
  for (std::int64_t c = 0; c < s.channels; ++c) {
    double sum = 0;
    for (std::int64_t i = 0; i < parts; ++i) sum += partial[i * s.channels + c];
    sums[c] = static_cast<T>(sum);
  }
}

}  // namespace

void add_bias_kernels(KernelSet& set) {
  set.add("bias_add", [](const KernelRequest& r) {
    const Sizes s = sizes_of(r.inputs[0], r.outputs[0]);
    return visit_floating(r.inputs[0].dtype, [s]<class T>() {
      return make_kernel(
          [s](const KernelArgs& args) { bias_add(s, args.in<T>(0), args.in<T>(1), args.out<T>(0)); });
    });
  });
  set.add("bias_grad", [](const KernelRequest& r) {
    const Sizes s = sizes_of(r.inputs[0], r.inputs[0]);
    const std::int64_t bytes = parts_of(s) * s.channels * static_cast<std::int64_t>(sizeof(double));
    return visit_floating(r.inputs[0].dtype, [s, bytes]<class T>() {
      return make_kernel(
          [s](const KernelArgs& args) {
            bias_grad(s, args.in<T>(0), static_cast<double*>(args.workspace), args.out<T>(0));
          },
          bytes);
    });
  });
}

}  // namespace swapadvisor
