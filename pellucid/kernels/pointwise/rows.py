"""Arithmetic of rows: with one number for each row, or with one row for all (floats of four and eight
bytes, integers but for quotients; in C order).

    >>> x, column = np.ones((300, 20), np.float32), np.arange(300, dtype=np.float32)[:, None]
    >>> made = arithmetic("multiply", x, column)
    >>> made is None or made[7].tolist() == [7.0] * 20
    True

NumPy calls its loop for each row, which takes as long as the arithmetic on a hundred numbers. The
numbers are NumPy's, bit for bit.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ...llvm import jit, target, threads
from ...llvm.emit import BYTES, Module, SSAValue, types_of, vector
from ...llvm.outputs import empty

__all__ = ["LEAST", "OPERATIONS", "arithmetic"]

OPERATIONS: dict[str, Callable[[Any, Any], Any]] = {
    "add": lambda a, b: a + b,
    "subtract": lambda a, b: a - b,
    "multiply": lambda a, b: a * b,
    "divide": lambda a, b: a / b,
}
LEAST = 2048  # elements of a result: fewer are NumPy's
_MOST = 1024  # columns: longer rows are NumPy's
_ROWS = 16  # at least
_NAMES = "float32 float64 int8 uint8 int16 int32 int64"
_CTYPES = {np.dtype(name): ctype for name, ctype in types_of(_NAMES).items()}
_GRAIN = 16384  # elements a chunk


def _build(name: str) -> str:
    operation, form, ctype, turned = name.split("_")
    compute, width = OPERATIONS[operation], target.host().vector_bits // (8 * BYTES[ctype])
    kind = vector(ctype, width)
    module = Module()
    f = threads.parallel_export(
        module, name, {"x": "ptr", "other": "ptr", "out": "ptr", "columns": "i64"}
    )
    with f.loop(f.begin, f.end) as r:
        here, out = f.at(f.x, r * f.columns, ctype), f.at(f.out, r * f.columns, ctype)
        number = f.splat(f.load(ctype, f.other, r), kind) if form == "column" else None

        def body(i: SSAValue, mask: SSAValue | None) -> None:
            own = f.load(kind, here, i, mask=mask)
            other = f.load(kind, f.other, i, mask=mask) if number is None else number
            f.store(
                compute(*((other, own) if turned == "turned" else (own, other))), out, i, mask=mask
            )

        f.vector_loop(f.columns, width, body)
    f.ret()
    return module.text(name)


_lib = jit.NativeLibrary(
    "rows",
    _build,
    {
        f"{operation}_{form}_{ctype}_{order}": "paaaiii"
        for operation in OPERATIONS
        for form in ("column", "row")
        for ctype in dict.fromkeys(_CTYPES.values())
        if operation != "divide" or ctype in ("float", "double")
        for order in ("straight", "turned")
    },
)


def arithmetic(operation: str, a: np.ndarray, b: np.ndarray) -> np.ndarray | None:
    """`np.add(a, b)` and its kin where one of them has a number for each row of the other, or is one
    row: in trailing dimensions of size 1, in leading ones that it has not or of size 1.
    """
    turned = a.size < b.size
    large, small = (b, a) if turned else (a, b)
    ctype = _CTYPES.get(large.dtype)
    shape, other = large.shape, small.shape
    if (
        ctype is None
        or operation not in OPERATIONS
        or operation == "divide"
        and large.dtype.kind != "f"
        or small.dtype is not large.dtype
        or large.size < LEAST
        or not (large.flags.c_contiguous and small.flags.c_contiguous)
        or len(other) > len(shape)
        or not other
    ):
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
        columns = small.size
    if not 2 <= columns <= _MOST or (rows := large.size // columns) < _ROWS:
        return None
    run = getattr(_lib, f"{operation}_{form}_{ctype}_{'turned' if turned else 'straight'}")
    if run is None:
        return None
    out = empty(shape, large.dtype)
    run(threads.team(), large, small, out, columns, rows, max(1, _GRAIN // columns))
    return out
