// image_to_float: a table of 256 values per channel.
#include <swapadvisor/core/parallel.h>
#include <swapadvisor/ops/cpu/register.h>
#include <swapadvisor/ops/cpu/vector.h>
#include <swapadvisor/ops/image_to_float.h>

namespace swapadvisor {
namespace {

template <class T>
std::vector<T> value_table(const ImageToFloatOp& op) {
  std::vector<T> table;
  for (std::size_t c = 0; c < op.mean().size(); ++c)
    for (int v = 0; v < 256; ++v)
      table.push_back(static_cast<T>((v / 255.0 - op.mean()[c]) / op.deviation()[c]));
  return table;
}

/// Rows of pixels [begin, end) of all images: x is [image][channel][row][column], y as `strides` (n, c, h, w)
/// say.
template <class T>
void convert_rows(const Shape& shape, const Shape& strides, const T* table, const std::uint8_t* x, T* y,
                  std::int64_t begin, std::int64_t end) {
  const std::int64_t channels = shape[1], height = shape[2], width = shape[3];
  for (std::int64_t row = begin; row < end; ++row) {
    const std::int64_t n = row / height, h = row % height;
    for (std::int64_t c = 0; c < channels; ++c) {
      const std::uint8_t* from = x + ((n * channels + c) * height + h) * width;
      T* to = y + n * strides[0] + c * strides[1] + h * strides[2];
      for (std::int64_t w = 0; w < width; ++w) to[w * strides[3]] = table[c * 256 + from[w]];
    }
  }
}

}  // namespace

void add_image_kernels(KernelSet& set) {
  set.add("image_to_float", [](const KernelRequest& request) {
    const auto& op = request.as<ImageToFloatOp>();
    const TensorSpec spec = request.outputs[0];
    return visit_floating(spec.dtype, [&]<class T>() {
      return make_kernel([spec, table = value_table<T>(op)](const KernelArgs& args) {
        const std::int64_t rows = spec.shape[0] * spec.shape[2];
        const std::int64_t grain = std::max<std::int64_t>(1, elementwise_grain / (spec.numel() / rows));
        parallel_for(rows, grain, [&](std::int64_t begin, std::int64_t end) {
          convert_rows(spec.shape, spec.strides, table.data(), args.in<std::uint8_t>(0), args.out<T>(0),
                       begin, end);
        });
      });
    });
  });
}

}  // namespace swapadvisor
