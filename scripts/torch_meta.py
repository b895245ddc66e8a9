"""Tensors without data (device `meta`) in the place of a user's model, optimizer and inputs."""

import contextlib
import copy

import torch
from torch.utils._pytree import tree_flatten, tree_map

META = torch.device("meta")


class ExportError(Exception):
    """A step that cannot be exported, in one sentence."""


def first_line(error):
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0][:200]}" if lines else type(error).__name__


def tensors_in(value):
    """The tensors on the traced device in any nesting of tuples, lists and dicts. Others are host scalars."""
    return [t for t in tree_flatten(value)[0] if isinstance(t, torch.Tensor) and t.device.type == "meta"]


def storage_of(tensor):
    try:
        return tensor.untyped_storage()
    except (NotImplementedError, RuntimeError):
        layout = tensor.layout
        raise ExportError(f"a tensor of layout {layout} has no storage: only dense tensors can be exported") from None


def aliases(value):
    """The same with other tensors on the same storages. Holding a step's own tensors would change the step: autograd takes
    over a gradient that nobody else holds, and copies one that somebody does."""

    def alias(leaf):
        if not isinstance(leaf, torch.Tensor) or leaf.device.type != "meta":
            return leaf
        made = torch.empty(0, dtype=leaf.dtype, device=META)
        return made.set_(storage_of(leaf), leaf.storage_offset(), leaf.shape, leaf.stride())

    return tree_map(alias, value)


def covers_storage(tensor):
    return tensor.numel() * tensor.element_size() == storage_of(tensor).nbytes() and not any(
        stride == 0 for size, stride in zip(tensor.shape, tensor.stride()) if size > 1
    )


class MetaCopies:
    """Meta tensors with the sizes, strides and shared storages of real ones."""

    def __init__(self):
        self.memo = {}  # as copy.deepcopy's: id of the original → copy
        self._originals = []  # ids stay theirs
        self._storages = {}

    def tensor(self, t):
        if id(t) in self.memo:
            return self.memo[id(t)]
        storage = storage_of(t)
        if storage._cdata not in self._storages:
            base = torch.empty(storage.nbytes(), dtype=torch.uint8, device=META)
            self._storages[storage._cdata] = base.untyped_storage()
        made = torch.empty(0, dtype=t.dtype, device=META)
        made.set_(self._storages[storage._cdata], t.storage_offset(), t.shape, t.stride())
        if isinstance(t, torch.nn.Parameter):
            made = torch.nn.Parameter(made, requires_grad=t.requires_grad)
            made.__dict__.update(t.__dict__)
        elif t.is_leaf:
            made.requires_grad_(t.requires_grad)
        self.memo[id(t)] = made
        self._originals += [t, storage]
        return made

    def tree(self, value):
        return tree_map(lambda leaf: self.tensor(leaf) if isinstance(leaf, torch.Tensor) else leaf, value)

    def modules(self, model, loss_fn, optimizer):
        """Copies of the three that share tensors as the originals do."""
        for module in (model, loss_fn):
            if isinstance(module, torch.nn.Module):
                for part in module.modules():
                    plain = (value for value in vars(part).values() if isinstance(value, torch.Tensor))
                    for t in [*part.parameters(recurse=False), *part.buffers(recurse=False), *plain]:
                        self.tensor(t)
        for state in optimizer.state.values():
            for t in state.values() if isinstance(state, dict) else ():
                # Step counters of optimizers stay on the host, where they are read.
                if isinstance(t, torch.Tensor) and not (t.device.type == "cpu" and t.dim() == 0):
                    self.tensor(t)
        try:
            return copy.deepcopy((model, loss_fn, optimizer), self.memo)
        except Exception as error:
            raise ExportError(f"the model, its loss or its optimizer cannot be copied: {first_line(error)}") from error


@contextlib.contextmanager
def gpu_calls(attention):
    """Makes two calls on meta tensors as a GPU makes them, wherever they come from: dropout with a mask of bytes, and
    attention that does not store its weights (`attention` "efficient"; "math": matrix products and a softmax)."""
    library = torch.library.Library("aten", "IMPL")
    try:
        library.impl("dropout", gpu_dropout, "AutogradMeta")
        if attention == "efficient":
            library.impl("scaled_dot_product_attention", gpu_attention, "AutogradMeta")
        yield
    finally:
        library._destroy()


def gpu_dropout(input, p, train):
    if not train or p == 0:
        return torch.ops.aten.dropout.default.decompose(input, p, train)
    return torch.native_dropout(input, p, True)[0]


def gpu_attention(query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, *, scale=None, enable_gqa=False):
    if query.dim() != 4 or enable_gqa:
        return torch.ops.aten.scaled_dot_product_attention.default.decompose(
            query, key, value, attn_mask, dropout_p, is_causal, scale=scale, enable_gqa=enable_gqa
        )
    bias = attn_mask
    if bias is not None:
        if bias.dtype == torch.bool:
            bias = torch.zeros_like(bias, dtype=query.dtype).masked_fill_(bias.logical_not(), float("-inf"))
        bias = bias.expand(query.shape[0], query.shape[1], query.shape[2], key.shape[2])
    wants_gradient = torch.is_grad_enabled() and any(t.requires_grad for t in (query, key, value))
    return torch.ops.aten._scaled_dot_product_efficient_attention(
        query, key, value, bias, wants_gradient, dropout_p, is_causal, scale=scale
    )[0]
