"""Rows of a table by index, and the gradient: sums of rows by index (float32 and float64, int64
indices).

Every function returns None if it does not support its arguments.
"""

from __future__ import annotations

import numpy as np

from ...llvm import jit, target, threads
from ...llvm.emit import Function, Module, SSAValue, types_of, vector
from ...llvm.outputs import empty

__all__ = ["gather_rows", "scatter_add_rows"]

_I64 = np.dtype(np.int64)
_CTYPES = {np.dtype(name): ctype for name, ctype in types_of("float32 float64").items()}
GRAIN = 16384  # elements per chunk
COLUMNS = 64  # least number of columns per thread when rows are added


def _build(name: str) -> str:
    module = Module()
    for ctype in _CTYPES.values():
        width = target.host().lanes(ctype)
        kind = vector(ctype, width)
        f = threads.parallel_export(
            module,
            f"gather_{ctype}",
            {"table": "ptr", "index": "ptr", "out": "ptr", "columns": "i64"},
        )
        with f.loop(f.begin, f.end) as r:
            here = f.at(f.table, f.load("i64", f.index, r) * f.columns, ctype)
            out = f.at(f.out, r * f.columns, ctype)

            def copy(
                i: SSAValue, mask: SSAValue | None, f: Function = f, here=here, out=out, kind=kind
            ) -> None:
                f.store(f.load(kind, here, i, mask=mask), out, i, mask=mask)

            f.vector_loop(f.columns, width, copy)
        f.ret()
        # Threads share the columns, so that the terms of each element are added in the order of the
        # index.
        params = {
            "rows": "ptr",
            "index": "ptr",
            "out": "ptr",
            "count": "i64",
            "columns": "i64",
            "skip": "i64",
        }
        f = threads.parallel_export(module, f"scatter_{ctype}", params)
        size = f.end - f.begin
        with f.loop(0, f.count) as r:
            where = f.load("i64", f.index, r)
            with f.when(where.compare("ne", f.skip)):
                row = f.at(f.rows, r * f.columns + f.begin, ctype)
                out = f.at(f.out, where * f.columns + f.begin, ctype)

                def add(
                    i: SSAValue, mask: SSAValue | None, f: Function = f, row=row, out=out, kind=kind
                ) -> None:
                    total = f.load(kind, out, i, mask=mask) + f.load(kind, row, i, mask=mask)
                    f.store(total, out, i, mask=mask)

                f.vector_loop(size, width, add)
        f.ret()
    f = module.function("inside", "i64", index="ptr", n="i64", count="i64")
    good = f.var("i1", 1)
    with f.loop(0, f.n) as i:
        good.set(good.get() & f.load("i64", f.index, i).compare("ult", f.count))
    f.ret(f.emit(f"zext i1 {good.get().name} to i64", "i64"))
    return module.text(name)


_lib = jit.NativeLibrary(
    "embedding",
    _build,
    {
        "inside": "aii>i",
        **{f"gather_{c}": "paaaiii" for c in _CTYPES.values()},
        **{f"scatter_{c}": "paaaiiiii" for c in _CTYPES.values()},
    },
)


def native(name: str) -> int | None:
    """Return the address of a native function of this file; None if it cannot be compiled."""
    function = getattr(_lib, name)
    return None if function is None else jit.address(function)


def _check(index: np.ndarray, count: int) -> bool:
    if index.dtype is not _I64 or not index.flags.c_contiguous or _lib.inside is None:
        return False
    if not _lib.inside(index, index.size, count):
        raise IndexError("index out of range in self")
    return True


def share(size: int, columns: int) -> int:
    """Return the number of columns per chunk when rows with `size` elements in all are added."""
    part = -(-columns // threads.get_num_threads()) if size > 4 * GRAIN else columns
    return max(COLUMNS, -(-part // 16) * 16)


def gather_rows(table: np.ndarray, index: np.ndarray) -> np.ndarray | None:
    """Return `table[index]` for a table `(V, D)`: its shape is that of `index`, followed by D.
    Raises IndexError for indices outside of `0..V`.
    """
    ctype = _CTYPES.get(table.dtype)
    if (
        table.ndim != 2
        or ctype is None
        or not table.flags.c_contiguous
        or not _check(index, table.shape[0])
    ):
        return None
    columns = table.shape[1]
    out = empty((*index.shape, columns), table.dtype)
    grain = max(1, GRAIN // max(1, columns))
    getattr(_lib, f"gather_{ctype}")(threads.team(), table, index, out, columns, index.size, grain)
    return out


def scatter_add_rows(
    rows: np.ndarray,
    index: np.ndarray,
    count: int,
    skip: int | None = None,
    out: np.ndarray | None = None,
) -> np.ndarray | None:
    """Return a table `(count, D)` of zeros (or `out`, changed in place) with each of `rows` `(...,
    D)` added at its index.

    Terms are added in their order, whatever the number of threads. Rows whose index is `skip` are
    left out. Raises IndexError for indices outside of `0..count`.
    """
    ctype = _CTYPES.get(rows.dtype)
    if (
        ctype is None
        or rows.ndim != index.ndim + 1
        or rows.shape[:-1] != index.shape
        or not rows.flags.c_contiguous
    ):
        return None
    columns = rows.shape[-1]
    if out is None:
        out = np.zeros((count, columns), rows.dtype)
    elif out.shape != (count, columns) or out.dtype is not rows.dtype or not out.flags.c_contiguous:
        return None
    if not _check(index, count):
        return None
    numbers = (
        index.size,
        columns,
        -1 if skip is None else skip,
        columns,
        share(rows.size, columns),
    )
    getattr(_lib, f"scatter_{ctype}")(threads.team(), rows, index, out, *numbers)
    return out
