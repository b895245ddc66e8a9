#include <swapadvisor/train/unicode.h>

#include <algorithm>

namespace swapadvisor::unicode {
namespace {

/// Unicode's formula: a Hangul syllable is a leading consonant, a vowel and perhaps a trailing consonant.
void append_hangul(std::string& text, char32_t c) {
  constexpr char32_t vowels = 21, trails = 28;
  const char32_t index = c - 0xac00;
  append(text, 0x1100 + index / (vowels * trails));
  append(text, 0x1161 + index % (vowels * trails) / trails);
  if (index % trails != 0) append(text, 0x11a7 + index % trails);
}

struct Span {
  char32_t first, last;
};

template <std::size_t n>
bool within(const Span (&spans)[n], char32_t c) {
  return std::any_of(std::begin(spans), std::end(spans), [=](Span s) { return c >= s.first && c <= s.last; });
}

}  // namespace

Kind kind_of(char32_t c) {
  const auto runs = kind_runs();
  const auto after = std::upper_bound(runs.begin(), runs.end(), (static_cast<std::uint32_t>(c) << 3) | 7);
  return static_cast<Kind>(*(after - 1) & 7);
}

bool is_space(char32_t c) {
  constexpr Span spaces[] = {{0x9, 0xd},       {0x20, 0x20},     {0x85, 0x85},     {0xa0, 0xa0},
                             {0x1680, 0x1680}, {0x2000, 0x200a}, {0x2028, 0x2029}, {0x202f, 0x202f},
                             {0x205f, 0x205f}, {0x3000, 0x3000}};
  return within(spaces, c);
}

bool is_ideograph(char32_t c) {
  // The blocks that BERT's tokenizer names.
  constexpr Span blocks[] = {{0x4e00, 0x9fff},   {0x3400, 0x4dbf},   {0x20000, 0x2a6df}, {0x2a700, 0x2b73f},
                             {0x2b740, 0x2b81f}, {0x2b820, 0x2ceaf}, {0xf900, 0xfaff},   {0x2f800, 0x2fa1f}};
  return within(blocks, c);
}

Character character_at(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[at + i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return {lead, 1};
  const std::size_t bytes = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || text.size() - at < bytes) return {};
  char32_t code = lead & (0x7fu >> bytes);
  for (std::size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return {};
    code = code << 6 | (byte(i) & 0x3f);
  }
  constexpr char32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
  if (code < least[bytes] || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff)) return {};
  return {code, bytes};
}

void append(std::string& text, char32_t c) {
  if (c < 0x80) {
    text += static_cast<char>(c);
    return;
  }
  const int more = c >= 0x10000 ? 3 : c >= 0x800 ? 2 : 1;
  constexpr unsigned char leads[] = {0, 0xc0, 0xe0, 0xf0};
  text += static_cast<char>(leads[more] | c >> (6 * more));
  for (int i = more - 1; i >= 0; --i) text += static_cast<char>(0x80 | (c >> (6 * i) & 0x3f));
}

void append_folded(std::string& text, char32_t c) {
  if (c < 0x80) {
    text += static_cast<char>(c >= 'A' && c <= 'Z' ? c + 32 : c);
    return;
  }
  if (kind_of(c) == Kind::mark) return;
  if (c >= 0xac00 && c <= 0xd7a3) return append_hangul(text, c);
  const auto folds = fold_sequences();
  const auto fold =
      std::lower_bound(folds.begin(), folds.end(), c, [](const Fold& f, char32_t v) { return f.from < v; });
  if (fold != folds.end() && fold->from == c) {
    for (char32_t part : fold->to)
      if (part != 0) append(text, part);
    return;
  }
  const auto shifts = fold_shifts();
  const auto shift = std::lower_bound(shifts.begin(), shifts.end(), c,
                                      [](const Shift& s, char32_t v) { return s.last < v; });
  if (shift != shifts.end() && c >= shift->first && (c - shift->first) % shift->step == 0)
    c = static_cast<char32_t>(static_cast<std::int64_t>(c) + shift->delta);
  append(text, c);
}

}  // namespace swapadvisor::unicode
