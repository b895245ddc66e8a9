// Characters of UTF-8 text, as far as tokenizers look at them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace swapadvisor::unicode {

/// General categories: L, N, Mn, P, C (unassigned ones too), and all the rest.
enum class Kind : std::uint8_t { other, letter, number, mark, punctuation, control };

Kind kind_of(char32_t c);
/// The property White_Space.
bool is_space(char32_t c);
/// Chinese characters: ideographs, not kana or Hangul.
bool is_ideograph(char32_t c);

/// What stands for bytes that are not UTF-8.
inline constexpr char32_t replacement = 0xfffd;

/// A character of a text, and how many bytes it takes: 1 where they are not UTF-8.
struct Character {
  char32_t code = replacement;
  std::size_t bytes = 1;
};

/// The character at `at`, which is within `text`. Overlong forms, surrogates and what lies beyond U+10FFFF
/// are not UTF-8.
Character character_at(std::string_view text, std::size_t at);
void append(std::string& text, char32_t c);

/// Appends `c` in lower case and without accents: its canonical decomposition less nonspacing marks, each
/// character in lower case.
void append_folded(std::string& text, char32_t c);

// Tables, sorted: see the generator, scripts/make_unicode_tables.py.

/// Characters first, first + step, … last move by delta.
struct Shift {
  char32_t first, last, step;
  std::int32_t delta;
};
/// Up to three characters; 0 where there is none.
struct Fold {
  char32_t from, to[3];
};
std::span<const std::uint32_t> kind_runs();
std::span<const Shift> fold_shifts();
std::span<const Fold> fold_sequences();

}  // namespace swapadvisor::unicode
