// Weights from other programs: half precision, wrong shapes and types, missing tensors.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <swapadvisor/core/cpu_device.h>
#include <swapadvisor/memory/device_host_store.h>
#include <swapadvisor/train/safetensors.h>
#include <swapadvisor/train/weights.h>
#include <temporary_folder.h>

#include <bit>
#include <cmath>
#include <cstring>

#include "expect_error.h"

namespace swapadvisor {
namespace {

using testing::AllOf;
using testing::HasSubstr;

/// Parameters w0, w1, … of two elements.
class WeightFiles : public testing::Test {
 protected:
  WeightFiles() : graph_("net"), device_(make_cpu_device({.threads = 1})), host_(*device_) {
    for (int i = 0; i < parameters; ++i)
      graph_.parameter(fmt::format("w{}", i), TensorSpec::dense(DType::f32, {2}), Initializer::zeros());
  }
  template <class T>
  std::string write(StoredType type, const std::vector<T>& values, const Shape& shape,
                    int tensors = parameters) {
    std::vector<StoredTensor> stored;
    for (int i = 0; i < tensors; ++i) stored.push_back({fmt::format("w{}", i), type, shape});
    const std::string path = folder_.path("weights.safetensors");
    SafetensorsWriter writer(path, stored);
    for (const StoredTensor& tensor : writer.tensors())
      writer.write(tensor.name, std::as_bytes(std::span(values)));
    writer.commit();
    return path;
  }
  std::vector<float> value(const std::string& name) {
    std::vector<float> values(2);
    std::memcpy(values.data(), host_.find(name).data(), 2 * sizeof(float));
    return values;
  }
  std::string error(const std::string& path) {
    return message_of<Error>([&] { load_weights(path, graph_, host_); });
  }

  static constexpr int parameters = 14;
  TemporaryFolder folder_;
  Graph graph_;
  std::unique_ptr<Device> device_;
  DeviceHostStore host_;
};

TEST_F(WeightFiles, EveryFloatingPointTypeIsConverted) {
  const std::vector<float> expected{1.5f, -0.15625f};
  load_weights(write<std::uint16_t>(StoredType::f16, {0x3e00, 0xb100}, {2}), graph_, host_);
  EXPECT_EQ(value("w3"), expected);
  load_weights(write<std::uint16_t>(StoredType::bf16, {0x3fc0, 0xbe20}, {2}), graph_, host_);
  EXPECT_EQ(value("w0"), expected);
  load_weights(write<double>(StoredType::f64, {1.5, -0.15625}, {2}), graph_, host_);
  EXPECT_EQ(value("w13"), expected);
  load_weights(write<float>(StoredType::f32, {0.1f, -3.0f}, {2}), graph_, host_);
  EXPECT_EQ(value("w7"), (std::vector<float>{0.1f, -3.0f}));
}

TEST_F(WeightFiles, TheFirstTenMismatchesAreListed) {
  const std::string shapes = error(write<float>(StoredType::f32, {1, 2}, {1, 2}));
  EXPECT_THAT(shapes, AllOf(HasSubstr("the weights do not fit model 'net'"),
                            HasSubstr("'w0' has shape [1, 2], the model [2]"), HasSubstr("; and 4 more")));
  EXPECT_EQ(std::count(shapes.begin(), shapes.end(), ';'), 10) << shapes;
  EXPECT_THAT(error(write<std::int32_t>(StoredType::i32, {1, 2}, {2})),
              HasSubstr("'w0' has type I32, the model f32"));
  EXPECT_THAT(error(write<float>(StoredType::f32, {1, 2}, {2}, 12)),
              AllOf(HasSubstr("'w12' is missing; 'w13' is missing"), testing::Not(HasSubstr("more"))));
  EXPECT_EQ(host_.bytes(), 0) << "nothing is loaded";
}

TEST_F(WeightFiles, TruncatedAndOverlappingFilesAreRefused) {
  const std::string path = write<float>(StoredType::f32, {1, 2}, {2});
  const std::string good = folder_.read("weights.safetensors");
  folder_.write("weights.safetensors", good.substr(0, good.size() - 3));
  EXPECT_THAT(error(path), HasSubstr("truncated"));
  std::string overlapping = good;
  // The second tensor, bytes 8 to 16, now begins where the first does.
  const std::size_t at = overlapping.find("[8,16]");
  ASSERT_NE(at, std::string::npos);
  overlapping.replace(at, 6, "[0, 8]");
  folder_.write("weights.safetensors", overlapping);
  EXPECT_THAT(error(path), HasSubstr("overlaps"));
  const std::uint64_t endless = std::uint64_t{1} << 60;
  std::memcpy(overlapping.data(), &endless, sizeof endless);
  folder_.write("weights.safetensors", overlapping);
  EXPECT_THAT(error(path), HasSubstr("promises a header of 1152921504606846976 bytes"));
  EXPECT_EQ(host_.bytes(), 0);
}

}  // namespace
}  // namespace swapadvisor
