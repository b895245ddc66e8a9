#!/usr/bin/env python3
"""Draws a Chrome trace of `swapadvisor` (train --trace, plan --trace, simulate --trace) as an SVG timeline.

usage: timeline_svg.py trace.json out.svg [--iteration N] [--title TEXT]

One row per stream (compute, in, out); one box per instruction of iteration N (default: the second of the trace, so that
what overlaps from the iteration before is seen too). Only Python's standard library is needed.
"""
import argparse
import html
import json

ROWS = ["compute", "in", "out"]
COLORS = {"forward": "#4c78a8", "backward": "#f58518", "update": "#54a24b", "in": "#b279a2", "out": "#e45756"}
WIDTH, ROW, LEFT, TOP = 1100, 44, 80, 46


def kind_of(event, row):
    if row != "compute":
        return row
    if event["name"].startswith("grad"):
        return "backward"
    return "update" if event["name"].startswith("sgd/") else "forward"


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


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trace")
    parser.add_argument("svg")
    parser.add_argument("--iteration", type=int, default=1)
    parser.add_argument("--title", default="")
    args = parser.parse_args()
    boxes = read_rows(args.trace)
    chosen = [e for row, e in boxes if row == "compute" and e["args"]["iteration"] == args.iteration]
    if not chosen:
        raise SystemExit(f"{args.trace}: there is no iteration {args.iteration}")
    start = min(e["ts"] for e in chosen)
    end = max(e["ts"] + e["dur"] for e in chosen)
    scale = WIDTH / (end - start)
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{LEFT + WIDTH + 20}" height="{TOP + 3 * ROW + 56}" '
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
        kind = kind_of(e, row)
        title = html.escape(f'{e["name"]}: {e["dur"] / 1000:.2f} ms, iteration {e["args"]["iteration"]}')
        out.append(f'<rect x="{LEFT + (left - start) * scale:.2f}" y="{TOP + ROWS.index(row) * ROW}" '
                   f'width="{max((right - left) * scale, 0.15):.2f}" height="{ROW - 8}" fill="{COLORS[kind]}">'
                   f'<title>{title}</title></rect>')
    y = TOP + 3 * ROW + 8
    for t in range(11):
        x = LEFT + WIDTH * t / 10
        anchor = "end" if t == 10 else "middle"
        out.append(f'<text x="{x:.1f}" y="{y + 8}" text-anchor="{anchor}" fill="#555">'
                   f'{(end - start) * t / 10 / 1000:.0f}{" ms" if t == 10 else ""}</text>')
    x = LEFT
    for kind, label in [("forward", "forward"), ("backward", "backward"), ("update", "update"),
                        ("in", "swap-in"), ("out", "swap-out")]:
        out.append(f'<rect x="{x}" y="{y + 18}" width="12" height="12" fill="{COLORS[kind]}"/>'
                   f'<text x="{x + 17}" y="{y + 29}">{label}</text>')
        x += 110
    out.append("</svg>")
    with open(args.svg, "w", encoding="utf-8") as file:
        file.write("\n".join(out) + "\n")


if __name__ == "__main__":
    main()
