// The inner loops of batch norm: sums per channel and the results from coefficients per channel. Where memory
// is rows of channels, loops run over `width` columns; else over planes of one channel.
#pragma once

#include <cstdint>

namespace swapadvisor {

/// Up to four coefficients per column.
template <class T>
struct BatchNormCoefficients {
  std::int64_t width;
  const T* values[4];
};

/// Adds x − shift and its square to first[column] and second[column] for `count` elements of whole rows.
void sum_deviations(const float* x, const float* shift, std::int64_t count, std::int64_t width, double* first,
                    double* second);
void sum_deviations(const double* x, const double* shift, std::int64_t count, std::int64_t width,
                    double* first, double* second);
/// The same for dy and dy·(x − mean).
void sum_gradients(const float* dy, const float* x, const float* mean, std::int64_t count, std::int64_t width,
                   double* first, double* second);
void sum_gradients(const double* dy, const double* x, const double* mean, std::int64_t count,
                   std::int64_t width, double* first, double* second);
/// The same for one plane, into `reduction_lanes` lanes.
void sum_plane_deviations(const float* x, float shift, std::int64_t count, double* first, double* second);
void sum_plane_deviations(const double* x, double shift, std::int64_t count, double* first, double* second);
void sum_plane_gradients(const float* dy, const float* x, float mean, std::int64_t count, double* first,
                         double* second);
void sum_plane_gradients(const double* dy, const double* x, double mean, std::int64_t count, double* first,
                         double* second);

/// y = (x − mean)·scale + shift; coefficients in that order.
void normalise_rows(const float* x, const BatchNormCoefficients<float>& w, float* y, std::int64_t n);
void normalise_rows(const double* x, const BatchNormCoefficients<double>& w, double* y, std::int64_t n);
void normalise_plane(const float* x, float mean, float scale, float shift, float* y, std::int64_t n);
void normalise_plane(const double* x, double mean, double scale, double shift, double* y, std::int64_t n);
/// dx = (dy − mean_dy − (x − mean)·slope)·scale; coefficients: mean, mean_dy, slope, scale.
void backward_rows(const float* dy, const float* x, const BatchNormCoefficients<float>& w, float* dx,
                   std::int64_t n);
void backward_rows(const double* dy, const double* x, const BatchNormCoefficients<double>& w, double* dx,
                   std::int64_t n);
void backward_plane(const float* dy, const float* x, float mean, float mean_dy, float slope, float scale,
                    float* dx, std::int64_t n);
void backward_plane(const double* dy, const double* x, double mean, double mean_dy, double slope,
                    double scale, double* dx, std::int64_t n);

}  // namespace swapadvisor
