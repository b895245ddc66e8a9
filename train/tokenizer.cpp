#include <swapadvisor/core/error.h>
#include <swapadvisor/train/tokenizer.h>

#include <algorithm>
#include <array>
#include <filesystem>

namespace swapadvisor {
namespace {

constexpr std::array<std::string_view, 3> byte_marks{"[CLS]", "[SEP]", "[MASK]"};

class ByteTokenizer final : public Tokenizer {
 public:
  explicit ByteTokenizer(bool marks) : marks_(marks) {}

  std::int64_t vocab() const override { return 256 + (marks_ ? std::ssize(byte_marks) : 0); }
  std::vector<std::int32_t> encode(std::string_view text) const override {
    std::vector<std::int32_t> ids(text.size());
    std::transform(text.begin(), text.end(), ids.begin(),
                   [](char c) { return static_cast<unsigned char>(c); });
    return ids;
  }
  std::int32_t find(std::string_view token) const override {
    if (token.size() == 1) return static_cast<unsigned char>(token[0]);
    const auto mark = std::ranges::find(byte_marks, token) - byte_marks.begin();
    return marks_ && mark < std::ssize(byte_marks) ? static_cast<std::int32_t>(256 + mark) : -1;
  }

 private:
  bool marks_;
};

}  // namespace

std::unique_ptr<Tokenizer> make_byte_tokenizer(bool marks) {
  return std::make_unique<ByteTokenizer>(marks);
}

std::unique_ptr<Tokenizer> open_tokenizer(const std::string& vocab_file, const std::string& merges_file) {
  const std::filesystem::path path = vocab_file;
  if (path.extension() == ".json")
    return open_byte_pair(vocab_file,
                          merges_file.empty() ? (path.parent_path() / "merges.txt").string() : merges_file);
  if (!merges_file.empty())
    fail("merges '{}' need a byte-level BPE vocabulary (.json) beside them, got '{}'", merges_file,
         vocab_file);
  return vocab_file.empty() ? make_byte_tokenizer() : open_wordpiece(vocab_file);
}

}  // namespace swapadvisor
