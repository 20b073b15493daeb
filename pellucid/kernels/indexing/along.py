"""Elements by index along one dimension: gather, and writes and sums by index (elements of 1 to 8
bytes, int64 indices).

Arrays are seen as (outer, n, inner), the indexed dimension in the middle. Every function returns
None (or False) where it cannot serve its arguments; an index outside raises IndexError before
anything is written.
"""

from __future__ import annotations

import numpy as np

from ...llvm import jit, threads
from ...llvm.emit import Module, SSAValue, types_of

__all__ = ["gather_along", "scatter_along"]

_I64 = np.dtype(np.int64)
_BY_SIZE = {1: "i8", 2: "i16", 4: "i32", 8: "i64"}
_NUMBERS = {
    np.dtype(name): ctype for name, ctype in types_of("float32 float64 int32 int64").items()
}
GRAIN = 16384  # elements a chunk


_KERNELS = [
    (kind, c)
    for kind, types in (("gather", _BY_SIZE), ("put", _BY_SIZE), ("add", _NUMBERS))
    for c in types.values()
]


def _along(module: Module, name: str, kind: str, ctype: str, last: bool) -> None:
    """One kernel; `last`: the indexed dimension is the last, so that there is one loop less."""
    params = {"x": "ptr", "index": "ptr", "out": "ptr", "size": "i64", "k": "i64", "inner": "i64"}
    f = threads.parallel_export(module, name, params)
    f.scalar = True

    def move(here: SSAValue, there: SSAValue) -> None:
        if kind == "gather":
            f.store(f.load(ctype, f.x, there), f.out, here)
        elif kind == "put":
            f.store(f.load(ctype, f.x, here), f.out, there)
        else:
            f.store(f.load(ctype, f.out, there) + f.load(ctype, f.x, here), f.out, there)

    with f.loop(f.begin, f.end) as o, f.loop(0, f.k) as j:
        if last:
            here = o * f.k + j
            move(here, o * f.size + f.load("i64", f.index, here))
        else:
            start = (o * f.k + j) * f.inner
            with f.loop(0, f.inner) as i:
                move(start + i, (o * f.size + f.load("i64", f.index, start + i)) * f.inner + i)
    f.ret()


def _build(name: str) -> str:
    module = Module()
    for kind, ctype in _KERNELS:
        _along(module, f"{kind}_{ctype}", kind, ctype, last=False)
        _along(module, f"{kind}_last_{ctype}", kind, ctype, last=True)
    f = module.function("inside", "i64", index="ptr", n="i64", count="i64")
    good = f.var("i1", 1)
    with f.loop(0, f.n) as i:
        good.set(good.get() & f.load("i64", f.index, i).compare("ult", f.count))
    f.ret(f.emit(f"zext i1 {good.get().name} to i64", "i64"))
    return module.text(name)


_lib = jit.NativeLibrary(
    "along",
    _build,
    {
        "inside": "aii>i",
        **{f"{kind}_{where}{c}": "paaaiiiii" for kind, c in _KERNELS for where in ("", "last_")},
    },
)


def _check(index: np.ndarray, count: int) -> bool:
    if (
        index.dtype is not _I64
        or index.ndim != 3
        or not index.flags.c_contiguous
        or _lib.inside is None
    ):
        return False
    if not _lib.inside(index, index.size, count):
        raise IndexError("index out of range in self")
    return True


def _run(name: str, x: np.ndarray, index: np.ndarray, out: np.ndarray, count: int) -> None:
    outer, k, inner = index.shape
    grain = max(1, GRAIN // max(1, k * inner))
    kind, ctype = name.split("_")
    getattr(_lib, f"{kind}_last_{ctype}" if inner == 1 else name)(
        threads.team(), x, index, out, count, k, inner, outer, grain
    )


def gather_along(x: np.ndarray, index: np.ndarray) -> np.ndarray | None:
    """`out[o, j, i] = x[o, index[o, j, i], i]`. Raises IndexError outside `0..x.shape[1]`."""
    kind = _BY_SIZE.get(x.itemsize)
    if (
        kind is None
        or x.dtype.hasobject
        or not x.flags.c_contiguous
        or not _check(index, x.shape[1])
    ):
        return None
    out = np.empty(index.shape, x.dtype)
    _run(f"gather_{kind}", x, index, out, x.shape[1])
    return out


def scatter_along(
    out: np.ndarray, index: np.ndarray, values: np.ndarray, add: bool = False
) -> bool:
    """`out[o, index[o, j, i], i] = values[o, j, i]` (or `+=`), in the order of the index.

    Raises IndexError outside `0..out.shape[1]`.
    """
    kind = _NUMBERS.get(out.dtype) if add else _BY_SIZE.get(out.itemsize)
    if (
        kind is None
        or out.dtype.hasobject
        or out.dtype is not values.dtype
        or values.shape != index.shape
    ):
        return False
    if (
        not out.flags.c_contiguous
        or not values.flags.c_contiguous
        or not _check(index, out.shape[1])
    ):
        return False
    _run(f"{'add' if add else 'put'}_{kind}", values, index, out, out.shape[1])
    return True
