#include <gmock/gmock.h>
#include <expect_error.h>
#include <gtest/gtest.h>
#include <swapadvisor/ops/softmax_cross_entropy.h>
#include <swapadvisor/train/loader.h>
#include <swapadvisor/train/synthetic.h>

#include <algorithm>
#include <atomic>
#include <numeric>
#include <set>

#include "temporary_folder.h"

namespace swapadvisor {
namespace {

using testing::Each;
using testing::HasSubstr;

std::unique_ptr<ImageDataset> samples(std::int64_t size) {
  DatasetOptions options;
  options.size = size;
  options.image_shape = {1, 3, 4};
  options.classes = 1000000;  // labels tell samples apart
  return make_synthetic(Split::train, options);
}

std::vector<std::int32_t> labels_of(const Batch& batch) {
  const auto labels = batch.values<std::int32_t>("target");
  return {labels.begin(), labels.end()};
}

LoaderOptions options_of(std::int64_t batch_size, LastBatch last = LastBatch::drop) {
  LoaderOptions options;
  options.batch_size = batch_size;
  options.last_batch = last;
  options.seed = 3;
  options.augmentation = {1, true};
  return options;
}

std::vector<Batch> take(Loader& loader, std::size_t most = 1000) {
  std::vector<Batch> batches;
  for (Batch batch; batches.size() < most && loader.next(batch);) batches.push_back(batch);
  return batches;
}

TEST(ShuffledOrderTest, IsAPermutationThatDependsOnSeedAndEpoch) {
  std::vector<std::int64_t> sorted(1000);
  std::iota(sorted.begin(), sorted.end(), 0);
  std::set<std::vector<std::int64_t>> orders;
  for (std::uint64_t seed : {0, 1})
    for (std::int64_t epoch : {std::int64_t{0}, std::int64_t{1}, std::int64_t{1} << 32}) {
      std::vector<std::int64_t> order = shuffled_order(1000, seed, epoch);
      EXPECT_EQ(order, shuffled_order(1000, seed, epoch));
      orders.insert(order);
      std::sort(order.begin(), order.end());
      EXPECT_EQ(order, sorted);
    }
  EXPECT_EQ(orders.size(), 6u);
}

TEST(ShuffledOrderTest, EveryPermutationIsEquallyLikely) {
  std::map<std::vector<std::int64_t>, int> counts;
  for (std::int64_t epoch = 0; epoch < 24000; ++epoch) ++counts[shuffled_order(4, 9, epoch)];
  EXPECT_EQ(counts.size(), 24u);
  for (const auto& [order, count] : counts) EXPECT_NEAR(count, 1000, 150);
}

TEST(LoaderTest, EachEpochVisitsEverySampleOnce) {
  const auto data = samples(103);
  std::multiset<std::int32_t> expected;
  for (std::int64_t i = 0; i < data->size(); ++i) expected.insert(data->label(i));
  Loader loader(*data, options_of(10, LastBatch::pad), 0, 22);
  ASSERT_EQ(loader.steps_per_epoch(), 11);
  const std::vector<Batch> batches = take(loader);
  ASSERT_EQ(batches.size(), 22u);
  for (std::int64_t epoch : {0, 1}) {
    std::multiset<std::int32_t> seen;
    for (const Batch& batch : batches)
      if (batch.epoch == epoch) {
        const auto labels = labels_of(batch);
        seen.insert(labels.begin(), labels.begin() + batch.valid);
      }
    EXPECT_EQ(seen, expected);
  }
  EXPECT_NE(labels_of(batches[0]), labels_of(batches[11]));
}

TEST(LoaderTest, PadsOrDropsTheLastBatch) {
  const auto data = samples(23);
  Loader padded(*data, options_of(10, LastBatch::pad), 0, 3), dropped(*data, options_of(10), 0, 3);
  EXPECT_EQ(padded.steps_per_epoch(), 3);
  EXPECT_EQ(dropped.steps_per_epoch(), 2);
  const Batch last = take(padded).back();
  EXPECT_EQ(last.valid, 3);
  const auto labels = labels_of(last);
  const auto images = last.values<std::uint8_t>("input");
  ASSERT_EQ(labels.size(), 10u);
  ASSERT_EQ(images.size(), 120u);
  EXPECT_THAT(std::vector(labels.begin() + 3, labels.end()), Each(ignored_label));
  EXPECT_THAT(std::vector(images.begin() + 36, images.end()), Each(0));
  const std::vector<Batch> batches = take(dropped);
  EXPECT_EQ(batches[2].epoch, 1);
  for (const Batch& batch : batches) EXPECT_EQ(batch.valid, 10);
}

TEST(LoaderTest, WithoutShuffleAndAugmentationRowsAreTheSamples) {
  const auto data = samples(12);
  LoaderOptions options = options_of(5, LastBatch::pad);
  options.shuffle = false;
  options.augmentation = {};
  Loader loader(*data, options, 0, 3);
  std::int64_t sample = 0;
  std::vector<std::uint8_t> image(12);
  for (const Batch& batch : take(loader))
    for (std::int64_t row = 0; row < batch.valid; ++row, ++sample) {
      EXPECT_EQ(labels_of(batch)[static_cast<std::size_t>(row)], data->label(sample));
      data->image(sample, image);
      EXPECT_TRUE(
          std::equal(image.begin(), image.end(), batch.values<std::uint8_t>("input").begin() + 12 * row));
    }
  EXPECT_EQ(sample, 12);
}

TEST(LoaderTest, ThreadsAndPrefetchChangeNothing) {
  const auto data = samples(57);
  LoaderOptions options = options_of(8, LastBatch::pad);
  Loader reference(*data, options, 0, 100);
  const std::vector<Batch> expected = take(reference);
  for (int threads : {1, 2, 5})
    for (int prefetch : {1, 3, 16}) {
      options.threads = threads;
      options.prefetch = prefetch;
      Loader loader(*data, options, 0, 100);
      EXPECT_TRUE(take(loader) == expected) << threads << " " << prefetch;
    }
}

TEST(LoaderTest, ResumesAtAnyStep) {
  const auto data = samples(57);
  const LoaderOptions options = options_of(8);
  Loader whole(*data, options, 0, 30);
  const std::vector<Batch> expected = take(whole);
  const BatchAssembler assembler(*data, options);
  for (std::int64_t first : {1, 6, 7, 20, 29}) {
    Loader resumed(*data, options, first, 30);
    EXPECT_TRUE(take(resumed) == std::vector(expected.begin() + first, expected.end())) << first;
    Batch batch;
    assembler.assemble(first, batch);
    EXPECT_TRUE(batch == expected[static_cast<std::size_t>(first)]);
  }
}

TEST(LoaderTest, EndsAndStaysEnded) {
  const auto data = samples(10);
  Loader loader(*data, options_of(5), 1, 3);
  EXPECT_EQ(take(loader).size(), 2u);
  Batch batch;
  EXPECT_FALSE(loader.next(batch));
  Loader nothing(*data, options_of(5), 3, 3);
  EXPECT_FALSE(nothing.next(batch));
}

TEST(LoaderTest, StopsCleanlyWithBatchesInFlight) {
  const auto data = samples(64);
  LoaderOptions options = options_of(8);
  options.threads = 4;
  for (std::size_t taken = 0; taken < 20; ++taken) {
    Loader loader(*data, options);
    EXPECT_EQ(take(loader, taken).size(), taken);
  }
}

// Throws for one sample, and counts what is asked of it.
class Faulty : public ImageDataset {
 public:
  explicit Faulty(std::int64_t bad) : bad_(bad) {}
  std::int64_t size() const override { return 100; }
  Shape image_shape() const override { return {1, 1, 1}; }
  int classes() const override { return 2; }
  std::vector<double> mean() const override { return {0}; }
  std::vector<double> deviation() const override { return {1}; }
  void image(std::int64_t index, std::span<std::uint8_t> out) const override {
    ++images;
    if (index == bad_) fail("sample {} cannot be decoded", index);
    out[0] = static_cast<std::uint8_t>(index);
  }
  std::int32_t label(std::int64_t) const override { return 1; }
  mutable std::atomic<std::int64_t> images = 0;

 private:
  std::int64_t bad_;
};

TEST(LoaderTest, CarriesExceptionsToTheStepThatNeedsTheSample) {
  const Faulty data(35);
  LoaderOptions options = options_of(10);
  options.shuffle = false;
  options.threads = 4;
  Loader loader(data, options);
  Batch batch;
  for (int step = 0; step < 3; ++step) EXPECT_TRUE(loader.next(batch));
  for (int again = 0; again < 2; ++again)
    EXPECT_EQ(message_of<Error>([&] { loader.next(batch); }), "sample 35 cannot be decoded");
}

TEST(LoaderTest, PrefetchIsBounded) {
  const Faulty data(-1);
  LoaderOptions options = options_of(10);
  options.threads = 3;
  options.prefetch = 4;
  {
    Loader loader(data, options);
    Batch batch;
    for (int step = 0; step < 5; ++step) ASSERT_TRUE(loader.next(batch));
  }
  // Five delivered and at most four ahead.
  EXPECT_GE(data.images, 50);
  EXPECT_LE(data.images, 90);
}

TEST(LoaderTest, RefusesImpossibleOptions) {
  const auto data = samples(9);
  const auto error_with = [&](const LoaderOptions& options) {
    return message_of<Error>([&] { Loader(*data, options, 0, 1); });
  };
  EXPECT_THAT(error_with(options_of(10)), HasSubstr("batch size 10 exceeds the 9 samples"));
  EXPECT_EQ(error_with(options_of(10, LastBatch::pad)), "");
  EXPECT_THAT(error_with(options_of(0)), HasSubstr("at least 1, got 0"));
  EXPECT_THAT(error_with(options_of(std::int64_t{1} << 62, LastBatch::pad)), HasSubstr("too large"));
  LoaderOptions options = options_of(3);
  options.threads = 0;
  EXPECT_THAT(error_with(options), HasSubstr("at least 1 thread, got 0"));
  options = options_of(3);
  options.prefetch = 0;
  EXPECT_THAT(error_with(options), HasSubstr("at least 1 batch, got 0"));
  options = options_of(3);
  options.augmentation.crop_padding = -1;
  EXPECT_THAT(error_with(options), HasSubstr("at least 0, got -1"));
}

TEST(LoaderTest, ParsesTheLastBatchOption) {
  EXPECT_EQ(parse_last_batch("drop"), LastBatch::drop);
  EXPECT_EQ(parse_last_batch("pad"), LastBatch::pad);
  EXPECT_THAT(message_of<Error>([] { parse_last_batch("Drop"); }), HasSubstr("'Drop'"));
}

}  // namespace
}  // namespace swapadvisor
