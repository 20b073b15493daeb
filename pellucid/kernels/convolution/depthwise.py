"""Depthwise convolution (one filter per channel) of channels_last images in float32 and float64,
with vectors along the channels.

>>> x = np.ones((1, 6, 5, 40), np.float32).transpose(0, 3, 1, 2)
>>> made = conv(x, np.ones((40, 1, 3, 3), np.float32), None, (1, 1), ((1, 1), (1, 1)), (1, 1))
>>> made is None or (made.shape, made[0, 7, 0, :2].tolist()) == ((1, 40, 6, 5), [4.0, 6.0])
True
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from ...dtypes import name_of
from ...llvm import jit, target, threads
from ...llvm.emit import Function, Module, SSAValue, types_of, vector

__all__ = ["conv"]

GRAIN = 16384  # multiplications per chunk
LEAST = 1 << 12  # inputs with fewer elements are left to the other kernels
_CTYPES = types_of("float32 float64")
SIDE = 4  # number of neighboring results computed together where all of their taps are inside
_SIZES = (
    *("h", "w", "channels", "out_h", "out_w", "taps", "step_h", "step_w"),
    *("stride", "inner", "outer"),
)


def _build(ctype: str) -> str:
    """Emit the kernel, in which a task is a row of results.

    A table has an entry for each row, and another for each column: the first tap inside the image,
    the number of taps inside, and the position that the first one reads. Between the columns
    `inner` and `outer` all taps are inside.
    """
    module = Module()
    params: dict[str, str] = dict.fromkeys(("x", "weight", "bias", "out", "rows", "columns"), "ptr")
    f = threads.parallel_export(module, ctype, params | dict.fromkeys(_SIZES, "i64"))
    width = target.host().lanes(ctype)
    kind = vector(ctype, width)

    def window(f: Function, table: SSAValue, at: SSAValue) -> list[SSAValue]:
        return [f.load("i64", table, at * 3 + k) for k in range(3)]

    with f.loop(f.begin, f.end) as task:
        u0, us, row = window(f, f.rows, task % f.out_h)
        x = f.at(f.x, task // f.out_h * f.h * f.w * f.channels, ctype)
        out = f.at(f.out, task * f.out_w * f.channels, ctype)

        def block(c: SSAValue, mask: SSAValue | None, x=x, out=out, u0=u0, us=us, row=row) -> None:
            bias = f.load(kind, f.bias, c, mask=mask)

            def results(j: SSAValue, count: int) -> None:
                v0, vs, column = window(f, f.columns, j)
                totals = [f.var(kind, bias) for _ in range(count)]
                with f.loop(0, us) as u:
                    line = (row + u * f.step_h) * f.w + column
                    tap = (u0 + u) * f.taps + v0
                    with f.loop(0, vs) as v:
                        factor = f.load(kind, f.weight, (tap + v) * f.channels + c, mask=mask)
                        for k, total in enumerate(totals):
                            at = (line + v * f.step_w + k * f.stride) * f.channels + c
                            own = f.load(kind, x, at, mask=mask)
                            total.set(f.fma(own, factor, total.get()))
                for k, total in enumerate(totals):
                    f.store(total.get(), out, (j + k) * f.channels + c, mask=mask)

            with f.loop(0, f.inner) as j:
                results(j, 1)
            with f.loop(f.inner, f.outer, SIDE) as j:
                results(j, SIDE)
            with f.loop(f.outer, f.out_w) as j:
                results(j, 1)

        f.vector_loop(f.channels, width, block)
    f.ret()
    return module.text(ctype)


_lib = jit.NativeLibrary(
    "depthwise convolution", _build, dict.fromkeys(_CTYPES.values(), "paaaaaaiiiiiiiiiiiii")
)


@functools.lru_cache(256)
def _windows(size: int, taps: int, step: int, before: int, after: int, apart: int) -> np.ndarray:
    """Return for each result along a dimension: the first tap inside, the number of taps inside,
    and the position that the first one reads.
    """
    count = (size + before + after - apart * (taps - 1) - 1) // step + 1
    start = np.arange(max(count, 0)) * step - before
    first = np.maximum(-(start // apart), 0)
    last = np.minimum((size - 1 - start) // apart, taps - 1)
    inside = np.maximum(last - first + 1, 0)
    return np.stack([first, inside, start + first * apart], 1)


def conv(
    x: np.ndarray,
    weight: np.ndarray,
    bias: np.ndarray | None,
    stride: Any,
    padding: Any,
    dilation: Any,
) -> np.ndarray | None:
    """Cross-correlate a channels_last `(N, C, H, W)` image with `(C, 1, kh, kw)` filters. Returns
    None if the arguments are not supported.
    """
    if x.ndim != 4 or x.size < LEAST or weight.shape[:2] != (x.shape[1], 1):
        return None
    pixels, ctype = x.transpose(0, 2, 3, 1), _CTYPES.get(name_of(x.dtype))
    if ctype is None or weight.dtype is not x.dtype or not pixels.flags.c_contiguous:
        return None
    run = getattr(_lib, ctype)
    if run is None:
        return None
    n, h, w, channels = pixels.shape
    rows, columns = (
        _windows(size, taps, int(step), int(pad[0]), int(pad[1]), int(apart))
        for size, taps, step, pad, apart in zip(
            (h, w), weight.shape[2:], stride, padding, dilation, strict=True
        )
    )
    out_h, out_w, taps = len(rows), len(columns), weight.shape[3]
    if not out_h or not out_w:
        return None
    filters = np.ascontiguousarray(weight.reshape(channels, -1).T)
    added = np.zeros(channels, x.dtype) if bias is None else np.ascontiguousarray(bias, x.dtype)
    made = np.empty((n, out_h, out_w, channels), x.dtype)
    whole = np.flatnonzero(columns[:, 1] == taps)
    inner = int(whole[0]) if whole.size else 0
    outer = inner + whole.size // SIDE * SIDE
    sizes = (
        *(h, w, channels, out_h, out_w, taps, int(dilation[0]), int(dilation[1])),
        *(int(stride[1]), inner, outer),
    )
    grain = max(1, GRAIN // (out_w * channels * filters.shape[0]))
    run(threads.team(), pixels, filters, added, made, rows, columns, *sizes, n * out_h, grain)
    return made.transpose(0, 3, 1, 2)
