#!/usr/bin/env python3
"""Writes tests/golden/recurrent_step.json: loss and gradients of small recurrent networks as PyTorch computes them in
float64, by nn.LSTM and nn.GRU, in one direction and in both.

usage: golden_recurrent.py [FILE]

Weights and tokens come from Philox, keyed by their names (philox.py), the weights rounded to float32, so per model the
file holds how to draw them ("start") and what came out ("expected"): the logits, the loss and every gradient
("grad.NAME"), element by element. "float32_error" is the error of PyTorch's own float32 step,
|a - b| / max(|b|, 1e-6 |all gradients|): the worst over both of its sets of CPU kernels.
"""

import json
import math
import sys
from pathlib import Path

import numpy as np
import torch
from torch import nn

import philox
from torch_models import make_model, start_inputs, start_value, value_range

SEED = 1997
BATCH = 3
OPTIONS = {"hidden": 3, "layers": 2, "vocab": 5, "seq_len": 4}
MODELS = [("rnn", "lstm"), ("rnn", "gru"), ("brnn", "lstm"), ("brnn", "gru")]


def run_step(name, options, values, dtype):
    """Logits, loss and gradients in float64, by name."""
    model = make_model(name, **options).to(dtype)
    model.load_state_dict({key: value.to(dtype) for key, value in values.items()})
    ids, target = start_inputs(name, BATCH, options, SEED)
    logits = model(ids)
    loss = nn.functional.cross_entropy(logits, target.flatten())
    loss.backward()
    results = {"logits": logits, "loss": loss} | {f"grad.{key}": p.grad for key, p in model.named_parameters()}
    return {key: value.detach().double().numpy() for key, value in results.items()}


def float32_steps(name, options, values):
    for onednn in (True, False):
        with torch.backends.mkldnn.flags(enabled=onednn):
            yield run_step(name, options, values, torch.float32)


def golden(name, cell):
    options = OPTIONS | {"cell": cell}
    shapes = {key: list(value.shape) for key, value in make_model(name, **options).state_dict().items()}
    values = {key: start_value(key, shape, SEED) for key, shape in shapes.items()}
    exact, singles = run_step(name, options, values, torch.float64), list(float32_steps(name, options, values))
    start = []
    for key, shape in shapes.items():
        low, high = value_range(key, shape)
        start.append({"name": key, "shape": shape, "low": low, "high": high})
    whole = math.sqrt(sum(float(np.vdot(v, v)) for key, v in exact.items() if key.startswith("grad.")))
    expected = []
    for key, value in exact.items():
        scale = max(float(np.linalg.norm(value)), 1e-6 * whole)
        error = max(float(np.linalg.norm(single[key] - value)) for single in singles) / scale
        expected.append({"name": key, "scale": float(f"{scale:.6g}"), "float32_error": float(f"{error:.3g}"),
                         "values": [float(v) for v in value.reshape(-1)]})
    print(f"{name} {cell}: {len(shapes)} parameters, loss {exact['loss']:.12g}")
    return {"model": name, "options": options, "start": start, "expected": expected}


def main():
    default = Path(__file__).resolve().parent.parent / "tests" / "golden" / "recurrent_step.json"
    path = Path(sys.argv[1]) if len(sys.argv) > 1 else default
    philox.self_check()
    torch.set_num_threads(1)
    made = {"made_with": f"torch {torch.__version__}", "seed": SEED, "batch": BATCH,
            "steps": [golden(name, cell) for name, cell in MODELS]}
    lines = json.dumps(made).replace('{"name"', '\n{"name"').replace('{"model"', '\n{"model"')
    path.write_text(lines + "\n")
    print(f"{path}: {path.stat().st_size} bytes")


if __name__ == "__main__":
    main()
