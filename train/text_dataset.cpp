#include <swapadvisor/core/rng.h>
#include <swapadvisor/ops/softmax_cross_entropy.h>
#include <swapadvisor/train/byte_source.h>
#include <swapadvisor/train/crc32c.h>
#include <swapadvisor/train/text_dataset.h>
#include <swapadvisor/train/tokenizer.h>

#include <algorithm>
#include <cmath>

namespace swapadvisor {
namespace {

constexpr std::int64_t largest_text = std::int64_t{4} << 30;
using Tokens = std::vector<std::int32_t>;

/// What lies from 95 % on, from the next line's start, which is not looked for too far away.
std::size_t split_point(std::string_view text) {
  constexpr std::size_t reach = 4096;
  if (text.empty()) return 0;
  std::size_t at = text.size() - text.size() / 20;
  if (const std::size_t line = text.substr(at - 1, reach).find('\n'); line != std::string_view::npos)
    return at + line;
  while (at < text.size() && (static_cast<unsigned char>(text[at]) & 0xc0) == 0x80) ++at;
  return at;
}

/// The place of every window: `stride` tokens apart, and `extra` more tokens after each.
struct Windows {
  std::int64_t stride = 1, count = 0, offsets = 1;

  /// In training a window less, so that there is room to start elsewhere in every epoch.
  static Windows of_training(std::int64_t tokens, std::int64_t stride, std::int64_t extra) {
    const std::int64_t whole = std::max<std::int64_t>(0, tokens - extra) / stride;
    const std::int64_t count = std::max<std::int64_t>(whole - 1, std::min<std::int64_t>(whole, 1));
    return {stride, count, std::min(stride, tokens - extra - count * stride + 1)};
  }

  std::int64_t begin(std::int64_t index, const SampleDraw& draw) const {
    if (offsets <= 1) return index * stride;
    const auto epoch = static_cast<std::uint64_t>(draw.epoch);
    const RandomStream random{draw.seed ^ hash_name("text.offset"), static_cast<std::uint32_t>(epoch >> 32),
                              static_cast<std::uint32_t>(epoch)};
    return index * stride + random.below(0, static_cast<std::uint32_t>(offsets));
  }
};

std::span<std::int32_t> ids_of(std::span<std::byte> bytes) {
  return {reinterpret_cast<std::int32_t*>(bytes.data()), bytes.size() / sizeof(std::int32_t)};
}

/// The fields of a model's inputs and targets, in that order.
std::vector<Field> fields_of(const DatasetOptions& options) {
  std::vector<Field> fields;
  for (const ModelInput& input : options.inputs)
    fields.push_back({input.name, input.dtype, input.shape, input.otherwise.value_or(0)});
  for (const ModelInput& target : options.targets)
    fields.push_back({target.name, target.dtype, target.shape, ignored_label});
  for (const Field& field : fields)
    if (field.dtype != DType::i32)
      fail("the text data have no '{}' of type {}", field.name, name_of(field.dtype));
  return fields;
}

class Text : public Dataset {
 public:
  Text(const DatasetOptions& options, Tokens tokens, std::int64_t vocab)
      : options_(options), tokens_(std::move(tokens)), vocab_(vocab), fields_(fields_of(options)) {}

  std::int64_t size() const override { return windows_.count; }
  const std::vector<Field>& fields() const override { return fields_; }
  DataSizes sizes() const override { return {.vocab = vocab_}; }
  std::string fingerprint() const override {
    return fmt::format("{:08x}", crc32c(std::as_bytes(std::span(tokens_))));
  }

 protected:
  std::int64_t length() const { return options_.seq_len; }
  std::int64_t token_count() const { return std::ssize(tokens_); }
  std::int32_t token(std::int64_t at) const { return tokens_[static_cast<std::size_t>(at)]; }

  /// An input that is not the text's: its value everywhere.
  void fill_input(std::size_t field, std::span<std::byte> out) const {
    const auto value = static_cast<std::int32_t>(options_.inputs[field].otherwise.value_or(0));
    std::ranges::fill(ids_of(out), value);
  }
  void expect_known(const ModelInput& input, bool known) const {
    if (!known && !input.otherwise) fail("the text data have no '{}', which the model takes", input.name);
  }
  void expect_sequence(const ModelInput& input) const {
    if (input.shape != Shape{length()})
      fail("'{}' of the model has shape {} in a sample, expected [{}]", input.name, to_string(input.shape),
           length());
  }
  void expect_samples(const std::string& path, Split split) const {
    if (size() < 1)
      fail("'{}': the {} split has {} tokens, too few for one sample with a sequence length of {}", path,
           name_of(split), token_count(), length());
  }

  DatasetOptions options_;
  Tokens tokens_;
  std::int64_t vocab_;
  std::vector<Field> fields_;
  Windows windows_;
};

/// Fields: the tokens, other inputs, the tokens or those that follow.
class CausalText final : public Text {
 public:
  CausalText(const std::string& path, Split split, const DatasetOptions& options, Tokens tokens,
             std::int64_t vocab, double bytes)
      : Text(options, std::move(tokens), vocab),
        ahead_(options.targets.front().name == "labels" ? 0 : 1),
        bytes_per_token_(bytes / static_cast<double>(std::max<std::int64_t>(1, token_count()))) {
    if (ahead_ == 0 && length() < 2)
      fail("a sequence length of {} leaves no next token to predict: it has to be 2 or more", length());
    expect_sequence(options.inputs.front());
    for (const ModelInput& target : options.targets) expect_sequence(target);
    for (std::size_t i = 1; i < options.inputs.size(); ++i) expect_known(options.inputs[i], false);
    if (split == Split::train)
      windows_ = Windows::of_training(token_count(), length(), ahead_);
    else
      windows_ = {length(), (token_count() - ahead_ + length() - 1) / length(), 1};
    expect_samples(path, split);
  }

  void read(std::int64_t index, const SampleDraw& draw,
            std::span<const std::span<std::byte>> out) const override {
    const std::int64_t begin = windows_.begin(index, draw);
    for (std::size_t f = 0; f < fields_.size(); ++f) {
      if (f == 0)
        copy(begin, ahead_, 0, ids_of(out[f]));
      else if (f < options_.inputs.size())
        fill_input(f, out[f]);
      else
        copy(begin + ahead_, 0, ignored_label, ids_of(out[f]));
    }
  }
  double bytes_per_label() const override { return bytes_per_token_; }

 private:
  /// Tokens from `begin` on, as far as there are, but for the last `less` of the text.
  void copy(std::int64_t begin, std::int64_t less, std::int32_t padding, std::span<std::int32_t> out) const {
    const std::int64_t count = std::clamp<std::int64_t>(token_count() - less - begin, 0, std::ssize(out));
    std::copy_n(tokens_.begin() + begin, count, out.begin());
    std::fill(out.begin() + count, out.end(), padding);
  }

  std::int64_t ahead_;
  double bytes_per_token_;
};

/// The tokens that mark up a sample of masked language modelling.
struct Marks {
  std::int32_t first = 0, separator = 0, mask = 0;
};

/// Fields: those of the model that are known by name, and its targets by shape.
class MaskedText final : public Text {
 public:
  MaskedText(const std::string& path, Split split, const DatasetOptions& options, Tokens tokens,
             std::int64_t vocab, std::vector<std::int64_t> lines, const Marks& marks)
      : Text(options, std::move(tokens), vocab), lines_(std::move(lines)), marks_(marks) {
    expect_sequence(options.inputs.front());
    for (std::size_t i = 1; i < options.inputs.size(); ++i) {
      expect_known(options.inputs[i], options.inputs[i].name == "token_type_ids");
      if (options.inputs[i].name == "token_type_ids") expect_sequence(options.inputs[i]);
    }
    for (const ModelInput& target : options.targets)
      if (target.shape.rank() == 0)
        pairs_ = true;
      else
        expect_sequence(target);
    content_ = length() - (pairs_ ? 3 : 2);
    if (content_ < (pairs_ ? 2 : 1))
      fail("a sequence length of {} has no room for the marks and a token of each sentence", length());
    windows_ = Windows::of_training(token_count(), content_, 0);
    if (split == Split::test) windows_ = {content_, token_count() / content_, 1};
    expect_samples(path, split);
  }

  void read(std::int64_t index, const SampleDraw& draw,
            std::span<const std::span<std::byte>> out) const override {
    const auto epoch = static_cast<std::uint64_t>(draw.epoch), sample = static_cast<std::uint64_t>(index);
    const RandomStream random{draw.seed ^ hash_name("text.mask") ^ epoch * 0x9E3779B97F4A7C15u,
                              static_cast<std::uint32_t>(sample), static_cast<std::uint32_t>(sample >> 32)};
    Tokens ids(static_cast<std::size_t>(length())), types(ids.size()), labels(ids.size(), ignored_label);
    const std::int32_t random_second = lay_out(windows_.begin(index, draw), random, ids, types);
    mask(random, ids, labels);
    for (std::size_t f = 0; f < fields_.size(); ++f) {
      const std::span<std::int32_t> to = ids_of(out[f]);
      if (f == 0)
        std::ranges::copy(ids, to.begin());
      else if (f < options_.inputs.size() && fields_[f].name == "token_type_ids")
        std::ranges::copy(types, to.begin());
      else if (f < options_.inputs.size())
        fill_input(f, out[f]);
      else if (fields_[f].shape.rank() == 0)
        to[0] = random_second;
      else
        std::ranges::copy(labels, to.begin());
    }
  }

 private:
  /// Draws of a sample: these, then four of each position.
  enum Draw : std::uint64_t { second_is_random, boundary, second, positions };

  /// Returns 1 if the second sentence is from elsewhere.
  std::int32_t lay_out(std::int64_t begin, const RandomStream& random, Tokens& ids, Tokens& types) const {
    const std::int64_t first = pairs_ ? first_length(begin, random) : content_, rest = content_ - first;
    ids[0] = marks_.first;
    std::copy_n(tokens_.begin() + begin, first, ids.begin() + 1);
    ids[static_cast<std::size_t>(first) + 1] = marks_.separator;
    if (!pairs_) return 0;
    std::int64_t from = begin + first;
    if ((random.bits(second_is_random) >> 31) != 0) {
      // A line that has enough tokens from its start on; the first one always has.
      const auto lines =
          std::upper_bound(lines_.begin(), lines_.end(), token_count() - rest) - lines_.begin();
      from = lines_[random.below(second, static_cast<std::uint32_t>(lines))];
    }
    std::copy_n(tokens_.begin() + from, rest, ids.begin() + first + 2);
    ids.back() = marks_.separator;
    std::fill(types.begin() + first + 2, types.end(), 1);
    return from == begin + first ? 0 : 1;
  }

  /// The second sentence starts with a line, one of those in the window; where there is none, in its middle.
  std::int64_t first_length(std::int64_t begin, const RandomStream& random) const {
    const auto low = std::upper_bound(lines_.begin(), lines_.end(), begin);
    const auto high = std::lower_bound(low, lines_.end(), begin + content_);
    if (low == high) return content_ / 2;
    return *(low + random.below(boundary, static_cast<std::uint32_t>(high - low))) - begin;
  }

  bool is_mark(std::int32_t id) const { return id == marks_.first || id == marks_.separator; }

  void mask(const RandomStream& random, Tokens& ids, Tokens& labels) const {
    bool some = false;
    for (std::size_t t = 0; t < ids.size(); ++t)
      if (!is_mark(ids[t]) && random.uniform(positions + 4 * t) < 0.15) {
        hide(random, t, ids, labels);
        some = true;
      }
    for (std::uint64_t draw = positions + 4 * ids.size(); !some; ++draw) {
      const std::size_t t = random.below(draw, static_cast<std::uint32_t>(ids.size()));
      if (is_mark(ids[t])) continue;
      hide(random, t, ids, labels);
      some = true;
    }
  }

  void hide(const RandomStream& random, std::size_t t, Tokens& ids, Tokens& labels) const {
    labels[t] = ids[t];
    const double kind = random.uniform(positions + 4 * t + 1);
    if (kind < 0.8)
      ids[t] = marks_.mask;
    else if (kind < 0.9)
      ids[t] =
          static_cast<std::int32_t>(random.below(positions + 4 * t + 2, static_cast<std::uint32_t>(vocab_)));
  }

  std::vector<std::int64_t> lines_;  ///< where each begins
  Marks marks_;
  bool pairs_ = false;
  std::int64_t content_ = 0;  ///< tokens of a sample that are text
};

Marks find_marks(const Tokenizer& tokenizer, const std::string& vocab_file) {
  const auto find = [&](const char* token) {
    const std::int32_t id = tokenizer.find(token);
    if (id < 0)
      fail("masked language modelling needs a vocabulary with {}: {}", token,
           fmt::format("'{}' has no such token", vocab_file));
    return id;
  };
  const std::int32_t mask = find("[MASK]");  // the one that tells BERT's vocabularies from others
  return {find("[CLS]"), find("[SEP]"), mask};
}

std::unique_ptr<Dataset> open_masked(const std::string& path, Split split, const DatasetOptions& options,
                                     const Tokenizer& tokenizer, std::string_view text) {
  const Marks marks = find_marks(tokenizer, options.vocab_file);
  Tokens tokens;
  std::vector<std::int64_t> lines;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const Tokens line =
        tokenizer.encode(text.substr(at, end + 1 - at));  // a line's end is a byte like others
    if (!line.empty()) lines.push_back(std::ssize(tokens));
    tokens.insert(tokens.end(), line.begin(), line.end());
    at = end + 1;
  }
  return std::make_unique<MaskedText>(path, split, options, std::move(tokens), tokenizer.vocab(),
                                      std::move(lines), marks);
}

}  // namespace

std::unique_ptr<Dataset> open_text(const std::string& path, Split split, const DatasetOptions& options) {
  if (options.inputs.empty() || options.targets.empty())
    fail("'{}': text needs a model to know its samples", path);
  if (options.task == Task::sequence_classification) fail("'{}': plain text has no classes to learn", path);
  const bool masked = options.task == Task::masked_language_modelling;
  const auto tokenizer = masked && options.vocab_file.empty() && options.merges_file.empty()
                             ? make_byte_tokenizer(true)
                             : open_tokenizer(options.vocab_file, options.merges_file);
  const std::string whole = read_inflated(path, largest_text);
  const std::size_t cut = split_point(whole);
  const std::string_view text =
      split == Split::train ? std::string_view(whole).substr(0, cut) : std::string_view(whole).substr(cut);
  if (masked) return open_masked(path, split, options, *tokenizer, text);
  return std::make_unique<CausalText>(path, split, options, tokenizer->encode(text), tokenizer->vocab(),
                                      static_cast<double>(text.size()));
}

}  // namespace swapadvisor
