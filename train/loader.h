// Mini-batches, assembled ahead of the device by worker threads.
#pragma once

#include <swapadvisor/train/dataset.h>

#include <condition_variable>
#include <cstdint>
#include <exception>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace swapadvisor {

/// One field of all samples of a batch, sample after sample.
struct BatchArray {
  Field field;
  std::vector<std::byte> bytes;  ///< padded rows have the field's padding

  /// The elements. T must be the field's type.
  template <class T>
  std::span<const T> values() const {
    SWAPADVISOR_ASSERT(field.dtype == dtype_of<T>, "'{}' is {}", field.name, name_of(field.dtype));
    return {reinterpret_cast<const T*>(bytes.data()), bytes.size() / sizeof(T)};
  }
  friend bool operator==(const BatchArray&, const BatchArray&) = default;
};

/// A mini-batch on the host.
struct Batch {
  std::vector<BatchArray> arrays;  ///< one per field of the data set
  std::int64_t valid = 0;          ///< rows that are samples: the first ones
  std::int64_t epoch = 0;
  std::int64_t step = 0;  ///< counted from 0 over all epochs

  const BatchArray* find(std::string_view name) const;  ///< null if there is none
  /// The elements of the array of that name, which must be there and of type T.
  template <class T>
  std::span<const T> values(std::string_view name) const {
    const BatchArray* array = find(name);
    SWAPADVISOR_ASSERT(array != nullptr, "the batch has no '{}'", name);
    return array->values<T>();
  }
  friend bool operator==(const Batch&, const Batch&) = default;
};

/// What becomes of the samples that do not fill the last batch of an epoch.
enum class LastBatch : std::uint8_t { drop, pad };

/// "drop" or "pad". Throws `Error` on any other text.
LastBatch parse_last_batch(std::string_view text);

/// How samples become batches.
struct LoaderOptions {
  std::int64_t batch_size = 1;
  LastBatch last_batch = LastBatch::drop;
  bool shuffle = true;
  Augmentation augmentation;
  std::uint64_t seed = 0;
  int threads = 1;   ///< workers, at least 1; no number of them changes a batch
  int prefetch = 4;  ///< batches assembled ahead, at least 1
};

/// The order of `size` samples in `epoch`: Fisher–Yates, a pure function of the arguments.
std::vector<std::int64_t> shuffled_order(std::int64_t size, std::uint64_t seed, std::int64_t epoch);

/// Which samples make up which batch: pure functions of (data set, options, step). Thread-safe.
class BatchAssembler {
 public:
  /// Keeps a reference to `dataset`. Throws `Error` for a batch size below 1, or if no batch could ever be
  /// full.
  BatchAssembler(const Dataset& dataset, const LoaderOptions& options);

  std::int64_t steps_per_epoch() const { return steps_per_epoch_; }
  /// Overwrites `batch` with batch `step`, reusing its memory.
  void assemble(std::int64_t step, Batch& batch) const;

 private:
  std::shared_ptr<const std::vector<std::int64_t>> order_of(std::int64_t epoch) const;

  const Dataset& dataset_;
  LoaderOptions options_;
  std::int64_t steps_per_epoch_ = 0;
  mutable std::mutex mutex_;
  mutable std::map<std::int64_t, std::shared_ptr<const std::vector<std::int64_t>>>
      orders_;  // a few latest epochs
};

/// Delivers batches `first_step`, `first_step + 1`, … up to `end_step`, whatever the number of threads. One
/// consumer. Destruction stops the workers.
class Loader {
 public:
  static constexpr std::int64_t endless = std::numeric_limits<std::int64_t>::max();

  /// Keeps a reference to `dataset`.
  Loader(const Dataset& dataset, const LoaderOptions& options, std::int64_t first_step = 0,
         std::int64_t end_step = endless);

  std::int64_t steps_per_epoch() const { return assembler_.steps_per_epoch(); }
  /// Waits for the next batch and exchanges it with `batch`, whose memory is reused. False after the last
  /// one. What a worker threw while it made this batch is thrown here, now and by every later call.
  bool next(Batch& batch);

 private:
  struct Slot {
    Batch batch;
    std::exception_ptr error;
    bool ready = false;
  };
  void work(const std::stop_token& stop);
  Slot& slot(std::int64_t step) { return slots_[static_cast<std::size_t>(step % std::ssize(slots_))]; }

  BatchAssembler assembler_;
  std::int64_t end_step_;
  std::mutex mutex_;
  std::condition_variable_any slot_free_, slot_ready_;
  std::vector<Slot> slots_;  // ring; the one of a claimed step belongs to its worker until it is ready
  std::int64_t next_claim_, next_delivery_;
  std::vector<std::jthread> workers_;  // last: destroyed, and so joined, first
};

}  // namespace swapadvisor
