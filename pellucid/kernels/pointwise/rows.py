"""Arithmetic on rows, with one number per row or with one row for all (floats, and integers except
for quotients; in C order).

    >>> x, column = np.ones((300, 20), np.float32), np.arange(300, dtype=np.float32)[:, None]
    >>> made = arithmetic("multiply", x, column)
    >>> made is None or made[7].tolist() == [7.0] * 20
    True

NumPy calls its loop for each row, which takes as long as the arithmetic on a hundred numbers. The
numbers are NumPy's, bit for bit.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ...llvm import jit, target, threads
from ...llvm.emit import BYTES, MEMORY, Module, SSAValue, vector
from ...llvm.outputs import empty
from .values import available, is_float, numpy_dtype, pack, unpack

__all__ = ["LEAST", "OPERATIONS", "arithmetic"]

OPERATIONS: dict[str, Callable[[Any, Any], Any]] = {
    "add": lambda a, b: a + b,
    "subtract": lambda a, b: a - b,
    "multiply": lambda a, b: a * b,
    "divide": lambda a, b: a / b,
}
LEAST = 2048  # for results with fewer elements NumPy is used
_MOST = 1024  # for longer rows NumPy is used
_ROWS = 16  # least number of rows
_SHORT = 64  # rows with fewer columns are processed several at a time
# Permutations to the order in memory, and back: of a transposed matrix, and of channels_last
# images.
_ORDERS = {2: ((1, 0), (1, 0)), 4: ((0, 2, 3, 1), (0, 3, 1, 2))}
_NAMES = "float32 float64 float16 bfloat16 int8 uint8 int16 int32 int64".split()
_KINDS = {numpy_dtype(name): "int8" if name == "uint8" else name for name in _NAMES}
_GRAIN = 16384  # elements per chunk


def _build(name: str) -> str:
    operation, form, dtype, turned = name.split("_")
    ctype = MEMORY[dtype]
    compute, width = OPERATIONS[operation], target.host().vector_bits // (8 * BYTES[ctype])
    kind = vector(ctype, width)
    module = Module()
    params = {"x": "ptr", "other": "ptr", "out": "ptr", "columns": "i64", "step": "i64"}
    f = threads.parallel_export(module, name, params)
    with f.loop(f.begin, f.end) as r:
        here, out = f.at(f.x, r * f.step, ctype), f.at(f.out, r * f.columns, ctype)
        number = None
        if form == "column":
            number = unpack(f, f.splat(f.load(ctype, f.other, r), kind), dtype)

        def body(i: SSAValue, mask: SSAValue | None) -> None:
            own = unpack(f, f.load(kind, here, i, mask=mask), dtype)
            other = number
            if other is None:
                other = unpack(f, f.load(kind, f.other, i, mask=mask), dtype)
            made = compute(*((other, own) if turned == "turned" else (own, other)))
            f.store(pack(f, made, dtype), out, i, mask=mask)

        f.vector_loop(f.columns, width, body)
    f.ret()
    return module.text(name)


_lib = jit.NativeLibrary(
    "rows",
    _build,
    {
        f"{operation}_{form}_{kind}_{order}": "paaaiiii"
        for operation in OPERATIONS
        for form in ("column", "row")
        for kind in dict.fromkeys(_KINDS.values())
        if operation != "divide" or is_float(kind)
        for order in ("straight", "turned")
    },
)


def arithmetic(operation: str, a: np.ndarray, b: np.ndarray) -> np.ndarray | None:
    """Like `np.add(a, b)` and the like, if one operand has one number for each row of the other, or
    is a single row. None if not supported.

    For this, a column has size 1 in its trailing dimensions; a row has no leading dimensions, or
    leading dimensions of size 1. For transposed matrices and channels_last images, the dimensions
    count in their order in memory. A column and a row together make a matrix.
    """
    kind = _KINDS.get(a.dtype)
    if (
        kind is None
        or operation not in OPERATIONS
        or operation == "divide"
        and not is_float(kind)
        or b.dtype is not a.dtype
    ):
        return None
    turned = a.size < b.size
    large, small = (b, a) if turned else (a, b)
    way = None if large.flags.c_contiguous or small.ndim > large.ndim else _ORDERS.get(large.ndim)
    if way is not None and (rearranged := large.transpose(way[0])).flags.c_contiguous:
        added = (1,) * (large.ndim - small.ndim)
        small = small.reshape(added + small.shape).transpose(way[0])
        made = arithmetic(operation, *((small, rearranged) if turned else (rearranged, small)))
        return None if made is None else made.transpose(way[1])
    if not (large.flags.c_contiguous and small.flags.c_contiguous):
        return None
    plan = _planned(operation, kind, a.shape, b.shape)
    if plan is None:
        return None
    run, turned, shape, times, numbers = plan
    large, small = (b, a) if turned else (a, b)
    out = empty(shape, large.dtype)
    if times > 1:
        small = np.tile(small.reshape(-1), times)
    run(threads.team(), large, small, out, *numbers)
    return out


class _Plan(NamedTuple):
    """The kernel, whether the second operand is the larger one, the result's shape, how often the
    row is repeated, and the kernel's numbers.
    """

    run: Any
    turned: bool
    shape: tuple[int, ...]
    times: int
    numbers: tuple[int, ...]


@functools.lru_cache(1024)
def _planned(operation: str, kind: str, one: tuple[int, ...], two: tuple[int, ...]) -> _Plan | None:
    """Return how to compute with contiguous operands of two shapes; None if not supported."""
    turned, times = math.prod(one) < math.prod(two), 1
    shape, other = (two, one) if turned else (one, two)
    spread = _spread(one, two)
    if spread:
        rows, columns = spread
        form, shape, step, turned = "column", (rows, columns), 0, one[-1] == 1
    else:
        size = math.prod(shape)
        if size < LEAST or len(other) > len(shape) or not other:
            return None
        if other[-1] == 1 and len(other) == len(shape):
            form, k = "column", len(shape)
            while k and other[k - 1] == 1:
                k -= 1
            if other[:k] != shape[:k]:
                return None
            columns = math.prod(shape[k:])
        else:
            form, k = "row", 0
            while k < len(other) and other[k] == 1:
                k += 1
            own = other[k:]
            if shape[len(shape) - len(own) :] != own:
                return None
            columns = math.prod(other)
            if columns and columns < _SHORT:  # process several rows at a time
                whole = size // columns
                several = math.gcd(whole, _SHORT // columns * 8)
                if whole // several >= _ROWS:
                    times, columns = several, columns * several
        rows, step = size // (columns or 1), columns
    if not 2 <= columns <= _MOST or rows < _ROWS or not available(kind):
        return None
    run = getattr(_lib, f"{operation}_{form}_{kind}_{'turned' if turned else 'straight'}")
    if run is None:
        return None
    return _Plan(run, turned, shape, times, (columns, step, rows, max(1, _GRAIN // columns)))


def _spread(one: tuple[int, ...], other: tuple[int, ...]) -> tuple[int, int] | None:
    """Return the sizes of the matrix that a column and a row make; None for other shapes."""
    if len(one) == 2 and one[1] == 1 and (len(other) == 1 or len(other) == 2 and other[0] == 1):
        return one[0], other[-1]
    if len(other) == 2 and other[1] == 1 and (len(one) == 1 or len(one) == 2 and one[0] == 1):
        return other[0], one[-1]
    return None
