#!/usr/bin/env python3
"""Writes tests/golden/NAME_step.json: one training step of small variants of the vision models, as PyTorch computes it in
float64.

usage: golden_steps.py [NAME...]

Weights, statistics, images and labels come from Philox, keyed by their names (philox.py) and rounded to float32, so a file
holds how to draw them ("start") and what came out ("expected"): loss, gradients and running statistics of the step, and the
logits that the start gives in evaluation. A result of up to 4 elements is stored whole; of a larger one, its norm and 4
projections onto vectors of signs, as golden_resnet18.py tells: fewer than there, for there are hundreds of results here.
"float32_error", of a set of results, is the error of PyTorch's own float32 step, |a - b| / |b| over the whole set, the
worst of its kernels.
"""

import json
import sys
from pathlib import Path

import numpy as np
import timm
import torch
import torchvision

import philox
from golden_fingerprint import fingerprint, rounded, set_norm
from torch_models import defaults, make_model, make_optimizer, optimizer_step, start_labels, start_value, value_range

SEED = 2021
PROJECTIONS = 4
DIGITS = 12
VARIANTS = {
    "vgg16": {"model": {"name": "vgg16", "image_size": 64, "classes": 7, "width": 4, "hidden": 24}, "batch": 3},
    "wrn28-10": {"model": {"name": "wrn28-10", "image_size": 20, "classes": 7, "depth": 10, "width": 1}, "batch": 3},
    "inception_v4": {"model": {"name": "inception_v4", "image_size": 107, "classes": 7, "width": 2}, "batch": 3},
    "nasnet-a": {
        "model": {"name": "nasnet-a", "image_size": 75, "classes": 7, "width": 8, "cells": 3, "auxiliary_weight": 0.4},
        "batch": 3,
    },
}


def start_values(variant):
    """Descriptions (for the file) and float64 tensors by name."""
    model = variant["model"]
    shapes = {name: list(value.shape) for name, value in make_model(**model).state_dict().items()}
    size = model["image_size"]
    shapes["input"] = [variant["batch"], defaults(model["name"])[0], size, size]
    described, values = [], {}
    for name, shape in shapes.items():
        low, high = value_range(name, shape)
        described.append({"name": name, "shape": shape, "low": low, "high": high})
        values[name] = start_value(name, shape, SEED)
    return described, values


def run_step(variant, values, dtype, memory_format=torch.contiguous_format):
    """All results in float64, by set and name."""
    model = make_model(**variant["model"]).to(dtype, memory_format=memory_format)
    model.load_state_dict({name: values[name] for name in model.state_dict()})
    images = values["input"].to(dtype, memory_format=memory_format)
    labels = start_labels(variant["batch"], variant["model"]["classes"], SEED)
    model.eval()
    with torch.no_grad():
        logits = model(images)
    optimizer = make_optimizer("sgd", list(model.parameters()), {"lr": 0.1})
    loss, gradients = optimizer_step(model, images, labels, optimizer)
    statistics = {n: b for n, b in model.named_buffers() if not n.endswith("num_batches_tracked")}
    sets = {
        "loss": {"loss": loss},
        "evaluation": {"logits": logits},
        "gradients": {f"grad.{name}": g for name, g in gradients.items()},
        "statistics": statistics,
    }
    return {s: {k: v.detach().double().numpy() for k, v in of_set.items()} for s, of_set in sets.items() if of_set}


def float32_steps(variant, values):
    """The step in float32 by each of PyTorch's sets of CPU kernels."""
    steps = []
    for onednn in (True, False):
        with torch.backends.mkldnn.flags(enabled=onednn):
            for memory_format in (torch.contiguous_format, torch.channels_last):
                steps.append(run_step(variant, values, torch.float32, memory_format))
    return steps


def write(name, folder):
    variant = VARIANTS[name]
    start, values = start_values(variant)
    exact, singles = run_step(variant, values, torch.float64), float32_steps(variant, values)
    versions = f"torch {torch.__version__}, torchvision {torchvision.__version__}, timm {timm.__version__}"
    golden = {"made_with": versions, "seed": SEED} | variant | {"start": start, "expected": {}}
    for set_name, of_set in exact.items():
        whole = set_norm(of_set)
        error = max(set_norm({k: v - of_set[k] for k, v in single[set_name].items()}) for single in singles) / whole
        results = [{"name": k, "norm": rounded(np.linalg.norm(v), DIGITS)} | fingerprint(v, SEED, PROJECTIONS, DIGITS)
                   for k, v in of_set.items()]
        golden["expected"][set_name] = {"norm": rounded(whole, DIGITS), "float32_error": float(f"{error:.3g}"), "results": results}
        print(f"{name:13} {set_name:11} {len(results):4} results, norm {whole:.6g}, float32 error {error:.2g}")
    path = folder / f"{name}_step.json"
    path.write_text(json.dumps(golden).replace('{"name"', '\n{"name"') + "\n")
    print(f"{path}: {path.stat().st_size} bytes")


def main():
    philox.self_check()
    torch.set_num_threads(1)
    for name in sys.argv[1:] or VARIANTS:
        write(name, Path(__file__).resolve().parent.parent / "tests" / "golden")


if __name__ == "__main__":
    main()
