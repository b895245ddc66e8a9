#!/usr/bin/env python3
"""Writes train/unicode_kinds.cpp and train/unicode_folds.cpp: what the tokenizers know of Unicode's characters.

usage: make_unicode_tables.py      (Python's unicodedata is the source; the files name its version)
"""

import pathlib
import unicodedata

LAST = 0x10FFFF
KINDS = {"L": "letter", "N": "number", "P": "punctuation", "C": "control"}
ORDER = ["other", "letter", "number", "mark", "punctuation", "control"]


def kind_of(code):
    category = unicodedata.category(chr(code))
    return ORDER.index("mark" if category == "Mn" else KINDS.get(category[0], "other"))


def fold_of(code):
    """Decomposed, without nonspacing marks, in lower case, one character at a time."""
    parts = unicodedata.normalize("NFD", chr(code))
    parts = [c for c in parts if unicodedata.category(c) != "Mn"]
    return "".join(c.lower() for c in parts)


def is_special(code):
    """Surrogates, and Hangul syllables, which decompose by a formula."""
    return 0xD800 <= code <= 0xDFFF or 0xAC00 <= code <= 0xD7A3


def changes():
    known, found = None, []
    for code in range(LAST + 1):
        kind = kind_of(code)
        if kind != known:
            found.append(f"0x{code << 3 | kind:x}")
            known = kind
    return found


def folds():
    """(shifts of lower case over ranges, the rest one by one)."""
    shifts, rest = [], []
    for code in range(LAST + 1):
        if is_special(code) or unicodedata.category(chr(code)) == "Mn":
            continue
        to = [ord(c) for c in fold_of(code)]
        if to == [code]:
            continue
        if len(to) != 1 or unicodedata.decomposition(chr(code)):
            assert 1 <= len(to) <= 3, hex(code)
            rest.append("{" + ", ".join(f"0x{c:x}" for c in [code, *to]) + "}")
            continue
        delta = to[0] - code
        last = shifts[-1] if shifts else None
        if last and last[3] == delta and code - last[1] in (1, 2) and (last[0] == last[1] or last[2] == code - last[1]):
            shifts[-1] = (last[0], code, code - last[1], delta)
        else:
            shifts.append((code, code, 1, delta))
    return [f"{{0x{a:x}, 0x{b:x}, {step}, {delta}}}" for a, b, step, delta in shifts], rest


def rows(items):
    lines, line = [], "   "
    for item in items:
        if len(line) + len(item) + 2 > 110:
            lines.append(line)
            line = "   "
        line += f" {item},"
    return "\n".join([*lines, line])


def write(path, body):
    head = f"// Made by scripts/make_unicode_tables.py from Unicode {unicodedata.unidata_version}.\n"
    path.write_text(f"""{head}#include <swapadvisor/train/unicode.h>

namespace swapadvisor::unicode {{
namespace {{

// clang-format off
{body}

}}  // namespace swapadvisor::unicode
""")


def main():
    train = pathlib.Path(__file__).resolve().parent.parent / "train"
    write(train / "unicode_kinds.cpp", f"""// First character of every run of one kind, times 8, plus the kind.
constexpr std::uint32_t runs[] = {{
{rows(changes())}
}};
// clang-format on

}}  // namespace

std::span<const std::uint32_t> kind_runs() {{ return runs; }}""")
    shifts, rest = folds()
    write(train / "unicode_folds.cpp", f"""constexpr Shift shifts[] = {{
{rows(shifts)}
}};

constexpr Fold folds[] = {{
{rows(rest)}
}};
// clang-format on

}}  // namespace

std::span<const Shift> fold_shifts() {{ return shifts; }}
std::span<const Fold> fold_sequences() {{ return folds; }}""")


if __name__ == "__main__":
    main()
