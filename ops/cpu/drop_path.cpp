// drop_path and drop_path_backward: one draw per sample.
#include <swapadvisor/core/parallel.h>
#include <swapadvisor/core/rng.h>
#include <swapadvisor/ops/cpu/register.h>
#include <swapadvisor/ops/cpu/vector.h>
#include <swapadvisor/ops/drop_path.h>

#include <algorithm>

namespace swapadvisor {
namespace {

template <class T>
SWAPADVISOR_MULTIVERSION void scale_row(const T* x, T factor, T* y, std::int64_t n) {
  SWAPADVISOR_VECTORISE
  for (std::int64_t i = 0; i < n; ++i) y[i] = x[i] * factor;
}

/// Elements [begin, end), of samples of `size` elements.
template <class T>
void drop_samples(const RandomStream& random, double p, std::int64_t size, const T* x, T* y,
                  std::int64_t begin, std::int64_t end) {
  const T kept = static_cast<T>(1 / (1 - p));
  while (begin < end) {
    const std::int64_t sample = begin / size, last = std::min(end, (sample + 1) * size);
    if (random.uniform(static_cast<std::uint64_t>(sample)) < p)
      std::fill(y + begin, y + last, T(0));  // not x times 0: an infinity goes, too
    else
      scale_row(x + begin, kept, y + begin, last - begin);
    begin = last;
  }
}

std::unique_ptr<Kernel> make_drop_path(const KernelRequest& request) {
  const auto op = request.as<DropPathOp>();
  const std::int64_t n = request.inputs[0].numel(), size = n / request.inputs[0].shape[0];
  const RandomStream of_step_zero{request.context.seed, op.draw_id(), 0};
  return visit_floating(request.inputs[0].dtype, [=]<class T>() {
    return make_kernel([=](const KernelArgs& args) {
      const std::int64_t step = *args.in<std::int64_t>(1);
      const double p = op.probability(step);
      RandomStream random = of_step_zero;
      random.step = static_cast<std::uint32_t>(step);
      parallel_for(n, elementwise_grain, [&](std::int64_t b, std::int64_t e) {
        drop_samples(random, p, size, args.in<T>(0), args.out<T>(0), b, e);
      });
    });
  });
}

}  // namespace

void add_drop_path_kernels(KernelSet& set) {
  set.add("drop_path", make_drop_path);
  set.add("drop_path_backward", make_drop_path);
}

}  // namespace swapadvisor
