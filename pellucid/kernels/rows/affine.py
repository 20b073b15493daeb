"""Batch norm with given statistics: `(x - mean) * rstd * weight + bias` for each channel (floats,
in C order or channels_last).

>>> x, one = np.ones((2, 3, 40), np.float32), np.ones(3, np.float32)
>>> made = normalized(x, one, one, None, one)
>>> made is None or bool((made == 1).all())
True

Two-byte floats are computed in float32 and rounded once; the others have NumPy's bits.
"""

from __future__ import annotations

import math

import numpy as np

from ...llvm import jit, target, threads
from ...llvm.emit import BYTES, MEMORY, REGISTER, Module, SSAValue, vector
from ...llvm.outputs import empty
from ..pointwise.values import available, numpy_dtype, pack, unpack

__all__ = ["normalized"]

_GRAIN = 16384  # elements per chunk
_SHORT = 16  # for fewer contiguous elements of a channel NumPy is used
_KINDS = {numpy_dtype(name): name for name in ("float32", "float64", "float16", "bfloat16")}


def _build(name: str) -> str:
    """Emit a kernel whose rows belong to one channel each, or contain all channels. `numbers` has
    the four numbers of each channel.
    """
    form, dtype = name.split("_")
    ctype, real = MEMORY[dtype], REGISTER[dtype]
    width = target.host().vector_bits // (8 * BYTES[ctype])
    memory, kind = vector(ctype, width), vector(real, width)
    module = Module()
    params = {"x": "ptr", "numbers": "ptr", "out": "ptr", "columns": "i64", "channels": "i64"}
    f = threads.parallel_export(module, name, params)
    with f.loop(f.begin, f.end) as r:
        here, out = f.at(f.x, r * f.columns, ctype), f.at(f.out, r * f.columns, ctype)
        numbers = [f.at(f.numbers, f.channels * k, real) for k in range(4)]
        same: list[SSAValue] = []
        if form == "rows":
            same = [f.splat(f.load(real, p, r % f.channels), kind) for p in numbers]

        def body(i: SSAValue, mask: SSAValue | None) -> None:
            given = same or [f.load(kind, p, i, mask=mask) for p in numbers]
            mean, rstd, weight, bias = given
            own = unpack(f, f.load(memory, here, i, mask=mask), dtype)
            made = (own - mean) * rstd * weight + bias
            f.store(pack(f, made, dtype), out, i, mask=mask)

        f.vector_loop(f.columns, width, body)
    f.ret()
    return module.text(name)


_lib = jit.NativeLibrary(
    "batch norm by statistics",
    _build,
    {f"{form}_{kind}": "paaaiiii" for form in ("rows", "columns") for kind in _KINDS.values()},
)


def normalized(
    x: np.ndarray,
    mean: np.ndarray,
    rstd: np.ndarray,
    weight: np.ndarray | None,
    bias: np.ndarray | None,
) -> np.ndarray | None:
    """Return the result in the memory layout of `x`; None if not supported."""
    kind = _KINDS.get(x.dtype)
    if kind is None or x.ndim < 2 or not x.size or not available(kind):
        return None
    wide = np.float64 if kind == "float64" else np.float32
    channels, last = x.shape[1], (0, *range(2, x.ndim), 1)
    if x.flags.c_contiguous:
        form, columns = "rows", math.prod(x.shape[2:])
    elif x.transpose(last).flags.c_contiguous:
        form, columns = "columns", channels
    else:
        return None
    if columns < _SHORT and x.ndim > 2:
        return None
    if x.ndim == 2:
        form, columns = "columns", channels
    run = getattr(_lib, f"{form}_{kind}")
    if run is None:
        return None
    numbers = np.empty((4, channels), wide)
    # neutral elements if there is no weight or bias; for sums that is -0.0
    for k, (given, without) in enumerate(((mean, 0), (rstd, 1), (weight, 1), (bias, -0.0))):
        numbers[k] = without if given is None else given.reshape(-1)
    rows = x.size // columns
    if x.flags.c_contiguous:
        made = out = empty(x.shape, x.dtype)
    else:
        made = np.empty([x.shape[d] for d in last], x.dtype)
        out = made.transpose((0, x.ndim - 1, *range(1, x.ndim - 1)))
    grain = max(1, _GRAIN // columns)
    run(threads.team(), x, numbers, made, columns, channels, rows, grain)
    return out
