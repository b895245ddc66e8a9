#!/usr/bin/env python3
"""Writes the first samples of the MNIST database as a small data set in the same files.

usage: make_mnist_subset.py FULL_MNIST_DIR OUT_DIR [--train N] [--test N]

FULL_MNIST_DIR holds the four original IDX files, plain or gzipped. The output is reproducible to the byte (with the
same zlib): gzip level 9, no name, no time.
"""

import argparse
import gzip
import pathlib
import struct


def read(folder, stem):
    for name, opener in ((stem, open), (stem + ".gz", gzip.open)):
        if (folder / name).exists():
            with opener(folder / name, "rb") as file:
                return file.read()
    raise SystemExit(f"{folder} has neither {stem} nor {stem}.gz")


def first_samples(data, stem, count):
    """The IDX file `data`, cut to its first `count` samples."""
    rank = data[3]
    dims = struct.unpack(f">{rank}I", data[4 : 4 + 4 * rank])
    if count > dims[0]:
        raise SystemExit(f"{stem} has {dims[0]} samples, fewer than {count}")
    sample = 1
    for dim in dims[1:]:
        sample *= dim
    begin = 4 + 4 * rank
    header = data[:4] + struct.pack(f">{rank}I", count, *dims[1:])
    return header + data[begin : begin + count * sample]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("full", type=pathlib.Path)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--train", type=int, default=10000)
    parser.add_argument("--test", type=int, default=2000)
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    for prefix, count in (("train", options.train), ("t10k", options.test)):
        for kind in ("images-idx3-ubyte", "labels-idx1-ubyte"):
            stem = f"{prefix}-{kind}"
            data = first_samples(read(options.full, stem), stem, count)
            with open(options.out / (stem + ".gz"), "wb") as file:
                with gzip.GzipFile(filename="", mode="wb", compresslevel=9, fileobj=file, mtime=0) as zipped:
                    zipped.write(data)


if __name__ == "__main__":
    main()
