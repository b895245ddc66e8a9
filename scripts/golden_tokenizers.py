#!/usr/bin/env python3
"""Writes tests/golden/tokenizers: small vocabularies, and what Hugging Face's `tokenizers` makes of tricky text with them.

usage: golden_tokenizers.py     (needs the Python packages tokenizers and transformers)

The vocabularies are trained on data/text and on the tricky texts: WordPiece, lower case and with capitals, and byte-level
BPE as GPT-2 has it. The files have the standard formats (vocab.txt, vocab.json, merges.txt).
"""

import gzip
import json
import pathlib
import unicodedata

from tokenizers import ByteLevelBPETokenizer, BertWordPieceTokenizer

ROOT = pathlib.Path(__file__).resolve().parent.parent
OUT = ROOT / "tests" / "golden" / "tokenizers"

TEXTS = [
    "", " ", "\n", "a", "Hello, World!", "hello   world", "  leading and trailing  ", "tabs\tand\nnew\r\nlines\n\n\nhere",
    "And God said, Let there be light: and there was light.", "Ge1:1 In the beginning", "don't can't we'll they've I'd I'm you're it's",
    "DON'T it'S 'tis ''quoted'' 's", "1234567890 3.14159 1,000,000 ٣٤٥ ½ Ⅷ ²", "naïve café résumé Ångström ÀÉÎÕÜ",
    "nai\u0308ve cafe\u0301 A\u030angstro\u0308m", "İstanbul ıspanak ŞİŞLİ", "Straße GROSSE ẞ ß", "ΣΊΣΥΦΟΣ Σίσυφος ΟΔΟΣ ὀδός ᾳ ᾼ",
    "Война и мир Ёжик й И\u0306", "שָׁלוֹם עוֹלָם", "مَرْحَبًا بالعالم", "नमस्ते दुनिया क़", "สวัสดีชาวโลก", "日本語のテキスト 中文文本", "漢字kanji漢字",
    "한국어 텍스트 각 힣", "ﬁne ﬂow ﬀ", "Ａｂｃ ｱｲｳ", "😀 emoji 👍🏽 and ❤️ hearts", "👩\u200d👩\u200d👧", "zero\u200bwidth\ufeffspace\u00adhyphen",
    "nbsp\u00a0here\u2003em\u3000wide\u2028line", "ctrl\x00\x01\x1f\x7f\x85chars", "bell\x07 vt\x0b ff\x0c", "\ufffd replaced",
    "$5 + €10 = £15 ~ `code` ^_^ <tag>", "a-b_c.d/e\\f|g@h#i%j&k*l(m)n[o]p{q}r", "«guillemets» “quotes” ‘single’ — dash – … ¿qué? ¡sí!",
    "[MASK] [CLS] [SEP] <|endoftext|>", "x" * 99 + " " + "y" * 100 + " " + "z" * 101, "supercalifragilisticexpialidocious",
    "    four spaces", "a  b   c    d", "ends with spaces   ", "line one\n  indented\n\tboth", " \n \n ", "\r\r\n\n\r",
    "e\u0301\u0327 \u0301alone", "ǅ ǆ Ǆ ŉ ǰ", "K Å Ω", "שּׁ ﭏ", "𝐀𝐁 𝔘𝔫𝔦 𐐀𐐨", "豈 更 車 丽", "〇 々 〆", "ￜ ᄀ ᅡ ᆨ",
    "under_score CamelCase snake_case-kebab", "http://example.com/?q=1&r=2#x", "C++ & C# ... --- !!!", "''", "'", "'ll 'x", "1st 2nd 3rd 4x4",
]


def sweep():
    """Characters of all scripts, of those that no version of Unicode has changed since 3.2."""
    old = unicodedata.ucd_3_2_0
    codes = [c for c in range(0x80, 0x30000) if unicodedata.category(chr(c)) not in ("Cn", "Cs", "Co")
             and old.category(chr(c)) == unicodedata.category(chr(c))
             and old.decomposition(chr(c)) == unicodedata.decomposition(chr(c))]
    picked = [c for i, c in enumerate(codes) if c < 0x250 or (c < 0x2200 and i % 3 == 0) or i % 41 == 0]
    words = ["a" + chr(c) + "b" for c in picked]
    return [" ".join(words[i : i + 60]) for i in range(0, len(words), 60)]


def train(tokenizer, corpus, size, **more):
    tokenizer.train_from_iterator(corpus, vocab_size=size, min_frequency=2, show_progress=False, **more)
    return tokenizer


def main():
    OUT.mkdir(parents=True, exist_ok=True)
    lines = gzip.decompress((ROOT / "data/text/kjv.txt.gz").read_bytes()).decode().splitlines()[:4000]
    corpus = lines + [text for text in TEXTS if len(text) < 90] * 3
    texts = TEXTS + sweep()
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    # All characters of the sweep are in this vocabulary, so that each must come out right.
    uncased = train(BertWordPieceTokenizer(lowercase=True), corpus + sweep() * 2, 6000, limit_alphabet=100000,
                    special_tokens=special)
    cased = train(BertWordPieceTokenizer(lowercase=False, strip_accents=False), corpus, 1500, limit_alphabet=400,
                  special_tokens=special)
    bpe = train(ByteLevelBPETokenizer(), corpus, 900)
    golden = {"texts": texts}
    for name, tokenizer in (("uncased", uncased), ("cased", cased), ("bpe", bpe)):
        folder = OUT / name
        folder.mkdir(exist_ok=True)
        tokenizer.save_model(str(folder))
        golden[name] = []
    # As the files say, and with nothing added: text that spells special tokens is text.
    for name, tokenizer in (("uncased", BertWordPieceTokenizer(str(OUT / "uncased/vocab.txt"), lowercase=True)),
                            ("cased", BertWordPieceTokenizer(str(OUT / "cased/vocab.txt"), lowercase=False, strip_accents=False)),
                            ("bpe", ByteLevelBPETokenizer(str(OUT / "bpe/vocab.json"), str(OUT / "bpe/merges.txt")))):
        tokenizer._tokenizer.encode_special_tokens = True
        golden[name] = [tokenizer.encode(text, add_special_tokens=False).ids for text in texts]
    body = ",\n".join(json.dumps([t, *(golden[n][i] for n in ("uncased", "cased", "bpe"))], separators=(",", ":"))
                      for i, t in enumerate(texts))
    (OUT / "encodings.json").write_text(f'{{"columns":["text","uncased","cased","bpe"],"rows":[\n{body}\n]}}\n')


if __name__ == "__main__":
    main()
