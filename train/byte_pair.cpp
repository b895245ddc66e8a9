#include <swapadvisor/core/error.h>
#include <swapadvisor/core/file.h>
#include <swapadvisor/train/tokenizer.h>
#include <swapadvisor/train/unicode.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <queue>
#include <unordered_map>

namespace swapadvisor {
namespace {

using unicode::Kind;

constexpr std::int64_t largest_file = std::int64_t{64} << 20;
constexpr std::int64_t largest_id = (1 << 24) - 1;

using Ids = std::unordered_map<std::string, std::int32_t>;

/// Reads {"token": id, …}; anything else is an error. Never nests.
class VocabReader : public nlohmann::json_sax<nlohmann::json> {
 public:
  VocabReader(const std::string& path, Ids& ids) : path_(path), ids_(ids) {}

  bool null() override { return refuse("null"); }
  bool boolean(bool) override { return refuse("a boolean"); }
  bool number_float(double, const std::string&) override { return refuse("a fraction"); }
  bool string(std::string&) override { return refuse("a string"); }
  bool binary(nlohmann::json::binary_t&) override { return refuse("binary data"); }
  bool start_array(std::size_t) override { return refuse("a list"); }
  bool end_array() override { return true; }
  bool start_object(std::size_t) override {
    if (open_) return refuse("an object");
    return open_ = true;
  }
  bool end_object() override { return true; }
  bool key(std::string& token) override {
    token_ = token;
    return true;
  }
  bool number_integer(std::int64_t id) override { return take(id < 0 ? -1 : id); }
  bool number_unsigned(std::uint64_t id) override {
    return take(id > static_cast<std::uint64_t>(largest_id) ? -1 : static_cast<std::int64_t>(id));
  }
  bool parse_error(std::size_t position, const std::string&, const nlohmann::json::exception&) override {
    fail("'{}' is not a BPE vocabulary: bad JSON at byte {}", path_, position);
  }

 private:
  bool refuse(const char* what) {
    if (!open_)
      fail("'{}' is not a BPE vocabulary: it is {}, expected an object of ids by token", path_, what);
    fail("'{}': token '{}' has {}, expected an id from 0 to {}", path_, token_, what, largest_id);
  }
  bool take(std::int64_t id) {
    if (!open_) return refuse("a number");
    if (id < 0) return refuse("a number out of range");
    if (!ids_.emplace(token_, static_cast<std::int32_t>(id)).second)
      fail("'{}': token '{}' is there twice", path_, token_);
    return true;
  }

  const std::string& path_;
  Ids& ids_;
  std::string token_;
  bool open_ = false;
};

/// How GPT-2 spells each byte in its files: those that print as themselves, the others from U+0100 on.
std::array<std::string, 256> byte_names() {
  std::array<std::string, 256> names;
  char32_t next = 0x100;
  for (char32_t byte = 0; byte < 256; ++byte) {
    const bool prints = (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte <= 0xac) || byte >= 0xae;
    unicode::append(names[byte], prints ? byte : next++);
  }
  return names;
}

std::uint64_t pair_key(std::int32_t a, std::int32_t b) {
  return std::uint64_t{static_cast<std::uint32_t>(a)} << 32 | static_cast<std::uint32_t>(b);
}

struct Merge {
  std::int32_t rank = 0, id = 0;
};
using Merges = std::unordered_map<std::uint64_t, Merge>;

/// Where the next word of GPT-2's pattern ends:
/// 's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
class Words {
 public:
  explicit Words(std::string_view text) : text_(text) {}

  /// The next one; empty at the end.
  std::string_view next() {
    const std::size_t begin = at_;
    at_ = begin + length();
    return text_.substr(begin, at_ - begin);
  }

 private:
  enum class Group : std::uint8_t { space, letter, number, other, none };

  Group group_at(std::size_t at, std::size_t& bytes) const {
    if (at >= text_.size()) return Group::none;
    const unicode::Character c = unicode::character_at(text_, at);
    bytes = c.bytes;
    if (unicode::is_space(c.code)) return Group::space;
    const Kind kind = unicode::kind_of(c.code);
    return kind == Kind::letter ? Group::letter : kind == Kind::number ? Group::number : Group::other;
  }

  std::size_t contraction() const {
    if (text_[at_] != '\'') return 0;
    for (const std::string_view ending : {"'s", "'t", "'re", "'ve", "'m", "'ll", "'d"})
      if (text_.substr(at_).starts_with(ending)) return ending.size();
    return 0;
  }

  std::size_t length() const {
    if (at_ >= text_.size()) return 0;
    if (const std::size_t bytes = contraction()) return bytes;
    std::size_t bytes = 0;
    const std::size_t begin = at_ + (text_[at_] == ' ');
    const Group group = group_at(begin, bytes);
    if (group != Group::space && group != Group::none) {
      std::size_t end = begin;
      while (group_at(end, bytes) == group) end += bytes;
      return end - at_;
    }
    // White space, less its last character where a word follows, but at least one.
    std::size_t end = at_, last = at_;
    while (group_at(end, bytes) == Group::space) {
      last = end;
      end += bytes;
    }
    return (end < text_.size() && last > at_ ? last : end) - at_;
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

class BytePair final : public Tokenizer {
 public:
  BytePair(Ids ids, Merges merges, const std::array<std::int32_t, 256>& bytes)
      : ids_(std::move(ids)), merges_(std::move(merges)), bytes_(bytes) {
    for (const auto& [token, id] : ids_) vocab_ = std::max(vocab_, std::int64_t{id} + 1);
  }

  std::int64_t vocab() const override { return vocab_; }
  std::int32_t find(std::string_view token) const override {
    const auto found = ids_.find(std::string(token));
    return found == ids_.end() ? -1 : found->second;
  }

  std::vector<std::int32_t> encode(std::string_view text) const override {
    std::vector<std::int32_t> out;
    std::unordered_map<std::string_view, std::vector<std::int32_t>> known;
    Words words(text);
    for (std::string_view word = words.next(); !word.empty(); word = words.next()) {
      std::vector<std::int32_t>& tokens = known[word];
      if (tokens.empty()) tokens = merge(word);
      out.insert(out.end(), tokens.begin(), tokens.end());
    }
    return out;
  }

 private:
  struct Symbol {
    std::int32_t id, previous, next;  ///< neighbours by index, −1: none; an id of −1 has been merged
  };
  struct Candidate {
    std::int32_t rank, at, left, right, id;
    bool operator>(const Candidate& other) const {
      return std::pair(rank, at) > std::pair(other.rank, other.at);
    }
  };
  using Queue = std::priority_queue<Candidate, std::vector<Candidate>, std::greater<>>;

  void propose(const std::vector<Symbol>& symbols, std::int32_t at, Queue& queue) const {
    if (at < 0) return;
    const Symbol& left = symbols[static_cast<std::size_t>(at)];
    if (left.next < 0) return;
    const Symbol& right = symbols[static_cast<std::size_t>(left.next)];
    const auto merge = merges_.find(pair_key(left.id, right.id));
    if (merge != merges_.end()) queue.push({merge->second.rank, at, left.id, right.id, merge->second.id});
  }

  /// The pair of the lowest rank, the leftmost of equal ones, becomes one token, until no pair is left.
  std::vector<std::int32_t> merge(std::string_view word) const {
    const auto size = static_cast<std::int32_t>(word.size());
    std::vector<Symbol> symbols;
    for (std::int32_t i = 0; i < size; ++i)
      symbols.push_back({bytes_[static_cast<unsigned char>(word[static_cast<std::size_t>(i)])], i - 1,
                         i + 1 < size ? i + 1 : -1});
    Queue queue;
    for (std::int32_t i = 0; i < size; ++i) propose(symbols, i, queue);
    while (!queue.empty()) {
      const Candidate c = queue.top();
      queue.pop();
      Symbol& left = symbols[static_cast<std::size_t>(c.at)];
      if (left.id != c.left || left.next < 0) continue;
      Symbol& right = symbols[static_cast<std::size_t>(left.next)];
      if (right.id != c.right) continue;
      left.id = c.id;
      right.id = -1;
      left.next = right.next;
      if (left.next >= 0) symbols[static_cast<std::size_t>(left.next)].previous = c.at;
      propose(symbols, left.previous, queue);
      propose(symbols, c.at, queue);
    }
    std::vector<std::int32_t> ids;
    for (const Symbol& symbol : symbols)
      if (symbol.id >= 0) ids.push_back(symbol.id);
    return ids;
  }

  Ids ids_;
  Merges merges_;
  std::array<std::int32_t, 256> bytes_;
  std::int64_t vocab_ = 0;
};

Ids read_vocab(const std::string& path) {
  const std::string bytes = read_file(path, largest_file);
  Ids ids;
  VocabReader reader(path, ids);
  nlohmann::json::sax_parse(bytes, &reader);
  if (ids.empty()) fail("'{}' is not a BPE vocabulary: it has no tokens", path);
  std::unordered_map<std::int32_t, std::string_view> tokens;
  for (const auto& [token, id] : ids)
    if (const auto [known, fresh] = tokens.emplace(id, token); !fresh)
      fail("'{}': tokens '{}' and '{}' have the same id {}", path, known->second, token, id);
  return ids;
}

Merges read_merges(const std::string& path, const Ids& ids) {
  const std::string bytes = read_file(path, largest_file);
  Merges merges;
  std::int64_t line = 0;
  for (std::size_t at = 0; at < bytes.size();) {
    const std::size_t end = std::min(bytes.find('\n', at), bytes.size());
    std::string_view text(bytes.data() + at, end - at);
    at = end + 1;
    ++line;
    if (text.ends_with('\r')) text.remove_suffix(1);
    if (text.empty() || (line == 1 && text.starts_with("#version"))) continue;
    const std::size_t space = text.find(' ');
    if (space == std::string_view::npos || space == 0 || space + 1 == text.size() ||
        text.find(' ', space + 1) != std::string_view::npos)
      fail("'{}': line {} is not a pair of tokens with a space between them", path, line);
    const std::string left(text.substr(0, space)), right(text.substr(space + 1));
    const auto id_of = [&](const std::string& token) {
      const auto found = ids.find(token);
      if (found == ids.end())
        fail("'{}': line {} has token '{}', which the vocabulary has not", path, line, token);
      return found->second;
    };
    const std::int32_t first = id_of(left), second = id_of(right);
    // As elsewhere, the first of equal lines counts.
    merges.try_emplace(pair_key(first, second), Merge{static_cast<std::int32_t>(line), id_of(left + right)});
  }
  return merges;
}

}  // namespace

std::unique_ptr<Tokenizer> open_byte_pair(const std::string& vocab_file, const std::string& merges_file) {
  Ids ids = read_vocab(vocab_file);
  std::array<std::int32_t, 256> bytes{};
  const std::array<std::string, 256> names = byte_names();
  for (std::size_t byte = 0; byte < 256; ++byte) {
    const auto found = ids.find(names[byte]);
    if (found == ids.end())
      fail("'{}' is not a byte-level BPE vocabulary: byte {} ('{}') is no token", vocab_file, byte,
           names[byte]);
    bytes[byte] = found->second;
  }
  Merges merges = read_merges(merges_file, ids);
  return std::make_unique<BytePair>(std::move(ids), std::move(merges), bytes);
}

}  // namespace swapadvisor
