"""Windows of images as columns, and the transpose: columns added up at the positions of their
windows (float32 and float64).

A `Windows` holds the sizes. No padded copy is made: the positions of each row of a window that are
inside the image are computed.

    >>> w = Windows((3, 3), (2, 2), (1, 1), (0, 0), (1, 1))
    >>> w.out
    (2, 2)
    >>> made = columns(np.arange(9.0).reshape(1, 1, 3, 3), w)
    >>> made is None or made[0, :, 0].tolist() == [0.0, 1.0, 3.0, 4.0]
    True
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...dtypes import name_of
from ...llvm import jit, target, threads
from ...llvm.emit import Function, Module, SSAValue, types_of, vector
from ...llvm.outputs import empty
from ..indexing.transpose import in_order

__all__ = ["Windows", "columns", "images", "native", "prepared"]

GRAIN = 16384  # elements per chunk
_CTYPES = types_of("float32 float64")
_HALVES = ("float16", "bfloat16")
_SIZES = ("h", "w", "kh", "kw", "dh", "dw", "ph", "pw", "sh", "sw", "oh", "ow")


@dataclass(frozen=True)
class Windows:
    """Image sizes, and kernel, dilation, padding and stride, each as (height, width)."""

    size: tuple[int, int]
    kernel: tuple[int, int]
    dilation: tuple[int, int]
    padding: tuple[int, int]
    stride: tuple[int, int]

    @property
    def out(self) -> tuple[int, int]:
        """The number of windows, down and across."""
        sizes = zip(self.size, self.kernel, self.dilation, self.padding, self.stride, strict=True)
        down, across = ((n + 2 * p - d * (k - 1) - 1) // s + 1 for n, k, d, p, s in sizes)
        return down, across

    def numbers(self, planes: int, back: bool) -> tuple[int, ...]:
        """Return a kernel's last arguments, for `planes` images of one channel."""
        sizes = (*self.size, *self.kernel, *self.dilation, *self.padding, *self.stride, *self.out)
        # number of elements of the columns that belong to one row of the windows
        row = self.kernel[1] * math.prod(self.out)
        count, each = (planes, row * self.kernel[0]) if back else (planes * self.kernel[0], row)
        return *sizes, count, max(1, GRAIN // max(1, each))


def _inside(f: Function, j: SSAValue) -> tuple[SSAValue, SSAValue, SSAValue]:
    """Return the range of windows (first, one past the last) whose column `j` is inside the image,
    and the position of that column for window 0.
    """
    shift = j * f.dw - f.pw
    high = f.smaller(f.larger(f.w - 1 - shift + f.sw, 0) // f.sw, f.ow)
    low = f.smaller(f.larger(f.sw - 1 - shift, 0) // f.sw, high)
    return low, high, shift


def _columns(module: Module, ctype: str) -> None:
    """Emit `columns.<type>(team, x, out, sizes..., n, grain)` for n rows of windows, each at all
    positions in an image.
    """
    f = threads.parallel_export(
        module, f"columns.{ctype}", {"x": "ptr", "out": "ptr", **dict.fromkeys(_SIZES, "i64")}
    )
    width = target.host().lanes(ctype)
    kind, step = vector(ctype, width), f.sw.compare("eq", 1)
    with f.loop(f.begin, f.end) as row, f.loop(0, f.kw) as j:
        low, high, shift = _inside(f, j)
        image = f.at(f.x, row // f.kh * f.h * f.w, ctype)
        down = row % f.kh * f.dh - f.ph
        to = f.at(f.out, (row * f.kw + j) * f.oh * f.ow, ctype)
        with f.loop(0, f.oh) as y:
            line = f.at(to, y * f.ow, ctype)
            at = down + y * f.sh
            known = at.compare("sge", 0) & at.compare("slt", f.h)
            first, last = (
                f.select(known, low, f.const(0, "i64")),
                f.select(known, high, f.const(0, "i64")),
            )
            source = f.at(image, at * f.w + shift, ctype)
            for start, stop in ((f.const(0, "i64"), first), (last, f.ow)):
                edge = f.at(line, start, ctype)

                def clear(i: SSAValue, mask: SSAValue | None, edge: SSAValue = edge) -> None:
                    f.store(f.const(0, kind), edge, i, mask=mask)

                f.vector_loop(stop - start, width, clear)

            def together(
                source: SSAValue = source,
                line: SSAValue = line,
                first: SSAValue = first,
                last: SSAValue = last,
            ) -> None:
                a, b = f.at(source, first, ctype), f.at(line, first, ctype)
                f.vector_loop(
                    last - first,
                    width,
                    lambda i, mask: f.store(f.load(kind, a, i, mask=mask), b, i, mask=mask),
                )

            def apart(
                source: SSAValue = source,
                line: SSAValue = line,
                first: SSAValue = first,
                last: SSAValue = last,
            ) -> None:
                with f.loop(first, last) as i:
                    f.store(f.load(ctype, source, i * f.sw), line, i)

            f.branch(step, together, apart)
    f.ret()


def _images(module: Module, ctype: str) -> None:
    """Emit `images.<type>(team, columns, out, sizes..., n, grain)`, which clears n images and adds
    the columns to them.
    """
    f = threads.parallel_export(
        module, f"images.{ctype}", {"x": "ptr", "out": "ptr", **dict.fromkeys(_SIZES, "i64")}
    )
    width = target.host().lanes(ctype)
    kind, step = vector(ctype, width), f.sw.compare("eq", 1)
    with f.loop(f.begin, f.end) as plane:
        image = f.at(f.out, plane * f.h * f.w, ctype)
        f.vector_loop(
            f.h * f.w, width, lambda i, mask: f.store(f.const(0, kind), image, i, mask=mask)
        )
        with f.loop(0, f.kh) as k, f.loop(0, f.kw) as j:
            low, high, shift = _inside(f, j)
            source = f.at(f.x, ((plane * f.kh + k) * f.kw + j) * f.oh * f.ow, ctype)
            with f.loop(0, f.oh) as y:
                at = k * f.dh - f.ph + y * f.sh
                with f.when(at.compare("sge", 0) & at.compare("slt", f.h)):
                    line, to = f.at(source, y * f.ow, ctype), f.at(image, at * f.w + shift, ctype)

                    def together(
                        line: SSAValue = line,
                        to: SSAValue = to,
                        low: SSAValue = low,
                        high: SSAValue = high,
                    ) -> None:
                        a, b = f.at(line, low, ctype), f.at(to, low, ctype)

                        def add(i: SSAValue, mask: SSAValue | None) -> None:
                            f.store(
                                f.load(kind, b, i, mask=mask) + f.load(kind, a, i, mask=mask),
                                b,
                                i,
                                mask=mask,
                            )

                        f.vector_loop(high - low, width, add)

                    def apart(
                        line: SSAValue = line,
                        to: SSAValue = to,
                        low: SSAValue = low,
                        high: SSAValue = high,
                    ) -> None:
                        with f.loop(low, high) as i:
                            f.store(
                                f.load(ctype, to, i * f.sw) + f.load(ctype, line, i), to, i * f.sw
                            )

                    f.branch(step, together, apart)
    f.ret()


def _build(name: str) -> str:
    module, (kind, ctype) = Module(), name.split(".")
    (_columns if kind == "columns" else _images)(module, ctype)
    return module.text(name)


_NAMES = [f"{kind}.{ctype}" for kind in ("columns", "images") for ctype in _CTYPES.values()]
_lib = jit.NativeLibrary("windows", _build, dict.fromkeys(_NAMES, "paa" + "i" * (len(_SIZES) + 2)))


def _kernel(dtype: str, back: bool) -> Callable[..., None] | None:
    ctype = _CTYPES.get(dtype)
    return None if ctype is None else getattr(_lib, f"{'images' if back else 'columns'}.{ctype}")


def native(dtype: str, back: bool) -> int | None:
    """Return the address of the kernel; None if it does not support the dtype or cannot be
    compiled.
    """
    function = _kernel(dtype, back)
    return None if function is None else jit.address(function)


def prepared(
    shape: tuple[int, ...], dtype: np.dtype[Any], w: Windows, back: bool
) -> Callable[[np.ndarray], np.ndarray] | None:
    """Return a function for `columns` (with `back`, for `images`) of arrays of this shape and
    dtype; None if there is no kernel.
    """
    if not back and name_of(dtype) in _HALVES:  # only bits are moved
        moved = prepared(shape, np.dtype(np.float32), w, False)
        return moved and (
            lambda x: (
                moved(x.view(np.uint16).astype(np.uint32).view(np.float32))
                .view(np.uint32)
                .astype(np.uint16)
                .view(dtype)
            )
        )
    if back:
        n, c = shape[0], shape[1] // math.prod(w.kernel)
        made: tuple[int, ...] = (n, c, *w.size)
    else:
        n, c = shape[:2]
        made = (n, c * math.prod(w.kernel), math.prod(w.out))
    function = _kernel(name_of(dtype), back) if math.prod(shape) and math.prod(made) else None
    if function is None:
        return None
    numbers = w.numbers(n * c, back)

    def run(x: np.ndarray) -> np.ndarray:
        out = empty(made, dtype)
        function(threads.team(), in_order(x), out, *numbers)
        return out

    return run


def columns(x: np.ndarray, w: Windows) -> np.ndarray | None:
    """Return images `(N, C, H, W)` as `(N, C * KH * KW, windows)`; None if there is no kernel."""
    run = prepared(x.shape, x.dtype, w, False)
    return run and run(x)


def images(x: np.ndarray, w: Windows) -> np.ndarray | None:
    """Return columns `(N, C * KH * KW, windows)` added up to images `(N, C, H, W)`; None if there
    is no kernel.
    """
    run = prepared(x.shape, x.dtype, w, True)
    return run and run(x)
