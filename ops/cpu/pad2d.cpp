// pad2d: rows are copied, what is outside of x becomes zero.
#include <swapadvisor/core/parallel.h>
#include <swapadvisor/ops/cpu/register.h>
#include <swapadvisor/ops/cpu/vector.h>
#include <swapadvisor/ops/pad2d.h>

#include <algorithm>

namespace swapadvisor {
namespace {

/// `images` planes of pixels; a pixel has `channels` elements (1 in row-major tensors, whose channels are
/// planes).
struct Padding {
  std::int64_t images, channels, height, width, out_height, out_width, top, left;

  Padding(const TensorSpec& x, const TensorSpec& y, const Pad2dOptions& options)
      : height(x.shape[2]),
        width(x.shape[3]),
        out_height(y.shape[2]),
        out_width(y.shape[3]),
        top(options.top),
        left(options.left) {
    const bool channels_last = x.is_channels_last() && y.is_channels_last();
    images = channels_last ? x.shape[0] : x.shape[0] * x.shape[1];
    channels = channels_last ? x.shape[1] : 1;
  }
};

/// Rows [first, last) of all images of y.
template <class T>
void pad_rows(const Padding& p, const T* x, T* y, std::int64_t first, std::int64_t last) {
  const std::int64_t begin = std::max<std::int64_t>(0, p.left), end = std::min(p.out_width, p.left + p.width);
  for (std::int64_t row = first; row < last; ++row) {
    const std::int64_t image = row / p.out_height, h = row % p.out_height - p.top;
    T* out = y + row * p.out_width * p.channels;
    if (h < 0 || h >= p.height) {
      std::fill_n(out, p.out_width * p.channels, T(0));
      continue;
    }
    const T* in = x + ((image * p.height + h) * p.width + begin - p.left) * p.channels;
    std::fill_n(out, begin * p.channels, T(0));
    std::copy_n(in, (end - begin) * p.channels, out + begin * p.channels);
    std::fill_n(out + end * p.channels, (p.out_width - end) * p.channels, T(0));
  }
}

}  // namespace

void add_pad_kernels(KernelSet& set) {
  set.add("pad2d", [](const KernelRequest& r) {
    const Padding p(r.inputs[0], r.outputs[0], r.as<Pad2dOp>().options());
    const std::int64_t grain = std::max<std::int64_t>(1, elementwise_grain / (p.out_width * p.channels));
    return visit_floating(r.inputs[0].dtype, [p, grain]<class T>() {
      return make_kernel([p, grain](const KernelArgs& args) {
        parallel_for(p.images * p.out_height, grain, [&](std::int64_t first, std::int64_t last) {
          pad_rows(p, args.in<T>(0), args.out<T>(0), first, last);
        });
      });
    });
  });
}

}  // namespace swapadvisor
