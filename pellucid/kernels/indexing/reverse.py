"""Copies of arrays with the last dimension reversed: elements of up to 8 bytes, a vector at a time.

>>> made = reversed_rows(np.arange(4096.0).reshape(2, -1)[:, ::-1])
>>> made is None or made[:, :2].tolist() == [[2047.0, 2046.0], [4095.0, 4094.0]]
True
"""

from __future__ import annotations

import numpy as np

from ...llvm import jit, target, threads
from ...llvm.emit import BYTES, Module, vector
from ...llvm.outputs import empty

__all__ = ["reversed_rows"]

LEAST = 4096  # for fewer elements NumPy is as fast
SHORT = 16  # the same for the elements of a row
GRAIN = 32768  # elements per chunk
_TYPES = {1: "i8", 2: "i16", 4: "i32", 8: "i64"}


def _build(name: str) -> str:
    ctype = name.removeprefix("reverse_")
    width = target.host().vector_bits // (8 * BYTES[ctype])
    kind = vector(ctype, width)
    module = Module()
    f = threads.parallel_export(module, name, {"x": "ptr", "out": "ptr", "columns": "i64"})
    with f.loop(f.begin, f.end) as row:
        x, out = f.at(f.x, row * f.columns, ctype), f.at(f.out, row * f.columns, ctype)
        whole = f.columns - f.columns % width
        with f.loop(0, whole, width) as i:
            values = f.load(kind, x, f.columns - i - width)
            f.store(f.shuffle(values, values, list(range(width))[::-1]), out, i)
        with f.loop(whole, f.columns) as i:
            f.store(f.load(ctype, x, f.columns - i - 1), out, i)
    f.ret()
    return module.text()


_lib = jit.NativeLibrary(
    "reversed copies", _build, {f"reverse_{name}": "paaiii" for name in _TYPES.values()}
)


def reversed_rows(x: np.ndarray) -> np.ndarray | None:
    """Return a C-contiguous copy of an array whose memory is in C order except that the last
    dimension is reversed; None for other arrays, and for few elements.
    """
    ctype, shape = _TYPES.get(x.itemsize), x.shape
    if ctype is None or x.size < LEAST or shape[-1] < SHORT or x.dtype.hasobject:
        return None
    rows = x[..., ::-1]
    if not rows.flags.c_contiguous or not rows.flags.aligned:
        return None
    function = getattr(_lib, f"reverse_{ctype}")
    if function is None:
        return None
    out = empty(shape, x.dtype)
    columns = shape[-1]
    function(threads.team(), rows, out, columns, x.size // columns, GRAIN // columns or 1)
    return out
