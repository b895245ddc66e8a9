#include <swapadvisor/core/shape.h>

#include "expect_error.h"

namespace swapadvisor {
namespace {

TEST(Shape, CountsElements) {
  EXPECT_EQ(Shape{}.numel(), 1);
  EXPECT_EQ((Shape{2, 3, 5}).numel(), 30);
  EXPECT_EQ(to_string(Shape{64, 3, 7, 7}), "[64, 3, 7, 7]");
  EXPECT_EQ(to_string(Shape{}), "[]");
}

TEST(Shape, RefusesOverflowAndHighRank) {
  const std::int64_t big = std::int64_t{1} << 32;
  expect_error([&] { (void)Shape{big, big}.numel(); }, "overflows");
  expect_error([] { Shape{1, 1, 1, 1, 1, 1, 1, 1, 1}; }, "rank 9");
}

TEST(TensorSpec, RowMajorStrides) {
  const TensorSpec spec = TensorSpec::dense(DType::f32, {2, 3, 4, 5});
  EXPECT_EQ(spec.strides, (Shape{60, 20, 5, 1}));
  EXPECT_TRUE(spec.is_row_major());
  EXPECT_FALSE(spec.is_channels_last());
  EXPECT_EQ(spec.layout(), Layout::row_major);
  EXPECT_EQ(spec.bytes(), 480);
  EXPECT_EQ(to_string(spec), "f32[2, 3, 4, 5]");
}

TEST(TensorSpec, ChannelsLastStrides) {
  const TensorSpec spec = TensorSpec::dense(DType::f64, {2, 3, 4, 5}, Layout::channels_last);
  EXPECT_EQ(spec.strides, (Shape{60, 1, 15, 3}));
  EXPECT_FALSE(spec.is_row_major());
  EXPECT_EQ(spec.layout(), Layout::channels_last);
  EXPECT_EQ(spec.bytes(), 960);
  EXPECT_EQ(to_string(spec), "f64[2, 3, 4, 5]:nhwc");
}

TEST(TensorSpec, OnePixelOrOneChannelIsBothLayouts) {
  for (const Shape& shape : {Shape{2, 3, 1, 1}, Shape{2, 1, 4, 5}}) {
    const TensorSpec spec = TensorSpec::dense(DType::f32, shape, Layout::channels_last);
    EXPECT_TRUE(spec.is_row_major() && spec.is_channels_last()) << to_string(shape);
    EXPECT_EQ(spec.layout(), Layout::row_major);
  }
}

TEST(TensorSpec, RefusesWhatCannotBeStored) {
  expect_error([] { TensorSpec::dense(DType::f32, {3, 0}); }, "[3, 0] has a dimension below 1");
  expect_error([] { TensorSpec::dense(DType::f32, {-1}); }, "below 1");
  expect_error([] { TensorSpec::dense(DType::f64, {std::int64_t{1} << 60}); }, "too large");
  expect_error([] { TensorSpec::dense(DType::f32, {2, 3}, Layout::channels_last); }, "needs 4 dimensions");
}

TEST(DType, NamesRoundTrip) {
  for (DType dtype : {DType::f32, DType::f64, DType::u8, DType::i32, DType::i64})
    EXPECT_EQ(parse_dtype(name_of(dtype)), dtype);
  expect_error([] { parse_dtype("f16"); }, "'f16'");
}

}  // namespace
}  // namespace swapadvisor
