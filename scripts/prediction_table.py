#!/usr/bin/env python3
"""Trains models on the CPU device under memory limits and compares predicted with measured efficiency.

usage: prediction_table.py [--binary build/swapadvisor] [--limits 50 25 10] [--search-seconds 10] [MODEL ...]

Models: resnet50, resnet20, mlp, rnn, bert-base, gpt2 (default: all). One compute thread; the link is slowed down until its speed relative to the
ops is that of a V100 (12e9 bytes/s beside the ops of the cost model `v100-16g`). Where one op needs more than a limit, the limit
is what that op needs, and marked. Parameters must equal those of the run without a limit, to the bit. Run it on a machine that
does nothing else. Only Python's standard library is needed.
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
MODELS = {
    "resnet50": (["--batch-size", "8", "--image-size", "224"], 6),
    "resnet20": (["--dataset", "mnist", "--data", str(ROOT / "data" / "mnist"), "--batch-size", "128"], 24),
    "mlp": (["--hidden", "1024", "--layers", "40", "--batch-size", "256"], 10),
    "rnn": (["--hidden", "512", "--layers", "2", "--seq-len", "64", "--batch-size", "64"], 8),
    "bert-base": (["--hidden", "256", "--layers", "6", "--heads", "4", "--vocab", "4000", "--seq-len", "128", "--batch-size", "16"], 8),
    "gpt2": (["--hidden", "256", "--layers", "6", "--heads", "4", "--vocab", "256", "--seq-len", "128", "--batch-size", "16"], 8),
}
V100_LINK = 12e9


def run(args, *command):
    done = subprocess.run([args.binary, *command, "--json"], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"prediction_table: {' '.join(command)}: {done.stderr.strip()}")
    return json.loads(done.stdout)


def largest_op_bytes(graph):
    """What the neediest op takes when it does not work in place, in whole pieces of 256 bytes."""
    aligned = [-(-b["bytes"] // 256) * 256 for b in graph["buffers"]]
    return max(sum(aligned[b] for b in set(op["inputs"]) | set(op["outputs"])) +
               -(-op.get("workspace_bytes", 0) // 256) * 256 for op in graph["ops"])


def measure(args, model):
    options, steps = MODELS[model]
    shape = [o for o in options if o not in ("--dataset", "mnist", "--data", str(ROOT / "data" / "mnist"))]
    with tempfile.TemporaryDirectory() as folder:
        graph_file = str(pathlib.Path(folder) / "graph.json")
        device_file = str(pathlib.Path(folder) / "device.json")
        run(args, "profile", model, *options, "--threads", "1", "--out", graph_file, "--device-out", device_file)
        graph = json.loads(pathlib.Path(graph_file).read_text())
    ideal = sum(op["seconds"] for op in graph["ops"])
    on_v100 = run(args, "plan", model, *shape, "--device", "v100-16g", "--memory-limit", "100%", "--planner", "none")
    link = V100_LINK * on_v100["predicted"]["ideal_seconds"] / ideal
    train = ["train", model, *options, "--threads", "1", "--steps", str(steps), "--no-cache"]
    free = run(args, *train)
    print(f"{model}: {free['device_bytes_needed'] / 2**20:.0f} MiB needed, link {link / 1e6:.0f} MB/s", file=sys.stderr)
    for percent in args.limits:
        wanted, least = free["device_bytes_needed"] * percent // 100, largest_op_bytes(graph)
        limit = max(wanted, least)
        result = run(args, *train, "--memory-limit", str(limit), "--link-bandwidth", str(link), "--search-seconds",
                     str(args.search_seconds))
        predicted, measured = result["efficiency_predicted"], result["efficiency_measured"]
        mark = "" if limit == wanted else f" ({100 * limit / free['device_bytes_needed']:.1f} %: one op)"
        same = "equal" if result["parameters_hash"] == free["parameters_hash"] else "DIFFERENT"
        yield (f"| `{model}` | {percent} %{mark} | {link / 1e6:.0f} MB/s | {100 * predicted:.1f} % | {100 * measured:.1f} % | "
               f"{100 * (measured / predicted - 1):+.1f} % | {same} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", choices=[*MODELS, []], metavar="MODEL")
    parser.add_argument("--binary", default=str(ROOT / "build" / "swapadvisor"))
    parser.add_argument("--limits", nargs="+", type=int, default=[50, 25, 10])
    parser.add_argument("--search-seconds", type=float, default=10)
    args = parser.parse_args()
    print("| model | limit | link | predicted | measured | difference | parameters |")
    print("|---|---:|---:|---:|---:|---:|---|")
    for model in args.models or MODELS:
        for row in measure(args, model):
            print(row, flush=True)


if __name__ == "__main__":
    main()
