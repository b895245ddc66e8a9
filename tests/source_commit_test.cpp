#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <swapadvisor/experiments/source_commit.h>

#include <string>

namespace swapadvisor {
namespace {

// Which one it is: commit_test.sh.
TEST(SourceCommit, IsACommitOrUnknown) {
  EXPECT_THAT(std::string(source_commit), testing::MatchesRegex("unknown|[0-9a-f]+(-dirty)?"));
}

}  // namespace
}  // namespace swapadvisor
