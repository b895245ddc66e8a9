#include <gmock/gmock.h>
#include <expect_error.h>
#include <gtest/gtest.h>
#include <swapadvisor/core/error.h>
#include <swapadvisor/train/log.h>

#include <limits>
#include <nlohmann/json.hpp>

#include "temporary_folder.h"

namespace swapadvisor {
namespace {

using testing::AllOf;
using testing::HasSubstr;

TEST(JsonLinesLogTest, EachObjectIsALineAtOnceAndInOrder) {
  TemporaryFolder folder;
  JsonLinesLog log(folder.path("log.jsonl"));
  EXPECT_EQ(folder.read("log.jsonl"), "");
  log.write({{"step", 1}, {"loss", 0.5}, {"accuracy", nullptr}});
  EXPECT_EQ(folder.read("log.jsonl"), "{\"step\":1,\"loss\":0.5,\"accuracy\":null}\n");
  log.write({{"text", "two\nlines \xff"}, {"loss", std::numeric_limits<double>::quiet_NaN()}});
  EXPECT_EQ(
      folder.read("log.jsonl"),
      "{\"step\":1,\"loss\":0.5,\"accuracy\":null}\n{\"text\":\"two\\nlines \xef\xbf\xbd\",\"loss\":null}\n");
}

TEST(JsonLinesLogTest, AppendsToWhatIsThere) {
  TemporaryFolder folder;
  const std::string path = folder.write("log.jsonl", "{\"step\":1}\n");
  JsonLinesLog(path).write({{"step", 2}});
  EXPECT_EQ(folder.read("log.jsonl"), "{\"step\":1}\n{\"step\":2}\n");
}

TEST(JsonLinesLogTest, EndsALineThatACrashLeftOpen) {
  TemporaryFolder folder;
  const std::string path = folder.write("log.jsonl", "{\"step\":1}\n{\"st");
  JsonLinesLog(path).write({{"step", 2}});
  EXPECT_EQ(folder.read("log.jsonl"), "{\"step\":1}\n{\"st\n{\"step\":2}\n");
}

TEST(JsonLinesLogTest, SaysWhatItCannotWrite) {
  TemporaryFolder folder;
  EXPECT_THAT(message_of<Error>([&] { JsonLinesLog log(folder.path("absent/log.jsonl")); }),
              AllOf(HasSubstr("absent/log.jsonl"), HasSubstr("No such file")));
  EXPECT_THAT(message_of<Error>([&] { JsonLinesLog log(folder.path()); }), HasSubstr("directory"));
  EXPECT_THAT(message_of<Error>([&] {
                JsonLinesLog("/dev/full").write({{"step", 2}});
              }),
              AllOf(HasSubstr("/dev/full"), HasSubstr("No space left")));
}

}  // namespace
}  // namespace swapadvisor
