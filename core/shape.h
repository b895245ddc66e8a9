// Shapes and tensor specifications: element type, logical shape and physical strides.
#pragma once

#include <swapadvisor/core/dtype.h>

#include <array>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>

namespace swapadvisor {

/// Dimensions, outermost first, at most `max_rank` of them. Image tensors are logically N, C, H, W.
class Shape {
 public:
  static constexpr int max_rank = 8;

  Shape() = default;
  Shape(std::initializer_list<std::int64_t> dims);
  explicit Shape(std::span<const std::int64_t> dims);

  int rank() const { return rank_; }
  std::int64_t operator[](int i) const { return dims_[static_cast<std::size_t>(i)]; }
  std::int64_t& operator[](int i) { return dims_[static_cast<std::size_t>(i)]; }
  const std::int64_t* begin() const { return dims_.data(); }
  const std::int64_t* end() const { return dims_.data() + rank_; }

  /// Number of elements; 1 for a scalar (rank 0). Throws `Error` on overflow.
  std::int64_t numel() const;
  friend bool operator==(const Shape&, const Shape&) = default;

 private:
  std::array<std::int64_t, max_rank> dims_{};
  int rank_ = 0;
};

/// "[64, 3, 7, 7]"
std::string to_string(const Shape& shape);

/// Physical order of a rank-4 tensor: NCHW (row major) or NHWC.
enum class Layout : std::uint8_t { row_major, channels_last };

/// What an op knows of a tensor: element type, logical shape, strides in elements. Zero-size dimensions are refused.
struct TensorSpec {
  DType dtype = DType::f32;
  Shape shape;
  Shape strides;

  /// A dense tensor. `channels_last` needs rank 4. Throws `Error` for dimensions below 1 or sizes over 2^62 bytes.
  static TensorSpec dense(DType dtype, const Shape& shape, Layout layout = Layout::row_major);

  std::int64_t numel() const { return shape.numel(); }
  /// Bytes of a dense tensor of this shape.
  std::int64_t bytes() const { return numel() * size_of(dtype); }
  int rank() const { return shape.rank(); }
  bool is_row_major() const;
  bool is_channels_last() const;
  /// `channels_last` when the strides say so and not also row major.
  Layout layout() const;

  friend bool operator==(const TensorSpec&, const TensorSpec&) = default;
};

/// The same memory seen with another shape, in logical (row-major) order. Absent when the element counts differ or no
/// strides express it, as for most shapes after a permutation.
std::optional<TensorSpec> reshaped(const TensorSpec& spec, const Shape& shape);

/// "f32[8, 64, 56, 56]" with ":nhwc" appended for channels-last tensors.
std::string to_string(const TensorSpec& spec);

}  // namespace swapadvisor
