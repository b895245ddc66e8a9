"""Traces one PyTorch training step (forward, loss, backward, optimizer update) into buffers and ops.

Everything runs on `meta` tensors, which have shapes and storages but no data: a model of any size is traced on a
laptop. A dispatch mode sees each kernel call below autograd. Storages are the buffers; tensors that share one are views of it.
"""

import contextlib
from dataclasses import dataclass, field

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from torch_meta import META, ExportError, MetaCopies
from torch_meta import aliases, covers_storage, first_line, gpu_calls, storage_of, tensors_in

# Calls that only reserve memory: the buffer begins with the op that writes it first.
ALLOCATIONS = {"empty", "empty_like", "empty_strided", "new_empty", "new_empty_strided"}
# Calls that use the shape of their first operand, not its values.
LIKE = {"ones_like", "zeros_like", "full_like", "rand_like", "randn_like", "randint_like"}
SHAPE_ONLY = LIKE | {"new_zeros", "new_ones", "new_full"}
# In-place calls that do not read what they overwrite.
RANDOM = {"bernoulli_", "uniform_", "normal_", "random_", "exponential_", "log_normal_", "geometric_", "cauchy_"}
OVERWRITES = {"zero_", "fill_", "copy_"} | RANDOM


@dataclass
class Op:
    """One kernel call. `call` is (function, args, kwargs, result), to model or measure; None for what is free."""

    name: str
    type: str
    inputs: list
    outputs: list
    recomputable: bool
    inplace: bool
    update: bool = False
    call: tuple = None
    seconds: float = 0.0
    workspace_bytes: int = 0


@dataclass
class Buffer:
    name: str
    bytes: int
    kind: str


@dataclass
class StepGraph:
    name: str
    buffers: list = field(default_factory=list)
    ops: list = field(default_factory=list)


class Names:
    """Gives each name once: `name`, then `name#2`, `name#3`, …"""

    def __init__(self):
        self._counts = {}

    def unique(self, name):
        candidate = name
        while candidate in self._counts:
            self._counts[name] += 1
            candidate = f"{name}#{self._counts[name]}"
        self._counts[candidate] = 1
        return candidate


class Tracer(TorchDispatchMode):
    """Records what runs inside it as ops on buffers."""

    def __init__(self, functional):
        super().__init__()
        self.buffers, self.ops = [], []
        self.phase = "forward"  # forward, loss, backward, update
        self.modules = []  # paths of the modules now running, the innermost last
        self.last_call = None
        self._functional = functional
        self._buffer_of = {}  # storage → index
        self._storages = []  # kept, so that no address comes twice
        self._written = set()
        self.buffer_names, self.op_names = Names(), Names()
        self._owner_of_node = {}  # sequence number of an autograd node → module path
        self._owner_of_buffer = {}

    # -- buffers

    def add_buffer(self, name, nbytes, kind):
        self.buffers.append(Buffer(self.buffer_names.unique(name), nbytes, kind))
        return len(self.buffers) - 1

    def declare(self, tensor, name, kind, owner=None):
        """A buffer that exists before the step. Its storage's first name stays."""
        storage = storage_of(tensor)
        if storage.nbytes() == 0 or storage._cdata in self._buffer_of:
            return
        index = self.add_buffer(name, storage.nbytes(), kind)
        self._storages.append(storage)
        self._buffer_of[storage._cdata] = index
        self._written.add(index)
        if owner:
            self._owner_of_buffer[index] = owner

    def buffer_of(self, tensor):
        """Index of a tensor's buffer, or None (no such buffer, or no bytes)."""
        return self._buffer_of.get(storage_of(tensor)._cdata)

    def known_buffer(self, tensor):
        """As `buffer_of`; a tensor that existed before the step and belongs to nobody is constant data."""
        if self.buffer_of(tensor) is None:
            self.declare(tensor, "constant", "state")
        return self.buffer_of(tensor)

    def _new_buffer(self, tensor, name):
        storage = storage_of(tensor)
        index = self.add_buffer(name, storage.nbytes(), "temporary")
        self._storages.append(storage)
        self._buffer_of[storage._cdata] = index
        return index

    def name_gradient(self, p):
        """Calls the buffer of a parameter's gradient `grad.PARAMETER`, once backward is over."""
        gradient = None if p.grad is None else self.buffer_of(p.grad)
        if gradient is None:
            return
        name = self.buffers[self.buffer_of(p)].name
        self._owner_of_buffer.setdefault(gradient, name)
        if self.buffers[gradient].kind == "temporary" and covers_storage(p.grad):
            self.buffers[gradient].name = self.buffer_names.unique(f"grad.{name}")

    # -- names

    def _owner(self, touched):
        if self.phase == "update":
            owners = (self._owner_of_buffer.get(b) for b in touched)
            return "update." + next((o for o in owners if o), "all")
        if self.phase == "loss":
            return "loss"
        if self.modules:
            return self.modules[-1]
        if self.phase == "forward":
            return ""
        node = torch._C._current_autograd_node()
        variable = getattr(node, "variable", None)
        if variable is not None:  # a gradient arrives at its parameter
            return "grad." + self.buffers[self.known_buffer(variable)].name
        owner = self._owner_of_node.get(node._sequence_nr(), "") if node is not None else "loss"
        return f"{owner}.backward" if owner else "backward"

    # -- calls

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        self.last_call = function
        result = function(*args, **kwargs)
        self._record(function, args, kwargs, result)
        if self.phase in ("forward", "loss"):
            # The autograd node of this call is the latest one; its backward calls get this module's name.
            owner = self.modules[-1] if self.modules else ("loss" if self.phase == "loss" else "")
            self._owner_of_node.setdefault(torch.autograd._get_sequence_nr() - 1, owner)
        return result

    def _operands(self, function, kind, args, kwargs):
        """(tensors read, tensors written in place, those of them that are overwritten unread)."""
        reads, writes, overwritten = [], [], []
        unread = set()
        arguments = function._schema.arguments
        if kind in SHAPE_ONLY:
            unread.add(arguments[0].name)
        values = argument_values(function, args, kwargs)
        if kind == "native_batch_norm_backward" and values["train"]:
            unread |= {"running_mean", "running_var"}  # of use in evaluation only
        for argument in arguments:
            tensors = tensors_in(values[argument.name])
            if argument.alias_info is not None and argument.alias_info.is_write:
                writes += tensors
                if kind in OVERWRITES or getattr(argument, "is_out", False):
                    overwritten += [t for t in tensors if covers_storage(t)]
            elif argument.name not in unread:
                reads += tensors
        return reads, writes, overwritten

    def _record(self, function, args, kwargs, result):
        kind = function._overloadpacket.__name__
        results = [t for t in tensors_in(result) if storage_of(t).nbytes() > 0]
        fresh = list({storage_of(t)._cdata: t for t in results if self.buffer_of(t) is None}.values())
        if kind in ALLOCATIONS:
            for t in fresh:
                self._new_buffer(t, self._call_name(kind, [])[0])
            return
        if kind == "native_batch_norm" and self._record_batch_norm(function, args, kwargs, result, fresh):
            return
        reads, writes, overwritten = self._operands(function, kind, args, kwargs)
        argument_storages = {storage_of(t)._cdata for t in reads + writes}
        fresh = [t for t in fresh if storage_of(t)._cdata not in argument_storages]
        if not fresh and not writes:
            return  # a view, or nothing on the device
        self._append(function, (function, args, kwargs, result), reads, writes, overwritten, fresh)

    def _call_name(self, kind, touched):
        owner = self._owner(touched)
        return (f"{owner}.{kind}" if owner else kind), owner

    def _append(self, function, call, reads, writes, overwritten, fresh, kind=None):
        kind = kind or type_name(function)
        inputs, outputs = [], []
        overwritten = {storage_of(t)._cdata for t in overwritten}
        for t in reads:
            b = self.known_buffer(t)
            if b is not None and b not in inputs:
                self._need_written(b)
                inputs.append(b)
        touched = inputs + [b for b in map(self.known_buffer, writes) if b is not None]
        name, owner = self._call_name(kind, touched)
        name = self.op_names.unique(name)
        updates, results = False, list(fresh)
        for t in writes:
            b = self.known_buffer(t)
            if b is None or b in outputs:
                continue
            unread = storage_of(t)._cdata in overwritten
            if b in self._written and not unread and b not in inputs:
                inputs.append(b)
            # Inputs are never written: their new value is a buffer of its own. So is, where wanted, that of a temporary.
            old = self.buffers[b]
            functional = self._functional and old.kind == "temporary" and b in inputs and covers_storage(t)
            if old.kind == "input" or functional:
                b = self._new_buffer(t, name)
                results.append(t)
            else:
                updates = updates or old.kind != "temporary" or b in self._written or not unread
            outputs.append(b)
        for i, t in enumerate(fresh):
            suffix = f".{i}" if len(fresh) > 1 else ""
            outputs.append(self._new_buffer(t, name + suffix))
        if not outputs:
            return
        self._written.update(outputs)
        if self.phase == "update" and touched:
            parameter = owner.removeprefix("update.")
            for b in outputs:
                self._owner_of_buffer.setdefault(b, parameter)
        self.ops.append(
            Op(
                name=name,
                type=kind,
                inputs=inputs,
                outputs=outputs,
                recomputable=not updates and not is_random(function, call),
                inplace=not updates and may_share_address(function, reads + writes, results),
                update=self.phase == "update",
                call=aliases(call),
            )
        )

    def _need_written(self, b):
        """Memory that is read although nothing was written to it still has to exist: an op without cost makes it."""
        if b not in self._written:
            self._written.add(b)
            name = self.op_names.unique(f"{self.buffers[b].name}.uninitialized")
            self.ops.append(Op(name, "empty", [], [b], recomputable=False, inplace=False))

    def _record_batch_norm(self, function, args, kwargs, result, fresh):
        """Batch norm of training updates its running statistics too, though its schema does not say so. It becomes two ops:
        the pure one, which may be recomputed, and the update, whose time is part of the first."""
        values = argument_values(function, args, kwargs)
        running = [values["running_mean"], values["running_var"]]
        if not values["training"] or running[0] is None:
            return False
        reads = tensors_in([values["input"], values["weight"], values["bias"]])
        self._append(function, (function, args, kwargs, result), reads, [], [], fresh)
        self._append(function, None, list(result[1:]), running, [], [], kind="running_statistics_update")
        return True


def type_name(function):
    name = function._overloadpacket.__name__
    return name if function.namespace == "aten" else f"{function.namespace}.{name}"


def is_random(function, call):
    # Backward calls draw nothing new, and attention draws nothing without dropout.
    if torch.Tag.nondeterministic_seeded not in function.tags or type_name(function).endswith("_backward"):
        return False
    return argument_values(function, call[1], call[2]).get("dropout_p") != 0


def argument_values(function, args, kwargs):
    """All arguments of a call by name, defaults included."""
    arguments = function._schema.arguments
    return {a.name: args[i] if i < len(args) else kwargs.get(a.name, a.default_value) for i, a in enumerate(arguments)}


def may_share_address(function, operands, results):
    """An elementwise result may take the place of an operand if every operand of its bytes is laid out as it is."""
    if torch.Tag.pointwise not in function.tags or len(results) != 1 or not covers_storage(results[0]):
        return False
    result = results[0]
    same = [t for t in operands if storage_of(t).nbytes() == storage_of(result).nbytes()]
    return bool(same) and all(
        t.shape == result.shape and t.stride() == result.stride() and t.dtype == result.dtype for t in same
    )


def watch_modules(model, tracer_of):
    """Keeps the paths of the running modules in the tracer."""

    def enter(path):
        return lambda module, args: tracer_of().modules.append(path)

    def leave(module, args, output):
        tracer_of().modules.pop()

    for path, module in model.named_modules():
        module.register_forward_pre_hook(enter(path))
        module.register_forward_hook(leave)


def declare_all(tracer, model, loss_fn, optimizer, args, kwargs, target):
    names = {}
    for path, p in model.named_parameters(remove_duplicate=False):
        names.setdefault(id(p), path)
        tracer.declare(p, path, "parameter", path)
    for path, b in model.named_buffers():
        tracer.declare(b, path, "state")
    if isinstance(loss_fn, torch.nn.Module):
        for path, p in loss_fn.named_parameters():
            names.setdefault(id(p), f"loss.{path}")
            tracer.declare(p, f"loss.{path}", "parameter", f"loss.{path}")
        for path, b in loss_fn.named_buffers():
            tracer.declare(b, f"loss.{path}", "state")
    for group in optimizer.param_groups:
        for i, p in enumerate(group["params"]):
            name = names.setdefault(id(p), f"optimizer.{i}")
            tracer.declare(p, name, "parameter", name)
            for key, value in optimizer.state.get(p, {}).items():
                for t in tensors_in(value):
                    tracer.declare(t, f"{name}.{key}", "state", name)
    declare_inputs(tracer, "input", args)
    for key, value in kwargs.items():
        declare_inputs(tracer, key, value)
    declare_inputs(tracer, "target", target)


def declare_inputs(tracer, name, value):
    tensors = tensors_in(value)
    for i, t in enumerate(tensors):
        tracer.declare(t, name if len(tensors) == 1 else f"{name}.{i}", "input")


def run_step(tracer, model, loss_fn, optimizer, args, kwargs, target, attention):
    with tracer:
        optimizer.zero_grad(set_to_none=True)
        with META, gpu_calls(attention):
            output = model(*args, **kwargs)
            tracer.phase = "loss"
            if loss_fn is None:
                loss = output
            else:
                loss = loss_fn(output) if target is None else loss_fn(output, target)
        if not isinstance(loss, torch.Tensor) or loss.numel() != 1:
            shown = list(loss.shape) if isinstance(loss, torch.Tensor) else type(loss).__name__
            raise ExportError(f"the loss is {shown}: expected a tensor of one element")
        if not loss.requires_grad:
            raise ExportError("the loss depends on no parameter that wants a gradient")
        tracer.phase = "backward"
        loss.backward()
        tracer.phase = "update"
        for group in optimizer.param_groups:
            for p in group["params"]:
                tracer.name_gradient(p)
        optimizer.step()
    return loss


def trace_step(model, loss_fn, args, kwargs, target, optimizer, name, attention, functional):
    """The StepGraph of the second of two steps: the first makes the optimizer's state. Changes no argument."""
    copies = MetaCopies()
    model, loss_fn, optimizer = copies.modules(model, loss_fn, optimizer)
    args, kwargs, target = copies.tree(args), copies.tree(kwargs), copies.tree(target)
    tracer = Tracer(functional)
    watch_modules(model, lambda: tracer)
    for first in (True, False):
        tracer = Tracer(functional)
        declare_all(tracer, model, loss_fn, optimizer, args, kwargs, target)
        with sentences(lambda: tracer):
            loss = run_step(tracer, model, loss_fn, optimizer, args, kwargs, target, attention)
    buffer = tracer.buffer_of(loss)
    if tracer.buffers[buffer].kind != "temporary":
        raise ExportError(f"the loss is the {tracer.buffers[buffer].kind} '{tracer.buffers[buffer].name}' itself")
    tracer.buffers[buffer].kind = "output"
    tracer.buffers[buffer].name = tracer.buffer_names.unique("loss")
    for op in tracer.ops:
        if buffer in op.outputs:
            op.recomputable = op.inplace = False
    return without_unused(StepGraph(name, tracer.buffers, tracer.ops))


@contextlib.contextmanager
def sentences(tracer_of):
    """Turns what a step throws into one sentence that says where."""
    try:
        yield
    except ExportError:
        raise
    except Exception as error:
        tracer = tracer_of()
        call = tracer.last_call
        place = f"in the {tracer.phase} pass" if tracer.phase in ("forward", "backward") else f"in the {tracer.phase}"
        if tracer.modules and tracer.modules[-1]:
            place += f", module '{tracer.modules[-1]}'"
        reads_values = {torch.Tag.data_dependent_output, torch.Tag.dynamic_output_shape}
        if call is not None and reads_values & set(call.tags) and not isinstance(error, IndexError):
            raise ExportError(
                f"{place} the values of a tensor decide what comes next ({call}), "
                "but a plan needs a step that is the same for all data"
            ) from error
        hint = ""
        if "device" in str(error) and "meta" in str(error):
            hint = " (a tensor of a closure or global variable? model, inputs, target and loss module may have tensors)"
        raise ExportError(f"{place} the step failed after {call}: {first_line(error)}{hint}") from error


def without_unused(graph):
    """Drops temporaries no op touches (memory that was reserved and never written)."""
    used = {b for op in graph.ops for b in op.inputs + op.outputs}
    kept = [b for b, buffer in enumerate(graph.buffers) if b in used or buffer.kind != "temporary"]
    position = {b: i for i, b in enumerate(kept)}
    for op in graph.ops:
        op.inputs = [position[b] for b in op.inputs]
        op.outputs = [position[b] for b in op.outputs]
    return StepGraph(graph.name, [graph.buffers[b] for b in kept], graph.ops)


def updates_early(graph):
    """The same graph with each optimizer op as early as its operands allow, so that gradients need not wait."""
    after, writer, readers, places = [], {}, {}, []
    for i, op in enumerate(graph.ops):
        before = [writer[b] for b in op.inputs + op.outputs if b in writer]
        before += [r for b in op.outputs for r in readers.get(b, ())]
        after.append(max((after[p] for p in before), default=-1) if op.update else i)
        places.append((after[i], op.update, i))
        for b in op.inputs:
            readers.setdefault(b, []).append(i)
        for b in op.outputs:
            writer[b], readers[b] = i, []
    return StepGraph(graph.name, graph.buffers, [graph.ops[i] for _, _, i in sorted(places)])
