// Patches of an image as rows of a matrix, and their sum back into an image.
#pragma once

#include <swapadvisor/ops/conv2d.h>

namespace swapadvisor {

/// [begin, end)
struct Range {
  std::int64_t begin, end;
  std::int64_t size() const { return end - begin; }
};

/// One group's patches. Row (n, oh, ow) of the patch matrix holds the inputs of that output position; column
/// (kh · KW + kw) · (C / groups) + c. `rows` are ranges of n · OH + oh, all ow of each; `columns` a range of
/// columns.
template <class T>
class PatchMatrix {
 public:
  PatchMatrix(const Conv2dGeometry& geometry, bool channels_last);

  /// Writes rows.size()·OW × columns.size() elements, row major and dense.
  void gather(const T* x, std::int64_t group, Range rows, Range columns, T* patches) const;
  /// Adds them to dx instead; all columns.
  void scatter_add(const T* patches, std::int64_t group, Range rows, T* dx) const;

 private:
  /// Calls f(offset in x, offset in the patch row, length, stride in x) for the pieces of one patch inside
  /// the image and, when it wants them, zeros(offset in the patch row, length) for the pieces outside.
  template <class F, class Z>
  void visit(std::int64_t row, std::int64_t ow, Range columns, F&& f, Z&& zeros) const;

  Conv2dGeometry g_;
  std::int64_t group_in_, image_stride_, channel_stride_, row_stride_, pixel_stride_;
  bool joined_;  ///< the taps of one kernel row are contiguous in x
};

extern template class PatchMatrix<float>;
extern template class PatchMatrix<double>;

}  // namespace swapadvisor
