#include <swapadvisor/ops/check.h>
#include <swapadvisor/ops/contiguous.h>

namespace swapadvisor {

void require_floating(const TensorSpec& spec, std::string_view what) {
  if (!is_floating(spec.dtype)) fail("{} must be f32 or f64, got {}", what, to_string(spec));
}

void require_scalar(const TensorSpec& spec, DType dtype, std::string_view what) {
  if (spec.dtype != dtype || spec.rank() != 0)
    fail("{} must be a {} scalar, got {}", what, name_of(dtype), to_string(spec));
}

void require_vector(const TensorSpec& spec, DType dtype, std::int64_t size, std::string_view what) {
  if (spec.dtype != dtype || spec.rank() != 1 || spec.shape[0] != size)
    fail("{} must be {}[{}], got {}", what, name_of(dtype), size, to_string(spec));
  require_dense(spec, what);
}

void require_same(const TensorSpec& a, std::string_view what_a, const TensorSpec& b,
                  std::string_view what_b) {
  bool same = a.dtype == b.dtype && a.shape == b.shape;
  for (int i = 0; same && i < a.rank(); ++i) same = a.shape[i] == 1 || a.strides[i] == b.strides[i];
  if (!same) fail("{} is {} but {} is {}; they must be alike", what_a, to_string(a), what_b, to_string(b));
}

void require_dense(const TensorSpec& spec, std::string_view what) {
  if (!spec.is_row_major() && !spec.is_channels_last())
    fail("{} must be dense, row major or channels-last, got {} with strides {}", what, to_string(spec),
         to_string(spec.strides));
}

void require_filled(const TensorSpec& spec, std::string_view what) {
  if (!is_dense(spec))
    fail("{} must be dense, got {} with strides {}", what, to_string(spec), to_string(spec.strides));
}

int dimension_of(const TensorSpec& spec, int dimension) {
  const int index = dimension < 0 ? dimension + spec.rank() : dimension;
  if (index < 0 || index >= spec.rank()) fail("{} has no dimension {}", to_string(spec), dimension);
  return index;
}

}  // namespace swapadvisor
