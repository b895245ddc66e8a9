#!/usr/bin/env python3
"""Writes tests/golden/resnet18_step.json: one SGD step of a narrow ResNet-18 as PyTorch computes it in float64.

usage: golden_resnet18.py [FILE]

Weights, momentum buffers, statistics, images and labels come from Philox, keyed by their names (philox.py) and rounded
to float32, so the file holds only how to draw them ("start") and what came out ("expected"): the loss, every gradient
("grad.NAME"), updated parameter and statistic ("NAME"), momentum buffer ("momentum.NAME"), and the logits that the start
gives in evaluation.

A result b of up to 32 elements is stored whole; of a larger one, its norm and 32 projections <s_j, b> onto vectors of
signs: element i of s_j is +1 if bit j of draw i of the stream "signs" is set, else -1. For a difference e = a - b and
random signs, the expectation of <s_j, e>^2 is |e|^2, so the root mean square over j of <s_j, a> - <s_j, b> estimates
|e|. It cannot be fooled by much: <s_j, e>^2 has a fourth-moment ratio of at most 3, so by the Paley-Zygmund inequality
each projection exceeds |e| / 2 with probability 3/16 or more, whatever e is; for an e spread over many elements all 32
are nearly normal, and an estimate below |e| / 2 has a probability under 1e-5. "float32_error" is the error of PyTorch's
own float32 step against this one, from whole tensors: |a - b| / max(|b|, 1e-6 |all results of the same set|), the worst
of its kernels (either memory format, with and without oneDNN), since one of them alone may be lucky on a small tensor.
"""

import json
import math
import sys
from pathlib import Path

import numpy as np
import torch
import torchvision

import philox
from torch_models import make_model, sgd_step, start_labels, start_value, value_range

SEED = 2020
MODEL = {"name": "resnet18", "width": 8, "image_size": 64, "classes": 10}
BATCH = 8
SGD = {"lr": 0.1, "momentum": 0.9, "weight_decay": 1e-4}
PROJECTIONS = 32


def start_values():
    """Descriptions (for the file) and float64 tensors by name."""
    model = make_model(**MODEL)
    shapes = {name: list(value.shape) for name, value in model.state_dict().items()}
    shapes |= {f"momentum.{name}": list(p.shape) for name, p in model.named_parameters()}
    shapes["input"] = [BATCH, 3, MODEL["image_size"], MODEL["image_size"]]
    described, values = [], {}
    for name, shape in shapes.items():
        low, high = value_range(name, shape)
        described.append({"name": name, "shape": shape, "low": low, "high": high})
        values[name] = start_value(name, shape, SEED)
    return described, values


def run_step(values, dtype, memory_format=torch.contiguous_format):
    """All results in float64, by set and name."""
    model = make_model(**MODEL).to(dtype, memory_format=memory_format)
    model.load_state_dict({name: values[name] for name in model.state_dict()})
    images = values["input"].to(dtype, memory_format=memory_format)
    labels = start_labels(BATCH, MODEL["classes"], SEED)
    momentum = {name: values[f"momentum.{name}"].to(dtype) for name, _ in model.named_parameters()}
    model.eval()
    with torch.no_grad():
        logits = model(images)
    loss, gradients, momentum = sgd_step(model, images, labels, **SGD, start_momentum=momentum)
    sets = {
        "loss": {"loss": loss},
        "evaluation": {"logits": logits},
        "gradients": {f"grad.{name}": g for name, g in gradients.items()},
        "parameters": dict(model.named_parameters()),
        "momentum": {f"momentum.{name}": m for name, m in momentum.items()},
        "statistics": dict(model.named_buffers()),
    }
    return {s: {k: v.detach().double().numpy() for k, v in of_set.items()} for s, of_set in sets.items()}


def float32_steps(values):
    """The step in float32 by each of PyTorch's sets of CPU kernels."""
    steps = []
    for onednn in (True, False):
        with torch.backends.mkldnn.flags(enabled=onednn):
            for memory_format in (torch.contiguous_format, torch.channels_last):
                steps.append(run_step(values, torch.float32, memory_format))
    return steps


def set_norm(of_set):
    return math.sqrt(sum(float(np.vdot(v, v)) for v in of_set.values()))


def rounded(value):
    return float(f"{value:.14e}")


def fingerprint(value):
    flat = value.reshape(-1)
    if flat.size <= PROJECTIONS:
        return {"values": [float(v) for v in flat]}
    bits = philox.named_stream("signs", SEED).bits(flat.size)
    signs = ((bits[None, :] >> np.arange(PROJECTIONS, dtype=np.uint32)[:, None]) & 1).astype(np.float64) * 2 - 1
    return {"projections": [rounded(p) for p in signs @ flat]}


def main():
    default = Path(__file__).resolve().parent.parent / "tests" / "golden" / "resnet18_step.json"
    path = Path(sys.argv[1]) if len(sys.argv) > 1 else default
    philox.self_check()
    torch.set_num_threads(1)
    start, values = start_values()
    exact, singles = run_step(values, torch.float64), float32_steps(values)
    golden = {
        "made_with": f"torch {torch.__version__}, torchvision {torchvision.__version__}",
        "seed": SEED, "model": MODEL, "batch": BATCH, "sgd": SGD, "start": start, "expected": {},
    }
    for set_name, of_set in exact.items():
        whole = set_norm(of_set)
        results = []
        for name, value in of_set.items():
            norm = float(np.linalg.norm(value))
            difference = max(float(np.linalg.norm(single[set_name][name] - value)) for single in singles)
            error = difference / max(norm, 1e-6 * whole)
            results.append({"name": name, "norm": rounded(norm), "float32_error": float(f"{error:.3g}")})
            results[-1] |= fingerprint(value)
        golden["expected"][set_name] = {"norm": rounded(whole), "results": results}
        errors = [(r["float32_error"], r["name"]) for r in results]
        print(f"{set_name:11} {len(results):4} results, float32 errors: median {sorted(errors)[len(errors) // 2][0]:.2g},"
              f" worst {max(errors)[0]:.2g} ({max(errors)[1]})")
    lines = json.dumps(golden).replace('{"name"', '\n{"name"')
    path.write_text(lines + "\n")
    print(f"{path}: {path.stat().st_size} bytes")


if __name__ == "__main__":
    main()
