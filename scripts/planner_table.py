#!/usr/bin/env python3
"""Plans graphs with every planner and prints the table of docs/planner.md.

usage: planner_table.py [--binary build/swapadvisor] [--search-seconds 10 60] [--threads 2] [--memory-limit 15.2e9]
                        [--device v100-16g] [--planners a,b,c] [GRAPH ...]

Without GRAPH: the graphs in bench/graphs. One `swapadvisor compare --json` per graph and search budget; planners that do
not search run once. Only Python's standard library is needed.
"""
import argparse
import json
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent


def compare(args, graph, planners, seconds):
    command = [args.binary, "compare", "--graph", str(graph), "--device", args.device, "--memory-limit",
               args.memory_limit, "--planners", ",".join(planners), "--search-seconds", str(seconds), "--threads",
               str(args.threads), "--no-cache", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"planner_table: {done.stderr.strip()}")
    return json.loads(done.stdout)


def cell(row):
    if "predicted" not in row:
        return "–"
    text = f"{100 * row['predicted']['efficiency']:.2f}"
    fallback = row["predicted"]["fallback_bytes"]
    if fallback:
        text += f" ({fallback / 1e9:.0f})"
    return text if row["valid"] else "not valid"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("graphs", nargs="*", type=pathlib.Path)
    parser.add_argument("--binary", default=str(ROOT / "build" / "swapadvisor"))
    parser.add_argument("--search-seconds", nargs="+", type=float, default=[10, 60])
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--memory-limit", default="15.2e9")
    parser.add_argument("--device", default="v100-16g")
    parser.add_argument("--planners", default="")
    args = parser.parse_args()
    graphs = args.graphs or sorted((ROOT / "bench" / "graphs").glob("*.graph.json"))
    listed = json.loads(subprocess.run([args.binary, "planners", "--json"], capture_output=True, text=True,
                                       check=True).stdout)["planners"]
    wanted = [p for p in args.planners.split(",") if p] or [p["name"] for p in listed if p["name"] != "none"]
    searches = {p["name"]: p["searches"] for p in listed}
    rows = {}
    bounds = {}
    for graph in graphs:
        name = graph.name.removesuffix(".graph.json")
        for k, seconds in enumerate(args.search_seconds):
            planners = [p for p in wanted if searches[p] or k == 0]
            result = compare(args, graph, planners, seconds)
            bounds[name] = 100 * result["ideal_seconds"] / result["bound_seconds"]
            for row in result["planners"]:
                label = f"`{row['planner']}`" + (f", {seconds:g} s" if searches[row["planner"]] else "")
                rows.setdefault(label, {})[name] = cell(row)
                print(f"{name}: {label}: {rows[label][name]}", file=sys.stderr)
    print("| planner | " + " | ".join(bounds) + " |")
    print("|---|" + "---:|" * len(bounds))
    for label, cells in rows.items():
        print(f"| {label} | " + " | ".join(cells.get(name, "–") for name in bounds) + " |")
    print("| bound | " + " | ".join(f"{bound:.2f}" for bound in bounds.values()) + " |")


if __name__ == "__main__":
    main()
