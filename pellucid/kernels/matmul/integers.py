"""Products of integer matrices, which BLAS does not provide: blocks of four rows and three vectors
of columns stay in registers. Products of a matrix and a vector go along the rows.

Sums wrap around as NumPy's do.

>>> made = multiply(np.arange(4).reshape(2, 2), np.arange(4).reshape(2, 2))
>>> made is None or made.tolist() == [[2, 3], [6, 11]]
True
"""

from __future__ import annotations

import math

import numpy as np

from ...dtypes import name_of
from ...llvm import jit, target, threads
from ...llvm.emit import BYTES, Module, SSAValue, Var, types_of, vector

__all__ = ["multiply", "times_vector"]

ROWS, VECTORS = 4, 3
GRAIN = 1 << 16  # multiplications per chunk
_CTYPES = types_of("int64 int32 int16 int8 uint64 uint32 uint16 uint8")


def _build(name: str) -> str:
    form, _, ctype = name.partition(".")
    return _rows_times_vector(name, ctype) if form == "vector" else _matrices(name, ctype)


def _rows_times_vector(name: str, ctype: str) -> str:
    module = Module()
    width = target.host().vector_bits // (8 * BYTES[ctype])
    kind = vector(ctype, width)
    params = {**dict.fromkeys(("a", "b", "out"), "ptr"), "terms": "i64"}
    f = threads.parallel_export(module, name, params)
    with f.loop(f.begin, f.end) as row:
        line = f.at(f.a, row * f.terms, ctype)
        sums = [f.var(kind, f.const(0, kind)) for _ in range(ROWS)]
        whole = f.terms - f.terms % (width * ROWS)

        def add(total: Var, i: SSAValue, mask: SSAValue | None, line: SSAValue = line) -> None:
            x, y = f.load(kind, line, i, mask=mask), f.load(kind, f.b, i, mask=mask)
            total.set(total.get() + x * y)

        with f.loop(0, whole, width * ROWS) as i:
            for u, total in enumerate(sums):
                add(total, i + u * width, None)
        with f.loop(whole, f.terms, width) as i:
            add(sums[0], i, f.tail_mask(f.terms - i, width))
        first, *others = [total.get() for total in sums]
        for other in others:
            first = first + other
        f.store(f.total(first), f.out, row)
    f.ret()
    return module.text()


def _matrices(name: str, ctype: str) -> str:
    module = Module()
    width = target.host().vector_bits // (8 * BYTES[ctype])
    kind = vector(ctype, width)
    params = {
        **dict.fromkeys(("a", "b", "out"), "ptr"),
        **dict.fromkeys(("height", "columns", "terms"), "i64"),
    }
    f = threads.parallel_export(module, name, params)
    blocks = (f.height + (ROWS - 1)) // ROWS
    with f.loop(f.begin, f.end) as task:
        batch, first = task // blocks, task % blocks * ROWS
        rows = [batch * f.height + f.smaller(first + r, f.height - 1) for r in range(ROWS)]
        lines = [f.at(f.a, row * f.terms, ctype) for row in rows]
        b = f.at(f.b, batch * f.terms * f.columns, ctype)

        def columns(j: SSAValue, masks: list[SSAValue | None], rows=rows, lines=lines, b=b) -> None:
            sums = [[f.var(kind, f.const(0, kind)) for _ in masks] for _ in rows]
            with f.loop(0, f.terms) as p:
                at = p * f.columns + j
                right = [f.load(kind, b, at + v * width, mask=mask) for v, mask in enumerate(masks)]
                for line, row in zip(lines, sums):
                    left = f.splat(f.load(ctype, line, p), kind)
                    for part, value in zip(row, right):
                        part.set(part.get() + left * value)
            for row, parts in zip(rows, sums):  # rows beyond the last repeat the last one
                for v, (part, mask) in enumerate(zip(parts, masks)):
                    f.store(part.get(), f.out, row * f.columns + j + v * width, mask=mask)

        wide = VECTORS * width
        whole = f.columns - f.columns % wide
        with f.loop(0, whole, wide) as j:
            columns(j, [None] * VECTORS)
        with f.loop(whole, f.columns, width) as j:
            columns(j, [f.tail_mask(f.columns - j, width)])
    f.ret()
    return module.text()


_EACH = sorted(set(_CTYPES.values()))
_lib = jit.NativeLibrary(
    "products of integers",
    _build,
    {
        **{f"matrices.{ctype}": "paaaiiiii" for ctype in _EACH},
        **{f"vector.{ctype}": "paaaiii" for ctype in _EACH},
    },
)


def multiply(a: np.ndarray, b: np.ndarray) -> np.ndarray | None:
    """Return `a @ b` for matrices, or for stacks of matrices with the same leading sizes, of one
    dtype; None for others, or if one is empty.
    """
    ctype = _CTYPES.get(name_of(a.dtype))
    if (
        ctype is None
        or b.dtype is not a.dtype
        or a.ndim < 2
        or a.ndim != b.ndim
        or a.shape[:-2] != b.shape[:-2]
    ):
        return None
    (m, k), (other, n) = a.shape[-2:], b.shape[-2:]
    if k != other or not a.size or not b.size:
        return None
    kernel = getattr(_lib, f"matrices.{ctype}")
    if kernel is None:
        return None
    out = np.empty((*a.shape[:-1], n), a.dtype)
    tasks = math.prod(a.shape[:-2]) * -(-m // ROWS)
    grain = max(1, GRAIN // (ROWS * n * k))
    kernel(
        threads.team(), np.ascontiguousarray(a), np.ascontiguousarray(b), out, m, n, k, tasks, grain
    )
    return out


def times_vector(a: np.ndarray, b: np.ndarray) -> np.ndarray | None:
    """Return `a @ b` for an array of rows, with any number of dimensions, and a vector of the same
    dtype; None for others, or if one is empty.
    """
    ctype = _CTYPES.get(name_of(a.dtype))
    if ctype is None or b.dtype is not a.dtype or b.ndim != 1 or not a.ndim or not a.size:
        return None
    if a.shape[-1] != b.size:
        return None
    kernel = getattr(_lib, f"vector.{ctype}")
    if kernel is None:
        return None
    out = np.empty(a.shape[:-1], a.dtype)
    rows, vector = np.ascontiguousarray(a), np.ascontiguousarray(b)
    kernel(threads.team(), rows, vector, out, b.size, out.size, max(1, GRAIN // b.size))
    return out
