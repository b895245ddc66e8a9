#!/usr/bin/env python3
"""Writes tests/golden/models.json: parameter counts and state-dict entries of the models as torchvision, timm and
Hugging Face Transformers have them (tied weights under their first name).

usage: golden_models.py [FILE]

Per model: `parameters` (elements), `entries` (of the state dict) and `hash`, the 64-bit FNV-1a hash of the lines
"NAME [a, b, c]\\n" of the state dict in its order; for some models also the lines themselves, to show what differs.
"""

import json
import sys
from pathlib import Path

import torch
import torchvision
import transformers

from philox import hash_name
from torch_models import make_model
from torch_transformers import is_transformer, make_transformer, own_tensors

MODELS = ["mlp", "resnet20", "resnet32", "resnet44", "resnet56", "resnet110", "resnet18", "resnet34", "resnet50"]
MODELS += ["resnet101", "resnet152", "wide_resnet50_2", "wide_resnet101_2", "wresnet152-4", "wresnet152-10"]
MODELS += ["bert-base", "bert-large", "bert-base-classifier", "bert-large-classifier"]
MODELS += ["gpt2", "gpt2-medium", "gpt2-large", "gpt2-xl"]
MODELS += ["vgg16", "wrn28-10", "inception_v4", "nasnet-a"]
MODELS += ["rnn", "brnn"]
LISTED = {"mlp", "resnet20", "resnet18", "resnet50", "bert-base-classifier", "gpt2", "rnn", "brnn"}


def entry(name):
    with torch.device("meta"):
        model = make_transformer(name) if is_transformer(name) else make_model(name)
        if hasattr(torchvision.models, name):
            theirs = getattr(torchvision.models, name)().state_dict()
            assert [(k, v.shape) for k, v in theirs.items()] == [(k, v.shape) for k, v in model.state_dict().items()]
    lines = [f"{key} {list(value.shape)}" for key, value in own_tensors(model).items()]
    made = {
        "parameters": sum(p.numel() for p in model.parameters()),
        "entries": len(lines),
        "hash": f"{hash_name(''.join(line + chr(10) for line in lines)):016x}",
    }
    if name in LISTED:
        made["lines"] = lines
    return made


def main():
    default = Path(__file__).resolve().parent.parent / "tests" / "golden" / "models.json"
    path = Path(sys.argv[1]) if len(sys.argv) > 1 else default
    versions = {"torchvision": torchvision.__version__, "transformers": transformers.__version__}
    golden = versions | {"models": {name: entry(name) for name in MODELS}}
    path.write_text(json.dumps(golden, indent=1) + "\n")
    for name, made in golden["models"].items():
        print(f"{name:18} {made['parameters']:>13,} {made['entries']:5}")


if __name__ == "__main__":
    main()
