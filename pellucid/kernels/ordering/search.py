"""Insertion positions of values in ascending sequences of float32, float64, int32 and int64: binary
searches, as many at a time as a vector has lanes.

A search compares the same elements in the same order as PyTorch's does, so that unordered
sequences, and those with NaN, give the same positions, too.

    >>> made = places(np.array([1.0, 3.0, 5.0], np.float32), np.array([3.0, 6.0], np.float32), False, np.int64)
    >>> made is None or made.tolist() == [1, 3]
    True
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...llvm import jit, target, threads
from ...llvm.emit import Function, Module, SSAValue, element, types_of, vector
from ..windows.grid import gathered

__all__ = ["native", "numbers", "places"]

GRAIN = 2048  # values per chunk
_CTYPES = types_of("float32 float64 int64 int32")
_BY_DTYPE = {np.dtype(name): ctype for name, ctype in _CTYPES.items()}


def _build(name: str) -> str:
    module = Module()
    for ctype in _CTYPES.values():
        _emit(module, ctype)
    return module.text(name)


def _emit(module: Module, ctype: str) -> None:
    """Emit `void ctype(team, sequences, values, out, length, each, right, wide, n, grain)`.

    It searches n sequences for `each` values per sequence, or, if `each` is 0, one sequence for n
    values. With `right` positions are behind equal elements, else before them. Positions are int64
    if `wide`, else int32.
    """
    params = dict.fromkeys(("sequences", "values", "out"), "ptr")
    params |= dict.fromkeys(("length", "each", "right", "wide"), "i64")
    f = threads.parallel_export(module, ctype, params)
    width = target.host().lanes("double")

    def find(sequence: SSAValue, first: SSAValue, count: SSAValue) -> None:
        values = f.at(f.values, first, ctype)

        def some(i: SSAValue, mask: SSAValue | None) -> None:
            x = f.load(vector(ctype, width), values, i, mask=mask)
            known = mask or f.const(1, vector("i1", width))
            place = f.var(vector("i64", width))
            f.branch(
                f.right.compare("ne", 0),
                lambda: place.set(_place(f, sequence, x, known, "gt")),
                lambda: place.set(_place(f, sequence, x, known, "ge")),
            )

            def store(result: str) -> None:
                found = place.get()
                found = found if result == "i64" else f.trunc(found, vector(result, width))
                f.store(found, f.at(f.out, first, result), i, mask=mask)

            f.branch(f.wide.compare("ne", 0), lambda: store("i64"), lambda: store("i32"))

        f.vector_loop(count, width, some)

    def rows() -> None:
        with f.loop(f.begin, f.end) as row:
            find(f.at(f.sequences, row * f.length, ctype), row * f.each, f.each)

    f.branch(f.each.compare("ne", 0), rows, lambda: find(f.sequences, f.begin, f.end - f.begin))
    f.ret()


def _place(f: Function, sequence: SSAValue, x: SSAValue, known: SSAValue, behind: str) -> SSAValue:
    """Return the position of each value of a vector: before the first element that compares as
    `behind` with it.
    """
    width = target.host().lanes("double")
    ints, ctype = vector("i64", width), element(x.ctype)
    how = ("s" if ctype.startswith("i") else "o") + behind
    low, high = f.var(ints, f.const(0, ints)), f.var(ints, f.splat(f.length, ints))
    size = f.var("i64", f.length)  # length of the longest range from `low` to `high`
    with f.loop_while() as go_on:
        go_on(size.get().compare("sgt", 0))
        first, last = low.get(), high.get()
        middle = (first + last) >> 1
        searching = known & first.compare("slt", last)
        after = gathered(f, sequence, middle, searching, ctype, width).compare(how, x)
        low.set(f.select(searching & (after ^ f.const(1, known.ctype)), middle + 1, first))
        high.set(f.select(searching & after, middle, last))
        size.set(size.get() >> 1)
    return low.get()


_lib = jit.NativeLibrary("search", _build, dict.fromkeys(_CTYPES.values(), "paaaiiiiii"))


def native(dtype: str) -> int | None:
    """Return the address of the kernel; None if it does not support the dtype or cannot be
    compiled.
    """
    function = getattr(_lib, _CTYPES[dtype]) if dtype in _CTYPES else None
    return None if function is None else jit.address(function)


def numbers(length: int, each: int, right: bool, wide: bool, values: int) -> tuple[int, ...]:
    """Return the kernel's last arguments, for `values` values in all."""
    share = (values // each, max(1, GRAIN // each)) if each else (values, GRAIN)
    return length, each, int(right), int(wide), *share


def places(sequences: np.ndarray, values: np.ndarray, right: bool, kind: Any) -> np.ndarray | None:
    """Return the insertion positions of values, as int64 or int32 according to `kind`: in a vector,
    or in the last dimension of sequences that have the other dimensions of the values. Returns None
    if not supported.
    """
    ctype = _BY_DTYPE.get(values.dtype)
    function = None if ctype is None or not values.size else getattr(_lib, ctype)
    if function is None or sequences.dtype != values.dtype:
        return None
    out = np.empty(values.shape, kind)
    each = values.shape[-1] if sequences.ndim > 1 else 0
    function(
        threads.team(),
        sequences if sequences.flags.c_contiguous else np.ascontiguousarray(sequences),
        values if values.flags.c_contiguous else np.ascontiguousarray(values),
        out,
        *numbers(sequences.shape[-1], each, right, out.itemsize == 8, values.size),
    )
    return out
