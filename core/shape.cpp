#include <swapadvisor/core/shape.h>

#include <algorithm>

namespace swapadvisor {
namespace {

Shape row_major_strides(const Shape& shape) {
  Shape strides = shape;
  std::int64_t stride = 1;
  for (int i = shape.rank() - 1; i >= 0; --i) {
    strides[i] = stride;
    stride *= shape[i];
  }
  return strides;
}

Shape channels_last_strides(const Shape& shape) {
  const std::int64_t c = shape[1], h = shape[2], w = shape[3];
  return {h * w * c, 1, w * c, c};
}

// Strides of dimensions of extent 1 are never used, so they match anything.
bool same_strides(const Shape& shape, const Shape& a, const Shape& b) {
  for (int i = 0; i < shape.rank(); ++i)
    if (shape[i] != 1 && a[i] != b[i]) return false;
  return true;
}

}  // namespace

DType parse_dtype(std::string_view name) {
  for (DType dtype : {DType::f32, DType::f64, DType::u8, DType::i32, DType::i64, DType::bf16})
    if (name_of(dtype) == name) return dtype;
  fail("unknown element type '{}': expected f32, f64, bf16, u8, i32 or i64", name);
}

Shape::Shape(std::initializer_list<std::int64_t> dims) : Shape(std::span(dims.begin(), dims.size())) {}

Shape::Shape(std::span<const std::int64_t> dims) {
  if (dims.size() > max_rank) fail("a tensor of rank {} exceeds the largest rank {}", dims.size(), max_rank);
  rank_ = static_cast<int>(dims.size());
  std::copy(dims.begin(), dims.end(), dims_.begin());
}

std::int64_t Shape::numel() const {
  std::int64_t n = 1;
  for (std::int64_t d : *this)
    if (__builtin_mul_overflow(n, d, &n)) fail("the element count of shape {} overflows", to_string(*this));
  return n;
}

std::string to_string(const Shape& shape) {
  std::string text = "[";
  for (int i = 0; i < shape.rank(); ++i) text += fmt::format("{}{}", i ? ", " : "", shape[i]);
  return text + "]";
}

TensorSpec TensorSpec::dense(DType dtype, const Shape& shape, Layout layout) {
  for (std::int64_t d : shape)
    if (d < 1) fail("shape {} has a dimension below 1", to_string(shape));
  constexpr std::int64_t largest = std::int64_t{1} << 62;
  if (shape.numel() > largest / size_of(dtype)) fail("a tensor of shape {} is too large", to_string(shape));
  if (layout == Layout::row_major) return {dtype, shape, row_major_strides(shape)};
  if (shape.rank() != 4) fail("channels-last needs 4 dimensions, got shape {}", to_string(shape));
  return {dtype, shape, channels_last_strides(shape)};
}

bool TensorSpec::is_row_major() const { return same_strides(shape, strides, row_major_strides(shape)); }

bool TensorSpec::is_channels_last() const {
  return rank() == 4 && same_strides(shape, strides, channels_last_strides(shape));
}

Layout TensorSpec::layout() const {
  return is_channels_last() && !is_row_major() ? Layout::channels_last : Layout::row_major;
}

std::optional<TensorSpec> reshaped(const TensorSpec& spec, const Shape& shape) {
  TensorSpec result = TensorSpec::dense(spec.dtype, shape);
  if (result.numel() != spec.numel()) return std::nullopt;
  if (spec.is_row_major()) return result;
  // Neighbouring dimensions that lie in memory like one are a run; every new dimension must fall within one run.
  int to = shape.rank() - 1;
  std::int64_t stride = spec.strides[spec.rank() - 1], run = 1, covered = 1;
  for (int d = spec.rank() - 1; d >= 0; --d) {
    run *= spec.shape[d];
    if (d > 0 && (spec.shape[d - 1] == 1 || spec.strides[d - 1] == run * stride)) continue;
    for (; to >= 0 && (covered < run || shape[to] == 1); --to) {
      result.strides[to] = covered * stride;
      covered *= shape[to];
    }
    if (covered != run) return std::nullopt;
    if (d > 0) stride = spec.strides[d - 1];
    run = covered = 1;
  }
  return result;
}

std::string to_string(const TensorSpec& spec) {
  const char* suffix = spec.layout() == Layout::channels_last ? ":nhwc" : "";
  return fmt::format("{}{}{}", name_of(spec.dtype), to_string(spec.shape), suffix);
}

}  // namespace swapadvisor
