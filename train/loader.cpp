#include <swapadvisor/core/rng.h>
#include <swapadvisor/train/loader.h>

#include <algorithm>
#include <cstring>
#include <numeric>

namespace swapadvisor {
namespace {

__extension__ using Wide = unsigned __int128;

// Uniform in [0, n) from 64 bits: the bias, n / 2^64, is out of reach.
std::int64_t below(const RandomStream& random, std::uint64_t i, std::int64_t n) {
  const std::uint64_t bits = std::uint64_t{random.bits(2 * i)} << 32 | random.bits(2 * i + 1);
  return static_cast<std::int64_t>((Wide{bits} * static_cast<std::uint64_t>(n)) >> 64);
}

template <class T>
void fill_rows(BatchArray& array, std::int64_t first) {
  const auto value = static_cast<T>(array.field.padding);
  for (std::size_t at = static_cast<std::size_t>(first * array.field.bytes()); at < array.bytes.size();
       at += sizeof(T))
    std::memcpy(&array.bytes[at], &value, sizeof(T));
}

/// Rows from `first` on are no samples.
void pad(BatchArray& array, std::int64_t first) {
  switch (array.field.dtype) {
    case DType::f32:
      return fill_rows<float>(array, first);
    case DType::f64:
      return fill_rows<double>(array, first);
    case DType::u8:
      return fill_rows<std::uint8_t>(array, first);
    case DType::i32:
      return fill_rows<std::int32_t>(array, first);
    case DType::i64:
      return fill_rows<std::int64_t>(array, first);
    case DType::bf16:
      return fill_rows<BFloat16>(array, first);
  }
}

}  // namespace

const BatchArray* Batch::find(std::string_view name) const {
  const auto found =
      std::find_if(arrays.begin(), arrays.end(), [&](const BatchArray& a) { return a.field.name == name; });
  return found == arrays.end() ? nullptr : &*found;
}

LastBatch parse_last_batch(std::string_view text) {
  if (text == "drop") return LastBatch::drop;
  if (text == "pad") return LastBatch::pad;
  fail("'{}' is not a way to treat the last batch: expected drop or pad", text);
}

std::vector<std::int64_t> shuffled_order(std::int64_t size, std::uint64_t seed, std::int64_t epoch) {
  std::vector<std::int64_t> order(static_cast<std::size_t>(size));
  std::iota(order.begin(), order.end(), std::int64_t{0});
  const auto e = static_cast<std::uint64_t>(epoch);
  const RandomStream random{seed ^ hash_name("shuffle"), static_cast<std::uint32_t>(e >> 32),
                            static_cast<std::uint32_t>(e)};
  for (std::int64_t i = size - 1; i > 0; --i)
    std::swap(order[static_cast<std::size_t>(i)],
              order[static_cast<std::size_t>(below(random, static_cast<std::uint64_t>(i), i + 1))]);
  return order;
}

BatchAssembler::BatchAssembler(const Dataset& dataset, const LoaderOptions& options)
    : dataset_(dataset), options_(options) {
  const std::int64_t size = dataset.size(), batch = options.batch_size;
  if (batch < 1) fail("the batch size must be at least 1, got {}", batch);
  if (options.augmentation.crop_padding < 0)
    fail("the crop padding must be at least 0, got {}", options.augmentation.crop_padding);
  std::int64_t bytes = 0;
  if (__builtin_mul_overflow(batch, dataset.sample_bytes(), &bytes))
    fail("a batch of {} samples of {} bytes is too large", batch, dataset.sample_bytes());
  steps_per_epoch_ = size / batch;
  if (options.last_batch == LastBatch::pad && size % batch != 0) ++steps_per_epoch_;
  if (steps_per_epoch_ == 0)
    fail("the batch size {} exceeds the {} samples of the data set, and the last batch is dropped", batch,
         size);
}

std::shared_ptr<const std::vector<std::int64_t>> BatchAssembler::order_of(std::int64_t epoch) const {
  constexpr std::size_t kept = 4;
  const std::lock_guard lock(mutex_);
  auto& order = orders_[epoch];
  if (!order)
    order = std::make_shared<const std::vector<std::int64_t>>(
        shuffled_order(dataset_.size(), options_.seed, epoch));
  auto result = order;
  while (orders_.size() > kept)
    orders_.erase(orders_.begin()->first == epoch ? std::prev(orders_.end()) : orders_.begin());
  return result;
}

void BatchAssembler::assemble(std::int64_t step, Batch& batch) const {
  SWAPADVISOR_ASSERT(step >= 0, "batch of step {}", step);
  const std::int64_t rows = options_.batch_size;
  batch.step = step;
  batch.epoch = step / steps_per_epoch_;
  const std::int64_t begin = step % steps_per_epoch_ * rows;
  batch.valid = std::min(rows, dataset_.size() - begin);
  const std::vector<Field>& fields = dataset_.fields();
  batch.arrays.resize(fields.size());
  for (std::size_t f = 0; f < fields.size(); ++f) {
    batch.arrays[f].field = fields[f];
    batch.arrays[f].bytes.resize(static_cast<std::size_t>(rows * fields[f].bytes()));
    pad(batch.arrays[f], batch.valid);
  }

  const auto order = options_.shuffle ? order_of(batch.epoch) : nullptr;
  const SampleDraw draw{options_.seed, batch.epoch, options_.augmentation};
  std::vector<std::span<std::byte>> out(fields.size());
  for (std::int64_t row = 0; row < batch.valid; ++row) {
    for (std::size_t f = 0; f < fields.size(); ++f) {
      const auto bytes = static_cast<std::size_t>(fields[f].bytes());
      out[f] = std::span(batch.arrays[f].bytes).subspan(static_cast<std::size_t>(row) * bytes, bytes);
    }
    dataset_.read(order ? (*order)[static_cast<std::size_t>(begin + row)] : begin + row, draw, out);
  }
}

Loader::Loader(const Dataset& dataset, const LoaderOptions& options, std::int64_t first_step,
               std::int64_t end_step)
    : assembler_(dataset, options), end_step_(end_step), next_claim_(first_step), next_delivery_(first_step) {
  if (first_step < 0) fail("the first step must be at least 0, got {}", first_step);
  if (options.threads < 1) fail("the loader needs at least 1 thread, got {}", options.threads);
  if (options.prefetch < 1) fail("the loader must prefetch at least 1 batch, got {}", options.prefetch);
  slots_.resize(static_cast<std::size_t>(options.prefetch));
  for (int i = 0; i < std::min(options.threads, options.prefetch); ++i)
    workers_.emplace_back([this](const std::stop_token& stop) { work(stop); });
}

void Loader::work(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  const auto claimable = [this] {
    return next_claim_ < end_step_ && next_claim_ - next_delivery_ < std::ssize(slots_);
  };
  while (slot_free_.wait(lock, stop, claimable) && !stop.stop_requested()) {
    const std::int64_t step = next_claim_++;
    Slot& mine = slot(step);
    lock.unlock();
    std::exception_ptr error;
    try {
      assembler_.assemble(step, mine.batch);
    } catch (...) {
      error = std::current_exception();
    }
    lock.lock();
    mine.error = error;
    mine.ready = true;
    slot_ready_.notify_one();
  }
}

bool Loader::next(Batch& batch) {
  std::unique_lock lock(mutex_);
  if (next_delivery_ >= end_step_) return false;
  Slot& wanted = slot(next_delivery_);
  slot_ready_.wait(lock, [&] { return wanted.ready; });
  // The failed slot stays ready and is never handed on: later calls fail alike.
  if (wanted.error) std::rethrow_exception(wanted.error);
  std::swap(batch, wanted.batch);
  wanted.ready = false;
  ++next_delivery_;
  slot_free_.notify_one();
  return true;
}

}  // namespace swapadvisor
