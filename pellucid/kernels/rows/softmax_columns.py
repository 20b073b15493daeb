"""Softmax, log-softmax and their gradients over a dimension that is not the last (float32 and
float64), with memory accessed in its order.

An array is regarded as (outer, length, inner), and a task is a block of columns with the same outer
index. The maximum and the sum (in double) of each column are kept in a small buffer while the rows
are processed.

>>> kernel, numbers = prepared("softmax", (1, 2, 3), np.dtype(np.float64))
>>> numbers[:3]
(2, 3, 1)
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...llvm import jit, math, math64, target, threads
from ...llvm.emit import Function, Module, SSAValue, vector

__all__ = ["prepared"]

BLOCK = 256  # columns per task
GRAIN = 16384  # elements per chunk


class _Columns:
    """Loops over the vectors of a block's columns, once or for every row."""

    def __init__(self, f: Function, real: str, start: SSAValue, count: SSAValue) -> None:
        self.f, self.real, self.start, self.count = f, real, start, count
        self.width = target.host().lanes(real)
        self.kind, self.double = vector(real, self.width), vector("double", self.width)
        self.functions = math if real == "float" else math64

    def once(self, body) -> None:
        """Emit `body(i, mask)` for the vectors of the block."""
        self.f.vector_loop(self.count, self.width, body)

    def rows(self, body, first: int = 0) -> None:
        """Emit `body(at, i, mask)` for every row, where `at` is the index of its vector in the
        arrays.
        """
        with self.f.loop(first, self.f.length) as row:
            base = self.start + row * self.f.inner
            self.once(lambda i, mask: body(base + i, i, mask))

    def load(self, pointer: SSAValue, at: SSAValue, mask: SSAValue | None) -> SSAValue:
        return self.f.load(self.kind, pointer, at, mask=mask)

    def exp(self, x: SSAValue) -> SSAValue:
        return self.functions.exp(self.f, x)

    def log(self, x: SSAValue) -> SSAValue:
        return self.functions.log(self.f, x)

    def sum(self, sums: SSAValue, i: SSAValue, term: SSAValue) -> None:
        """Add to the sums of the columns."""
        old = self.f.load(self.double, sums, i)
        self.f.store(old + self.f.extend(term, self.double), sums, i)

    def total(self, sums: SSAValue, i: SSAValue) -> SSAValue:
        return self.f.trunc(self.f.load(self.double, sums, i), self.kind)


def _forward(f: Function, c: _Columns, tops: SSAValue, sums: SSAValue, log: bool) -> None:
    def begin(i: SSAValue, mask: SSAValue | None) -> None:
        f.store(c.load(f.x, c.start + i, mask), tops, i)
        f.store(f.const(0.0, c.double), sums, i)

    def highest(at: SSAValue, i: SSAValue, mask: SSAValue | None) -> None:
        f.store(f.larger(c.load(f.x, at, mask), f.load(c.kind, tops, i)), tops, i)

    def add(at: SSAValue, i: SSAValue, mask: SSAValue | None) -> None:
        e = c.exp(c.load(f.x, at, mask) - f.load(c.kind, tops, i))
        if not log:
            f.store(e, f.out, at, mask=mask)
        c.sum(sums, i, e)

    def close(i: SSAValue, mask: SSAValue | None) -> None:
        f.store(c.log(c.total(sums, i)) if log else 1.0 / c.total(sums, i), scales, i)

    def write(at: SSAValue, i: SSAValue, mask: SSAValue | None) -> None:
        if log:
            made = c.load(f.x, at, mask) - f.load(c.kind, tops, i) - f.load(c.kind, scales, i)
        else:
            made = c.load(f.out, at, mask) * f.load(c.kind, scales, i)
        f.store(made, f.out, at, mask=mask)

    scales = f.buffer(c.real, BLOCK)
    c.once(begin)
    c.rows(highest, 1)
    c.rows(add)
    c.once(close)
    c.rows(write)


def _backward(f: Function, c: _Columns, sums: SSAValue, log: bool) -> None:
    def add(at: SSAValue, i: SSAValue, mask: SSAValue | None) -> None:
        g = c.load(f.g, at, mask)
        c.sum(sums, i, g if log else g * c.load(f.y, at, mask))

    def write(at: SSAValue, i: SSAValue, mask: SSAValue | None) -> None:
        g, y, total = c.load(f.g, at, mask), c.load(f.y, at, mask), c.total(sums, i)
        f.store(g - c.exp(y) * total if log else (g - total) * y, f.out, at, mask=mask)

    c.once(lambda i, mask: f.store(f.const(0.0, c.double), sums, i))
    c.rows(add)
    c.rows(write)


def _build(symbol: str) -> str:
    name, real = symbol.split(".")
    backward, log = name.endswith("_backward"), name.startswith("log")
    module = Module()
    pointers = ("g", "y", "out") if backward else ("x", "out")
    f = threads.parallel_export(
        module, symbol, {**dict.fromkeys(pointers, "ptr"), "length": "i64", "inner": "i64"}
    )
    tops, sums = f.buffer(real, BLOCK), f.buffer("double", BLOCK)
    blocks = (f.inner + (BLOCK - 1)) // BLOCK
    with f.loop(f.begin, f.end) as task:
        first = task % blocks * BLOCK
        columns = _Columns(
            f, real, task // blocks * f.length * f.inner + first, f.smaller(f.inner - first, BLOCK)
        )
        if backward:
            _backward(f, columns, sums, log)
        else:
            _forward(f, columns, tops, sums, log)
    f.ret()
    return module.text()


_REALS = {np.dtype(np.float32): "float", np.dtype(np.float64): "double"}
_lib = jit.NativeLibrary(
    "softmax of columns",
    _build,
    {
        f"{name}.{real}": "paaaiiii" if name.endswith("_backward") else "paaiiii"
        for name in ("softmax", "log_softmax", "softmax_backward", "log_softmax_backward")
        for real in _REALS.values()
    },
)


def prepared(
    name: str, middle: tuple[int, int, int], dtype: np.dtype[Any]
) -> tuple[Any, tuple[int, ...]]:
    """Return the kernel of `name` over a dimension (None if there is none) and its numbers.
    `middle` has the number of positions before the dimension, in it and behind it.
    """
    outer, length, inner = middle
    blocks = 1 if inner <= BLOCK else -(-inner // BLOCK)
    grain = GRAIN // (length * (inner if inner < BLOCK else BLOCK)) or 1
    return getattr(_lib, f"{name}.{_REALS[dtype]}"), (length, inner, outer * blocks, grain)
