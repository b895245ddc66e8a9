#include <swapadvisor/ops/cuda/elements.h>
#include <swapadvisor/ops/cuda/strided_copy.h>

#include <algorithm>

namespace swapadvisor::cuda {
namespace {

constexpr int tile = 32, tile_rows = 8;

/// Where each block of a launch goes.
struct Offsets {
  std::int64_t at[PointerList<const void>::most] = {};
};

/// 16 bytes, which no arithmetic type has.
struct alignas(16) Sixteen {
  std::uint64_t words[2];
};

template <class T>
__global__ void __launch_bounds__(element_threads)
    copy_strided(Walk<2> walk, std::int64_t n, PointerList<const T> from, T* to, Offsets offsets) {
  const T* const source = from.at[blockIdx.y];
  T* const target = to + offsets.at[blockIdx.y];
  for (std::int64_t i = thread_index(); i < n; i += thread_count()) {
    std::int64_t at[2] = {};
    walk.locate(i, at);
    target[at[1]] = source[at[0]];
  }
}

/// A transposition through shared memory, so that both sides move whole cache lines: to[i·row + j] =
/// from[j·column + i] for i < height, j < width. Blocks along x are tiles of all outer indexes.
template <class T>
__global__ void __launch_bounds__(tile* tile_rows)
    copy_transposed(Walk<2> outer, std::int64_t height, std::int64_t width, std::int64_t row,
                    std::int64_t column, PointerList<const T> from, T* to, Offsets offsets) {
  __shared__ T values[tile][tile + 1];
  const std::int64_t tiles_down = (height + tile - 1) / tile, tiles_across = (width + tile - 1) / tile;
  const std::int64_t number = blockIdx.x, image = number / (tiles_down * tiles_across);
  const std::int64_t i0 = number / tiles_across % tiles_down * tile, j0 = number % tiles_across * tile;
  std::int64_t at[2] = {};
  outer.locate(image, at);
  const T* const source = from.at[blockIdx.y] + at[0];
  T* const target = to + offsets.at[blockIdx.y] + at[1];
  const int x = static_cast<int>(threadIdx.x) % tile, y = static_cast<int>(threadIdx.x) / tile;
  for (int k = y; k < tile; k += tile_rows)
    if (i0 + x < height && j0 + k < width) values[k][x] = source[(j0 + k) * column + i0 + x];
  __syncthreads();
  for (int k = y; k < tile; k += tile_rows)
    if (i0 + k < height && j0 + x < width) target[(i0 + k) * row + j0 + x] = values[x][k];
}

template <class T>
__global__ void __launch_bounds__(element_threads) clear_strided(Walk<2> walk, std::int64_t n, T* to) {
  for (std::int64_t i = thread_index(); i < n; i += thread_count()) {
    std::int64_t at[2] = {};
    walk.locate(i, at);
    to[at[1]] = T{};
  }
}

/// Calls f(T of that many bytes).
template <class F>
void visit_bytes(std::int64_t bytes, F f) {
  switch (bytes) {
    case 1:
      return f(std::uint8_t{});
    case 2:
      return f(std::uint16_t{});
    case 4:
      return f(std::uint32_t{});
    case 8:
      return f(std::uint64_t{});
    default:
      return f(Sixteen{});
  }
}

}  // namespace

StridedCopy::StridedCopy(const Shape& shape, const Shape& from, const Shape& to, std::int64_t element_bytes)
    : element_bytes_(element_bytes) {
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

bool operator==(const StridedCopy& a, const StridedCopy& b) {
  const auto same = [](const StridedDim<2>& x, const StridedDim<2>& y) {
    return x.extent == y.extent && x.strides == y.strides;
  };
  return a.element_bytes_ == b.element_bytes_ && same(a.inner_, b.inner_) && same(a.across_, b.across_) &&
         std::equal(a.outer_.begin(), a.outer_.end(), b.outer_.begin(), b.outer_.end(), same);
}

template <class T>
void StridedCopy::launch_copy(cudaStream_t stream, const std::vector<const void*>& from, void* to,
                              const std::vector<std::int64_t>& offsets, std::int64_t widening) const {
  PointerList<const T> sources;
  Offsets targets;
  for (std::size_t i = 0; i < from.size(); ++i) {
    sources.add(static_cast<const T*>(from[i]));
    targets.at[i] = offsets[i] / widening;
  }
  const auto blocks = static_cast<unsigned>(from.size());
  if (across_.extent > 0) {
    const std::int64_t tiles = (across_.extent + tile - 1) / tile * ((inner_.extent + tile - 1) / tile);
    const dim3 grid(static_cast<unsigned>(count_of(std::span<const Dim>(outer_)) * tiles), blocks);
    launch(copy_transposed<T>, grid, tile * tile_rows, 0, stream, Walk<2>(outer_), across_.extent,
           inner_.extent, across_.strides[1], inner_.strides[0], sources, static_cast<T*>(to), targets);
    return;
  }
  std::vector<Dim> dims = outer_;
  dims.push_back(inner_);
  if (widening > 1) {
    for (Dim& dim : dims)
      for (std::int64_t& stride : dim.strides) stride /= widening;
    dims.back() = {inner_.extent / widening, {1, 1}};
  }
  const std::int64_t n = count_of(std::span<const Dim>(dims));
  launch(copy_strided<T>, dim3(element_blocks(n).x, blocks), element_threads, 0, stream,
         Walk<2>(merged(dims)), n, sources, static_cast<T*>(to), targets);
}

void StridedCopy::run(cudaStream_t stream, const std::vector<const void*>& from, void* to,
                      const std::vector<std::int64_t>& offsets) const {
  // As many elements at a time as extents, strides and addresses are multiples of.
  std::int64_t bytes = element_bytes_;
  const auto fits = [&](std::int64_t wide) {
    const std::int64_t elements = wide / element_bytes_;
    const auto is_multiple = [&](const Dim& d) {
      return d.strides[0] % elements == 0 && d.strides[1] % elements == 0;
    };
    const auto is_aligned = [&](const void* p) {
      return reinterpret_cast<std::uintptr_t>(p) % static_cast<std::uintptr_t>(wide) == 0;
    };
    return inner_.extent % elements == 0 && std::all_of(outer_.begin(), outer_.end(), is_multiple) &&
           is_aligned(to) && std::all_of(from.begin(), from.end(), is_aligned) &&
           std::all_of(offsets.begin(), offsets.end(),
                       [&](std::int64_t offset) { return offset % elements == 0; });
  };
  if (across_.extent == 0 && inner_.strides[0] == 1 && inner_.strides[1] == 1)
    while (bytes < 16 && fits(2 * bytes)) bytes *= 2;
  visit_bytes(bytes, [&]<class T>(T) { launch_copy<T>(stream, from, to, offsets, bytes / element_bytes_); });
}

void StridedCopy::run(cudaStream_t stream, const void* from, void* to) const {
  run(stream, {from}, to, {0});
}

void StridedCopy::clear(cudaStream_t stream, void* to) const {
  SWAPADVISOR_ASSERT(across_.extent == 0, "a block to clear has one set of strides");
  std::vector<Dim> dims = outer_;
  dims.push_back(inner_);
  const std::int64_t n = count_of(std::span<const Dim>(dims));
  visit_bytes(element_bytes_, [&]<class T>(T) {
    launch(clear_strided<T>, element_blocks(n), element_threads, 0, stream, Walk<2>(dims), n,
           static_cast<T*>(to));
  });
}

}  // namespace swapadvisor::cuda
