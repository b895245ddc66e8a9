#include <swapadvisor/ops/cpu/multiversion.h>
#include <swapadvisor/ops/cpu/philox.h>

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__) && \
    !defined(__SANITIZE_THREAD__)
#define SWAPADVISOR_PHILOX_AVX2
#include <immintrin.h>
#endif

namespace swapadvisor {
namespace {

constexpr std::uint64_t blocks = draw_batch_size / 4;

#ifdef SWAPADVISOR_PHILOX_AVX2

/// Four counters, each word in the low half of a 64-bit lane; the high halves hold leftovers, which the
/// multiplication does not read. No shuffles are needed until the end, which is what the compiler's own
/// vectors are slow at.
struct FourCounters {
  __m256i c0, c1, c2, c3;
};

__attribute__((target("avx2"), always_inline)) inline FourCounters philox_avx2(FourCounters c,
                                                                               std::uint64_t key) {
  const __m256i multiplier0 = _mm256_set1_epi64x(0xD2511F53), multiplier1 = _mm256_set1_epi64x(0xCD9E8D57);
  auto k0 = static_cast<std::uint32_t>(key), k1 = static_cast<std::uint32_t>(key >> 32);
  for (int round = 0; round < 10; ++round) {
    const __m256i p0 = _mm256_mul_epu32(c.c0, multiplier0), p1 = _mm256_mul_epu32(c.c2, multiplier1);
    const __m256i key0 = _mm256_set1_epi64x(k0), key1 = _mm256_set1_epi64x(k1);
    c = {_mm256_xor_si256(_mm256_xor_si256(_mm256_srli_epi64(p1, 32), c.c1), key0), p1,
         _mm256_xor_si256(_mm256_xor_si256(_mm256_srli_epi64(p0, 32), c.c3), key1), p0};
    k0 += 0x9E3779B9;
    k1 += 0xBB67AE85;
  }
  return c;
}

/// The 16 words in counter order.
__attribute__((target("avx2"), always_inline)) inline void store_avx2(const FourCounters& c,
                                                                      std::uint32_t* bits) {
  constexpr int odd_words = 0b10101010;
  const __m256i first = _mm256_blend_epi32(c.c0, _mm256_slli_epi64(c.c1, 32), odd_words);
  const __m256i second = _mm256_blend_epi32(c.c2, _mm256_slli_epi64(c.c3, 32), odd_words);
  const __m256i even = _mm256_unpacklo_epi64(first, second), odd = _mm256_unpackhi_epi64(first, second);
  auto* out = reinterpret_cast<__m256i*>(bits);
  _mm256_storeu_si256(out, _mm256_permute2x128_si256(even, odd, 0x20));
  _mm256_storeu_si256(out + 1, _mm256_permute2x128_si256(even, odd, 0x31));
}

__attribute__((target("avx2"))) void draw(const RandomStream& random, std::uint64_t first,
                                          std::uint32_t* bits) {
  const __m256i high = _mm256_set1_epi64x(static_cast<std::int64_t>(first >> 32));
  const __m256i step = _mm256_set1_epi64x(random.step), id = _mm256_set1_epi64x(random.id);
  for (std::uint64_t block = 0; block < blocks; block += 8) {
    const auto low = static_cast<std::int64_t>(first + block);
    const __m256i a = _mm256_add_epi64(_mm256_set1_epi64x(low), _mm256_set_epi64x(3, 2, 1, 0));
    const __m256i b = _mm256_add_epi64(_mm256_set1_epi64x(low), _mm256_set_epi64x(7, 6, 5, 4));
    store_avx2(philox_avx2({a, high, step, id}, random.seed), bits + 4 * block);
    store_avx2(philox_avx2({b, high, step, id}, random.seed), bits + 4 * block + 16);
  }
}

__attribute__((target("default")))
#endif
void draw(const RandomStream& random, std::uint64_t first, std::uint32_t* bits) {
  for (std::uint64_t block = 0; block < blocks; ++block) {
    const PhiloxBlock four =
        philox({static_cast<std::uint32_t>(first + block), static_cast<std::uint32_t>((first + block) >> 32),
                random.step, random.id},
               random.seed);
    for (std::size_t j = 0; j < 4; ++j) bits[4 * block + j] = four[j];
  }
}

}  // namespace

void draw_batch(const RandomStream& random, std::uint64_t batch, std::uint32_t* bits) {
  draw(random, batch * blocks, bits);
}

}  // namespace swapadvisor
