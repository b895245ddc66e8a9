#!/usr/bin/env python3
"""Writes tests/golden/resize.json: images of a formula, scaled by Pillow (bilinear), to compare with.

usage: golden_resize.py     (needs the Python package Pillow)
"""

import json
import pathlib

from PIL import Image

CASES = [  # width, height, box (x, y, width, height), size of the result
    (5, 4, (0, 0, 5, 4), (10, 8)), (37, 23, (0, 0, 37, 23), (8, 8)), (37, 23, (3, 5, 20, 11), (9, 7)),
    (16, 16, (0, 0, 16, 16), (16, 16)), (64, 48, (8, 0, 48, 48), (20, 20)), (1, 1, (0, 0, 1, 1), (3, 2)),
    (3, 90, (1, 40, 2, 50), (6, 6)),
]


def main():
    cases = []
    for width, height, (x, y, w, h), size in CASES:
        image = Image.new("L", (width, height))
        image.putdata([(31 * i + 17 * j + i * j * 3 + (i ^ j) * 11) % 256 for j in range(height) for i in range(width)])
        scaled = image.crop((x, y, x + w, y + h)).resize(size, Image.BILINEAR)
        cases.append({"width": width, "height": height, "box": [x, y, w, h], "size": list(size),
                      "pixels": list(scaled.getdata())})
    path = pathlib.Path(__file__).resolve().parent.parent / "tests" / "golden" / "resize.json"
    path.write_text("[\n" + ",\n".join(json.dumps(c, separators=(",", ":")) for c in cases) + "\n]\n")


if __name__ == "__main__":
    main()
