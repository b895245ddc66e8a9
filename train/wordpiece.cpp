#include <swapadvisor/core/error.h>
#include <swapadvisor/core/file.h>
#include <swapadvisor/train/tokenizer.h>
#include <swapadvisor/train/unicode.h>

#include <algorithm>
#include <unordered_map>

namespace swapadvisor {
namespace {

using unicode::Kind;

constexpr std::int64_t largest_file = std::int64_t{64} << 20;
constexpr std::size_t most_characters = 100;  // of a word that is cut

/// Lookups take views of the text.
struct ViewHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
};
using Ids = std::unordered_map<std::string, std::int32_t, ViewHash, std::equal_to<>>;

bool is_punctuation(char32_t c) {
  if (c < 0x80)
    return (c >= 33 && c <= 47) || (c >= 58 && c <= 64) || (c >= 91 && c <= 96) || (c >= 123 && c <= 126);
  return unicode::kind_of(c) == Kind::punctuation;
}

bool has_capitals(std::string_view token) {
  if (token.starts_with('[') && token.ends_with(']')) return false;
  return std::any_of(token.begin(), token.end(), [](char c) { return c >= 'A' && c <= 'Z'; });
}

class WordPiece final : public Tokenizer {
 public:
  WordPiece(Ids ids, std::int64_t vocab, bool cased)
      : ids_(std::move(ids)), vocab_(vocab), cased_(cased), unknown_(find("[UNK]")) {
    for (const auto& [token, id] : ids_) longest_ = std::max(longest_, token.size());
  }

  std::int64_t vocab() const override { return vocab_; }
  std::int32_t find(std::string_view token) const override {
    const auto found = ids_.find(token);
    return found == ids_.end() ? -1 : found->second;
  }

  std::vector<std::int32_t> encode(std::string_view text) const override {
    std::vector<std::int32_t> out;
    std::string word, normal;
    const auto end_word = [&] {
      if (!word.empty()) cut(word, out);
      word.clear();
    };
    for (std::size_t at = 0; at < text.size();) {
      const auto [code, bytes] = unicode::character_at(text, at);
      at += bytes;
      if (code == '\t' || code == '\n' || code == '\r') {
        end_word();
        continue;
      }
      if (code == 0 || code == unicode::replacement || unicode::kind_of(code) == Kind::control) continue;
      if (unicode::is_space(code)) {
        end_word();
        continue;
      }
      const bool alone = unicode::is_ideograph(code);
      if (alone) end_word();
      normal.clear();
      if (cased_)
        unicode::append(normal, code);
      else
        unicode::append_folded(normal, code);
      add(normal, word, out);
      if (alone) end_word();
    }
    end_word();
    return out;
  }

 private:
  /// Appends characters to the word; punctuation ends it, and so does white space that a character decomposes
  /// to.
  void add(std::string_view characters, std::string& word, std::vector<std::int32_t>& out) const {
    for (std::size_t at = 0; at < characters.size();) {
      const auto [code, bytes] = unicode::character_at(characters, at);
      const std::string_view character = characters.substr(at, bytes);
      at += bytes;
      const bool space = unicode::is_space(code), mark = is_punctuation(code);
      if (!space && !mark) {
        word += character;
        continue;
      }
      if (!word.empty()) cut(word, out);
      word.clear();
      if (mark) cut(character, out);
    }
  }

  void cut(std::string_view word, std::vector<std::int32_t>& out) const {
    const auto characters = std::count_if(
        word.begin(), word.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; });
    const std::size_t first = out.size();
    if (static_cast<std::size_t>(characters) > most_characters) {
      out.push_back(unknown_);
      return;
    }
    std::string piece;
    for (std::size_t begin = 0; begin < word.size();) {
      piece = begin == 0 ? "" : "##";
      const std::size_t mark = piece.size();
      piece += word.substr(begin, longest_);
      std::int32_t id = find(piece);
      // Shorter by a byte at a time: no token ends within a character of UTF-8 that the text has.
      while (id < 0 && piece.size() > mark + 1) {
        piece.pop_back();
        id = find(piece);
      }
      if (id < 0) {
        out.resize(first);
        out.push_back(unknown_);
        return;
      }
      out.push_back(id);
      begin += piece.size() - mark;
    }
  }

  Ids ids_;
  std::int64_t vocab_;
  bool cased_;
  std::int32_t unknown_;
  std::size_t longest_ = 0;
};

}  // namespace

std::unique_ptr<Tokenizer> open_wordpiece(const std::string& path) {
  const std::string bytes = read_file(path, largest_file);
  Ids ids;
  std::int32_t line = 0;
  bool cased = false;
  for (std::size_t at = 0; at < bytes.size(); ++line) {
    const std::size_t end = std::min(bytes.find('\n', at), bytes.size());
    std::string_view token(bytes.data() + at, end - at);
    if (token.ends_with('\r')) token.remove_suffix(1);
    for (std::size_t i = 0; i < token.size();) {
      const auto [code, length] = unicode::character_at(token, i);
      if (code == 0 || (code == unicode::replacement && length == 1))
        fail("'{}' is not a WordPiece vocabulary: line {} is not text in UTF-8", path, line + 1);
      i += length;
    }
    cased = cased || has_capitals(token);
    ids.insert_or_assign(std::string(token), line);  // as elsewhere, the last one counts
    at = end + 1;
  }
  if (!ids.contains("[UNK]"))
    fail("'{}' is not a WordPiece vocabulary: none of its {} lines is [UNK]", path, line);
  return std::make_unique<WordPiece>(std::move(ids), line, cased);
}

}  // namespace swapadvisor
