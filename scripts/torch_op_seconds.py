"""Seconds of the ops of a traced PyTorch step: modelled for a named device, or measured here."""

import statistics
import time
from dataclasses import dataclass

import torch
from torch.utils._pytree import tree_flatten, tree_map
from torch.utils.flop_counter import flop_registry

from torch_meta import ExportError, first_line, storage_of, tensors_in

# What well-tuned libraries reach of the peaks, and the least time of any op: as for SwapAdvisor's own models.
MATRIX_EFFICIENCY = 0.7
BANDWIDTH_EFFICIENCY = 0.8
LAUNCH_SECONDS = 5e-6
REPEATS = 5
GATHERS = {"embedding", "index", "index_select", "gather"}  # read as much as they write, not the whole table
SECONDS_PER_OP = 0.2  # further repeats of an op end then


@dataclass(frozen=True)
class Peaks:
    """FLOP/s by element type, and bytes/s of device memory, from the vendor's data sheets (no sparsity, no TF32)."""

    float32: float
    float64: float
    float16: float
    bfloat16: float
    bytes_per_second: float


PEAKS = {
    "v100-16g": Peaks(15.7e12, 7.8e12, 125e12, 15.7e12, 900e9),
    "a100-40g": Peaks(19.5e12, 9.7e12, 312e12, 312e12, 1555e9),
    "h200": Peaks(67e12, 34e12, 989e12, 989e12, 4.8e12),
}


def touched_bytes(tensor):
    """Bytes of the elements a tensor shows; an expanded one shows the same ones several times."""
    elements = 1
    for size, stride in zip(tensor.shape, tensor.stride()):
        elements *= size if stride != 0 else min(size, 1)
    return min(elements * tensor.element_size(), storage_of(tensor).nbytes())


def modelled_seconds(call, peaks):
    """Roofline (Williams et al., CACM 2009): launch + max(FLOPs ÷ rate, bytes ÷ rate)."""
    function, args, kwargs, result = call
    formula = flop_registry.get(function._overloadpacket)
    flops = formula(*args, **kwargs, out_val=result) if formula else 0
    operands, results = tensors_in((args, kwargs)), tensors_in(result)
    dtypes = [t.dtype for t in operands + results if t.dtype.is_floating_point]
    rate = getattr(peaks, str(dtypes[0]).removeprefix("torch."), peaks.float32) if dtypes else peaks.float32
    written = sum(map(touched_bytes, results))
    read = [touched_bytes(t) for t in operands]
    if function._overloadpacket.__name__ in GATHERS:
        read = [min(size, written) for size in read]
    moved = sum(read) + written
    math = flops / (rate * MATRIX_EFFICIENCY)
    memory = moved / (peaks.bytes_per_second * BANDWIDTH_EFFICIENCY)
    return LAUNCH_SECONDS + max(math, memory)


class Stopwatch:
    """Runs single calls on `device` with operands of their own, so that only one op has to fit in memory at a time.
    Calls that are equal but for the values are measured once."""

    def __init__(self, device):
        if device == "cuda" and not torch.cuda.is_available():
            raise ExportError("--measure cuda: PyTorch finds no CUDA device here")
        self._device = torch.device(device)
        self._known = {}

    def measure(self, op):
        """(median seconds, bytes of scratch memory; 0 on the CPU, which does not tell)."""
        key = self._key(op.call)
        if key not in self._known:
            try:
                with torch.no_grad():
                    self._known[key] = self._run(op.call)
            except Exception as error:
                raise ExportError(
                    f"op '{op.name}' ({op.type}) cannot be measured on {self._device}: {first_line(error)}"
                ) from error
        return self._known[key]

    @staticmethod
    def _key(call):
        function, args, kwargs, _ = call
        storages = {}

        def describe(leaf):
            if not isinstance(leaf, torch.Tensor):
                return repr(leaf)
            shared = storages.setdefault(storage_of(leaf)._cdata, len(storages))
            return (shared, str(leaf.dtype), tuple(leaf.shape), leaf.stride(), leaf.storage_offset())

        leaves, structure = tree_flatten((args, kwargs))
        return str(function), str(structure), tuple(map(describe, leaves))

    def _operands(self, value):
        storages = {}

        def real(leaf):
            if isinstance(leaf, torch.device):
                return self._device if leaf.type == "meta" else leaf
            if not isinstance(leaf, torch.Tensor) or leaf.device.type != "meta":
                return leaf
            storage = storage_of(leaf)
            if storage._cdata not in storages:
                base = torch.zeros(storage.nbytes(), dtype=torch.uint8, device=self._device)
                whole = base[: storage.nbytes() // leaf.element_size() * leaf.element_size()].view(leaf.dtype)
                if leaf.dtype.is_floating_point:
                    whole.uniform_(0.1, 1)  # no denormals, no roots of negative numbers; integers are 0, valid as indices
                storages[storage._cdata] = base.untyped_storage()
            made = torch.empty(0, dtype=leaf.dtype, device=self._device)
            return made.set_(storages[storage._cdata], leaf.storage_offset(), leaf.shape, leaf.stride())

        return tree_map(real, value)

    def _run(self, call):
        function, args, kwargs, result = call
        args, kwargs = self._operands((args, kwargs))
        scratch = self._scratch(function, args, kwargs)
        times, begin = [], time.perf_counter()
        while len(times) < REPEATS and (not times or time.perf_counter() - begin < SECONDS_PER_OP):
            times.append(self._once(function, args, kwargs))
        return statistics.median(times), scratch

    def _scratch(self, function, args, kwargs):
        """Runs the call to warm up, and finds how much memory it took beyond its results."""
        if self._device.type != "cuda":
            function(*args, **kwargs)
            return 0
        function(*args, **kwargs)
        torch.cuda.synchronize()
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_allocated()
        kept = function(*args, **kwargs)
        torch.cuda.synchronize()
        peak, after = torch.cuda.max_memory_allocated(), torch.cuda.memory_allocated()
        del kept
        return max(0, peak - max(before, after))

    def _once(self, function, args, kwargs):
        if self._device.type != "cuda":
            begin = time.perf_counter()
            function(*args, **kwargs)
            return time.perf_counter() - begin
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        function(*args, **kwargs)
        end.record()
        end.synchronize()
        return begin.elapsed_time(end) / 1000
