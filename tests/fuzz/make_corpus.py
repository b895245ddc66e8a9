#!/usr/bin/env python3
"""Writes the seeds of the fuzzers: small files of every format, good ones and bad ones.

usage: make_corpus.py SWAPADVISOR    (the program: it plans the good graphs)

Files that are not written here, such as what fuzzing found, stay.
"""
import base64
import gzip
import json
import os
import struct
import subprocess
import sys
import tempfile
import zlib

CORPUS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "corpus")


def write(target, name, data):
    folder = os.path.join(CORPUS, target)
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, name), "wb") as file:
        file.write(data if isinstance(data, bytes) else data.encode())


def buffer(name, size, kind):
    return {"name": name, "bytes": size, "kind": kind}


def op(name, inputs, outputs, seconds, **more):
    return {"name": name, "type": name, "inputs": inputs, "outputs": outputs, "seconds": seconds, **more}


def graph(buffers, ops):
    return {"format": "swapadvisor.graph", "version": 1, "name": "seed", "buffers": buffers, "ops": ops}


def chain(layers):
    """Forward, backward and update of `layers` layers."""
    buffers, ops, updates = [buffer("x", 4096, "input")], [], []
    add = lambda *b: buffers.append(buffer(*b)) or len(buffers) - 1
    acts = [0]
    weights = [add(f"w{i}", 1000 * (i + 1), "parameter") for i in range(layers)]
    momenta = [add(f"m{i}", 1000 * (i + 1), "state") for i in range(layers)]
    for i in range(layers):
        acts.append(add(f"a{i}", 3000, "temporary"))
        ops.append(op(f"f{i}", [acts[i], weights[i]], [acts[-1]], 1e-3, recomputable=True, workspace_bytes=100 * i))
    loss, down = add("loss", 4, "output"), add("g", 3000, "temporary")
    ops.append(op("loss", [acts[-1]], [loss, down], 0))
    for i in reversed(range(layers)):
        dw, up = add(f"dw{i}", 1000 * (i + 1), "temporary"), add(f"g{i}", 3000, "temporary")
        ops.append(op(f"b{i}", [acts[i], weights[i], down], [dw, up], 2e-3, inplace=True))
        updates.append(op(f"u{i}", [weights[i], momenta[i], dw], [weights[i], momenta[i]], 1e-4))
        down = up
    return graph(buffers, ops + updates)


def odd_graphs():
    w = buffer("w", 1, "parameter")
    yield "one-op", graph([w], [op("update", [0], [0], 0)])
    yield "no-operands", graph([], [op("nothing", [], [], 1)])
    yield "empty", graph([], [])
    yield "repeats", graph([w, buffer("t", 7, "temporary")],
                           [op("f", [0, 0, 0], [1], 1), op("g", [1, 1], [1], 1, inplace=True)])
    yield "shared", graph([w] + [buffer(f"t{i}", 300, "temporary") for i in range(6)],
                          [op(f"f{i}", [0] + list(range(1, i + 1)), [i + 1], 1, recomputable=True) for i in range(6)])


def plan_of(program, graph_value, percent, planner):
    with tempfile.TemporaryDirectory() as folder:
        source, out = os.path.join(folder, "graph.json"), os.path.join(folder, "plan.json")
        with open(source, "w") as file:
            json.dump(graph_value, file)
        subprocess.run([program, "plan", "--graph", source, "--device", "v100-16g", "--memory-limit", f"{percent}%",
                        "--planner", planner, "--search-evaluations", "20", "--out", out, "--quiet"], check=True,
                       stdout=subprocess.DEVNULL)
        with open(out) as file:
            plan = json.load(file)
    plan["search"] = {"seconds": 0.5, "evaluations": 20, "history": [[0.25, plan["predicted"]["iteration_seconds"]]]}
    return plan


def make_json(program):
    device = {"format": "swapadvisor.device", "version": 1, "name": "d", "memory_bytes": 1e9,
              "h2d_bytes_per_second": 12e9, "d2h_bytes_per_second": 1e10, "duplex_bytes_per_second": 2e10,
              "copy_latency_seconds": 1e-5, "compute_slowdown_while_copying": 1.5}
    write("device", "good-device", json.dumps(device))
    write("device", "good-least", json.dumps({k: device[k] for k in ("format", "version", "h2d_bytes_per_second",
                                                                     "d2h_bytes_per_second")}))
    write("device", "bad-link", json.dumps({**device, "h2d_bytes_per_second": 0}))
    write("device", "bad-memory", json.dumps({**device, "memory_bytes": -1}))
    for name, value in [*odd_graphs(), ("chain", chain(3))]:
        for target in ("graph", "planners"):
            write(target, f"good-{name}", json.dumps(value))
    for target in ("graph", "planners"):
        write(target, "bad-order", json.dumps({**chain(2), "ops": chain(2)["ops"][::-1]}))
    base = chain(1)
    write("graph", "good-unknown", json.dumps({**base, "unknown": {"a": [[], {}, "]", 1e300]}}))
    write("graph", "good-turned", json.dumps(dict(reversed(base.items()))))
    write("graph", "bad-bytes", json.dumps(graph([buffer("x", 1 << 62, "input")], [])))
    write("graph", "bad-name-twice", json.dumps(graph([buffer("x", 1, "input"), buffer("x", 1, "input")], [])))
    write("graph", "bad-utf8", json.dumps(base).encode().replace(b'"seed"', b'"\xff"'))
    write("graph", "bad-nan", json.dumps(base).replace("0.001", "NaN"))
    write("graph", "bad-field-twice", json.dumps(base).replace('"bytes"', '"bytes":1,"bytes"', 1))
    write("graph", "bad-nesting", '{"a":' * 100)
    write("graph", "bad-cut", json.dumps(base)[:-40])
    good = plan_of(program, chain(2), 70, "belady")
    write("plan", "good-belady", json.dumps(good))
    write("plan", "good-joint", json.dumps(plan_of(program, chain(3), 60, "joint")))
    write("plan", "good-all-in", json.dumps(plan_of(program, chain(1), 100, "none")))
    write("plan", "bad-no-runs", json.dumps({**good, "instructions": []}))
    write("plan", "bad-arena", json.dumps({**good, "arena_bytes": 256}))
    write("plan", "bad-resident", json.dumps({**good, "resident": [{"buffer": 99, "offset": 0}]}))
    write("plan", "bad-wait", json.dumps({**good, "instructions": [{**good["instructions"][0], "wait": [5]}]}))


def make_binary():
    def safetensors(header, data=b""):
        text = header if isinstance(header, bytes) else json.dumps(header).encode()
        return struct.pack("<Q", len(text)) + text + data

    tensor = lambda kind, shape, begin, end: {"dtype": kind, "shape": shape, "data_offsets": [begin, end]}
    write("safetensors", "good-two", safetensors({"__metadata__": {"format": "pt"}, "w": tensor("F32", [2, 3], 0, 24),
                                                  "b": tensor("BF16", [2], 24, 28)}, bytes(range(28))))
    write("safetensors", "good-empty", safetensors({}))
    write("safetensors", "good-no-elements", safetensors({"w": tensor("I64", [0, 5], 0, 0)}))
    write("safetensors", "bad-hole", safetensors({"w": tensor("U8", [2], 1, 3)}, b"abc"))
    write("safetensors", "bad-overflow", safetensors({"w": tensor("F64", [1 << 40, 1 << 40], 0, 8)}, bytes(8)))
    write("safetensors", "bad-number", safetensors(b'{"w":{"dtype":"U8","shape":[1e999],"data_offsets":[0,8]}}', bytes(8)))
    write("safetensors", "bad-length", struct.pack("<Q", 1 << 60) + b"{}")
    write("safetensors", "bad-twice", safetensors(b'{"w":1,"w":2}'))
    write("safetensors", "bad-nesting", safetensors(b'{"w":' * 40))

    idx = lambda dims, data, kind=8: bytes([0, 0, kind, len(dims)]) + struct.pack(f">{len(dims)}I", *dims) + data
    write("idx", "good-labels", idx([5], bytes(5)))
    write("idx", "good-images", idx([2, 3, 4], bytes(24)))
    write("idx", "good-gzip", gzip.compress(idx([2, 3, 4], bytes(24)), mtime=0))
    write("idx", "bad-promise", idx([1 << 30, 2, 1], b"abc"))
    write("idx", "bad-overflow", idx([0xFFFFFFFF] * 3, b""))
    write("idx", "bad-type", idx([2], b"ab", kind=9))
    write("idx", "bad-rest", idx([2], b"abc"))
    write("idx", "bad-gzip", gzip.compress(idx([5], bytes(5)), mtime=0)[:-6])

    write("cifar", "good-ten", b"".join(bytes([label]) + bytes([label * 20]) * 3072 for label in (3, 9)))
    write("cifar", "good-hundred", bytes([19, 99]) + bytes(3072))
    write("cifar", "bad-label", bytes([200]) + bytes(3072))
    write("cifar", "bad-cut", bytes(1000))
    write("cifar", "bad-empty", b"")


def byte_names():
    """GPT-2's names of the bytes."""
    names, extra = [], 0
    for byte in range(256):
        prints = 0x21 <= byte <= 0x7E or 0xA1 <= byte <= 0xAC or byte >= 0xAE
        names.append(chr(byte if prints else 0x100 + extra))
        extra += not prints
    return names


def make_vocabularies():
    write("wordpiece", "good-few", "[UNK]\nthe\nlight\n##s\n1\n##2\n,\n漢\n")
    write("wordpiece", "good-dos", "[PAD]\r\n[UNK]\r\n\r\nThe\r\nThe\r\n")
    write("wordpiece", "bad-unknown", "the\nlight\n")
    write("wordpiece", "bad-utf8", b"[UNK]\n\xc3(\n")
    write("wordpiece", "bad-empty", "")
    names = byte_names()
    base = {name: i for i, name in enumerate(names)}
    write("vocab", "good-bytes", json.dumps(base, ensure_ascii=False))
    write("vocab", "good-escaped", json.dumps({**base, "th": 1000}))
    write("vocab", "bad-few", json.dumps({"a": 0}))
    write("vocab", "bad-twice", json.dumps({**base, "th": 5}))
    write("vocab", "bad-list", json.dumps(names))
    write("vocab", "bad-nesting", '{"a":' * 100)
    write("vocab", "bad-large", json.dumps({"a": 1 << 40}))
    write("vocab", "bad-cut", json.dumps(base)[:-9])
    write("merges", "good-two", "#version: 0.2\nt h\nth e\n")
    write("merges", "good-again", "t h\r\nth e\r\nt h\r\n\r\n")
    write("merges", "good-empty", "")
    write("merges", "bad-three", "t h e\n")
    write("merges", "bad-unknown", "e t\n")
    write("merges", "bad-one", "#version: 0.2\nthe\n")


def png(width, height, kind, depth, data, interlaced=0):
    def chunk(name, body):
        return struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))

    header = struct.pack(">IIBBBBB", width, height, depth, kind, 0, 0, interlaced)
    palette = chunk(b"PLTE", bytes(range(48))) + chunk(b"tRNS", b"\x00\x80") if kind == 3 else b""
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + palette + chunk(b"IDAT", zlib.compress(data)) +
            chunk(b"IEND", b""))


# 3×2 pixels by libjpeg: grey, colour, inks.
JPEG = {
    "grey": (
        "/9j/4AAQSkZJRgABAQAAAQABAAD/2wBDAAYEBQYFBAYGBQYHBwYIChAKCgkJChQODwwQFxQYGBcUFhYaHSUfGhsjHBYWICwgIyYn"
        "KSopGR8tMC0oMCUoKSj/wAALCAACAAMBAREA/8QAFAABAAAAAAAAAAAAAAAAAAAABv/EAB0QAAAFBQAAAAAAAAAAAAAAAAACBAUG"
        "FiUzVNH/2gAIAQEAAD8AcRePMtPobO3Y9YnB/9k="
    ),
    "colour": (
        "/9j/4AAQSkZJRgABAQAAAQABAAD/2wBDAAYEBQYFBAYGBQYHBwYIChAKCgkJChQODwwQFxQYGBcUFhYaHSUfGhsjHBYWICwgIyYn"
        "KSopGR8tMC0oMCUoKSj/2wBDAQcHBwoIChMKChMoGhYaKCgoKCgoKCgoKCgoKCgoKCgoKCgoKCgoKCgoKCgoKCgoKCgoKCgoKCgo"
        "KCgoKCgoKCj/wAARCAACAAMDASIAAhEBAxEB/8QAFQABAQAAAAAAAAAAAAAAAAAAAAf/xAAbEAEAAgIDAAAAAAAAAAAAAAABAAUC"
        "BANRYf/EABQBAQAAAAAAAAAAAAAAAAAAAAX/xAAaEQACAgMAAAAAAAAAAAAAAAAAAQIDMTNx/9oADAMBAAIRAxEAPwCo0FLVFRrB"
        "WaIAgHBh2+REQC7ZLrCVg//Z"
    ),
    "inks": (
        "/9j/7gAOQWRvYmUAZAAAAAAA/9sAQwAGBAUGBQQGBgUGBwcGCAoQCgoJCQoUDg8MEBcUGBgXFBYWGh0lHxobIxwWFiAsICMmJykq"
        "KRkfLTAtKDAlKCko/8AAFAgAAgADBEMRAE0RAFkRAEsRAP/EABUAAQEAAAAAAAAAAAAAAAAAAAYH/8QAIBAAAAYBBQEAAAAAAAAA"
        "AAAAAQIDBAUGABYlM1TREf/aAA4EQwBNAFkASwAAPwANaLDNagfbxI8nZP7kDtFhmtQPt4keTsn9yj1mCiHlVgXTyLYLuV41ooqq"
        "q3IY6hzIEETGEQ+iIiIiIjim0VmB1A+2SM5Oon5n/9k="
    ),
}


def make_images():
    write("image", "good-grey", png(4, 2, 0, 8, b"\0abcd\1efgh"))
    write("image", "good-deep", png(1, 1, 6, 16, b"\0abcdefgh"))
    write("image", "good-palette", png(4, 1, 3, 4, b"\0\x01\x2f"))
    write("image", "good-interlaced", png(2, 2, 2, 8, b"\0abc\0def\0ghijkl", 1))
    write("image", "bad-size", png(1 << 30, 1 << 30, 2, 8, b""))
    write("image", "bad-zero", png(0, 4, 2, 8, b""))
    write("image", "bad-data", png(4, 2, 0, 8, b"\0abc"))
    write("image", "bad-check", png(4, 2, 0, 8, b"\0abcd\1efgh")[:-14] + b"0" * 14)
    write("image", "bad-other", "GIF89a")
    for name, text in JPEG.items():
        data = base64.b64decode(text)
        write("image", f"good-jpeg-{name}", data)
        write("image", f"bad-jpeg-{name}-cut", data[:-12])


def make_dictionary():
    words = ["format", "version", "name", "buffers", "ops", "bytes", "kind", "parameter", "state", "input", "output",
             "temporary", "type", "inputs", "outputs", "workspace_bytes", "seconds", "recomputable", "inplace", "graph",
             "device", "arena_bytes", "host_bytes", "resident", "instructions", "stream", "compute", "in", "out", "do",
             "run", "swap_in", "swap_out", "op", "buffer", "offset", "offsets", "wait", "wait_previous", "dirty",
             "predicted", "search", "history", "dtype", "shape", "data_offsets", "__metadata__", "F32"]
    lines = [f'"\\"{word}\\""' for word in words]
    lines += [f'"{word}"' for word in ("true", "false", "null", "1e9", "256", "-1", "9223372036854775807", "1e308")]
    with open(os.path.join(os.path.dirname(CORPUS), "json.dict"), "w") as file:
        file.write("\n".join(lines) + "\n")


if len(sys.argv) != 2:
    sys.exit(__doc__)
make_json(sys.argv[1])
make_binary()
make_vocabularies()
make_images()
make_dictionary()
