// Tokenizers: text to the ids that a model of text reads.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace swapadvisor {

/// A vocabulary, and the way text is cut into its tokens. Immutable: const access is thread-safe.
class Tokenizer {
 public:
  Tokenizer() = default;
  Tokenizer(const Tokenizer&) = delete;
  Tokenizer& operator=(const Tokenizer&) = delete;
  virtual ~Tokenizer() = default;

  /// All ids are below it.
  virtual std::int64_t vocab() const = 0;
  /// The tokens of UTF-8 text. Bytes that are not UTF-8 do no harm.
  virtual std::vector<std::int32_t> encode(std::string_view text) const = 0;
  /// The id of a token as the vocabulary spells it; −1 if there is none.
  virtual std::int32_t find(std::string_view token) const = 0;
};

/// Every byte is a token: ids 0 to 255. `marks`: behind them BERT's special tokens, [CLS] 256, [SEP] 257 and
/// [MASK] 258, which no text is encoded as.
std::unique_ptr<Tokenizer> make_byte_tokenizer(bool marks = false);

/// BERT's tokenizer: control characters go, Chinese characters stand alone, words end at white space and at
/// punctuation, which stands alone too; then the longest known piece at a time (WordPiece), "##" before those
/// that do not begin a word, "[UNK]" for words that cannot be cut or have more than 100 characters. Unless
/// the vocabulary has pieces with capital letters A to Z (other than special ones in square brackets), text
/// is first made lower case and its accents are removed. Text that spells special tokens is no special token.
/// `vocab_file`: vocab.txt, one token a line. Throws `Error` naming the file when it cannot be read, is no
/// text, or has no "[UNK]".
std::unique_ptr<Tokenizer> open_wordpiece(const std::string& vocab_file);

/// GPT-2's tokenizer: byte-level byte-pair encoding (Radford et al. 2019, "Language Models are Unsupervised
/// Multitask Learners", section 2.2). `vocab_file`: vocab.json, an object of ids by token; `merges_file`:
/// merges.txt, a pair of tokens a line, the first ones merged first. Throws `Error` naming file and entry
/// when these cannot be believed.
std::unique_ptr<Tokenizer> open_byte_pair(const std::string& vocab_file, const std::string& merges_file);

/// The tokenizer for a vocabulary file: none is bytes, .json byte-level BPE (`merges_file` empty: merges.txt
/// beside it), any other WordPiece.
std::unique_ptr<Tokenizer> open_tokenizer(const std::string& vocab_file, const std::string& merges_file);

}  // namespace swapadvisor
