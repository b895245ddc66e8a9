#!/usr/bin/env python3
"""Writes a PyTorch training step as a graph that `swapadvisor plan --graph` plans.

  export_torch_graph.py --model resnet50 --batch-size 64 --out resnet50.json
  export_torch_graph.py --model my_models.py:gpt --model-arg layers=12 --optimizer adam --out gpt.json

--model is the name of a torchvision classification model, or MODULE:CALLABLE or FILE.py:CALLABLE. The callable returns
(model, inputs, loss_fn), and the loss is loss_fn(model(inputs)), or (model, inputs, target, loss_fn), and the loss is
loss_fn(model(inputs), target). `inputs` is a tensor, a tuple of positional or a dict of keyword arguments; a loss_fn of
None means that the model returns its loss.

Nothing is computed: the step is traced on tensors without data, so any model exports on any machine. Needs torch, and
torchvision for its models. From Python: export_training_step(model, loss_fn, inputs, target, optimizer, path).
"""

import argparse
import ast
import importlib
import importlib.util
import json
import os
import sys
import tempfile
import traceback
from pathlib import Path

try:
    import torch

    from torch_meta import META, ExportError, first_line
    from torch_op_seconds import PEAKS, Stopwatch, modelled_seconds
    from torch_trace import trace_step, updates_early
except ModuleNotFoundError as missing:
    if __name__ != "__main__" or missing.name != "torch":
        raise
    if not {"-h", "--help"} & set(sys.argv[1:]):
        sys.exit("export_torch_graph: PyTorch is not installed for this Python (pip install torch)")
    PEAKS = {"v100-16g": None, "a100-40g": None, "h200": None}


def export_training_step(
    model,
    loss_fn,
    inputs,
    target,
    optimizer,
    path,
    *,
    name=None,
    device_model="v100-16g",
    measure=None,
    attention=None,
    functional=False,
    updates="late",
    progress=None,
):
    """Writes the graph of one training step to `path` (graph v1), and returns it as a dict.

    The loss is loss_fn(model(inputs), target); without a target (None) loss_fn(model(inputs)); without a loss_fn (None)
    what the model returns. `inputs`: a tensor, a tuple of positional or a dict of keyword arguments. The tensors may be
    on any device, `meta` included; model and optimizer are copied without their data and stay as they are.

    device_model: "v100-16g", "a100-40g" or "h200", for modelled seconds. measure: "cpu" or "cuda" for measured ones.
    attention: "efficient" (as on a GPU) or "math" for scaled_dot_product_attention; default: what `measure` can run.
    functional: in-place ops on temporaries write new buffers, which may take the old one's address: planners may then
    recompute them. updates: "late" (where PyTorch runs them) or "early" (each as soon as its gradient is complete).
    progress: called with one line of text at a time. Throws ExportError with one sentence.
    """
    say = progress or (lambda line: None)
    if device_model not in PEAKS:
        raise ExportError(f"no device model is called '{device_model}': expected {', '.join(PEAKS)}")
    for option, value, known in (
        ("measure", measure, (None, "cpu", "cuda")),
        ("attention", attention, (None, "efficient", "math")),
        ("updates", updates, ("late", "early")),
    ):
        if value not in known:
            raise ExportError(f"{option} is '{value}': expected {' or '.join(str(k) for k in known)}")
    stopwatch = Stopwatch(measure) if measure else None
    if attention is None:
        attention = "math" if measure == "cpu" else "efficient"
    if any(group.get("foreach") or group.get("fused") for group in optimizer.param_groups):
        say("note: the optimizer updates all parameters in one op, which then have to fit together: use foreach=False")
    args, kwargs = (inputs, {}) if isinstance(inputs, (tuple, list)) else ((inputs,), {})
    if isinstance(inputs, dict):
        args, kwargs = (), inputs
    say("tracing the training step")
    graph = trace_step(
        model, loss_fn, args, kwargs, target, optimizer, name or type(model).__name__, attention, functional
    )
    if updates == "early":
        graph = updates_early(graph)
    for i, op in enumerate(graph.ops):
        if op.call is None:
            continue
        if not stopwatch:
            op.seconds = modelled_seconds(op.call, PEAKS[device_model])
            continue
        if i % 100 == 0:
            say(f"measuring op {i} of {len(graph.ops)}")
        op.seconds, op.workspace_bytes = stopwatch.measure(op)
    document = as_document(graph)
    write_atomically(Path(path), as_text(document))
    return document


def as_document(graph):
    buffers = [{"name": b.name, "bytes": b.bytes, "kind": b.kind} for b in graph.buffers]
    ops = [
        {
            "name": op.name,
            "type": op.type,
            "inputs": op.inputs,
            "outputs": op.outputs,
            "workspace_bytes": op.workspace_bytes,
            "seconds": float(f"{op.seconds:.6g}"),
            "recomputable": op.recomputable,
            "inplace": op.inplace,
        }
        for op in graph.ops
    ]
    return {"format": "swapadvisor.graph", "version": 1, "name": graph.name, "buffers": buffers, "ops": ops}


def as_text(document):
    """JSON with one line per buffer and op."""

    def lines(entries):
        return ",\n".join(json.dumps(entry, ensure_ascii=False) for entry in entries)

    head = json.dumps({k: document[k] for k in ("format", "version", "name")}, ensure_ascii=False)[:-1]
    return f'{head}, "buffers": [\n{lines(document["buffers"])}\n], "ops": [\n{lines(document["ops"])}\n]}}\n'


def write_atomically(path, text):
    try:
        handle, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    except OSError as error:
        raise ExportError(f"cannot write {path}: {error.strerror}") from error
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(temporary, 0o666 & ~mask)
        os.replace(temporary, path)
    except OSError as error:
        raise ExportError(f"cannot write {path}: {error.strerror}") from error
    finally:
        Path(temporary).unlink(missing_ok=True)


def load_callable(text):
    """MODULE:CALLABLE or FILE.py:CALLABLE."""
    place, _, attribute = text.rpartition(":")
    try:
        if place.endswith(".py"):
            spec = importlib.util.spec_from_file_location(Path(place).stem, place)
            module = importlib.util.module_from_spec(spec)
            sys.path.insert(0, str(Path(place).resolve().parent))
            spec.loader.exec_module(module)
        else:
            sys.path.insert(0, os.getcwd())
            module = importlib.import_module(place)
    except Exception as error:
        raise ExportError(f"cannot load {place}: {first_line(error)}") from error
    found = getattr(module, attribute, None)
    if not callable(found):
        raise ExportError(f"{place} has no callable '{attribute}'")
    return found


def build(make, what, say):
    """Calls `make` where tensors have no data, or where it needs data, on the CPU."""
    try:
        with META:
            return make()
    except ExportError:
        raise
    except Exception as error:
        say(f"{what} cannot be built without data ({first_line(error)}); building it in memory")
    try:
        return make()
    except Exception as error:
        raise ExportError(f"{what} cannot be built: {first_line(error)}") from error


def torchvision_step(name, arguments, options):
    try:
        from torchvision import models
    except ImportError as error:
        raise ExportError("torchvision is not installed for this Python (pip install torchvision)") from error
    if name not in models.list_models(module=models):
        raise ExportError(
            f"torchvision has no classification model '{name}'; your own are MODULE:CALLABLE or FILE.py:CALLABLE"
        )
    if name in ("googlenet", "inception_v3"):
        arguments = {"aux_logits": False, "init_weights": False} | arguments
    model = models.get_model(name, weights=None, num_classes=options.classes, **arguments)
    images = torch.empty(options.batch_size, 3, options.image_size, options.image_size)
    return model, images, torch.zeros(options.batch_size, dtype=torch.long), torch.nn.functional.cross_entropy


def make_step(options, say):
    """(model, inputs, target, loss_fn)."""
    arguments = {}
    for text in options.model_arg:
        key, equals, value = text.partition("=")
        if not equals or not key.isidentifier():
            raise ExportError(f"--model-arg {text}: expected NAME=VALUE")
        try:
            arguments[key] = ast.literal_eval(value)
        except (ValueError, SyntaxError):
            arguments[key] = value
    if ":" in options.model:
        function = load_callable(options.model)
        made = build(lambda: function(**arguments), options.model, say)
    else:
        made = build(lambda: torchvision_step(options.model, arguments, options), options.model, say)
    if not isinstance(made, tuple) or len(made) not in (3, 4) or not isinstance(made[0], torch.nn.Module):
        raise ExportError(f"{options.model} must return (model, inputs, loss_fn) or (model, inputs, target, loss_fn)")
    if len(made) == 3:
        made = (made[0], made[1], None, made[2])
    if made[3] is not None and not callable(made[3]):
        raise ExportError(f"{options.model} returned a {type(made[3]).__name__} as loss_fn: expected a callable or None")
    return made


def make_optimizer(options, parameters):
    parameters = list(parameters)
    decay = options.weight_decay
    if ":" in options.optimizer:
        function = load_callable(options.optimizer)
        try:
            return function(parameters)
        except Exception as error:
            raise ExportError(f"{options.optimizer} failed: {first_line(error)}") from error
    if not parameters:
        raise ExportError("the model has no parameter that wants a gradient")
    if options.optimizer == "sgd":
        momentum = 0.9 if options.momentum is None else options.momentum
        return torch.optim.SGD(parameters, lr=0.1, momentum=momentum, weight_decay=decay, foreach=False)
    kind = torch.optim.AdamW if options.optimizer == "adamw" else torch.optim.Adam
    return kind(parameters, lr=1e-3, weight_decay=decay, foreach=False)


def parse_arguments():
    summary, *details = __doc__.split("\n\n")
    parser = argparse.ArgumentParser(
        prog="export_torch_graph.py",
        description=summary,
        epilog="\n\n".join(details),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    positive = positive_integer
    parser.add_argument("--model", required=True, help="torchvision name, MODULE:CALLABLE or FILE.py:CALLABLE")
    parser.add_argument(
        "--model-arg", action="append", default=[], metavar="NAME=VALUE",
        help="argument of the callable; may be repeated",
    )
    parser.add_argument("--batch-size", type=positive, default=32, help="torchvision models: images per step [32]")
    parser.add_argument("--image-size", type=positive, default=224, help="torchvision models: height and width [224]")
    parser.add_argument("--classes", type=positive, default=1000, help="torchvision models: classes [1000]")
    parser.add_argument(
        "--optimizer", default="sgd",
        help="sgd, adam, adamw, or MODULE:CALLABLE from parameters to optimizer [sgd]",
    )
    parser.add_argument("--momentum", type=float, help="sgd: momentum; 0 for none [0.9]")
    parser.add_argument("--weight-decay", type=float, default=0.0, help="weight decay [0]")
    parser.add_argument(
        "--device-model", choices=PEAKS, default="v100-16g",
        help="device whose op seconds are modelled [v100-16g]",
    )
    parser.add_argument("--measure", choices=("cpu", "cuda"), help="measure the op seconds here instead")
    parser.add_argument(
        "--attention", choices=("efficient", "math"),
        help="how attention runs [efficient; math with --measure cpu]",
    )
    parser.add_argument(
        "--functional", action="store_true",
        help="in-place ops on temporaries write new buffers, so that they may be recomputed",
    )
    parser.add_argument(
        "--updates", choices=("late", "early"), default="late",
        help="optimizer ops: at the end as in PyTorch, or each as soon as possible [late]",
    )
    parser.add_argument("--name", help="name of the graph [the model's]")
    parser.add_argument("--out", required=True, metavar="FILE", help="the graph")
    parser.add_argument("--json", action="store_true", help="print one JSON object on standard output")
    parser.add_argument("--quiet", action="store_true", help="no progress")
    parser.add_argument("--traceback", action="store_true", help="show where in your code an error came from")
    options = parser.parse_args()
    if ":" not in options.optimizer and options.optimizer not in ("sgd", "adam", "adamw"):
        parser.error(f"--optimizer {options.optimizer}: expected sgd, adam, adamw or MODULE:CALLABLE")
    if options.momentum is not None and options.optimizer != "sgd":
        parser.error("--momentum is an option of sgd")
    return options


def positive_integer(text):
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"{value}: expected 1 or more")
    return value


def summary_of(document):
    def total(*kinds):
        return sum(b["bytes"] for b in document["buffers"] if b["kind"] in kinds)

    return {
        "ops": len(document["ops"]),
        "buffers": len(document["buffers"]),
        "parameter_bytes": total("parameter"),
        "state_bytes": total("state"),
        "input_bytes": total("input"),
        "temporary_bytes": total("temporary", "output"),
        "recomputable_ops": sum(op["recomputable"] for op in document["ops"]),
        "ideal_seconds": sum(op["seconds"] for op in document["ops"]),
    }


def run(options):
    def say(line):
        if not options.quiet:
            print(f"export_torch_graph: {line}", file=sys.stderr, flush=True)

    say(f"building {options.model}")
    model, inputs, target, loss_fn = make_step(options, say)
    model.train()
    optimizer = make_optimizer(options, (p for p in model.parameters() if p.requires_grad))
    document = export_training_step(
        model,
        loss_fn,
        inputs,
        target,
        optimizer,
        options.out,
        name=options.name or options.model.rpartition(":")[2],
        device_model=options.device_model,
        measure=options.measure,
        attention=options.attention,
        functional=options.functional,
        updates=options.updates,
        progress=say,
    )
    summary = summary_of(document)
    if options.json:
        print(json.dumps(summary))
        return
    print(f"ops                {summary['ops']}, of them {summary['recomputable_ops']} recomputable")
    print(f"buffers            {summary['buffers']}")
    for kind in ("parameter", "state", "input", "temporary"):
        print(f"{kind + ' bytes':<19}{summary[kind + '_bytes'] / 2**20:.1f} MiB")
    source = "measured" if options.measure else options.device_model
    print(f"op seconds         {summary['ideal_seconds'] * 1000:.1f} ms ({source})")


def main():
    options = parse_arguments()
    try:
        run(options)
    except ExportError as error:
        if options.traceback:
            traceback.print_exc()
        print(f"export_torch_graph: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
