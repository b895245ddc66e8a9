// dropout and dropout_backward: Philox on 16 counters at once, the same draws as RandomStream.
#include <swapadvisor/core/parallel.h>
#include <swapadvisor/core/rng.h>
#include <swapadvisor/ops/cpu/register.h>
#include <swapadvisor/ops/cpu/vector.h>
#include <swapadvisor/ops/dropout.h>

#include <cmath>

namespace swapadvisor {
namespace {

constexpr int lanes = 16;              // Philox blocks at once
constexpr int batch_size = 4 * lanes;  // draws at once

struct Draws {
  std::uint64_t seed;
  std::uint32_t id, step;
  std::uint32_t threshold;  // draws below it drop
};

/// Draws `batch_size`·batch … of the stream, in order.
SWAPADVISOR_INLINE void draw_batch(const Draws& draws, std::uint64_t batch, std::uint32_t* bits) {
  std::uint32_t c0[lanes], c1[lanes], c2[lanes], c3[lanes];
  for (std::uint32_t l = 0; l < lanes; ++l) {
    const std::uint64_t block = batch * lanes + l;
    c0[l] = static_cast<std::uint32_t>(block);
    c1[l] = static_cast<std::uint32_t>(block >> 32);
    c2[l] = draws.step;
    c3[l] = draws.id;
  }
  auto k0 = static_cast<std::uint32_t>(draws.seed), k1 = static_cast<std::uint32_t>(draws.seed >> 32);
  for (int round = 0; round < 10; ++round) {
    for (int l = 0; l < lanes; ++l) {
      const std::uint64_t p0 = std::uint64_t{0xD2511F53} * c0[l], p1 = std::uint64_t{0xCD9E8D57} * c2[l];
      c0[l] = static_cast<std::uint32_t>(p1 >> 32) ^ c1[l] ^ k0;
      c1[l] = static_cast<std::uint32_t>(p1);
      c2[l] = static_cast<std::uint32_t>(p0 >> 32) ^ c3[l] ^ k1;
      c3[l] = static_cast<std::uint32_t>(p0);
    }
    k0 += 0x9E3779B9;
    k1 += 0xBB67AE85;
  }
  for (int l = 0; l < lanes; ++l) {
    bits[4 * l] = c0[l];
    bits[4 * l + 1] = c1[l];
    bits[4 * l + 2] = c2[l];
    bits[4 * l + 3] = c3[l];
  }
}

/// Elements [begin, end) of x, where begin is a multiple of `batch_size`.
template <class T>
SWAPADVISOR_INLINE void dropout_loop(const Draws& draws, T scale, const T* x, T* y, std::int64_t begin,
                                     std::int64_t end) {
  std::uint32_t bits[batch_size];
  for (std::int64_t i = begin; i < end; i += batch_size) {
    draw_batch(draws, static_cast<std::uint64_t>(i) / batch_size, bits);
    const std::int64_t n = std::min<std::int64_t>(batch_size, end - i);
    SWAPADVISOR_VECTORISE
    for (std::int64_t j = 0; j < n; ++j) {
      const T kept = x[i + j] * scale;
      y[i + j] = bits[j] < draws.threshold ? T(0) : kept;
    }
  }
}

SWAPADVISOR_MULTIVERSION void dropout_chunk(const Draws& draws, float scale, const float* x, float* y,
                                            std::int64_t begin, std::int64_t end) {
  dropout_loop(draws, scale, x, y, begin, end);
}
void dropout_chunk(const Draws& draws, double scale, const double* x, double* y, std::int64_t begin,
                   std::int64_t end) {
  dropout_loop(draws, scale, x, y, begin, end);
}

std::unique_ptr<Kernel> make_dropout(const KernelRequest& request) {
  const auto& op = request.as<DropoutOp>();
  const std::int64_t n = request.inputs[0].numel();
  const double p = op.p();
  // uniform(i) = (bits + 1/2)/2^32 < p, as a comparison of integers.
  const auto threshold = static_cast<std::uint32_t>(std::max(0.0, std::ceil(p * 0x1p32 - 0.5)));
  const Draws draws{request.context.seed, op.draw_id(), 0, threshold};
  return visit_floating(request.inputs[0].dtype, [=]<class T>() {
    return make_kernel([=](const KernelArgs& args) {
      Draws now = draws;
      now.step = static_cast<std::uint32_t>(*args.in<std::int64_t>(1));
      const T* x = args.in<T>(0);
      T* y = args.out<T>(0);
      const std::int64_t batches = (n + batch_size - 1) / batch_size;
      parallel_for(batches, elementwise_grain / 4 / batch_size, [&](std::int64_t b, std::int64_t e) {
        dropout_chunk(now, static_cast<T>(1 / (1 - p)), x, y, b * batch_size, std::min(n, e * batch_size));
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
