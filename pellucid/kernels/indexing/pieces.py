"""Concatenation of arrays along a dimension, and slices selected by index along one.

>>> x = np.arange(6.0).reshape(2, 3)
>>> made = picked(np.tile(x, (1000, 1)), 1, np.array([2, 0, 0, 1]))
>>> made is None or made[1].tolist() == [5.0, 3.0, 3.0, 4.0]
True

What is copied are bits, so any dtype of 1, 2, 4 or 8 bytes is served.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ...llvm import jit, target, threads
from ...llvm.emit import Function, Module, SSAValue, vector
from ...llvm.outputs import empty

__all__ = ["joined", "picked"]

LEAST = 4096  # for fewer elements NumPy is as fast
_GRAIN = 32768  # elements per chunk
_MOST = 1024  # if slices are longer than this, NumPy is as fast
_TYPES = {1: "i8", 2: "i16", 4: "i32", 8: "i64"}


def _copy(f: Function, ctype: str, source: SSAValue, place: SSAValue, count: SSAValue) -> None:
    width = target.host().vector_bits // int(ctype[1:])
    kind = vector(ctype, width)
    f.vector_loop(
        count,
        width,
        lambda i, mask: f.store(f.load(kind, source, i, mask=mask), place, i, mask=mask),
    )


def _build(name: str) -> str:
    way, ctype = name.split("_")
    module = Module()
    if way == "join":
        sizes = dict.fromkeys(("count", "pitch"), "i64")
        f = threads.parallel_export(module, name, {"x": "ptr", "out": "ptr"} | sizes)
        with f.loop(f.begin, f.end) as r:
            source, place = f.at(f.x, r * f.count, ctype), f.at(f.out, r * f.pitch, ctype)
            _copy(f, ctype, source, place, f.count)
        f.ret()
        return module.text()
    sizes = dict.fromkeys(("size", "picks", "inner"), "i64")
    f = threads.parallel_export(module, name, {"x": "ptr", "index": "ptr", "out": "ptr"} | sizes)
    with f.loop(f.begin, f.end) as o:
        x = f.at(f.x, o * f.size * f.inner, ctype)
        out = f.at(f.out, o * f.picks * f.inner, ctype)
        with f.loop(0, f.picks) as j:
            here = f.load("i64", f.index, j)
            if way == "element":
                f.store(f.load(ctype, x, here), out, j)
            else:
                source, place = f.at(x, here * f.inner, ctype), f.at(out, j * f.inner, ctype)
                _copy(f, ctype, source, place, f.inner)
    f.ret()
    return module.text()


_lib = jit.NativeLibrary(
    "pieces",
    _build,
    {f"join_{c}": "paaiiii" for c in _TYPES.values()}
    | {f"{way}_{c}": "paaaiiiii" for way in ("element", "slice") for c in _TYPES.values()},
)


def joined(arrays: Sequence[np.ndarray], axis: int) -> np.ndarray | None:
    """Like `np.concatenate` for arrays in C order, along another dimension than the first. Returns
    None if NumPy is as fast, or the shapes do not match.
    """
    first = arrays[0]
    ctype, shape = _TYPES.get(first.itemsize), first.shape
    axis = axis + first.ndim if axis < 0 else axis
    if ctype is None or not 0 < axis < first.ndim or first.dtype.hasobject:
        return None
    total = 0
    for x in arrays:
        if (
            x.dtype is not first.dtype
            or x.ndim != first.ndim
            or x.shape[:axis] != shape[:axis]
            or x.shape[axis + 1 :] != shape[axis + 1 :]
            or not x.flags.carray
        ):
            return None
        total += x.shape[axis]
    rows, inner = math.prod(shape[:axis]), math.prod(shape[axis + 1 :])
    pitch = total * inner
    if rows * pitch < LEAST or rows < 16 or max(x.shape[axis] for x in arrays) * inner > _MOST:
        return None
    run = getattr(_lib, f"join_{ctype}")
    if run is None:
        return None
    out = empty((*shape[:axis], total, *shape[axis + 1 :]), first.dtype)
    flat, start = out.reshape(-1), 0
    for x in arrays:
        count = x.shape[axis] * inner
        if count:
            run(threads.team(), x, flat[start:], count, pitch, rows, max(1, _GRAIN // count))
        start += count
    return out


def picked(x: np.ndarray, axis: int, index: np.ndarray) -> np.ndarray | None:
    """Like `np.take(x, index, axis)` for an array in C order and a vector of valid positions; None
    if not supported.
    """
    ctype, shape = _TYPES.get(x.itemsize), x.shape
    if ctype is None or not x.flags.carray or x.dtype.hasobject or index.dtype != np.int64:
        return None
    picks, inner, size = index.size, math.prod(shape[axis + 1 :]), shape[axis]
    outer = math.prod(shape[:axis])
    if outer * picks * inner < LEAST or not (index.flags.c_contiguous and index.ndim == 1):
        return None
    if index.min() < 0 or index.max() >= size:
        return None
    run = getattr(_lib, f"{'element' if inner == 1 else 'slice'}_{ctype}")
    if run is None:
        return None
    out = empty((*shape[:axis], picks, *shape[axis + 1 :]), x.dtype)
    grain = max(1, _GRAIN // max(1, picks * inner))
    run(threads.team(), x, index, out, size, picks, inner, outer, grain)
    return out
