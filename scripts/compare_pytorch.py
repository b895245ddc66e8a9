#!/usr/bin/env python3
"""Compares one training step of `swapadvisor step` with the same step in PyTorch, tensor by tensor.

usage: compare_pytorch.py [--binary swapadvisor] [--dtype f64|f32] [MODEL options] MODEL [-- more arguments of `step`]

Draws weights, inputs and labels, lets both programs do one step of --optimizer from them, and prints for the loss, the
gradients, the updated parameters and the statistics the worst error against PyTorch in float64,
|a - b| / max(|b|, 1e-6 |all tensors of the same set|), and the median over tensors of our error to PyTorch's in float32.
Exit code 1 when a float64 step has an error above 1e-8, or a float32 one above 3 times PyTorch's own for the same tensor
(not counting errors below float32's precision). Rounding is chance, and PyTorch may be lucky with a tensor: --draws N takes
each tensor's largest error, both ours and PyTorch's, over N draws of weights and inputs. Needs torch, torchvision, timm and
safetensors, and transformers for BERT and GPT-2, which are compared without dropout.

The first step of Adam divides each gradient by its own size plus epsilon, so where a gradient is as small as its rounding
errors, float32 parameters are off by up to the learning rate in any program: compare them with a larger --eps.
"""

import argparse
import math
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file

from torch_models import make_model, make_optimizer, optimizer_step, start_inputs, start_value
from torch_transformers import is_transformer, make_transformer, own_tensors, transformer_inputs, transformer_step

DTYPES = {"f32": torch.float32, "f64": torch.float64}
DEFAULTS = {
    "sgd": {"lr": 0.1, "weight_decay": 1e-4, "momentum": 0.9},
    "adam": {"lr": 1e-3, "weight_decay": 1e-4, "beta1": 0.9, "beta2": 0.999, "eps": 1e-8},
    "adamw": {"lr": 1e-3, "weight_decay": 0.01, "beta1": 0.9, "beta2": 0.999, "eps": 1e-8},
}
F64_LIMIT = 1e-8
F32_FACTOR = 3
F32_PRECISION = 2.0**-23


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("model")
    parser.add_argument("more", nargs="*", help="passed on to `swapadvisor step`")
    parser.add_argument("--binary", default="swapadvisor")
    parser.add_argument("--dtype", choices=DTYPES, default="f64")
    for option in ("image-size", "channels", "classes", "width", "hidden", "layers", "heads", "seq-len", "vocab",
                   "depth", "cells"):
        parser.add_argument(f"--{option}", type=int)
    parser.add_argument("--cell", choices=("lstm", "gru"), help="rnn, brnn")
    parser.add_argument("--auxiliary-weight", type=float, help="nasnet-a")
    parser.add_argument("--batch-size", type=int, default=8)
    parser.add_argument("--optimizer", choices=DEFAULTS, default="sgd")
    parser.add_argument("--lr", type=float)
    parser.add_argument("--weight-decay", type=float)
    parser.add_argument("--momentum", type=float, help="sgd")
    parser.add_argument("--beta1", type=float, help="adam, adamw")
    parser.add_argument("--beta2", type=float, help="adam, adamw")
    parser.add_argument("--eps", type=float, help="adam, adamw")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--draws", type=int, default=1, help="of weights and inputs, from this many seeds on --seed")
    args = parser.parse_args()
    unused = {name for of_one in DEFAULTS.values() for name in of_one} - set(DEFAULTS[args.optimizer])
    for name in unused:
        if getattr(args, name) is not None:
            parser.error(f"--{name} is not an option of {args.optimizer}")
    return args


def optimizer_options(args):
    """Of the optimizer, by the names of the command line."""
    given = {name: getattr(args, name) for name in DEFAULTS[args.optimizer]}
    return {name: DEFAULTS[args.optimizer][name] if value is None else value for name, value in given.items()}


def model_options(args):
    """The options given, as make_model takes them."""
    names = ("image_size", "channels", "classes", "width", "hidden", "layers", "heads", "seq_len", "vocab", "cell",
             "depth", "cells", "auxiliary_weight")
    return {name: getattr(args, name) for name in names if getattr(args, name) is not None}


def draw_start(args, seed):
    """Weights and statistics by name, inputs and targets by name; floating ones are float64 holding float32 values."""
    options = model_options(args)
    if is_transformer(args.model):
        with torch.device("meta"):
            shapes = {name: list(v.shape) for name, v in own_tensors(make_transformer(args.model, **options)).items()}
        weights = {name: start_value(name, shape, seed) for name, shape in shapes.items()}
        return weights, transformer_inputs(args.model, args.batch_size, seed, **options)
    with torch.device("meta"):
        shapes = {name: list(v.shape) for name, v in make_model(args.model, **options).state_dict().items()}
    weights = {name: start_value(name, shape, seed) for name, shape in shapes.items()}
    values, labels = start_inputs(args.model, args.batch_size, options, seed)
    return weights, {"input": values, "target": labels}


def cast(tensor, name, dtype):
    whole = name.endswith("num_batches_tracked") or not tensor.is_floating_point()
    return tensor.to(torch.int64 if whole else dtype).contiguous()


def pytorch_step(args, start, dtype):
    """What `swapadvisor step` writes, from PyTorch: loss, grad.NAME, NAME."""
    weights, inputs = start
    make = make_transformer if is_transformer(args.model) else make_model
    model = make(args.model, **model_options(args)).to(dtype)
    with torch.no_grad():
        for name, tensor in own_tensors(model).items():
            tensor.copy_(weights[name])
    optimizer = make_optimizer(args.optimizer, dict(model.named_parameters()).values(), optimizer_options(args))
    if is_transformer(args.model):
        loss, gradients = transformer_step(model, inputs, optimizer)
    else:
        loss, gradients = optimizer_step(model, cast(inputs["input"], "input", dtype), inputs["target"], optimizer)
    results = {"loss": loss} | {f"grad.{name}": g for name, g in gradients.items()} | own_tensors(model)
    return {name: value.detach().double() for name, value in results.items()}


def our_step(args, start):
    weights, inputs = start
    dtype = DTYPES[args.dtype]
    with tempfile.TemporaryDirectory() as folder:
        weights_file, inputs_file, out_file = (str(Path(folder) / f) for f in ("weights.st", "inputs.st", "out.st"))
        save_file({name: cast(value, name, dtype) for name, value in weights.items()}, weights_file)
        save_file({n: (v.to(dtype) if v.is_floating_point() else v).contiguous() for n, v in inputs.items()}, inputs_file)
        command = [args.binary, "step", args.model, "--weights", weights_file, "--inputs", inputs_file]
        command += ["--out", out_file, "--dtype", args.dtype, "--optimizer", args.optimizer, "--json"]
        if is_transformer(args.model) or args.model == "vgg16":  # its draws are not PyTorch's
            command += ["--dropout", "0"]
        for name, value in (optimizer_options(args) | model_options(args)).items():
            command += [f"--{name.replace('_', '-')}", str(value)]
        done = subprocess.run(command + args.more, stdout=subprocess.PIPE, text=True)
        if done.returncode != 0:
            sys.exit(f"{' '.join(command)} failed with exit code {done.returncode}")
        return {name: value.double() for name, value in load_file(out_file).items()}


def errors(results, exact, names):
    """By name, for one set of tensors."""
    whole = math.sqrt(sum(exact[name].square().sum().item() for name in names))
    found = {}
    for name in names:
        if results[name].shape != exact[name].shape:
            sys.exit(f"{name} has shape {list(results[name].shape)}, PyTorch's has {list(exact[name].shape)}")
        scale = max(exact[name].norm().item(), 1e-6 * whole)
        found[name] = (results[name] - exact[name]).norm().item() / scale if scale > 0 else 0.0
    return found


def sets_of(exact):
    """Names of the results, by set."""
    parameters = [name.removeprefix("grad.") for name in exact if name.startswith("grad.")]
    statistics = [n for n in exact if n != "loss" and not n.startswith("grad.") and n not in set(parameters)]
    gradients = [f"grad.{name}" for name in parameters]
    return {"loss": ["loss"], "gradients": gradients, "parameters": parameters, "statistics": statistics}


def one_step(args, seed):
    """Errors by name, ours and PyTorch's float32 ones; the sets of names."""
    start = draw_start(args, seed)
    ours = our_step(args, start)
    exact = pytorch_step(args, start, torch.float64)
    single = pytorch_step(args, start, torch.float32)
    missing = [name for name in exact if name not in ours]
    if missing:
        sys.exit(f"{len(missing)} of {len(exact)} results are missing, such as {missing[0]}")
    print(f"{args.model}, {args.dtype}, loss {ours['loss'].item():.15g}, PyTorch f64 {exact['loss'].item():.15g}", flush=True)
    sets = sets_of(exact)
    our_errors, single_errors = {}, {}
    for names in sets.values():
        our_errors |= errors(ours, exact, names)
        single_errors |= errors(single, exact, names)
    return our_errors, single_errors, sets


def larger(a, b):
    """Of two errors; a NaN is the largest."""
    return math.inf if math.isnan(a) or math.isnan(b) else max(a, b)


def main():
    args = parse_arguments()
    our_errors, single_errors, sets = one_step(args, args.seed)
    for seed in range(args.seed + 1, args.seed + args.draws):
        more_ours, more_single, _ = one_step(args, seed)
        our_errors = {n: larger(e, more_ours[n]) for n, e in our_errors.items()}
        single_errors = {n: larger(e, more_single[n]) for n, e in single_errors.items()}

    print(f"{'set':11} {'tensors':>7} {'worst error':>12} {'PyTorch f32':>12} {'median ratio':>12} {'worst/limit':>12}"
          "  worst tensor")
    passed = True
    for set_name, names in sets.items():
        if not names:
            continue
        limits = {n: F64_LIMIT if args.dtype == "f64" else F32_FACTOR * max(single_errors[n], F32_PRECISION)
                  for n in names}
        share = {n: larger(our_errors[n], 0) / limits[n] for n in names}
        ratio = statistics.median(our_errors[n] / max(single_errors[n], sys.float_info.min) for n in names)
        worst = max(names, key=share.get)
        print(f"{set_name:11} {len(names):7} {max(our_errors[n] for n in names):12.3g}"
              f" {max(single_errors[n] for n in names):12.3g} {ratio:12.3g} {share[worst]:12.3g}  {worst}")
        passed &= share[worst] <= 1
    print("passed" if passed else "FAILED")
    sys.exit(0 if passed else 1)


if __name__ == "__main__":
    main()
