#!/usr/bin/env python3
"""Makes a WordPiece vocabulary of a text, and says how much a model of its unigrams alone leaves open.

usage: make_wordpiece.py TEXT vocab.txt [--size N]

TEXT is plain or gzipped. The vocabulary (lower case, BERT's special tokens first) is that of the first 95 % of its bytes, up to the
end of a line: what `--dataset text` trains on. Of the rest, the test split, the entropy of single tokens is printed in nats: masks
hide tokens at random, so it is what the loss of masked tokens compares with. Needs `tokenizers`.
"""
import argparse
import collections
import gzip
import math
import pathlib

from tokenizers import BertWordPieceTokenizer


def split(data):
    """As train/text_dataset.cpp cuts."""
    at = len(data) - len(data) // 20
    line = data.find(b"\n", at - 1)
    return (data[:line + 1], data[line + 1:]) if line >= 0 else (data[:at], data[at:])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("text", type=pathlib.Path)
    parser.add_argument("vocab", type=pathlib.Path)
    parser.add_argument("--size", type=int, default=2000)
    args = parser.parse_args()
    data = args.text.read_bytes()
    if data.startswith(b"\x1f\x8b"):
        data = gzip.decompress(data)
    train, test = (part.decode("utf-8", "ignore") for part in split(data))
    tokenizer = BertWordPieceTokenizer(lowercase=True)
    tokenizer.train_from_iterator(train.splitlines(), vocab_size=args.size, min_frequency=2, show_progress=False)
    pieces = sorted(tokenizer.get_vocab().items(), key=lambda item: item[1])
    args.vocab.write_text("".join(piece + "\n" for piece, _ in pieces))
    counts = collections.Counter()
    for line in test.splitlines():
        counts.update(tokenizer.encode(line, add_special_tokens=False).ids)
    total = counts.total()
    entropy = -sum(n / total * math.log(n / total) for n in counts.values())
    print(f"{len(pieces)} tokens; test split: {total} tokens, unigram entropy {entropy:.4f} nats")


if __name__ == "__main__":
    main()
