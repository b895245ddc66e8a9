#!/usr/bin/env python3
"""Writes the first lines of a text as a smaller text file, gzipped.

usage: make_text_slice.py TEXT OUT.gz [--bytes N]

TEXT is plain or gzipped. The slice ends with a line. The output is reproducible to the byte (with the same zlib): gzip
level 9, no name, no time.
"""

import argparse
import gzip
import pathlib


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("text", type=pathlib.Path)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--bytes", type=int, default=1 << 20, help="at most this many of the unpacked text")
    options = parser.parse_args()
    data = options.text.read_bytes()
    if data.startswith(b"\x1f\x8b"):
        data = gzip.decompress(data)
    cut = data[: options.bytes]
    if len(cut) < len(data):
        cut = cut[: cut.rindex(b"\n") + 1]
    options.out.parent.mkdir(parents=True, exist_ok=True)
    with open(options.out, "wb") as file:
        with gzip.GzipFile(filename="", mode="wb", compresslevel=9, fileobj=file, mtime=0) as zipped:
            zipped.write(cut)


if __name__ == "__main__":
    main()
