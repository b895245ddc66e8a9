#include <expect_error.h>
#include <gtest/gtest.h>
#include <swapadvisor/core/error.h>
#include <swapadvisor/core/file.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <functional>

namespace swapadvisor {
namespace {

namespace fs = std::filesystem;

// A fresh folder, removed at the end.
class File : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "swapadvisor-file-XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  std::size_t file_count() const {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()));
  }

  fs::path folder_;
};

// Files cannot grow beyond `bytes` while it lives: writes fail as on a full disk, for root as well.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    ::getrlimit(RLIMIT_FSIZE, &old_);
    const rlimit limit = {bytes, old_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileSizeLimit() {
    ::setrlimit(RLIMIT_FSIZE, &old_);
    std::signal(SIGXFSZ, handler_);
  }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;

 private:
  rlimit old_{};
  void (*handler_)(int);
};

TEST_F(File, WritesAndReadsBack) {
  std::string bytes(300000, '\0');
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(i * 31);
  write_file_atomic(path("a"), bytes);
  EXPECT_EQ(read_file(path("a"), 300000), bytes);
  write_file_atomic(path("a"), "");
  EXPECT_EQ(read_file(path("a"), 0), "");
  EXPECT_EQ(file_count(), 1u);
}

TEST_F(File, RelativePathsWork) {
  const fs::path before = fs::current_path();
  fs::current_path(folder_);
  write_file_atomic("plain", "text");
  EXPECT_EQ(read_file("plain", 10), "text");
  fs::current_path(before);
  EXPECT_EQ(file_count(), 1u);
}

TEST_F(File, ReadErrorsNameTheFile) {
  write_file_atomic(path("big"), "0123456789");
  EXPECT_EQ(read_file(path("big"), 10), "0123456789");
  for (const auto& [name, reason] :
       {std::pair{"big", "more than"}, {"none", "No such file"}, {".", "directory"}}) {
    const std::string error = message_of([&, file = path(name)] { read_file(file, 9); });
    EXPECT_NE(error.find(path(name)), std::string::npos) << error;
    EXPECT_NE(error.find(reason), std::string::npos) << error;
  }
  EXPECT_NE(message_of([] { read_file("/dev/zero", 100000); }).find("more than"), std::string::npos);
}

TEST_F(File, NothingAppearsBeforeCommit) {
  write_file_atomic(path("a"), "old");
  AtomicFile file(path("a"));
  file.write("ne");
  EXPECT_EQ(read_file(path("a"), 10), "old");
  file.write("w");
  file.commit();
  EXPECT_EQ(read_file(path("a"), 10), "new");
  EXPECT_EQ(file_count(), 1u);
}

TEST_F(File, WithoutCommitTheOldFileStays) {
  write_file_atomic(path("a"), "old");
  { AtomicFile(path("a")).write("new"); }
  EXPECT_EQ(read_file(path("a"), 10), "old");
  EXPECT_EQ(file_count(), 1u);
}

TEST_F(File, TwoWritersOfOneFileDoNotMix) {
  AtomicFile first(path("a")), second(path("a"));
  first.write("first");
  second.write("second");
  second.commit();
  EXPECT_EQ(read_file(path("a"), 10), "second");
  first.commit();
  EXPECT_EQ(read_file(path("a"), 10), "first");
  EXPECT_EQ(file_count(), 1u);
}

TEST_F(File, FullDiskIsReportedAndTheOldFileStays) {
  write_file_atomic(path("a"), "old");
  std::string error, streamed;
  {
    const FileSizeLimit limit(4096);
    error = message_of([&] { write_file_atomic(path("a"), std::string(100000, 'x')); });
    streamed = message_of([&] {
      AtomicFile file(path("a"));
      for (int i = 0; i < 100; ++i) file.write(std::string(100, 'x'));
      file.commit();
    });
  }
  for (const std::string& text : {error, streamed}) {
    EXPECT_NE(text.find("cannot write '" + path("a") + "'"), std::string::npos) << text;
    EXPECT_NE(text.find("File too large"), std::string::npos) << text;
  }
  EXPECT_EQ(read_file(path("a"), 10), "old");
  EXPECT_EQ(file_count(), 1u);
}

TEST_F(File, DevicesAreWrittenDirectly) {
  EXPECT_NE(message_of([] { write_file_atomic("/dev/full", "x"); }).find("No space left"), std::string::npos);
  EXPECT_NO_THROW(write_file_atomic("/dev/null", "x"));
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
  EXPECT_TRUE(fs::is_character_file("/dev/full"));
}

TEST_F(File, LinksAreFollowed) {
  write_file_atomic(path("real"), "old");
  fs::create_symlink("real", path("link"));
  write_file_atomic(path("link"), "new");
  EXPECT_TRUE(fs::is_symlink(path("link")));
  EXPECT_EQ(read_file(path("real"), 10), "new");
}

TEST_F(File, UnwritablePlacesAreReported) {
  EXPECT_NE(message_of([&] { write_file_atomic(path("no/such/folder"), "x"); }).find("No such file"),
            std::string::npos);
  EXPECT_NE(message_of([&] { write_file_atomic(folder_.string(), "x"); }).find("directory"), std::string::npos);
  EXPECT_NE(message_of([] { write_file_atomic("", "x"); }).find("cannot write ''"), std::string::npos);
}

}  // namespace
}  // namespace swapadvisor
