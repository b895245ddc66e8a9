// dropout and dropout_backward: the mask is drawn as it is used.
#include <swapadvisor/core/parallel.h>
#include <swapadvisor/ops/cpu/philox.h>
#include <swapadvisor/ops/cpu/register.h>
#include <swapadvisor/ops/cpu/vector.h>
#include <swapadvisor/ops/dropout.h>

#include <cmath>

namespace swapadvisor {
namespace {

constexpr std::int64_t batch_size = draw_batch_size;

struct Mask {
  RandomStream random;
  std::uint32_t threshold;  // draws below it drop
};

/// Elements [begin, end) of x, where begin is a multiple of `batch_size`.
template <class T>
SWAPADVISOR_INLINE void dropout_loop(const Mask& mask, T scale, const T* x, T* y, std::int64_t begin,
                                     std::int64_t end) {
  std::uint32_t bits[batch_size];
  for (std::int64_t i = begin; i < end; i += batch_size) {
    draw_batch(mask.random, static_cast<std::uint64_t>(i) / batch_size, bits);
    const std::int64_t n = std::min<std::int64_t>(batch_size, end - i);
    SWAPADVISOR_VECTORISE
    for (std::int64_t j = 0; j < n; ++j) {
      const T kept = x[i + j] * scale;
      y[i + j] = bits[j] < mask.threshold ? T(0) : kept;
    }
  }
}

SWAPADVISOR_MULTIVERSION void dropout_chunk(const Mask& mask, float scale, const float* x, float* y,
                                            std::int64_t begin, std::int64_t end) {
  dropout_loop(mask, scale, x, y, begin, end);
}
void dropout_chunk(const Mask& mask, double scale, const double* x, double* y, std::int64_t begin,
                   std::int64_t end) {
  dropout_loop(mask, scale, x, y, begin, end);
}

std::unique_ptr<Kernel> make_dropout(const KernelRequest& request) {
  const auto& op = request.as<DropoutOp>();
  const std::int64_t n = request.inputs[0].numel();
  const double p = op.p();
  // uniform(i) = (bits + 1/2)/2^32 < p, as a comparison of integers.
  const auto threshold = static_cast<std::uint32_t>(std::max(0.0, std::ceil(p * 0x1p32 - 0.5)));
  const Mask of_step_zero{{request.context.seed, op.draw_id(), 0}, threshold};
  return visit_floating(request.inputs[0].dtype, [=]<class T>() {
    return make_kernel([=](const KernelArgs& args) {
      Mask mask = of_step_zero;
      mask.random.step = static_cast<std::uint32_t>(*args.in<std::int64_t>(1));
      const T* x = args.in<T>(0);
      T* y = args.out<T>(0);
      const std::int64_t batches = (n + batch_size - 1) / batch_size;
      parallel_for(batches, elementwise_grain / 4 / batch_size, [&](std::int64_t b, std::int64_t e) {
        dropout_chunk(mask, static_cast<T>(1 / (1 - p)), x, y, b * batch_size, std::min(n, e * batch_size));
      });
    });
  });
}

}  // namespace

void add_dropout_kernels(KernelSet& set) {
  set.add("dropout", make_dropout);
  set.add("dropout_backward", make_dropout);
}

}  // namespace swapadvisor
