#!/usr/bin/env python3
"""Writes tests/golden/updates.json: LAMB, clipping by global norm and moving averages, computed in float64.

usage: golden_updates.py [OUTPUT]

LAMB is written out here in numpy after algorithm 2 of You et al. (ICLR 2020) and, where timm is installed, compared
with timm.optim.Lamb. Clipping is torch.nn.utils.clip_grad_norm_, averages are torch.optim.swa_utils.AveragedModel, the
other optimizers PyTorch's. A case has several parameters, their start values, and gradients and learning rates of
each step; expected are parameters, averages and the norms before clipping. Needs torch.
"""

import json
import sys
from pathlib import Path

import numpy as np
import torch

import philox

SEED = 2021
SIZES = [6, 1, 11]
RATES = [0.1, 0.1, 0.05, 0.02, 0.1]
CASES = [
    {"optimizer": "lamb"},
    {"optimizer": "lamb", "beta1": 0.8, "beta2": 0.95, "eps": 1e-3, "weight_decay": 0.1},
    {"optimizer": "lamb", "weight_decay": 0.0, "clip": 2.0},
    {"optimizer": "sgd", "momentum": 0.0, "clip": 1.5},
    {"optimizer": "sgd", "momentum": 0.9, "weight_decay": 0.01, "clip": 3.5, "ema": 0.9},
    {"optimizer": "sgd", "momentum": 0.9, "nesterov": True, "clip": 1000.0},
    {"optimizer": "adam", "clip": 0.5},
    {"optimizer": "adamw", "clip": 2.0, "ema": 0.5},
    {"optimizer": "lamb", "ema": 0.99},
]


class Lamb:
    """Algorithm 2 with the identity as phi, one trust ratio per parameter, in numpy."""

    def __init__(self, parameters, case):
        self.parameters = parameters
        self.beta1, self.beta2 = case.get("beta1", 0.9), case.get("beta2", 0.999)
        self.eps, self.decay = case.get("eps", 1e-6), case.get("weight_decay", 0.01)
        self.m = [np.zeros(p.shape) for p in parameters]
        self.v = [np.zeros(p.shape) for p in parameters]
        self.t = 0

    def step(self, rate):
        self.t += 1
        for p, m, v in zip(self.parameters, self.m, self.v):
            x, g = p.detach().numpy(), p.grad.numpy()
            m[:] = self.beta1 * m + (1 - self.beta1) * g
            v[:] = self.beta2 * v + (1 - self.beta2) * g * g
            mean, square = m / (1 - self.beta1**self.t), v / (1 - self.beta2**self.t)
            u = mean / (np.sqrt(square) + self.eps) + self.decay * x
            length, step = np.linalg.norm(x), np.linalg.norm(u)
            ratio = length / step if length > 0 and step > 0 else 1.0
            x -= rate * ratio * u


class Torch:
    """PyTorch's own optimizers."""

    def __init__(self, parameters, case):
        options = {"lr": RATES[0]}
        if "weight_decay" in case:
            options["weight_decay"] = case["weight_decay"]
        if case["optimizer"] == "sgd":
            options.update(momentum=case["momentum"], nesterov=case.get("nesterov", False))
        make = {"sgd": torch.optim.SGD, "adam": torch.optim.Adam, "adamw": torch.optim.AdamW}[case["optimizer"]]
        self.optimizer = make(parameters, **options)

    def step(self, rate):
        self.optimizer.param_groups[0]["lr"] = rate
        self.optimizer.step()


class Timm:
    """timm's LAMB, without its own clipping and with the ratio for every parameter."""

    def __init__(self, parameters, case):
        from timm.optim import Lamb as TimmLamb

        self.optimizer = TimmLamb(
            parameters, lr=RATES[0], betas=(case.get("beta1", 0.9), case.get("beta2", 0.999)),
            eps=case.get("eps", 1e-6), weight_decay=case.get("weight_decay", 0.01), max_grad_norm=None, always_adapt=True)

    step = Torch.step


def drawn(name, size):
    return torch.from_numpy(philox.uniform(name, [size], -1.5, 1.5, SEED).astype("float64"))


def run(index, case, make):
    model = torch.nn.ParameterList([torch.nn.Parameter(drawn(f"start{index}.{i}", n)) for i, n in enumerate(SIZES)])
    if index == 0:
        with torch.no_grad():
            model[1].zero_()  # a norm of 0
    start = [p.tolist() for p in model]
    average = None
    if "ema" in case:
        swa = torch.optim.swa_utils
        average = swa.AveragedModel(model, multi_avg_fn=swa.get_ema_multi_avg_fn(case["ema"]))
    optimizer = make(list(model), case)
    gradients, norms = [], []
    for step, rate in enumerate(RATES):
        gradients.append([])
        for i, p in enumerate(model):
            p.grad = drawn(f"gradient{index}.{step}.{i}", SIZES[i]) * (1 + step)
            gradients[-1].append(p.grad.tolist())
        if "clip" in case:
            norms.append(torch.nn.utils.clip_grad_norm_(model.parameters(), case["clip"]).item())
        optimizer.step(rate)
        if average is not None:
            average.update_parameters(model)
    result = {"case": case, "start": start, "rates": RATES, "gradients": gradients, "norms": norms,
              "parameters": [p.tolist() for p in model]}
    if average is not None:
        result["averages"] = [p.tolist() for p in average.module]
    return result


def compare_with_timm(index, case, expected):
    try:
        other = run(index, case, Timm)["parameters"]
    except ImportError:
        return "timm is not installed"
    worst = max(abs(a - b) / abs(b) for x, y in zip(other, expected) for a, b in zip(x, y) if b != 0)
    if worst > 1e-12:
        raise SystemExit(f"case {index}: timm's LAMB differs by {worst}")
    return f"timm's LAMB differs by {worst:.1e}"


def main():
    default = Path(__file__).resolve().parent.parent / "tests" / "golden" / "updates.json"
    path = Path(sys.argv[1]) if len(sys.argv) > 1 else default
    philox.self_check()
    torch.set_num_threads(1)
    cases = []
    for index, case in enumerate(CASES):
        cases.append(run(index, case, Lamb if case["optimizer"] == "lamb" else Torch))
        if case["optimizer"] == "lamb":
            print(f"case {index}: {compare_with_timm(index, case, cases[-1]['parameters'])}")
    golden = {"made_with": f"torch {torch.__version__}", "seed": SEED, "cases": cases}
    path.write_text(json.dumps(golden).replace('{"case"', '\n{"case"') + "\n")
    print(f"{path}: {path.stat().st_size} bytes")


if __name__ == "__main__":
    main()
