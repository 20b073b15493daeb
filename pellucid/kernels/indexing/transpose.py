"""Copies of transposed arrays: elements of 1, 2, 4 or 8 bytes whose neighbors in memory are not
neighbors along the last dimension.

    >>> x = np.arange(6.0).reshape(2, 3)
    >>> transposed(x.T) is None  # so few are not worth a call
    True

Squares of the array go through registers, a row of the source in each, and come out as rows of the
result; a last dimension of 2 to 4, the colors of pixels, is written element by element. What is
copied are bits, so any dtype of such a size is served.
"""

from __future__ import annotations

import math

import numpy as np

from ...llvm import jit, target, threads
from ...llvm.emit import Function, Module, SSAValue, vector
from ...llvm.outputs import empty
from ..matmul.pack import exchanged

__all__ = ["in_order", "transposed"]

LEAST = 4096  # for fewer elements NumPy is as fast
WIDE = 64  # number of columns of the result that a task writes
_TYPES = {1: "i8", 2: "i16", 4: "i32", 8: "i64"}
_FEW = (2, 3, 4)


def _build_few(name: str) -> str:
    """Emit the kernel that interleaves a few planes (colors) into pixels."""
    _, ctype, few = name.split("_")
    count = int(few)
    module = Module()
    sizes = dict.fromkeys(("dims", "rows", "apart"), "i64")
    f = threads.parallel_export(module, name, dict.fromkeys(("x", "out", "outer"), "ptr") | sizes)
    with f.loop(f.begin, f.end) as task:
        source, place = _begin(f, task)
        x, out = f.at(f.x, source, ctype), f.at(f.out, place, ctype)
        planes = [f.at(x, f.apart * k, ctype) for k in range(count)]
        with f.loop(0, f.rows) as r:
            for k, plane in enumerate(planes):
                f.store(f.load(ctype, plane, r), out, r * count + k)
    f.ret()
    return module.text()


def _begin(f: Function, task: SSAValue) -> tuple[SSAValue, SSAValue]:
    """Emit the offsets at which the elements of a task begin in both arrays. `outer` has the size
    and both strides of each of the other dimensions.
    """
    rest, source, place = f.var("i64", task), f.var("i64", 0), f.var("i64", 0)
    with f.loop(0, f.dims) as k:
        size, step, move = (f.load("i64", f.outer, k * 3 + i) for i in range(3))
        here = rest.get() % size
        source.set(source.get() + here * step)
        place.set(place.get() + here * move)
        rest.set(rest.get() / size)
    return source.get(), place.get()


def _build(name: str) -> str:
    if name.startswith("few"):
        return _build_few(name)
    ctype = name.removeprefix("copy_")
    bits = int(ctype[1:])
    n = min(16, target.host().vector_bits // bits)
    module = Module()
    sizes = dict.fromkeys(("dims", "rows", "columns", "apart", "pitch", "blocks"), "i64")
    f = threads.parallel_export(module, name, dict.fromkeys(("x", "out", "outer"), "ptr") | sizes)
    kind = vector(ctype, n)
    with f.loop(f.begin, f.end) as task:
        source, place = _begin(f, task / f.blocks)
        x, out = f.at(f.x, source, ctype), f.at(f.out, place, ctype)
        first = task % f.blocks * WIDE
        last = f.smaller(first + WIDE, f.columns)
        with f.loop(first, last, n) as c:
            few = last - c
            some = f.tail_mask(few, n)
            starts = [f.at(x, (c + f.smaller(few - 1, i)) * f.apart, ctype) for i in range(n)]
            with f.loop(0, f.rows, n) as r:
                left = f.rows - r
                there = f.tail_mask(left, n)
                square = [f.load(kind, start, r, mask=there) for start in starts]
                for i, row in enumerate(exchanged(f, square)):
                    with f.when(left.compare("sgt", i)):
                        f.store(row, out, (r + i) * f.pitch + c, mask=some)
    f.ret()
    return module.text()


_lib = jit.NativeLibrary(
    "transposed copies",
    _build,
    {f"copy_{name}": "paaaiiiiiiii" for name in _TYPES.values()}
    | {f"few_{name}_{k}": "paaaiiiii" for name in _TYPES.values() for k in _FEW},
)


def transposed(x: np.ndarray) -> np.ndarray | None:
    """Return a C-contiguous copy of an array whose elements are contiguous along another dimension
    than the last; None if NumPy copies as fast.

    Any strides are allowed, also those of broadcast and reversed dimensions.
    """
    ctype, shape, size = _TYPES.get(x.itemsize), x.shape, x.itemsize
    if (
        ctype is None
        or x.size < LEAST
        or x.ndim < 2
        or x.dtype.hasobject
        or any(s % size for s in x.strides)
    ):
        return None
    last = x.ndim - 1
    side = next((d for d in range(last) if x.strides[d] == size and shape[d] >= 4), None)
    if side is None or shape[last] < 2 or x.strides[last] == size or not x.flags.aligned:
        return None
    few = shape[last] in _FEW
    if few and (side != last - 1 or shape[side] < 16):
        return None
    function = getattr(_lib, f"few_{ctype}_{shape[last]}" if few else f"copy_{ctype}")
    if function is None:
        return None
    out = empty(shape, x.dtype)
    outer: list[int] = []
    for d in range(last - 1, -1, -1):
        if d != side and shape[d] > 1:
            outer += (shape[d], x.strides[d] // size, out.strides[d] // size)
    if few:
        tasks, apart = math.prod(outer[::3]), x.strides[last] // size
        given = len(outer) // 3, shape[side], apart, tasks, max(1, 32768 // shape[side])
        function(threads.team(), x, out, np.array(outer or [0], np.int64), *given)
        return out
    blocks = -(-shape[last] // WIDE)
    numbers = (
        len(outer) // 3,
        shape[side],
        shape[last],
        x.strides[last] // size,
        out.strides[side] // size,
        blocks,
    )
    tasks = blocks * math.prod(outer[::3])
    grain = max(1, 32768 // (shape[side] * min(WIDE, shape[last])))
    function(threads.team(), x, out, np.array(outer or [0], np.int64), *numbers, tasks, grain)
    return out


def in_order(x: np.ndarray) -> np.ndarray:
    """Like `np.ascontiguousarray`, with the faster copy where there is one."""
    made = None if x.flags.c_contiguous or x.size < LEAST else transposed(x)
    return np.ascontiguousarray(x) if made is None else made
