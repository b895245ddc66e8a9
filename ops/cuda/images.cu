// pad2d, image_to_float.
#include <swapadvisor/ops/cuda/elements.h>
#include <swapadvisor/ops/cuda/register.h>
#include <swapadvisor/ops/image_to_float.h>
#include <swapadvisor/ops/pad2d.h>

#include <algorithm>

namespace swapadvisor::cuda {
namespace {

/// Rows of pixels, in elements: channels-last rows have all channels of a pixel side by side.
struct Padding {
  std::int64_t height, row, out_height, out_row, top, left;
};

/// A block per row of the result.
template <class T>
__global__ void __launch_bounds__(element_threads) pad_rows(Padding p, T* y, const T* x) {
  const std::int64_t number = blockIdx.x, image = number / p.out_height, h = number % p.out_height - p.top;
  const bool inside = h >= 0 && h < p.height;
  const T* in = x + (image * p.height + (inside ? h : 0)) * p.row;
  for (std::int64_t i = threadIdx.x; i < p.out_row; i += blockDim.x) {
    const std::int64_t from = i - p.left;
    y[number * p.out_row + i] = inside && from >= 0 && from < p.row ? in[from] : T(0);
  }
}

std::unique_ptr<Kernel> make_pad(const KernelRequest& r) {
  const TensorSpec &x = r.inputs[0], &y = r.outputs[0];
  const Pad2dOptions& options = r.as<Pad2dOp>().options();
  const bool channels_last = x.is_channels_last() && y.is_channels_last();
  const std::int64_t images = channels_last ? x.shape[0] : x.shape[0] * x.shape[1];
  const std::int64_t channels = channels_last ? x.shape[1] : 1;
  const Padding p{x.shape[2],  x.shape[3] * channels,  y.shape[2], y.shape[3] * channels,
                  options.top, options.left * channels};
  return visit_elements(x.dtype, [=]<class T>() {
    return device_kernel([=](cudaStream_t stream, const KernelArgs& args) {
      launch(pad_rows<T>, static_cast<unsigned>(images * p.out_height), element_threads, 0, stream, p,
             args.out<T>(0), args.in<T>(0));
    });
  });
}

/// Channels of one launch.
constexpr int most_channels = 8;

struct Normalisation {
  int channels = 0;
  double mean[most_channels] = {}, deviation[most_channels] = {};
};

/// x is [image][channel][pixel], of which the launch converts some channels; y has these strides. Each block
/// makes a table of the 256 values of each channel first.
template <class T>
__global__ void __launch_bounds__(element_threads)
    convert_images(Normalisation normal, std::int64_t images, std::int64_t image_bytes, std::int64_t pixels,
                   std::int64_t width, std::int64_t stride_n, std::int64_t stride_c, std::int64_t stride_h,
                   std::int64_t stride_w, T* y, const std::uint8_t* x) {
  // Words, because shared memory has no constructors, which bf16 has.
  __shared__ std::uint64_t words[most_channels * 256 * sizeof(T) / sizeof(std::uint64_t)];
  T* const table = reinterpret_cast<T*>(words);
  for (int i = static_cast<int>(threadIdx.x); i < normal.channels * 256; i += static_cast<int>(blockDim.x)) {
    const int c = i / 256, v = i % 256;
    table[i] = static_cast<T>((v / 255.0 - normal.mean[c]) / normal.deviation[c]);
  }
  __syncthreads();
  for (std::int64_t i = thread_index(); i < images * pixels; i += thread_count()) {
    const std::int64_t n = i / pixels, pixel = i - n * pixels, h = pixel / width, w = pixel - h * width;
    T* to = y + n * stride_n + h * stride_h + w * stride_w;
    for (int c = 0; c < normal.channels; ++c)
      to[c * stride_c] = table[c * 256 + x[n * image_bytes + c * pixels + pixel]];
  }
}

std::unique_ptr<Kernel> make_image_to_float(const KernelRequest& request) {
  const auto& op = request.as<ImageToFloatOp>();
  const TensorSpec y = request.outputs[0];
  std::vector<Normalisation> groups;
  for (std::size_t c = 0; c < op.mean().size(); ++c) {
    if (groups.empty() || groups.back().channels == most_channels) groups.emplace_back();
    Normalisation& group = groups.back();
    group.mean[group.channels] = op.mean()[c];
    group.deviation[group.channels++] = op.deviation()[c];
  }
  return visit_elements(y.dtype, [&]<class T>() {
    return device_kernel([y, groups](cudaStream_t stream, const KernelArgs& args) {
      const std::int64_t pixels = y.shape[2] * y.shape[3];
      for (std::size_t g = 0; g < groups.size(); ++g) {
        const std::int64_t first = static_cast<std::int64_t>(g) * most_channels;
        launch(convert_images<T>, element_blocks(y.shape[0] * pixels), element_threads, 0, stream, groups[g],
               y.shape[0], y.shape[1] * pixels, pixels, y.shape[3], y.strides[0], y.strides[1], y.strides[2],
               y.strides[3], args.out<T>(0) + first * y.strides[1],
               args.in<std::uint8_t>(0) + first * pixels);
      }
    });
  });
}

}  // namespace

void add_image_kernels(KernelSet& set) {
  set.add("pad2d", make_pad);
  set.add("image_to_float", make_image_to_float);
}

}  // namespace swapadvisor::cuda
