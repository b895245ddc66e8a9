#!/usr/bin/env python3
"""Writes tests/golden/NAME_step.json: one SGD step of tiny variants of BERT and GPT-2 as Hugging Face Transformers computes
it in float64.

usage: golden_transformers.py [NAME...]

Weights come from Philox, keyed by their names (philox.py) and rounded to float32, so a file holds how to draw them
("start"), the inputs and what came out ("expected"): loss, gradients and updated parameters of the step, and the logits that
the start gives in evaluation. A result of up to 8 elements is stored whole; of a larger one, its norm and 8 projections onto
vectors of signs, as golden_resnet18.py tells. "float32_error", of a set of results, is the error of PyTorch's own float32
step, |a - b| / |b| over the whole set, the worse of one with and one without oneDNN. Needs torch and transformers.
"""

import json
import sys
from pathlib import Path

import numpy as np
import torch
import transformers

import philox
from golden_fingerprint import fingerprint, rounded, set_norm
from torch_models import make_optimizer, start_value, value_range
from torch_transformers import make_transformer, own_tensors, transformer_inputs, transformer_logits, transformer_step

SEED = 2022
BATCH = 3
LR = 0.1
PROJECTIONS = 8
DIGITS = 14
VARIANTS = {
    "bert-base": {"layers": 2, "hidden": 24, "heads": 3, "seq_len": 9, "vocab": 41},
    "bert-base-classifier": {"layers": 1, "hidden": 16, "heads": 2, "seq_len": 7, "vocab": 19, "classes": 3},
    "gpt2": {"layers": 2, "hidden": 20, "heads": 2, "seq_len": 11, "vocab": 37},
}


def start_values(name):
    """Descriptions (for the file) and float64 tensors by name."""
    described, values = [], {}
    for key, value in own_tensors(make_transformer(name, **VARIANTS[name])).items():
        shape = list(value.shape)
        low, high = value_range(key, shape)
        described.append({"name": key, "shape": shape, "low": low, "high": high})
        values[key] = start_value(key, shape, SEED)
    return described, values


def run_step(name, values, inputs, dtype):
    """All results in float64, by set and name."""
    model = make_transformer(name, **VARIANTS[name]).to(dtype)
    with torch.no_grad():
        for key, tensor in own_tensors(model).items():
            tensor.copy_(values[key])
        model.eval()
        logits = transformer_logits(model, inputs)
    optimizer = make_optimizer("sgd", list(model.parameters()), {"lr": LR})
    loss, gradients = transformer_step(model, inputs, optimizer)
    sets = {
        "loss": {"loss": loss},
        "evaluation": {"logits": logits},
        "gradients": {f"grad.{key}": g for key, g in gradients.items()},
        "parameters": dict(model.named_parameters()),
    }
    return {s: {k: v.detach().double().numpy() for k, v in of_set.items()} for s, of_set in sets.items()}


def float32_steps(name, values, inputs):
    steps = []
    for onednn in (True, False):
        with torch.backends.mkldnn.flags(enabled=onednn):
            steps.append(run_step(name, values, inputs, torch.float32))
    return steps


def write(name, folder):
    start, values = start_values(name)
    inputs = transformer_inputs(name, BATCH, SEED, **VARIANTS[name])
    exact, singles = run_step(name, values, inputs, torch.float64), float32_steps(name, values, inputs)
    golden = {
        "made_with": f"torch {torch.__version__}, transformers {transformers.__version__}",
        "seed": SEED, "model": {"name": name} | VARIANTS[name], "batch": BATCH, "lr": LR, "start": start,
        "inputs": {key: value.reshape(-1).tolist() for key, value in inputs.items()}, "expected": {},
    }
    for set_name, of_set in exact.items():
        whole = set_norm(of_set)
        error = max(set_norm({k: v - of_set[k] for k, v in single[set_name].items()}) for single in singles) / whole
        results = [{"name": k, "norm": rounded(np.linalg.norm(v), DIGITS)} | fingerprint(v, SEED, PROJECTIONS, DIGITS)
                   for k, v in of_set.items()]
        golden["expected"][set_name] = {"norm": rounded(whole, DIGITS), "float32_error": float(f"{error:.3g}"), "results": results}
        print(f"{name:20} {set_name:11} {len(results):4} results, norm {whole:.6g}, float32 error {error:.2g}")
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
