#!/usr/bin/env python3
"""Writes tests/golden/adam.json: several updates of one parameter by PyTorch's Adam and AdamW in float64.

usage: golden_adam.py [OUTPUT]

Every case has its options, the start value, the gradient and the learning rate of each step, and parameter and both
moments after the last one. Numbers are written with all their digits. Needs torch.
"""

import json
import sys
from pathlib import Path

import torch

import philox

SEED = 2020
ELEMENTS = 6
RATES = [0.1, 0.1, 0.05, 0.02, 0.1, 0.003, 0.07]
CASES = [
    ("adam", {}),
    ("adam", {"betas": (0.8, 0.95), "eps": 1e-3, "weight_decay": 0.1}),
    ("adam", {"betas": (0.0, 0.0)}),
    ("adamw", {}),
    ("adamw", {"betas": (0.95, 0.9), "eps": 1e-5, "weight_decay": 0.3}),
    ("adamw", {"weight_decay": 0.0}),
]


def drawn(name):
    return torch.from_numpy(philox.uniform(name, [ELEMENTS], -1.5, 1.5, SEED).astype("float64"))


def run_case(index, name, options):
    parameter = torch.nn.Parameter(drawn(f"start{index}"))
    start = parameter.detach().clone()
    make = {"adam": torch.optim.Adam, "adamw": torch.optim.AdamW}[name]
    optimizer = make([parameter], lr=RATES[0], **options)
    gradients = []
    for step, rate in enumerate(RATES):
        gradient = drawn(f"gradient{index}.{step}")
        # One element's gradients are zero at first, and another's tiny, so that epsilon matters.
        gradient[0] = 0.0 if step < 3 else gradient[0]
        gradient[1] *= 1e-7
        gradients.append(gradient.tolist())
        parameter.grad = gradient
        optimizer.param_groups[0]["lr"] = rate
        optimizer.step()
    group, state = optimizer.param_groups[0], optimizer.state[parameter]
    return {
        "optimizer": name, "beta1": group["betas"][0], "beta2": group["betas"][1], "epsilon": group["eps"],
        "weight_decay": group["weight_decay"], "given": sorted(options), "start": start.tolist(), "rates": RATES,
        "gradients": gradients, "parameter": parameter.tolist(), "exp_avg": state["exp_avg"].tolist(),
        "exp_avg_sq": state["exp_avg_sq"].tolist(),
    }


def main():
    default = Path(__file__).resolve().parent.parent / "tests" / "golden" / "adam.json"
    path = Path(sys.argv[1]) if len(sys.argv) > 1 else default
    philox.self_check()
    torch.set_num_threads(1)
    cases = [run_case(i, name, options) for i, (name, options) in enumerate(CASES)]
    golden = {"made_with": f"torch {torch.__version__}", "seed": SEED, "cases": cases}
    path.write_text(json.dumps(golden).replace('{"optimizer"', '\n{"optimizer"') + "\n")
    print(f"{path}: {path.stat().st_size} bytes")


if __name__ == "__main__":
    main()
