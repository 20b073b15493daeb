"""Elements by index along one dimension: gather, and stores and sums by index (elements of 1 to 8
bytes, int64 indices).

Kernels regard arrays as (outer, n, inner), where n is the indexed dimension. Every function returns
None (or False) if it does not support its arguments. An index out of range raises IndexError before
anything is written.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from ...llvm import jit, target, threads
from ...llvm.emit import Module, SSAValue, types_of, vector

__all__ = ["gather_along", "inside", "scatter_along"]

_I64 = np.dtype(np.int64)
_BY_SIZE = {1: "i8", 2: "i16", 4: "i32", 8: "i64"}
_NUMBERS = {
    np.dtype(name): ctype
    for name, ctype in types_of("float32 float64 int8 uint8 int16 int32 int64").items()
}
_NUMBERS[np.dtype(np.complex64)] = "pair"
GRAIN = 16384  # elements per chunk


_KERNELS = [
    (kind, c)
    for kind, types in (("gather", _BY_SIZE), ("put", _BY_SIZE), ("add", _NUMBERS))
    for c in dict.fromkeys(types.values())
]


def _along(module: Module, name: str, kind: str, ctype: str, last: bool) -> None:
    """Emit one kernel. With `last` the indexed dimension is the last, which saves a loop."""
    params = {"x": "ptr", "index": "ptr", "out": "ptr", "size": "i64", "k": "i64", "inner": "i64"}
    f = threads.parallel_export(module, name, params)
    f.scalar = True

    def added(here: SSAValue, there: SSAValue) -> None:
        parts = (0, 1) if ctype == "pair" else (0,)
        real, count = ("float", 2) if ctype == "pair" else (ctype, 1)
        for k in parts:
            place = there * count + k
            total = f.load(real, f.out, place) + f.load(real, f.x, here * count + k)
            f.store(total, f.out, place)

    def move(here: SSAValue, there: SSAValue) -> None:
        if kind == "gather":
            f.store(f.load(ctype, f.x, there), f.out, here)
        elif kind == "put":
            f.store(f.load(ctype, f.x, here), f.out, there)
        else:
            added(here, there)

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
    width = target.host().vector_bits // 64
    kind = vector("i64", width)
    most = f.var(kind, 0)  # compared as unsigned numbers, so that negative ones are the largest

    def greater(a: SSAValue, b: SSAValue) -> SSAValue:
        return f.select(a.compare("ugt", b), a, b)

    def body(i: SSAValue, mask: SSAValue | None) -> None:
        most.set(greater(f.load(kind, f.at(f.index, i, "i64"), 0, mask=mask), most.get()))

    f.vector_loop(f.n, width, body)
    good = f.fold(most.get(), greater).compare("ult", f.count) | f.n.compare("eq", 0)
    f.ret(f.emit(f"zext i1 {good.name} to i64", "i64"))
    return module.text(name)


_lib = jit.NativeLibrary(
    "along",
    _build,
    {
        "inside": "aii>i",
        **{f"{kind}_{where}{c}": "paaaiiiii" for kind, c in _KERNELS for where in ("", "last_")},
    },
)


def inside(index: np.ndarray, count: int) -> bool | None:
    """Return whether all positions are in `0..count`; None if the index is not supported."""
    if index.dtype is not _I64 or not index.flags.c_contiguous or _lib.inside is None:
        return None
    return bool(_lib.inside(index, index.size, count))


@functools.lru_cache(1024)
def _prepared(
    way: str, dtype: np.dtype, shape: tuple[int, ...], picked: tuple[int, ...], dim: int
) -> tuple[Any, ...] | None:
    """Return what a call needs: the kernel for `way` (for example "gather"), the kernel that checks
    the index, the number of positions, and the kernel's numeric arguments.

    Returns None if the array's shape and the index's shape `picked` differ in another dimension
    than `dim`, or if the arguments are not supported.
    """
    ctype = _NUMBERS.get(dtype) if way == "add" else _BY_SIZE.get(dtype.itemsize)
    if len(shape) != len(picked) or not shape or ctype is None or dtype.hasobject:
        return None
    if shape[:dim] != picked[:dim] or shape[dim + 1 :] != picked[dim + 1 :]:
        return None
    k, inner = picked[dim], math.prod(picked[dim + 1 :])
    kernel = getattr(_lib, f"{way}_{'last_' if inner == 1 else ''}{ctype}")
    if kernel is None or _lib.inside is None:
        return None
    outer, grain = math.prod(picked[:dim]), max(1, GRAIN // max(1, k * inner))
    return kernel, _lib.inside, outer * k * inner, shape[dim], k, inner, outer, grain


def _run(
    way: str, x: np.ndarray, index: np.ndarray, out: np.ndarray, shape: tuple[int, ...], dim: int
) -> bool:
    """Run a kernel and return whether it supports the arguments. A position outside of `shape[dim]`
    raises IndexError before anything is written.
    """
    prepared = _prepared(way, out.dtype, shape, index.shape, dim)
    if prepared is None or index.dtype is not _I64 or not index.flags.c_contiguous:
        return False
    kernel, inside, count, size, k, inner, outer, grain = prepared
    if not inside(index, count, size):
        raise IndexError("index out of range in self")
    kernel(threads.team(), x, index, out, size, k, inner, outer, grain)
    return True


def gather_along(x: np.ndarray, index: np.ndarray, dim: int = 1) -> np.ndarray | None:
    """Like `np.take_along_axis(x, index, dim)`, or None if not supported. Raises IndexError for
    positions outside of `0..x.shape[dim]`.
    """
    if not x.flags.c_contiguous:
        return None
    out = np.empty(index.shape, x.dtype)
    return out if _run("gather", x, index, out, x.shape, dim) else None


def scatter_along(
    out: np.ndarray, index: np.ndarray, values: np.ndarray, add: bool = False, dim: int = 1
) -> bool:
    """Like `np.put_along_axis(out, index, values, dim)`, or with `add` sums, in the order of the
    index. Returns whether the arguments are supported.

    Raises IndexError for positions outside of `0..out.shape[dim]`.
    """
    return (
        out.dtype is values.dtype
        and values.shape == index.shape
        and out.flags.c_contiguous
        and values.flags.c_contiguous
        and _run("add" if add else "put", values, index, out, out.shape, dim)
    )
