// to_layout: a matrix transposition per image, [C, H·W] ↔ [H·W, C].
#include <swapadvisor/core/parallel.h>
#include <swapadvisor/ops/cpu/register.h>
#include <swapadvisor/ops/cpu/vector.h>

#include <algorithm>
#include <cstring>

namespace swapadvisor {
namespace {

constexpr std::int64_t tile = 32;

/// to[j][i] = from[i][j] for i < rows and tiles [first, last) of j < cols.
template <class T>
void transpose_tiles(const T* from, T* to, std::int64_t rows, std::int64_t cols, std::int64_t first,
                     std::int64_t last) {
  for (std::int64_t t = first; t < last; ++t) {
    const std::int64_t j0 = t * tile, j1 = std::min(cols, j0 + tile);
    for (std::int64_t i0 = 0; i0 < rows; i0 += tile) {
      const std::int64_t i1 = std::min(rows, i0 + tile);
      for (std::int64_t j = j0; j < j1; ++j)
        for (std::int64_t i = i0; i < i1; ++i) to[j * rows + i] = from[i * cols + j];
    }
  }
}

template <class T>
std::unique_ptr<Kernel> transposition(std::int64_t batch, std::int64_t rows, std::int64_t cols) {
  return make_kernel([=](const KernelArgs& args) {
    const std::int64_t tiles = (cols + tile - 1) / tile;
    const std::int64_t grain = std::max<std::int64_t>(1, elementwise_grain / (rows * tile));
    parallel_for(batch * tiles, grain, [&](std::int64_t begin, std::int64_t end) {
      while (begin < end) {
        const std::int64_t image = begin / tiles, last = std::min(end, (image + 1) * tiles);
        const std::int64_t offset = image * rows * cols;
        transpose_tiles(args.in<T>(0) + offset, args.out<T>(0) + offset, rows, cols, begin - image * tiles,
                        last - image * tiles);
        begin = last;
      }
    });
  });
}

}  // namespace

void add_layout_kernels(KernelSet& set) {
  set.add("to_layout", [](const KernelRequest& r) -> std::unique_ptr<Kernel> {
    const TensorSpec &x = r.inputs[0], &y = r.outputs[0];
    if ((x.is_row_major() && y.is_row_major()) || (x.is_channels_last() && y.is_channels_last())) {
      const auto bytes = static_cast<std::size_t>(x.bytes());
      return make_kernel(
          [bytes](const KernelArgs& args) { std::memcpy(args.outputs[0], args.inputs[0], bytes); });
    }
    const std::int64_t batch = x.shape[0], channels = x.shape[1], pixels = x.shape[2] * x.shape[3];
    const bool from_rows = x.is_row_major();
    const std::int64_t rows = from_rows ? channels : pixels, cols = from_rows ? pixels : channels;
    switch (size_of(x.dtype)) {
      case 1:
        return transposition<std::uint8_t>(batch, rows, cols);
      case 2:
        return transposition<std::uint16_t>(batch, rows, cols);
      case 4:
        return transposition<std::uint32_t>(batch, rows, cols);
      default:
        return transposition<std::uint64_t>(batch, rows, cols);
    }
  });
}

}  // namespace swapadvisor
