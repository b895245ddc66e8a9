"""How the golden files store tensors: small ones whole, large ones as projections on random signs."""
import math

import numpy as np

import philox


def rounded(value, digits):
    """Digits behind the point, in exponent notation."""
    return float(f"{value:.{digits}e}")


def fingerprint(value, seed, projections, digits):
    flat = value.reshape(-1)
    if flat.size <= projections:
        return {"values": [rounded(v, digits) for v in flat]}
    bits = philox.named_stream("signs", seed).bits(flat.size)
    signs = ((bits[None, :] >> np.arange(projections, dtype=np.uint32)[:, None]) & 1).astype(np.float64) * 2 - 1
    return {"projections": [rounded(p, digits) for p in signs @ flat]}


def set_norm(of_set):
    return math.sqrt(sum(float(np.vdot(v, v)) for v in of_set.values()))
