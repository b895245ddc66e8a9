#!/usr/bin/env python3
"""Seconds of one training step of one of our models in PyTorch, float32 without TF32: the median of several, on a GPU.

usage: torch_step_seconds.py MODEL [--batch-size N] [model options of `swapadvisor train`] [--device cuda|cpu] [--steps N]

Prints one number. Exit code 1 where PyTorch or its CUDA is missing. Needs what compare_pytorch.py needs.
"""

import argparse
import statistics
import sys
import time

try:
    import torch

    from torch_models import make_model, start_inputs
    from torch_transformers import is_transformer, make_transformer, transformer_inputs, transformer_loss
except ImportError as error:
    sys.exit(f"torch_step_seconds: {error}")


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("model")
    for option in ("image-size", "channels", "classes", "width", "hidden", "layers", "heads", "seq-len", "vocab",
                   "depth", "cells"):
        parser.add_argument(f"--{option}", type=int)
    parser.add_argument("--cell", choices=("lstm", "gru"))
    parser.add_argument("--batch-size", type=int, default=128)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--steps", type=int, default=20)
    return parser.parse_args()


def model_options(args):
    names = ("image_size", "channels", "classes", "width", "hidden", "layers", "heads", "seq_len", "vocab", "cell", "depth",
             "cells")
    return {name: getattr(args, name) for name in names if getattr(args, name) is not None}


def loss_function(args, device):
    """(model, function that computes the loss of one fixed batch)."""
    options = model_options(args)
    if is_transformer(args.model):
        model = make_transformer(args.model, **options).to(device)
        inputs = {n: v.to(device) for n, v in transformer_inputs(args.model, args.batch_size, 1, **options).items()}
        return model, lambda: transformer_loss(model, inputs)
    model = make_model(args.model, **options).to(device)
    values, labels = start_inputs(args.model, args.batch_size, options, 1)
    values = values.to(device, torch.float32) if values.is_floating_point() else values.to(device)
    labels = labels.to(device)

    def loss():
        logits = model(values)
        return torch.nn.functional.cross_entropy(logits.reshape(-1, logits.shape[-1]), labels.reshape(-1))

    return model, loss


def main():
    args = parse_arguments()
    device = torch.device(args.device)
    if device.type == "cuda" and not torch.cuda.is_available():
        sys.exit("torch_step_seconds: this PyTorch has no CUDA device")
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    model, loss = loss_function(args, device)
    model.train()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    wait = torch.cuda.synchronize if device.type == "cuda" else lambda: None
    seconds = []
    for step in range(args.steps + 3):  # the first ones warm up
        wait()
        start = time.perf_counter()
        optimizer.zero_grad(set_to_none=True)
        loss().backward()
        optimizer.step()
        wait()
        if step >= 3:
            seconds.append(time.perf_counter() - start)
    print(f"{statistics.median(seconds):.9f}")


if __name__ == "__main__":
    main()
