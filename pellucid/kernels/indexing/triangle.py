"""Copies of matrices with zeros above or below a diagonal.

>>> made = triangle(np.ones((80, 80)), 0, True)
>>> made is None or made[:2, :3].tolist() == [[1.0, 0.0, 0.0], [1.0, 1.0, 0.0]]
True

What is copied are bits, so any dtype of 1, 2, 4 or 8 bytes is served; zero is zero in all of them.
"""

from __future__ import annotations

import numpy as np

from ...llvm import jit, target, threads
from ...llvm.emit import Module, SSAValue, vector
from ...llvm.outputs import empty

__all__ = ["triangle"]

GRAIN = 32768  # elements per chunk
_TYPES = {1: "i8", 2: "i16", 4: "i32", 8: "i64"}


def _build(ctype: str) -> str:
    """Emit the kernel. Each row consists of kept elements followed by zeros, or zeros followed by
    kept elements; the boundary moves by one from row to row.
    """
    module = Module()
    params = dict.fromkeys(("x", "out"), "ptr")
    params |= dict.fromkeys(("rows", "columns", "diagonal", "lower"), "i64")
    f = threads.parallel_export(module, ctype, params)
    width = target.host().vector_bits // int(ctype[1:])
    kind = vector(ctype, width)
    none = f.const(0, kind)
    with f.loop(f.begin, f.end) as row:
        x, out = (f.at(p, row * f.columns, ctype) for p in (f.x, f.out))
        cut = row % f.rows + f.diagonal
        cut = f.smaller(f.larger(cut, 0), f.columns)
        lower = f.lower.compare("ne", 0)
        first, last = f.select(lower, f.const(0, "i64"), cut), f.select(lower, cut, f.columns)

        def zeros(begin: SSAValue, end: SSAValue, out: SSAValue = out) -> None:
            with f.loop(begin, end, width) as i:
                f.store(none, out, i, mask=f.tail_mask(end - i, width))

        zeros(f.const(0, "i64"), first)
        with f.loop(first, last, width) as i:
            mask = f.tail_mask(last - i, width)
            f.store(f.load(kind, x, i, mask=mask), out, i, mask=mask)
        zeros(last, f.columns)
    f.ret()
    return module.text()


_lib = jit.NativeLibrary("triangles", _build, dict.fromkeys(_TYPES.values(), "paaiiiiii"))


def triangle(x: np.ndarray, diagonal: int, lower: bool) -> np.ndarray | None:
    """Like `np.tril(x, diagonal)` or (with `lower` false) `np.triu` for a contiguous array of
    matrices; None for others.
    """
    ctype = _TYPES.get(x.itemsize)
    if ctype is None or x.ndim < 2 or not x.flags.c_contiguous or x.dtype.hasobject or not x.size:
        return None
    kernel = getattr(_lib, ctype)
    if kernel is None:
        return None
    rows, columns = x.shape[-2:]
    first = max(-rows, min(columns, diagonal)) + lower
    out = empty(x.shape, x.dtype)
    lines = x.size // columns
    kernel(threads.team(), x, out, rows, columns, first, lower, lines, max(1, GRAIN // columns))
    return out
