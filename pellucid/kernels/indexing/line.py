"""Evenly spaced numbers, each computed from the nearer end (float32 and float64).

>>> made = spaced(5, 0.0, 1.0, np.dtype(np.float32))
>>> made is None or made.tolist() == [0.0, 0.25, 0.5, 0.75, 1.0]
True
"""

from __future__ import annotations

import numpy as np

from ...llvm import jit, target, threads
from ...llvm.emit import Module, SSAValue, types_of, vector

__all__ = ["spaced"]

_GRAIN = 1 << 15  # numbers per chunk
_CTYPES = types_of("float32 float64")


def _build(ctype: str) -> str:
    """Emit the kernel. The ends and the step have the type of the numbers, which are computed in
    double and rounded once.
    """
    module = Module()
    params = {"out": "ptr", "first": "double", "last": "double", "count": "i64"}
    f = threads.parallel_export(module, ctype, params)
    width = target.host().lanes("double")
    places, wide = vector("i64", width), vector("double", width)
    ends = [x if ctype == "double" else f.trunc(x, ctype) for x in (f.first, f.last)]
    ends.append((ends[1] - ends[0]) / f.to_float(f.count - 1, ctype))
    first, last, step = (
        f.splat(x if ctype == "double" else f.extend(x, "double"), wide) for x in ends
    )
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


_lib = jit.NativeLibrary("lines", _build, dict.fromkeys(_CTYPES.values(), "paddiii"))


_CTYPE_OF = {np.dtype(name): ctype for name, ctype in _CTYPES.items()}


def spaced(count: int, first: float, last: float, kind: np.dtype) -> np.ndarray | None:
    """Return `count` numbers, at least two, from `first` to `last`, which are rounded to the dtype;
    None if that is not supported.
    """
    ctype = _CTYPE_OF.get(kind)
    run = None if ctype is None else getattr(_lib, ctype)
    if run is None:
        return None
    out = np.empty(count, kind)
    run(threads.team(), out, first, last, count, count, _GRAIN)
    return out
