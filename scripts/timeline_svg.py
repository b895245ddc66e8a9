#!/usr/bin/env python3
"""Draws a Chrome trace of `swapadvisor` (train --trace, plan --trace, simulate --trace) as an SVG timeline.

usage: timeline_svg.py trace.json out.svg [--plan plan.json] [--iteration N] [--title TEXT]

One row per stream (compute, in, out); one box per instruction of iteration N (default: the second of the trace, so that
what overlaps from the iteration before is seen too). With the plan of the same run (plan --out), a map of device memory
below: a box for each stay of a buffer, from its first use at an address to its last one there, colored by what wrote it.
Only Python's standard library is needed.
"""
import argparse
import html
import json

ROWS = ["compute", "in", "out"]
COLORS = {"forward": "#4c78a8", "backward": "#f58518", "update": "#54a24b", "in": "#b279a2", "out": "#e45756"}
INPUT_COLOR = "#9d9d9d"
LABELS = {"forward": "forward", "backward": "backward", "update": "update", "in": "swap-in", "out": "swap-out"}
WIDTH, ROW, LEFT, TOP, MEMORY = 1100, 44, 80, 46, 260


def op_kind(name, op_type, types):
    """Ops of other frameworks' graphs: a backward op's type is a forward op's and `b…`, such as relu and relub."""
    if name.startswith("sgd/") or op_type in ("sgd", "adam", "adamw", "lamb"):
        return "update"
    if name.startswith("grad") or any(op_type.startswith(t + "b") for t in types if t):
        return "backward"
    return "forward"


def read_rows(path):
    with open(path, encoding="utf-8") as file:
        events = json.load(file)["traceEvents"]
    names = {}
    for e in events:
        if e.get("ph") == "M" and e.get("name") == "thread_name":
            names[e["tid"]] = e["args"]["name"]
    boxes = []
    for e in events:
        if e.get("ph") == "X":
            row = next((r for r in ROWS if r in names[e["tid"]].lower().split()), None)
            if row:
                boxes.append((row, e))
    return boxes


def accesses(plan, instruction):
    """(buffer, offset, whether a new value or a copy begins there) of each operand; the workspace is left out."""
    if instruction["do"] != "run":
        return [(instruction["buffer"], instruction["offset"], instruction["do"] == "swap_in")]
    op = plan["graph"]["ops"][instruction["op"]]
    operands = op["inputs"] + op["outputs"]
    pairs = zip(operands, instruction["offsets"])
    return [(b, o, k >= len(op["inputs"]) and b not in op["inputs"]) for k, (b, o) in enumerate(pairs)]


def stays_of(plan, boxes):
    """[start, end, offset, buffer] of each stay, in microseconds."""
    spans = {(e["args"]["iteration"], e["args"]["instruction"]): (e["ts"], e["ts"] + e["dur"]) for _, e in boxes}
    stays, current = [], {}
    for iteration in range(1 + max(k for k, _ in spans)):
        for i, instruction in enumerate(plan["instructions"]):
            if (iteration, i) not in spans:
                continue
            start, end = spans[iteration, i]
            for buffer, offset, begins in accesses(plan, instruction):
                stay = current.get(buffer)
                if stay is None or begins or stay[2] != offset:
                    stay = current[buffer] = [start, end, offset, buffer]
                    stays.append(stay)
                stay[1] = max(stay[1], end)
    return stays


def memory_colors(plan):
    """By buffer: parameters and states like updates, inputs grey, others like the op that writes them first."""
    graph = plan["graph"]
    types = {op["type"] for op in graph["ops"]}
    colors = [INPUT_COLOR if b["kind"] == "input" else COLORS["update"] for b in graph["buffers"]]
    for op in reversed(graph["ops"]):
        for b in op["outputs"]:
            if graph["buffers"][b]["kind"] in ("temporary", "output"):
                colors[b] = COLORS[op_kind(op["name"], op["type"], types)]
    return colors


def label(out, x, y, width, text):
    if width >= 7.5 * len(text) + 6:
        out.append(f'<text x="{x + width / 2:.1f}" y="{y:.1f}" text-anchor="middle" fill="white" font-size="12">'
                   f'{html.escape(text)}</text>')


def draw_memory(out, plan, boxes, start, end, y):
    arena = plan["arena_bytes"]
    out.append(f'<text x="8" y="{y + 14}">memory</text><text x="8" y="{y + 30}" fill="#555">'
               f'{arena / 1e9:.3g} GB</text>')
    out.append(f'<rect x="{LEFT}" y="{y}" width="{WIDTH}" height="{MEMORY}" fill="#f4f4f4"/>')
    colors, paths, names = memory_colors(plan), {}, []
    scale = WIDTH / (end - start)
    for first, last, offset, buffer in stays_of(plan, boxes):
        first, last = max(first, start), min(last, end)
        if last - first < 1e-3:  # microseconds: rounding at the ends of the iteration
            continue
        b = plan["graph"]["buffers"][buffer]
        x, width = LEFT + (first - start) * scale, max((last - first) * scale, 0.2)
        height = b["bytes"] * MEMORY / arena
        top = y + MEMORY - offset * MEMORY / arena - height
        if height < 0.1:
            continue
        paths.setdefault(colors[buffer], []).append(f"M{x:.1f} {top:.1f}h{width:.1f}v{height:.1f}h-{width:.1f}z")
        if height >= 14:
            label(names, x, top + height / 2 + 4, width, b["name"])
    for color, path in paths.items():
        out.append(f'<path fill="{color}" stroke="white" stroke-width="0.25" d="{"".join(path)}"/>')
    out.extend(names)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trace")
    parser.add_argument("svg")
    parser.add_argument("--plan")
    parser.add_argument("--iteration", type=int, default=1)
    parser.add_argument("--title", default="")
    args = parser.parse_args()
    boxes = read_rows(args.trace)
    types = {e["args"].get("type", "") for _, e in boxes}
    chosen = [e for row, e in boxes if row == "compute" and e["args"]["iteration"] == args.iteration]
    if not chosen:
        raise SystemExit(f"{args.trace}: there is no iteration {args.iteration}")
    start = min(e["ts"] for e in chosen)
    end = max(e["ts"] + e["dur"] for e in chosen)
    scale = WIDTH / (end - start)
    bottom = TOP + 3 * ROW + (MEMORY + 8 if args.plan else 0)
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{LEFT + WIDTH + 20}" height="{bottom + 56}" '
           'font-family="sans-serif" font-size="13">',
           '<rect width="100%" height="100%" fill="white"/>',
           f'<text x="{LEFT}" y="24" font-size="15" font-weight="bold">{html.escape(args.title)}</text>']
    for i, row in enumerate(ROWS):
        y = TOP + i * ROW
        out.append(f'<text x="8" y="{y + 24}">{row}</text>')
        out.append(f'<rect x="{LEFT}" y="{y}" width="{WIDTH}" height="{ROW - 8}" fill="#f4f4f4"/>')
    for row, e in boxes:
        left = max(e["ts"], start)
        right = min(e["ts"] + e["dur"], end)
        if right <= left:
            continue
        kind = row if row != "compute" else op_kind(e["name"], e["args"].get("type", ""), types)
        title = html.escape(f'{e["name"]}: {e["dur"] / 1000:.2f} ms, iteration {e["args"]["iteration"]}')
        x, y, width = LEFT + (left - start) * scale, TOP + ROWS.index(row) * ROW, max((right - left) * scale, 0.15)
        out.append(f'<rect x="{x:.2f}" y="{y}" width="{width:.2f}" height="{ROW - 8}" fill="{COLORS[kind]}">'
                   f'<title>{title}</title></rect>')
        label(out, x, y + 22, width, e["name"])
    if args.plan:
        with open(args.plan, encoding="utf-8") as file:
            draw_memory(out, json.load(file), boxes, start, end, TOP + 3 * ROW)
    y = bottom + 8
    for t in range(11):
        x = LEFT + WIDTH * t / 10
        anchor = "end" if t == 10 else "middle"
        out.append(f'<text x="{x:.1f}" y="{y + 8}" text-anchor="{anchor}" fill="#555">'
                   f'{(end - start) * t / 10 / 1000:.0f}{" ms" if t == 10 else ""}</text>')
    x = LEFT
    for kind, text in LABELS.items():
        out.append(f'<rect x="{x}" y="{y + 18}" width="12" height="12" fill="{COLORS[kind]}"/>'
                   f'<text x="{x + 17}" y="{y + 29}">{text}</text>')
        x += 110
    out.append("</svg>")
    with open(args.svg, "w", encoding="utf-8") as file:
        file.write("\n".join(out) + "\n")


if __name__ == "__main__":
    main()
