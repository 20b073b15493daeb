"""Evenly spaced numbers, each computed from the nearer end (float32 and float64).

>>> made = spaced(5, np.array([0.0, 1.0, 0.25]), np.dtype(np.float32))
>>> made is None or made.tolist() == [0.0, 0.25, 0.5, 0.75, 1.0]
True
"""

from __future__ import annotations

import numpy as np

from ...dtypes import name_of
from ...llvm import jit, target, threads
from ...llvm.emit import Module, SSAValue, types_of, vector

__all__ = ["spaced"]

_GRAIN = 1 << 15  # numbers per chunk
_CTYPES = types_of("float32 float64")


def _build(ctype: str) -> str:
    """Emit the kernel, which computes in double and rounds each number once."""
    module = Module()
    f = threads.parallel_export(module, ctype, {"out": "ptr", "ends": "ptr", "count": "i64"})
    width = target.host().lanes("double")
    places, wide = vector("i64", width), vector("double", width)
    first, last, step = (f.splat(f.load("double", f.ends, k), wide) for k in range(3))
    half, most = f.splat(f.count // 2, places), f.splat(f.count - 1, places)
    out = f.at(f.out, f.begin, ctype)

    def body(i: SSAValue, mask: SSAValue | None) -> None:
        at = f.splat(f.begin + i, places) + f.iota(places)
        near = at.compare("slt", half)
        away = f.to_float(f.select(near, at, most - at), wide) * step
        made = f.select(near, first + away, last - away)
        made = made if ctype == "double" else f.trunc(made, vector(ctype, width))
        f.store(made, out, i, mask=mask)

    f.vector_loop(f.end - f.begin, width, body)
    f.ret()
    return module.text()


_lib = jit.NativeLibrary("lines", _build, dict.fromkeys(_CTYPES.values(), "paaiii"))


def spaced(count: int, ends: np.ndarray, kind: np.dtype) -> np.ndarray | None:
    """Return `count` numbers from `ends[0]` to `ends[1]` with the step `ends[2]`, all in double;
    None if the dtype is not supported.
    """
    ctype = _CTYPES.get(name_of(kind))
    run = None if ctype is None else getattr(_lib, ctype)
    if run is None:
        return None
    out = np.empty(count, kind)
    run(threads.team(), out, ends, count, count, _GRAIN)
    return out
