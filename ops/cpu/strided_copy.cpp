#include <swapadvisor/core/parallel.h>
#include <swapadvisor/ops/cpu/strided_copy.h>
#include <swapadvisor/ops/cpu/vector.h>

#include <algorithm>
#include <cstring>

namespace swapadvisor {
namespace {

constexpr std::int64_t tile = 32;

template <class T>
void copy_run(const T* from, std::int64_t from_stride, T* to, std::int64_t to_stride, std::int64_t n) {
  if (from_stride == 1 && to_stride == 1) {
    std::memcpy(to, from, static_cast<std::size_t>(n) * sizeof(T));
  } else if (to_stride == 1) {
    for (std::int64_t i = 0; i < n; ++i) to[i] = from[i * from_stride];
  } else {
    for (std::int64_t i = 0; i < n; ++i) to[i * to_stride] = from[i * from_stride];
  }
}

}  // namespace

StridedCopy::StridedCopy(const Shape& shape, const Shape& from, const Shape& to) {
  // Along the memory that is written; what is read in another order is read in tiles.
  std::vector<Dim> dims = strided_dims<2>(shape, {from, to});
  std::stable_sort(dims.begin(), dims.end(),
                   [](const Dim& a, const Dim& b) { return a.strides[1] > b.strides[1]; });
  outer_ = merged(dims);
  if (outer_.empty()) return;
  inner_ = outer_.back();
  outer_.pop_back();
  if (inner_.strides[0] == 1 || inner_.strides[1] != 1) return;
  const auto found =
      std::find_if(outer_.begin(), outer_.end(), [](const Dim& d) { return d.strides[0] == 1; });
  if (found == outer_.end()) return;
  across_ = *found;
  outer_.erase(found);
}

template <class F>
void StridedCopy::for_each_run(F&& f) const {
  const std::span<const Dim> outer(outer_);
  parallel_for(count_of(outer) * inner_.extent, elementwise_grain, [&](std::int64_t begin, std::int64_t end) {
    StridedCursor<2> at(outer, begin / inner_.extent);
    for (std::int64_t first = begin % inner_.extent; begin < end; first = 0, at.next()) {
      const std::int64_t n = std::min(inner_.extent - first, end - begin);
      f(at[0] + first * inner_.strides[0], at[1] + first * inner_.strides[1], n);
      begin += n;
    }
  });
}

template <class T>
void StridedCopy::copy_tiles(const T* from, T* to) const {
  const std::span<const Dim> outer(outer_);
  const std::int64_t tiles = (across_.extent + tile - 1) / tile, row = across_.strides[1],
                     column = inner_.strides[0];
  const std::int64_t grain = std::max<std::int64_t>(1, elementwise_grain / (tile * inner_.extent));
  parallel_for(count_of(outer) * tiles, grain, [&](std::int64_t begin, std::int64_t end) {
    StridedCursor<2> at(outer, begin / tiles);
    for (std::int64_t t = begin % tiles; begin < end; ++begin) {
      const T* source = from + at[0];
      T* target = to + at[1];
      const std::int64_t i0 = t * tile, i1 = std::min(across_.extent, i0 + tile);
      for (std::int64_t j0 = 0; j0 < inner_.extent; j0 += tile) {
        const std::int64_t j1 = std::min(inner_.extent, j0 + tile);
        for (std::int64_t i = i0; i < i1; ++i)
          for (std::int64_t j = j0; j < j1; ++j) target[i * row + j] = source[j * column + i];
      }
      if (++t < tiles) continue;
      t = 0;
      at.next();
    }
  });
}

template <class T>
void StridedCopy::copy(const T* from, T* to) const {
  if (across_.extent > 0) return copy_tiles(from, to);
  for_each_run([&](std::int64_t source, std::int64_t target, std::int64_t n) {
    copy_run(from + source, inner_.strides[0], to + target, inner_.strides[1], n);
  });
}

void StridedCopy::run(const void* from, void* to, std::int64_t element_bytes) const {
  switch (element_bytes) {
    case 1:
      return copy(static_cast<const std::uint8_t*>(from), static_cast<std::uint8_t*>(to));
    case 2:
      return copy(static_cast<const std::uint16_t*>(from), static_cast<std::uint16_t*>(to));
    case 4:
      return copy(static_cast<const std::uint32_t*>(from), static_cast<std::uint32_t*>(to));
    default:
      return copy(static_cast<const std::uint64_t*>(from), static_cast<std::uint64_t*>(to));
  }
}

void StridedCopy::clear(void* to, std::int64_t element_bytes) const {
  SWAPADVISOR_ASSERT(across_.extent == 0, "a block to clear has one set of strides");
  for_each_run([&](std::int64_t, std::int64_t target, std::int64_t n) {
    auto* at = static_cast<std::byte*>(to) + target * element_bytes;
    const std::int64_t step = inner_.strides[1] * element_bytes;
    if (inner_.strides[1] == 1) {
      std::memset(at, 0, static_cast<std::size_t>(n * element_bytes));
    } else {
      for (std::int64_t i = 0; i < n; ++i)
        std::memset(at + i * step, 0, static_cast<std::size_t>(element_bytes));
    }
  });
}

}  // namespace swapadvisor
