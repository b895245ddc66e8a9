// The corpora of the fuzzers, with the ordinary compiler: seeds, and what fuzzing once found.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "fuzz/targets.h"

namespace swapadvisor {
namespace {

std::vector<std::filesystem::path> files_of(const fuzz::Target& target) {
  std::vector<std::filesystem::path> files;
  const std::filesystem::path folder = std::filesystem::path(SWAPADVISOR_FUZZ_CORPUS) / target.name;
  for (const auto& file : std::filesystem::directory_iterator(folder)) files.push_back(file.path());
  std::sort(files.begin(), files.end());
  return files;
}

class Corpus : public testing::TestWithParam<fuzz::Target> {};

// Files called good-… are accepted, all others are refused; none crashes.
TEST_P(Corpus, IsAcceptedOrRefusedAsItsNamesSay) {
  int good = 0, bad = 0;
  for (const std::filesystem::path& path : files_of(GetParam())) {
    std::ifstream file(path, std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(file), {}};
    const bool accepted = path.filename().string().starts_with("good-");
    EXPECT_EQ(GetParam().run(bytes), accepted) << path;
    ++(accepted ? good : bad);
  }
  EXPECT_GT(good, 0);
  EXPECT_GT(bad, 0);
}

INSTANTIATE_TEST_SUITE_P(Fuzz, Corpus, testing::ValuesIn(fuzz::targets().begin(), fuzz::targets().end()),
                         [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace swapadvisor
