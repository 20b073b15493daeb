"""Adaptive max pooling: the largest element of windows that cover the input, and its position
(float32 and float64).

>>> made = adaptive_max(np.array([[[1.0, 4.0, 3.0]]]), (2,))
>>> made is None or [a.ravel().tolist() for a in made] == [[4.0, 4.0], [1, 1]]
True
"""

from __future__ import annotations

import math

import numpy as np

from ...dtypes import name_of
from ...llvm import jit, threads
from ...llvm.emit import Function, Module, SSAValue, types_of

__all__ = ["adaptive_max", "native", "numbers"]

GRAIN = 16384  # elements per chunk
_CTYPES = types_of("float32 float64")
_SIZES = [f"{kind}{d}" for kind in ("n", "out") for d in range(3)]


def _window(f: Function, d: int, i: SSAValue) -> tuple[SSAValue, SSAValue]:
    """Return where the window of an output begins and ends along a dimension."""
    n, out = getattr(f, f"n{d}"), getattr(f, f"out{d}")
    return i * n // out, ((i + 1) * n + out - 1) // out


def _build(name: str) -> str:
    module = Module()
    f = threads.parallel_export(
        module, name, {"x": "ptr", "best": "ptr", "index": "ptr", **dict.fromkeys(_SIZES, "i64")}
    )
    inside, cells = f.n0 * f.n1 * f.n2, f.out0 * f.out1 * f.out2
    with f.loop(f.begin, f.end) as plane:
        x = f.at(f.x, plane * inside, name)
        with f.loop(0, f.out0) as a, f.loop(0, f.out1) as b, f.loop(0, f.out2) as c:
            (a0, a1), (b0, b1), (c0, c1) = (_window(f, d, i) for d, i in enumerate((a, b, c)))
            best, place = f.var(name, -math.inf), f.var("i64", (a0 * f.n1 + b0) * f.n2 + c0)
            with f.loop(a0, a1) as i, f.loop(b0, b1) as j:
                row = (i * f.n1 + j) * f.n2
                with f.loop(row + c0, row + c1) as at:
                    value = f.load(name, x, at)
                    better = value.compare("ugt", best.get()) & (
                        value.compare("uno", value) | best.get().compare("ord", best.get())
                    )
                    best.set(f.select(better, value, best.get()))
                    place.set(f.select(better, at, place.get()))
            to = plane * cells + (a * f.out1 + b) * f.out2 + c
            f.store(best.get(), f.best, to)
            f.store(place.get(), f.index, to)
    f.ret()
    return module.text(name)


_lib = jit.NativeLibrary(
    "adaptive pooling", _build, dict.fromkeys(_CTYPES.values(), "paaaiiiiiiii")
)


def native(dtype: str) -> int | None:
    """Return the address of the kernel; None if it does not support the dtype or cannot be
    compiled.
    """
    function = getattr(_lib, _CTYPES[dtype]) if dtype in _CTYPES else None
    return None if function is None else jit.address(function)


def numbers(shape: tuple[int, ...], out: tuple[int, ...]) -> tuple[int, ...]:
    """Return the kernel's last arguments for an input `(N, C, ...)`."""
    ones = (1,) * (3 - len(out))
    return (
        *ones,
        *shape[2:],
        *ones,
        *out,
        math.prod(shape[:2]),
        max(1, GRAIN // max(1, math.prod(shape[2:]))),
    )


def adaptive_max(x: np.ndarray, out: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray] | None:
    """Return the largest elements `(N, C, *out)`, and their flat positions: the first of equal
    elements, or the last NaN. None if not supported.
    """
    if (
        name_of(x.dtype) not in _CTYPES
        or not x.size
        or not math.prod(out)
        or native(name_of(x.dtype)) is None
    ):
        return None
    shape = (*x.shape[:2], *out)
    best, index = np.empty(shape, x.dtype), np.empty(shape, np.int64)
    getattr(_lib, _CTYPES[name_of(x.dtype)])(
        threads.team(), np.ascontiguousarray(x), best, index, *numbers(x.shape, tuple(out))
    )
    return best, index
