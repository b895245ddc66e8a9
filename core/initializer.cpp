#include <swapadvisor/core/initializer.h>
#include <swapadvisor/core/rng.h>

#include <cmath>
#include <cstring>
#include <numbers>

namespace swapadvisor {
namespace {

double fan(const Shape& shape, int channel_dim) {
  double n = static_cast<double>(shape[channel_dim]);
  for (int i = 2; i < shape.rank(); ++i) n *= static_cast<double>(shape[i]);
  return n;
}

double draw(const Initializer& how, const RandomStream& random, std::uint64_t i) {
  switch (how.kind) {
    case Initializer::Kind::constant: return how.a;
    case Initializer::Kind::uniform: return how.a + (how.b - how.a) * random.uniform(i);
    case Initializer::Kind::normal: return how.a + how.b * random.normal(i);
  }
  return 0;
}

template <class T>
void fill(std::span<std::byte> data, const Initializer& how, const RandomStream& random) {
  const std::size_t n = data.size() / sizeof(T);
  for (std::size_t i = 0; i < n; ++i) {
    const bool zero = i < static_cast<std::size_t>(how.leading_zeros);
    const T value = zero ? T(0) : static_cast<T>(draw(how, random, i));
    std::memcpy(data.data() + i * sizeof(T), &value, sizeof(T));
  }
}

}  // namespace

double RandomStream::normal(std::uint64_t i) const {
  const double radius = std::sqrt(-2.0 * std::log(uniform(2 * i)));
  return radius * std::cos(2.0 * std::numbers::pi * uniform(2 * i + 1));
}

Initializer Initializer::kaiming_normal_fan_out(const Shape& shape) {
  return normal(0, std::sqrt(2.0 / fan(shape, 0)));
}

Initializer Initializer::uniform_fan_in(const Shape& shape) {
  const double bound = 1.0 / std::sqrt(fan(shape, 1));
  return uniform(-bound, bound);
}

void initialize(std::span<std::byte> data, const TensorSpec& spec, const Initializer& how, std::string_view name,
                std::uint64_t seed) {
  SWAPADVISOR_ASSERT(static_cast<std::int64_t>(data.size()) == spec.bytes(), "'{}' has {} bytes, its slot {}", name,
                     spec.bytes(), data.size());
  const RandomStream random{hash_name(name, seed ^ 0xcbf29ce484222325), 0, 0};
  switch (spec.dtype) {
    case DType::f32: return fill<float>(data, how, random);
    case DType::f64: return fill<double>(data, how, random);
    case DType::u8: return fill<std::uint8_t>(data, how, random);
    case DType::i32: return fill<std::int32_t>(data, how, random);
    case DType::i64: return fill<std::int64_t>(data, how, random);
    case DType::bf16: return fill<BFloat16>(data, how, random);
  }
}

}  // namespace swapadvisor
