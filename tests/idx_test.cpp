#include <gmock/gmock.h>
#include <expect_error.h>
#include <gtest/gtest.h>
#include <swapadvisor/core/error.h>
#include <swapadvisor/train/idx.h>

#include "idx_files.h"
#include "temporary_folder.h"

namespace swapadvisor {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class IdxTest : public testing::Test {
 protected:
  std::string error_of(const std::string& bytes, int rank = 2) {
    const std::string path = folder_.write("file", bytes);
    return message_of<Error>([&] { read_idx(path, rank); });
  }
  TemporaryFolder folder_;
};

TEST_F(IdxTest, ReadsPlainAndGzippedAlike) {
  const std::string plain = idx_bytes({2, 3}, "abcdef");
  for (const std::string& bytes : {plain, gzip(plain)}) {
    const IdxArray array = read_idx(folder_.write("file", bytes), 2);
    EXPECT_EQ(array.dims, (std::vector<std::int64_t>{2, 3}));
    EXPECT_EQ(std::string(array.bytes.begin(), array.bytes.end()), "abcdef");
  }
}

TEST_F(IdxTest, ReadsGzipOfSeveralMembersAndManyPieces) {
  std::string elements(17'000'000, 'x');  // more than one piece
  elements.back() = 'y';
  const std::string plain = idx_bytes({17'000'000}, elements);
  const std::string bytes = gzip(plain.substr(0, 5)) + gzip(plain.substr(5));
  const IdxArray array = read_idx(folder_.write("file", bytes), 1);
  ASSERT_EQ(array.bytes.size(), elements.size());
  EXPECT_EQ(array.bytes.front(), 'x');
  EXPECT_EQ(array.bytes.back(), 'y');
}

TEST_F(IdxTest, RefusesWrongMagic) {
  EXPECT_THAT(error_of(idx_bytes({2, 3}, "abcdef"), 3),
              AllOf(HasSubstr("file'"), HasSubstr("0x00000802, not 0x00000803")));
  EXPECT_THAT(error_of(idx_bytes({2, 3}, "abcdef", 13)), HasSubstr("starts with 0x00000d02"));
  EXPECT_THAT(error_of("P5 28 28 255 "), HasSubstr("is not an IDX file"));
}

TEST_F(IdxTest, RefusesEveryTruncation) {
  const std::string plain = idx_bytes({2, 3}, "abcdef"), zipped = gzip(plain);
  for (std::size_t size = 0; size < plain.size(); ++size)
    EXPECT_THAT(error_of(plain.substr(0, size)),
                HasSubstr(size < 12 ? "ends within the IDX header" : "is truncated"));
  for (std::size_t size = 2; size < zipped.size(); ++size)
    EXPECT_THAT(error_of(zipped.substr(0, size)), HasSubstr("the gzip data is truncated")) << size;
}

TEST_F(IdxTest, RefusesTrailingBytes) {
  const std::string plain = idx_bytes({2, 3}, "abcdef");
  EXPECT_THAT(error_of(plain + "g"), HasSubstr("bytes follow the 6 elements"));
  EXPECT_THAT(error_of(gzip(plain + "g")), HasSubstr("bytes follow the 6 elements"));
  EXPECT_THAT(error_of(gzip(plain) + "ghi"), HasSubstr("3 bytes follow the gzip data"));
}

TEST_F(IdxTest, RefusesEveryCorruptByteOfGzipData) {
  const std::string zipped = gzip(idx_bytes({2, 3}, "abcdef"));
  // Flipped bits in name-less header fields (time, extra flags, system) are harmless; all after them must be
  // noticed.
  for (std::size_t i = 10; i < zipped.size(); ++i) {
    std::string bytes = zipped;
    bytes[i] = static_cast<char>(bytes[i] ^ 0x55);
    EXPECT_NE(error_of(bytes), "") << i;
  }
}

TEST_F(IdxTest, RefusesEmptyAndImpossibleDimensions) {
  EXPECT_THAT(error_of(idx_bytes({0, 3}, "")), HasSubstr("is empty: IDX dimension 0 is 0"));
  EXPECT_THAT(error_of(idx_bytes({3, 0}, "")), HasSubstr("IDX dimension 1 is 0"));
  const std::uint32_t huge = 0xffffffff;
  EXPECT_THAT(error_of(idx_bytes({huge, huge, huge}, "abc"), 3), HasSubstr("promises more than"));
  // Below the cap, the claim alone must not take the memory.
  EXPECT_THAT(error_of(idx_bytes({huge, 16}, "abc")),
              HasSubstr("promises 68719476720 elements, the file has 3"));
}

TEST_F(IdxTest, RefusesMissingFilesAndFolders) {
  EXPECT_THAT(message_of<Error>([&] { read_idx(folder_.path("absent"), 1); }),
              AllOf(HasSubstr("absent"), HasSubstr("No such file")));
  EXPECT_THAT(message_of<Error>([&] { read_idx(folder_.path(), 1); }), HasSubstr("directory"));
}

}  // namespace
}  // namespace swapadvisor
