#include <swapadvisor/ops/cpu/im2col.h>

#include <algorithm>
#include <cstring>

namespace swapadvisor {

template <class T>
PatchMatrix<T>::PatchMatrix(const Conv2dGeometry& geometry, bool channels_last)
    : g_(geometry), group_in_(geometry.group_in()), image_stride_(g_.in_channels * g_.height * g_.width) {
  channel_stride_ = channels_last ? 1 : g_.height * g_.width;
  pixel_stride_ = channels_last ? g_.in_channels : 1;
  row_stride_ = g_.width * pixel_stride_;
  joined_ =
      pixel_stride_ == group_in_ && (channel_stride_ == 1 || group_in_ == 1) && g_.options.dilation[1] == 1;
}

template <class T>
template <class F, class Z>
void PatchMatrix<T>::visit(std::int64_t row, std::int64_t ow, Range columns, F&& f, Z&& zeros) const {
  const Conv2dOptions& o = g_.options;
  const std::int64_t image = row / g_.out_height * image_stride_;
  const std::int64_t ih0 = row % g_.out_height * o.stride[0] - o.padding[0];
  const std::int64_t iw0 = ow * o.stride[1] - o.padding[1];
  const std::int64_t line = g_.kernel_width * group_in_;  // columns of one kernel row
  for (std::int64_t kh = columns.begin / line; kh * line < columns.end; ++kh) {
    const std::int64_t begin = std::max(columns.begin, kh * line),
                       end = std::min(columns.end, (kh + 1) * line);
    const std::int64_t ih = ih0 + kh * o.dilation[0];
    if (ih < 0 || ih >= g_.height) {
      zeros(begin - columns.begin, end - begin);
      continue;
    }
    const std::int64_t base = image + ih * row_stride_;
    if (joined_) {
      const std::int64_t origin = kh * line;
      const std::int64_t first = std::clamp(origin - iw0 * group_in_, begin, end);
      const std::int64_t last = std::clamp(origin + (g_.width - iw0) * group_in_, first, end);
      if (first > begin) zeros(begin - columns.begin, first - begin);
      if (last > first) f(base + iw0 * group_in_ + first - origin, first - columns.begin, last - first, 1);
      if (end > last) zeros(last - columns.begin, end - last);
      continue;
    }
    for (std::int64_t at = begin; at < end;) {
      const std::int64_t tap = at / group_in_, channel = at % group_in_;
      const std::int64_t length = std::min(end - at, group_in_ - channel);
      const std::int64_t iw = iw0 + tap % g_.kernel_width * o.dilation[1];
      if (iw < 0 || iw >= g_.width) {
        zeros(at - columns.begin, length);
      } else {
        f(base + iw * pixel_stride_ + channel * channel_stride_, at - columns.begin, length, channel_stride_);
      }
      at += length;
    }
  }
}

template <class T>
void PatchMatrix<T>::gather(const T* x, std::int64_t group, Range rows, Range columns, T* patches) const {
  x += group * group_in_ * channel_stride_;
  for (std::int64_t row = rows.begin; row < rows.end; ++row) {
    for (std::int64_t ow = 0; ow < g_.out_width; ++ow, patches += columns.size()) {
      visit(
          row, ow, columns,
          [&](std::int64_t from, std::int64_t to, std::int64_t length, std::int64_t stride) {
            if (stride == 1) {
              std::memcpy(patches + to, x + from, static_cast<std::size_t>(length) * sizeof(T));
            } else {
              for (std::int64_t i = 0; i < length; ++i) patches[to + i] = x[from + i * stride];
            }
          },
          [&](std::int64_t to, std::int64_t length) { std::fill_n(patches + to, length, T(0)); });
    }
  }
}

template <class T>
void PatchMatrix<T>::scatter_add(const T* patches, std::int64_t group, Range rows, T* dx) const {
  dx += group * group_in_ * channel_stride_;
  const Range columns{0, g_.patch()};
  for (std::int64_t row = rows.begin; row < rows.end; ++row) {
    for (std::int64_t ow = 0; ow < g_.out_width; ++ow, patches += columns.size()) {
      visit(
          row, ow, columns,
          [&](std::int64_t to, std::int64_t from, std::int64_t length, std::int64_t stride) {
            if (stride == 1) {
              for (std::int64_t i = 0; i < length; ++i) dx[to + i] += patches[from + i];
            } else {
              for (std::int64_t i = 0; i < length; ++i) dx[to + i * stride] += patches[from + i];
            }
          },
          [](std::int64_t, std::int64_t) {});
    }
  }
}

template class PatchMatrix<float>;
template class PatchMatrix<double>;

}  // namespace swapadvisor
