#include <fcntl.h>
#include <gmock/gmock.h>
#include <expect_error.h>
#include <gtest/gtest.h>
#include <swapadvisor/train/safetensors.h>
#include <sys/resource.h>

#include <cmath>
#include <csignal>
#include <cstring>
#include <limits>
#include <numeric>

#include "temporary_folder.h"

namespace swapadvisor {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

std::string with_header(const std::string& header, const std::string& data) {
  std::string bytes(8, '\0');
  const std::uint64_t size = header.size();
  std::memcpy(bytes.data(), &size, sizeof size);
  return bytes + header + data;
}

template <class T>
std::string raw(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

class SafetensorsTest : public testing::Test {
 protected:
  std::string write(const std::string& header, const std::string& data) {
    return folder_.write("in.safetensors", with_header(header, data));
  }
  std::string error_of_bytes(const std::string& bytes) {
    const std::string path = folder_.write("in.safetensors", bytes);
    return message_of<Error>([&] { SafetensorsFile file(path); });
  }
  std::string error_of(const std::string& header, std::size_t data_bytes = 0) {
    return error_of_bytes(with_header(header, std::string(data_bytes, 'x')));
  }
  // One tensor "t" of the given fields.
  std::string error_of_tensor(const std::string& dtype, const std::string& shape, const std::string& offsets,
                              std::size_t data_bytes) {
    return error_of(
        fmt::format(R"({{"t":{{"dtype":{},"shape":{},"data_offsets":{}}}}})", dtype, shape, offsets),
        data_bytes);
  }
  template <class T>
  std::vector<T> read_as(const std::string& type, const std::string& data, std::size_t elements) {
    const std::string path =
        write(fmt::format(R"({{"t":{{"dtype":"{}","shape":[{}],"data_offsets":[0,{}]}}}})", type, elements,
                          data.size()),
              data);
    SafetensorsFile file(path);
    std::vector<T> values(elements);
    file.read_as(*file.find("t"), dtype_of<T>, std::as_writable_bytes(std::span(values)));
    return values;
  }
  TemporaryFolder folder_;
};

TEST_F(SafetensorsTest, ReadsTensorsShapesAndMetadata) {
  const SafetensorsFile file(
      write(R"({"w":{"dtype":"F32","shape":[2,1],"data_offsets":[8,16]},)"
            R"("__metadata__":{"format":"pt"},"empty":{"dtype":"F16","shape":[3,0],)"
            R"("data_offsets":[8,8]},"n":{"dtype":"I64","shape":[],"data_offsets":[0,8],)"
            R"("unknown":[{}]}}   )",
            raw<std::int64_t>({-7}) + raw<float>({1.5f, -2.0f})));
  ASSERT_EQ(file.tensors().size(), 3u);
  EXPECT_EQ(file.tensors()[0].name, "empty");
  EXPECT_EQ(file.tensors()[0].shape, (Shape{3, 0}));
  EXPECT_EQ(file.metadata().at("format"), "pt");
  EXPECT_EQ(file.find("absent"), nullptr);
  const StoredTensor& w = *file.find("w");
  EXPECT_EQ(w.type, StoredType::f32);
  EXPECT_EQ(w.shape, (Shape{2, 1}));
  std::vector<float> values(2);
  file.read(w, std::as_writable_bytes(std::span(values)));
  EXPECT_THAT(values, ElementsAre(1.5f, -2.0f));
  const StoredTensor& n = *file.find("n");
  EXPECT_EQ(n.shape.rank(), 0);
  std::int64_t number = 0;
  file.read(n, std::as_writable_bytes(std::span(&number, 1)));
  EXPECT_EQ(number, -7);
  file.read(*file.find("empty"), {});
}

TEST_F(SafetensorsTest, ConvertsFloatingPoint) {
  const float infinity = std::numeric_limits<float>::infinity();
  // Largest half, smallest subnormal, largest subnormal, −0, infinity.
  const std::string halves = raw<std::uint16_t>({0x3c00, 0xc000, 0x7bff, 0x0001, 0x83ff, 0x8000, 0x7c00});
  const auto from_half = read_as<float>("F16", halves, 7);
  EXPECT_THAT(from_half, ElementsAre(1.0f, -2.0f, 65504.0f, 0x1p-24f, -1023 * 0x1p-24f, 0.0f, infinity));
  EXPECT_TRUE(std::signbit(from_half[5]));
  EXPECT_TRUE(std::isnan(read_as<double>("F16", raw<std::uint16_t>({0x7e01}), 1)[0]));
  EXPECT_THAT(read_as<double>("BF16", raw<std::uint16_t>({0x3f80, 0xc0a0, 0x0001, 0xff80}), 4),
              ElementsAre(1.0, -5.0, 0x1p-133, -infinity));
  EXPECT_THAT(read_as<float>("F64", raw<double>({0.1, 1e300}), 2), ElementsAre(0.1f, infinity));
  EXPECT_THAT(read_as<double>("F32", raw<float>({0.1f}), 1), ElementsAre(double{0.1f}));
}

TEST_F(SafetensorsTest, EqualTypesKeepEveryBit) {
  const auto signalling = std::vector<std::uint32_t>{0x7f800001, 0xffc12345, 0x80000000, 0x00000001};
  const auto values = read_as<float>("F32", raw(signalling), 4);
  EXPECT_EQ(raw(values), raw(signalling));
}

TEST_F(SafetensorsTest, ConvertsIntegersThatFit) {
  EXPECT_THAT(read_as<std::int32_t>("I64", raw<std::int64_t>({-5, INT32_MAX}), 2),
              ElementsAre(-5, INT32_MAX));
  EXPECT_THAT(read_as<std::int64_t>("I16", raw<std::int16_t>({-300, 300}), 2), ElementsAre(-300, 300));
  EXPECT_THAT(read_as<std::int64_t>("I8", raw<std::int8_t>({-128, 127}), 2), ElementsAre(-128, 127));
  EXPECT_THAT(read_as<std::int32_t>("BOOL", raw<std::uint8_t>({0, 1}), 2), ElementsAre(0, 1));
  EXPECT_THAT(read_as<std::uint8_t>("I32", raw<std::int32_t>({255, 0}), 2), ElementsAre(255, 0));
  EXPECT_THAT(message_of<Error>([&] {
                read_as<std::int32_t>("I64", raw<std::int64_t>({1, 1ll << 31}), 2);
              }),
              AllOf(HasSubstr("tensor 't' holds 2147483648"), HasSubstr("i32")));
  EXPECT_THAT(message_of<Error>([&] { read_as<std::uint8_t>("I8", raw<std::int8_t>({-1}), 1); }),
              HasSubstr("holds -1, which does not fit u8"));
  EXPECT_THAT(message_of<Error>([&] { read_as<float>("I64", raw<std::int64_t>({1}), 1); }),
              HasSubstr("has type I64, which cannot be read as f32"));
}

TEST_F(SafetensorsTest, ConvertsLargeTensorsPieceByPiece) {
  std::vector<std::int64_t> wide(200'001);
  std::iota(wide.begin(), wide.end(), -100'000);
  const auto narrow = read_as<std::int32_t>("I64", raw(wide), wide.size());
  EXPECT_TRUE(std::equal(narrow.begin(), narrow.end(), wide.begin()));
}

TEST_F(SafetensorsTest, RefusesHeaderLengthsThatCannotBe) {
  EXPECT_THAT(error_of_bytes("1234567"), HasSubstr("it has 7 bytes"));
  EXPECT_THAT(error_of_bytes(std::string(8, '\0')), HasSubstr("does not start with '{'"));
  std::string bytes = with_header("{}", "");
  bytes[0] = 3;
  EXPECT_THAT(error_of_bytes(bytes), HasSubstr("promises a header of 3 bytes, the file has 10"));
  for (const std::uint64_t length : {std::uint64_t{1} << 60, UINT64_MAX, std::uint64_t{1} << 63}) {
    std::memcpy(bytes.data(), &length, sizeof length);
    EXPECT_THAT(error_of_bytes(bytes), HasSubstr(fmt::format("promises a header of {} bytes", length)));
  }
  EXPECT_THAT(message_of<Error>([&] { SafetensorsFile file(folder_.path("absent")); }), HasSubstr("absent"));
  EXPECT_THAT(message_of<Error>([&] { SafetensorsFile file(folder_.path()); }),
              HasSubstr("not a regular file"));
}

TEST_F(SafetensorsTest, RefusesAHeaderAboveTheLargest) {
  const std::string path = folder_.write("in.safetensors", with_header("{}", ""));
  std::filesystem::resize_file(path, 200'000'000);  // sparse
  std::string bytes(8, '\0');
  const std::uint64_t length = 100'000'001;
  std::memcpy(bytes.data(), &length, sizeof length);
  {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.write(bytes.data(), 8);
  }
  EXPECT_THAT(message_of<Error>([&] { SafetensorsFile file(path); }), HasSubstr("exceeds the largest"));
}

TEST_F(SafetensorsTest, RefusesHeadersThatAreNoJsonObjectOfTensors) {
  EXPECT_THAT(error_of("[]"), HasSubstr("does not start with '{'"));
  EXPECT_THAT(error_of("\xef\xbb\xbf{}"), HasSubstr("does not start with '{'"));
  EXPECT_THAT(error_of(R"({"t":)"), HasSubstr("not valid JSON"));
  EXPECT_THAT(error_of("{} {}"), HasSubstr("not valid JSON"));
  EXPECT_THAT(error_of(R"({"t":1e999})"), HasSubstr("has a number that is out of range"));
  EXPECT_THAT(error_of("{\"\xff\":1}"), HasSubstr("not valid JSON"));
  EXPECT_THAT(error_of(R"({"t":1})"), HasSubstr("tensor 't' is not described by an object"));
  EXPECT_THAT(error_of(R"({"__metadata__":[]})"), HasSubstr("metadata is not an object"));
  EXPECT_THAT(error_of(R"({"__metadata__":{"a":1}})"), HasSubstr("metadata 'a' is not a string"));
  EXPECT_THAT(error_of("{\"t\":" + std::string(100'000, '[')), HasSubstr("nested deeper than"));
  const std::string t = R"("t":{"dtype":"U8","shape":[1],"data_offsets":[0,1]})";
  EXPECT_EQ(error_of("{" + t + "}", 1), "");
  EXPECT_THAT(error_of("{" + t + "," + t + "}", 1), HasSubstr("has the name 't' twice"));
  EXPECT_THAT(error_of(R"({"t":{"dtype":"U8","dtype":"U8","shape":[1],"data_offsets":[0,1]}})", 1),
              HasSubstr("has the name 'dtype' twice"));
}

TEST_F(SafetensorsTest, RefusesTypesAndShapesItCannotBelieve) {
  EXPECT_EQ(error_of_tensor("\"U8\"", "[2,3]", "[0,6]", 6), "");
  EXPECT_THAT(error_of_tensor("\"F7\"", "[2]", "[0,2]", 2),
              HasSubstr("tensor 't' has the unknown element type 'F7'"));
  EXPECT_THAT(error_of_tensor("7", "[2]", "[0,2]", 2), HasSubstr("tensor 't' has no 'dtype'"));
  EXPECT_THAT(error_of_tensor("\"U8\"", "2", "[0,2]", 2), HasSubstr("has no list 'shape'"));
  EXPECT_THAT(error_of_tensor("\"U8\"", "[-2]", "[0,2]", 2), HasSubstr("'shape' has -2"));
  EXPECT_THAT(error_of_tensor("\"U8\"", "[2.0]", "[0,2]", 2), HasSubstr("'shape' has 2.0"));
  EXPECT_THAT(error_of_tensor("\"U8\"", "[18446744073709551615]", "[0,2]", 2),
              HasSubstr("'shape' has 18446744"));
  EXPECT_THAT(error_of_tensor("\"U8\"", "[1,1,1,1,1,1,1,1,1]", "[0,1]", 1), HasSubstr("has 9 dimensions"));
  EXPECT_THAT(error_of_tensor("\"F32\"", "[4294967296,4294967296]", "[0,0]", 0), HasSubstr("overflows"));
  EXPECT_EQ(error_of_tensor("\"F32\"", "[4294967296,4294967296,0]", "[0,0]", 0), "");
  EXPECT_THAT(error_of_tensor("\"F32\"", "[2]", "[0,7]", 7),
              HasSubstr("F32[2], which takes 8 bytes, but its data has 7"));
}

TEST_F(SafetensorsTest, RefusesRangesItCannotBelieve) {
  EXPECT_THAT(error_of_tensor("\"U8\"", "[2]", "[0]", 2), HasSubstr("has 1 data offsets"));
  EXPECT_THAT(error_of_tensor("\"U8\"", "[2]", "[2,0]", 2), HasSubstr("begins at 2, after its end 0"));
  EXPECT_THAT(error_of_tensor("\"U8\"", "[2]", "[0,2]", 1),
              AllOf(HasSubstr("truncated"), HasSubstr("'t' ends at byte 2")));
  EXPECT_THAT(error_of_tensor("\"U8\"", "[2]", "[9223372036854775805,9223372036854775807]", 2),
              HasSubstr("truncated"));
  EXPECT_THAT(error_of_tensor("\"U8\"", "[2]", "[1,3]", 3), HasSubstr("bytes 0 to 1 of the data"));
  EXPECT_THAT(error_of_tensor("\"U8\"", "[2]", "[0,2]", 5), HasSubstr("3 bytes follow the last tensor"));
  const auto two = [&](int a, int b, int c, int d, std::size_t bytes) {
    return error_of(fmt::format(R"({{"a":{{"dtype":"U8","shape":[{}],"data_offsets":[{},{}]}},)"
                                R"("b":{{"dtype":"U8","shape":[{}],"data_offsets":[{},{}]}}}})",
                                b - a, a, b, d - c, c, d),
                    bytes);
  };
  EXPECT_EQ(two(2, 4, 0, 2, 4), "");
  EXPECT_THAT(two(0, 3, 2, 4, 4), HasSubstr("'b' begins at byte 2 of the data and overlaps"));
  EXPECT_THAT(two(0, 4, 1, 2, 4), HasSubstr("overlaps"));
  EXPECT_THAT(two(0, 2, 3, 4, 4), HasSubstr("bytes 2 to 3 of the data, before tensor 'b'"));
}

// Any cut of a valid file is refused, and no flipped byte of the header does worse than an Error.
TEST_F(SafetensorsTest, SurvivesEveryTruncationAndFlippedByte) {
  const std::string good = with_header(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},)"
                                       R"("b":{"dtype":"U8","shape":[2],"data_offsets":[4,6]}})",
                                       "123456");
  ASSERT_EQ(error_of_bytes(good), "");
  for (std::size_t size = 0; size < good.size(); ++size)
    EXPECT_NE(error_of_bytes(good.substr(0, size)), "") << size;
  int refused = 0;
  for (std::size_t i = 0; i < good.size() - 6; ++i)
    for (int bit : {0, 5}) {
      std::string bytes = good;
      bytes[i] = static_cast<char>(bytes[i] ^ (1 << bit));
      refused += !error_of_bytes(bytes).empty();
    }
  EXPECT_GT(refused, 100);
}

TEST_F(SafetensorsTest, NoticesAFileThatShrinks) {
  const std::string path = write(R"({"t":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}})", "abcd");
  const SafetensorsFile file(path);
  std::filesystem::resize_file(path, std::filesystem::file_size(path) - 1);
  std::vector<std::byte> bytes(4);
  EXPECT_THAT(message_of<Error>([&] { file.read(file.tensors()[0], bytes); }), HasSubstr("did it change?"));
}

TEST_F(SafetensorsTest, WritesWhatItReads) {
  const std::string path = folder_.path("out.safetensors");
  SafetensorsWriter writer(path, {{"b", StoredType::u8, Shape{3}},
                                  {"z", StoredType::i64, Shape{}},
                                  {"w", StoredType::f32, Shape{2, 2}},
                                  {"none", StoredType::f32, Shape{0}},
                                  {"ünï", StoredType::f32, Shape{1}}});
  std::vector<std::string> order;
  for (const StoredTensor& tensor : writer.tensors()) order.push_back(tensor.name);
  EXPECT_THAT(order, ElementsAre("z", "none", "w", "ünï", "b"));
  std::string written;
  for (const StoredTensor& tensor : writer.tensors()) {
    std::string data(static_cast<std::size_t>(tensor.bytes()), '\0');
    std::iota(data.begin(), data.end(), tensor.name[0]);
    const auto bytes = std::as_bytes(std::span(data));
    writer.write(tensor.name, bytes.first(bytes.size() / 2));
    writer.write(tensor.name, bytes.subspan(bytes.size() / 2));
    written += data;
  }
  EXPECT_FALSE(std::filesystem::exists(path));
  writer.commit();

  const std::string whole = folder_.read("out.safetensors");
  std::uint64_t header = 0;
  std::memcpy(&header, whole.data(), sizeof header);
  EXPECT_EQ(header % 8, 0u);
  EXPECT_EQ(whole.substr(8 + header), written);
  const SafetensorsFile file(path);
  EXPECT_EQ(file.metadata(), (SafetensorsMetadata{{"format", "pt"}}));
  ASSERT_EQ(file.tensors().size(), 5u);
  for (const StoredTensor& tensor : writer.tensors()) {
    const StoredTensor* found = file.find(tensor.name);
    ASSERT_NE(found, nullptr) << tensor.name;
    EXPECT_EQ(found->type, tensor.type);
    EXPECT_EQ(found->shape, tensor.shape);
    EXPECT_EQ(found->begin % size_of(tensor.type), 0);
    std::string data(static_cast<std::size_t>(found->bytes()), '\0');
    file.read(*found, std::as_writable_bytes(std::span(data)));
    EXPECT_EQ(data, written.substr(static_cast<std::size_t>(tensor.begin), data.size()));
  }
}

TEST_F(SafetensorsTest, WritesAFileWithoutTensors) {
  const std::string path = folder_.path("out.safetensors");
  SafetensorsWriter(path, {}, {}).commit();
  EXPECT_TRUE(SafetensorsFile(path).tensors().empty());
}

TEST_F(SafetensorsTest, KeepsTheOldFileUntilCommit) {
  const std::string path = folder_.write("out.safetensors", "old");
  {
    SafetensorsWriter writer(path, {{"t", StoredType::u8, Shape{1}}});
    writer.write("t", std::as_bytes(std::span("x", 1)));
  }
  EXPECT_EQ(folder_.read("out.safetensors"), "old");
  EXPECT_EQ(folder_.file_count(), 1);
}

TEST_F(SafetensorsTest, WriterRefusesBadNamesAndSizes) {
  const auto error_with = [&](std::vector<StoredTensor> tensors) {
    return message_of<Error>([&] { SafetensorsWriter(folder_.path("out"), std::move(tensors)); });
  };
  EXPECT_THAT(error_with({{"t", StoredType::u8, Shape{1}}, {"t", StoredType::f32, Shape{1}}}),
              HasSubstr("two tensors are named 't'"));
  EXPECT_THAT(error_with({{"__metadata__", StoredType::u8, Shape{1}}}), HasSubstr("no name for a tensor"));
  EXPECT_THAT(error_with({{"\xff", StoredType::u8, Shape{1}}}), HasSubstr("not valid UTF-8"));
  const std::int64_t half = std::int64_t{1} << 62;
  EXPECT_THAT(error_with({{"a", StoredType::u8, Shape{half}}, {"b", StoredType::u8, Shape{half}}}),
              HasSubstr("with tensor 'b'"));
  EXPECT_EQ(folder_.file_count(), 0);
}

// A file-size limit stands in for a full disk.
TEST_F(SafetensorsTest, AFullDiskLeavesNoPartialFile) {
  rlimit old{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &old), 0);
  const auto old_handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{1000, old.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  const std::vector<std::byte> data(5000);
  const std::string message = message_of<Error>([&] {
    SafetensorsWriter writer(folder_.path("out"), {{"t", StoredType::u8, Shape{5000}}});
    writer.write("t", data);
    writer.commit();
  });
  ::setrlimit(RLIMIT_FSIZE, &old);
  std::signal(SIGXFSZ, old_handler);
  EXPECT_THAT(message, HasSubstr("cannot write"));
  EXPECT_EQ(folder_.file_count(), 0);
}

TEST(StoredTypeTest, NamesAndSizes) {
  EXPECT_EQ(find_stored_type("BF16"), StoredType::bf16);
  EXPECT_EQ(find_stored_type("BOOL"), StoredType::boolean);
  EXPECT_EQ(find_stored_type("f32"), std::nullopt);
  for (DType dtype : {DType::f32, DType::f64, DType::u8, DType::i32, DType::i64}) {
    EXPECT_EQ(size_of(stored_type(dtype)), size_of(dtype));
    EXPECT_EQ(find_stored_type(name_of(stored_type(dtype))), stored_type(dtype));
  }
}

}  // namespace
}  // namespace swapadvisor
