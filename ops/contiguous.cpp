#include <swapadvisor/ops/contiguous.h>

#include <algorithm>
#include <numeric>

namespace swapadvisor {
namespace {

Shape row_major_order(int rank) {
  std::array<std::int64_t, Shape::max_rank> dims{};
  std::iota(dims.begin(), dims.end(), 0);
  return Shape(std::span<const std::int64_t>(dims.data(), static_cast<std::size_t>(rank)));
}

/// Equal strides wherever they matter.
bool same_strides(const TensorSpec& a, const TensorSpec& b) {
  for (int i = 0; i < a.rank(); ++i)
    if (a.shape[i] != 1 && a.strides[i] != b.strides[i]) return false;
  return true;
}

Tensor copy_in_order(Tensor x, const Shape& order, std::string_view name) {
  return x.graph().apply(std::make_shared<ContiguousOp>(order), {x}, name)[0];
}

}  // namespace

Shape physical_order(const TensorSpec& spec) {
  const Shape order = row_major_order(spec.rank());
  if (spec.is_row_major() && !spec.is_channels_last()) return order;
  std::vector<std::int64_t> dims(order.begin(), order.end());
  std::stable_sort(dims.begin(), dims.end(), [&](std::int64_t a, std::int64_t b) {
    return spec.strides[static_cast<int>(a)] > spec.strides[static_cast<int>(b)];
  });
  return Shape(std::span<const std::int64_t>(dims));
}

TensorSpec dense_in_order(DType dtype, const Shape& shape, const Shape& order) {
  TensorSpec spec = TensorSpec::dense(dtype, shape);
  std::int64_t stride = 1;
  for (int i = shape.rank() - 1; i >= 0; --i) {
    const int d = static_cast<int>(order[i]);
    spec.strides[d] = stride;
    stride *= shape[d];
  }
  return spec;
}

bool is_dense(const TensorSpec& spec) {
  return same_strides(spec, dense_in_order(spec.dtype, spec.shape, physical_order(spec)));
}

std::vector<TensorSpec> ContiguousOp::infer(std::span<const TensorSpec> inputs) const {
  SWAPADVISOR_ASSERT(order_.rank() == inputs[0].rank(), "an order of {} dimensions for {}", order_.rank(),
                     to_string(inputs[0]));
  return {dense_in_order(inputs[0].dtype, inputs[0].shape, order_)};
}

// A view takes its gradient in any strides, and the walk copies it for other inputs.
std::vector<Tensor> ContiguousOp::vjp(const VjpContext& context) const {
  return {context.output_gradients[0]};
}

Tensor contiguous(Tensor x, std::string_view name) {
  return x.spec().is_row_major() ? x : copy_in_order(x, row_major_order(x.spec().rank()), name);
}

Tensor contiguous_unless_dense(Tensor x, std::string_view name) {
  return x.spec().is_channels_last() ? x : contiguous(x, name);
}

Tensor contiguous_like(Tensor x, const TensorSpec& like, std::string_view name) {
  SWAPADVISOR_ASSERT(x.shape() == like.shape, "{} like {}", to_string(x.spec()), to_string(like));
  if (!is_dense(like)) return contiguous(x, name);
  return same_strides(x.spec(), like) ? x : copy_in_order(x, physical_order(like), name);
}

void align_strides(Tensor& a, Tensor& b) {
  if (a.shape() != b.shape()) return;
  const auto has_layout = [](const Tensor& x) {
    return x.spec().is_row_major() || x.spec().is_channels_last();
  };
  if (!is_dense(a.spec())) a = contiguous_like(a, b.spec());
  if (!has_layout(b)) b = contiguous_like(b, a.spec());
  if (!has_layout(a)) a = contiguous_like(a, b.spec());
}

Tensor copy(Tensor x, std::string_view name) {
  const TensorSpec& spec = x.spec();
  return copy_in_order(x, is_dense(spec) ? physical_order(spec) : row_major_order(spec.rank()), name);
}

}  // namespace swapadvisor
