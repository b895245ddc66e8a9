#!/usr/bin/env python3
"""The counter-based random numbers of core/rng.h in numpy, bit for bit, so that test data need no files.

Philox4x32-10 is from Salmon et al., "Parallel Random Numbers: As Easy as 1, 2, 3" (SC 2011). Run this file to check it
against the known answers published with that paper's library.
"""

import numpy as np

FNV_BASIS = 0xCBF29CE484222325
FNV_PRIME = 0x100000001B3
MASK32 = np.uint64(0xFFFFFFFF)
SHIFT32 = np.uint64(32)


def philox(counter, key):
    """Ten rounds on four uint32 arrays (or numbers) under a 64-bit key; returns four uint32 arrays."""
    c0, c1, c2, c3 = (np.asarray(c, dtype=np.uint64) for c in counter)
    k0, k1 = key & 0xFFFFFFFF, key >> 32
    for _ in range(10):
        p0 = np.uint64(0xD2511F53) * c0
        p1 = np.uint64(0xCD9E8D57) * c2
        c0, c1, c2, c3 = (
            (p1 >> SHIFT32) ^ c1 ^ np.uint64(k0),
            p1 & MASK32,
            (p0 >> SHIFT32) ^ c3 ^ np.uint64(k1),
            p0 & MASK32,
        )
        k0, k1 = (k0 + 0x9E3779B9) & 0xFFFFFFFF, (k1 + 0xBB67AE85) & 0xFFFFFFFF
    return tuple(c.astype(np.uint32) for c in (c0, c1, c2, c3))


def hash_name(name, start=FNV_BASIS):
    """64-bit FNV-1a."""
    for byte in name.encode():
        start = ((start ^ byte) * FNV_PRIME) & 0xFFFFFFFFFFFFFFFF
    return start


class RandomStream:
    """The first n draws of the stream `id` at `step`, as arrays."""

    def __init__(self, seed, id=0, step=0):
        self.seed, self.id, self.step = seed, id, step

    def bits(self, n):
        block = np.arange((n + 3) // 4, dtype=np.uint64)
        counter = (block & MASK32, block >> SHIFT32, np.full_like(block, self.step), np.full_like(block, self.id))
        return np.stack(philox(counter, self.seed), axis=1).reshape(-1)[:n]

    def uniform(self, n):
        return (self.bits(n).astype(np.float64) + 0.5) * 2.0**-32

    def below(self, n, limit):
        return ((self.bits(n).astype(np.uint64) * np.uint64(limit)) >> SHIFT32).astype(np.int64)


def named_stream(name, seed):
    """The stream that `initialize` of core/initializer.h draws from."""
    return RandomStream(hash_name(name, seed ^ FNV_BASIS))


def uniform(name, shape, low, high, seed):
    """What `initialize` makes of Initializer::uniform(low, high), in float64."""
    n = int(np.prod(shape, dtype=np.int64))
    return (low + (high - low) * named_stream(name, seed).uniform(n)).reshape(shape)


def self_check():
    ones = 0xFFFFFFFF
    known = [
        ((0, 0, 0, 0), 0, (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
        ((ones,) * 4, 2**64 - 1, (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)),
        (
            (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344),
            0x299F31D0A4093822,
            (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1),
        ),
    ]
    for counter, key, answer in known:
        got = tuple(int(c) for c in philox(counter, key))
        assert got == answer, f"philox({counter}, {key:#x}) is {got}, not {answer}"
    assert hash_name("a") == 0xAF63DC4C8601EC8C and hash_name("foobar") == 0x85944171F73967E8
    stream = RandomStream(seed=7, id=3, step=5)
    block = philox((2, 0, 5, 3), 7)
    assert stream.bits(11)[9] == block[1]


if __name__ == "__main__":
    self_check()
    print("philox.py agrees with the known answers")
