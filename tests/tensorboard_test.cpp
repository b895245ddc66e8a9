// CRC-32C against published values; event files read back by a decoder written for the test.
#include <gmock/gmock.h>
#include <expect_error.h>
#include <gtest/gtest.h>
#include <swapadvisor/core/error.h>
#include <swapadvisor/core/rng.h>
#include <swapadvisor/train/crc32c.h>
#include <swapadvisor/train/tensorboard.h>
#include <temporary_folder.h>

#include <bit>
#include <chrono>
#include <cstring>
#include <map>

namespace swapadvisor {
namespace {

/// Bit by bit, as the polynomial division says.
std::uint32_t slow_crc32c(std::string_view text) {
  std::uint32_t crc = 0xffffffff;
  for (char c : text) {
    crc ^= static_cast<unsigned char>(c);
    for (int bit = 0; bit < 8; ++bit) crc = crc & 1 ? crc >> 1 ^ 0x82f63b78 : crc >> 1;
  }
  return ~crc;
}

TEST(Crc32c, KnownValues) {
  EXPECT_EQ(crc32c(""), 0u);
  EXPECT_EQ(crc32c("123456789"), 0xe3069283u);
  // RFC 3720, section B.4.
  EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8a9136aau);
  EXPECT_EQ(crc32c(std::string(32, '\xff')), 0x62a8ab43u);
}

TEST(Crc32c, AnyLengthAndAnyCut) {
  std::string text(1000, '\0');
  const RandomStream random{3};
  for (std::size_t i = 0; i < text.size(); ++i) text[i] = static_cast<char>(random.bits(i));
  const std::string_view view = text;
  for (std::size_t length = 0; length < 70; ++length)
    EXPECT_EQ(crc32c(view.substr(3, length)), slow_crc32c(view.substr(3, length))) << length;
  for (std::size_t cut : {0, 1, 7, 8, 500, 1000})
    EXPECT_EQ(crc32c(view.substr(cut), crc32c(view.substr(0, cut))), slow_crc32c(view)) << cut;
}

/// What a message says: field number → values, each a number or bytes.
struct Message {
  std::multimap<int, std::uint64_t> numbers;
  std::multimap<int, std::string> bytes;

  explicit Message(std::string_view text) {
    while (!text.empty()) {
      const std::uint64_t tag = varint(text);
      const int field = static_cast<int>(tag >> 3);
      const auto take = [&](std::size_t size) {
        EXPECT_LE(size, text.size());
        const std::string_view part = text.substr(0, size);
        text.remove_prefix(std::min(size, text.size()));
        return part;
      };
      std::uint64_t word = 0;
      switch (tag & 7) {
        case 0:
          numbers.emplace(field, varint(text));
          break;
        case 1:
          std::memcpy(&word, take(8).data(), 8);
          numbers.emplace(field, word);
          break;
        case 5:
          std::memcpy(&word, take(4).data(), 4);
          numbers.emplace(field, word);
          break;
        default:
          EXPECT_EQ(tag & 7, 2u);
          bytes.emplace(field, take(varint(text)));
      }
    }
  }
  std::uint64_t number(int field) const { return numbers.find(field)->second; }

 private:
  static std::uint64_t varint(std::string_view& text) {
    std::uint64_t value = 0;
    for (int shift = 0; !text.empty(); shift += 7) {
      const auto byte = static_cast<unsigned char>(text.front());
      text.remove_prefix(1);
      value |= std::uint64_t{byte & 127u} << shift;
      if (byte < 128) break;
    }
    return value;
  }
};

std::uint32_t unmasked(std::uint32_t crc) {
  return std::rotl(crc - 0xa282ead8u, 15);
}

std::vector<Message> read_events(std::string_view file) {
  std::vector<Message> events;
  while (!file.empty()) {
    std::uint64_t length = 0;
    std::uint32_t length_crc = 0, data_crc = 0;
    if (file.size() < 16) {
      ADD_FAILURE() << file.size() << " bytes are left";
      break;
    }
    std::memcpy(&length, file.data(), 8);
    std::memcpy(&length_crc, file.data() + 8, 4);
    EXPECT_EQ(unmasked(length_crc), slow_crc32c(file.substr(0, 8)));
    const std::string_view data = file.substr(12, length);
    std::memcpy(&data_crc, file.data() + 12 + length, 4);
    EXPECT_EQ(unmasked(data_crc), slow_crc32c(data));
    events.emplace_back(data);
    file.remove_prefix(16 + length);
  }
  return events;
}

TEST(TensorBoard, WritesWhatAReaderOfTheFormatFinds) {
  const TemporaryFolder folder;
  std::string path;
  {
    TensorBoardWriter writer(folder.path("runs/one"));
    path = writer.path();
    EXPECT_THAT(path, testing::HasSubstr("events.out.tfevents."));
    writer.restart_at(7);
    const std::vector<ScalarSummary> values{
        {"train/loss", 0.1}, {"train/a long name, of more than 127 bytes: " + std::string(200, 'x'), -3e9}};
    writer.scalars(1'000'000'007, values);
    const std::vector<Message> events =
        read_events(folder.read("runs/one/" + path.substr(path.rfind('/') + 1)));
    ASSERT_EQ(events.size(), 3u);  // while the file is open
    EXPECT_EQ(events[0].bytes.find(3)->second, "brain.Event:2");
    const double now =
        static_cast<double>(std::chrono::system_clock::to_time_t(std::chrono::system_clock::now()));
    EXPECT_NEAR(std::bit_cast<double>(events[0].number(1)), now, 600);
    EXPECT_EQ(events[1].number(2), 7u);
    EXPECT_EQ(Message(events[1].bytes.find(7)->second).number(1), 1u);
    EXPECT_EQ(events[2].number(2), 1'000'000'007u);
    const Message summary(events[2].bytes.find(5)->second);
    ASSERT_EQ(summary.bytes.count(1), 2u);
    auto at = summary.bytes.lower_bound(1);
    for (const auto& [tag, number] : values) {
      const Message value((at++)->second);
      EXPECT_EQ(value.bytes.find(1)->second, tag);
      EXPECT_EQ(std::bit_cast<float>(static_cast<std::uint32_t>(value.number(2))),
                static_cast<float>(number));
    }
  }
  const TensorBoardWriter again(folder.path("runs/one"));  // never the same file
  EXPECT_NE(again.path(), path);
}

TEST(TensorBoard, SaysWhatIsWrongWithTheFolder) {
  const TemporaryFolder folder;
  const std::string file = folder.write("file", "x");
  EXPECT_THAT(message_of<Error>([&] { TensorBoardWriter writer(file + "/runs"); }), testing::HasSubstr(file));
}

}  // namespace
}  // namespace swapadvisor
