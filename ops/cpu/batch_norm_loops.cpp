#include <swapadvisor/ops/cpu/batch_norm_loops.h>
#include <swapadvisor/ops/cpu/vector.h>

#include <algorithm>

namespace swapadvisor {
namespace {

template <class T>
struct Terms {
  T first, second;
};

/// Adds term(i, i mod width) for i in [0, count) to first[i mod width], second[i mod width]. Four rows are
/// summed in T before they join the sums in double.
template <class T, class Term>
SWAPADVISOR_INLINE void sum_rows(std::int64_t count, std::int64_t width, double* __restrict first,
                                 double* __restrict second, Term term) {
  std::int64_t i = 0;
  for (; i + 4 * width <= count; i += 4 * width) {
    SWAPADVISOR_VECTORISE
    for (std::int64_t c = 0; c < width; ++c) {
      const Terms<T> t0 = term(i + c, c), t1 = term(i + width + c, c), t2 = term(i + 2 * width + c, c),
                     t3 = term(i + 3 * width + c, c);
      first[c] += (t0.first + t1.first) + (t2.first + t3.first);
      second[c] += (t0.second + t1.second) + (t2.second + t3.second);
    }
  }
  for (; i < count; i += width) {
    const std::int64_t n = std::min(width, count - i);
    SWAPADVISOR_VECTORISE
    for (std::int64_t c = 0; c < n; ++c) {
      const Terms<T> t = term(i + c, c);
      first[c] += t.first;
      second[c] += t.second;
    }
  }
}

/// Adds term(i) for i in [0, count) to lanes i mod `reduction_lanes`.
template <class T, class Term>
SWAPADVISOR_INLINE void sum_plane(std::int64_t count, double* __restrict first, double* __restrict second,
                                  Term term) {
  constexpr std::int64_t lanes = reduction_lanes;
  std::int64_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    SWAPADVISOR_VECTORISE
    for (std::int64_t l = 0; l < lanes; ++l) {
      const Terms<T> t = term(i + l);
      first[l] += t.first;
      second[l] += t.second;
    }
  }
  for (std::int64_t l = 0; i < count; ++i, ++l) {
    const Terms<T> t = term(i);
    first[l] += t.first;
    second[l] += t.second;
  }
}

/// The terms of the forward pass: x − shift and its square.
template <class T>
SWAPADVISOR_INLINE auto deviation_terms(const T* x, const T* shift) {
  return [x, shift](std::int64_t i, std::int64_t c) {
    const T d = x[i] - shift[c];
    return Terms<T>{d, d * d};
  };
}

/// The terms of the backward pass: dy and dy·(x − mean).
template <class T>
SWAPADVISOR_INLINE auto gradient_terms(const T* dy, const T* x, const T* mean) {
  return [dy, x, mean](std::int64_t i, std::int64_t c) {
    const T g = dy[i];
    return Terms<T>{g, g * (x[i] - mean[c])};
  };
}

/// y = (x − mean)·scale + shift; `step` 1 takes coefficients per element, 0 one for all.
template <int step, class T>
SWAPADVISOR_INLINE void normalise_loop(const T* x, const T* mean, const T* scale, const T* shift, T* y,
                                       std::int64_t n) {
  SWAPADVISOR_VECTORISE
  for (std::int64_t i = 0; i < n; ++i) y[i] = (x[i] - mean[i * step]) * scale[i * step] + shift[i * step];
}

/// dx = (dy − mean_dy − (x − mean)·slope)·scale.
template <int step, class T>
SWAPADVISOR_INLINE void backward_loop(const T* dy, const T* x, const T* mean, const T* mean_dy,
                                      const T* slope, const T* scale, T* dx, std::int64_t n) {
  SWAPADVISOR_VECTORISE
  for (std::int64_t i = 0; i < n; ++i) {
    const std::int64_t c = i * step;
    dx[i] = (dy[i] - mean_dy[c] - (x[i] - mean[c]) * slope[c]) * scale[c];
  }
}

template <class T>
SWAPADVISOR_INLINE void normalise_rows_loop(const T* x, const BatchNormCoefficients<T>& w, T* y,
                                            std::int64_t n) {
  for (std::int64_t i = 0; i < n; i += w.width)
    normalise_loop<1>(x + i, w.values[0], w.values[1], w.values[2], y + i, std::min(w.width, n - i));
}

template <class T>
SWAPADVISOR_INLINE void backward_rows_loop(const T* dy, const T* x, const BatchNormCoefficients<T>& w, T* dx,
                                           std::int64_t n) {
  for (std::int64_t i = 0; i < n; i += w.width)
    backward_loop<1>(dy + i, x + i, w.values[0], w.values[1], w.values[2], w.values[3], dx + i,
                     std::min(w.width, n - i));
}

}  // namespace

SWAPADVISOR_MULTIVERSION void sum_deviations(const float* x, const float* shift, std::int64_t count,
                                             std::int64_t width, double* first, double* second) {
  sum_rows<float>(count, width, first, second, deviation_terms(x, shift));
}
void sum_deviations(const double* x, const double* shift, std::int64_t count, std::int64_t width,
                    double* first, double* second) {
  sum_rows<double>(count, width, first, second, deviation_terms(x, shift));
}

SWAPADVISOR_MULTIVERSION void sum_gradients(const float* dy, const float* x, const float* mean,
                                            std::int64_t count, std::int64_t width, double* first,
                                            double* second) {
  sum_rows<float>(count, width, first, second, gradient_terms(dy, x, mean));
}
void sum_gradients(const double* dy, const double* x, const double* mean, std::int64_t count,
                   std::int64_t width, double* first, double* second) {
  sum_rows<double>(count, width, first, second, gradient_terms(dy, x, mean));
}

SWAPADVISOR_MULTIVERSION void sum_plane_deviations(const float* x, float shift, std::int64_t count,
                                                   double* first, double* second) {
  sum_plane<float>(count, first, second, [=](std::int64_t i) { return deviation_terms(x, &shift)(i, 0); });
}
void sum_plane_deviations(const double* x, double shift, std::int64_t count, double* first, double* second) {
  sum_plane<double>(count, first, second, [=](std::int64_t i) { return deviation_terms(x, &shift)(i, 0); });
}

SWAPADVISOR_MULTIVERSION void sum_plane_gradients(const float* dy, const float* x, float mean,
                                                  std::int64_t count, double* first, double* second) {
  sum_plane<float>(count, first, second, [=](std::int64_t i) { return gradient_terms(dy, x, &mean)(i, 0); });
}
void sum_plane_gradients(const double* dy, const double* x, double mean, std::int64_t count, double* first,
                         double* second) {
  sum_plane<double>(count, first, second, [=](std::int64_t i) { return gradient_terms(dy, x, &mean)(i, 0); });
}

SWAPADVISOR_MULTIVERSION void normalise_rows(const float* x, const BatchNormCoefficients<float>& w, float* y,
                                             std::int64_t n) {
  normalise_rows_loop(x, w, y, n);
}
void normalise_rows(const double* x, const BatchNormCoefficients<double>& w, double* y, std::int64_t n) {
  normalise_rows_loop(x, w, y, n);
}

SWAPADVISOR_MULTIVERSION void backward_rows(const float* dy, const float* x,
                                            const BatchNormCoefficients<float>& w, float* dx,
                                            std::int64_t n) {
  backward_rows_loop(dy, x, w, dx, n);
}
void backward_rows(const double* dy, const double* x, const BatchNormCoefficients<double>& w, double* dx,
                   std::int64_t n) {
  backward_rows_loop(dy, x, w, dx, n);
}

SWAPADVISOR_MULTIVERSION void normalise_plane(const float* x, float mean, float scale, float shift, float* y,
                                              std::int64_t n) {
  normalise_loop<0>(x, &mean, &scale, &shift, y, n);
}
void normalise_plane(const double* x, double mean, double scale, double shift, double* y, std::int64_t n) {
  normalise_loop<0>(x, &mean, &scale, &shift, y, n);
}

SWAPADVISOR_MULTIVERSION void backward_plane(const float* dy, const float* x, float mean, float mean_dy,
                                             float slope, float scale, float* dx, std::int64_t n) {
  backward_loop<0>(dy, x, &mean, &mean_dy, &slope, &scale, dx, n);
}
void backward_plane(const double* dy, const double* x, double mean, double mean_dy, double slope,
                    double scale, double* dx, std::int64_t n) {
  backward_loop<0>(dy, x, &mean, &mean_dy, &slope, &scale, dx, n);
}

}  // namespace swapadvisor
