"""Pooling window by window: for float64 and int64, and for channels_last arrays, also of float32.

Arrays are (N, C, *spatial) with up to three spatial dimensions. A table for each dimension tells
where the windows of outputs begin inside the input, and how many of their taps are inside, so a
window never leaves the input. Planes in C order are read along their last dimension with gathered
vectors; channels_last images and volumes are read with vectors along the channels. Results have the
memory order of the input, except means of volumes, which are in C order. Every function returns
None if it does not support its arguments.

>>> made = max_pool(np.array([[[3.0, 1.0, 2.0, 5.0]]]), 2, None, 0, 1, False)
>>> made is None or [a.ravel().tolist() for a in made] == [[3.0, 5.0], [0, 3]]
True
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from ...dtypes import name_of
from ...llvm import jit, target, threads
from ...llvm.emit import BYTES, Function, Module, SSAValue, types_of, vector
from ...shapes import moved
from ..convolution.geometry import PoolGeometry, first_places, pool_geometry

__all__ = ["avg_pool", "avg_pool_grad", "max_pool", "max_pool_grad", "side_by_side"]

GRAIN = 4096  # taps per chunk
_CTYPES = types_of("float32 float64 int64")
_FLOATS = types_of("float32 float64")
_NARROW = 5  # with fewer outputs in a row, each is computed separately
_FEW_CHANNELS = 4  # with fewer channels in channels_last order, planes are read instead
_SIZES = ("d", "h", "w", "out_d", "out_h", "out_w", "step_d", "step_h", "step_w", "taps", "inner")


def _floating(ctype: str) -> bool:
    return ctype in ("float", "double")


class _Window:
    """Accumulates the maximum and its position, or the sum, of a vector of windows."""

    def __init__(self, f: Function, ctype: str, width: int, place: SSAValue | None) -> None:
        self.f, self.kind, self.places = f, vector(ctype, width), vector("i64", width)
        self.floating = _floating(ctype)
        lowest = -math.inf if self.floating else -(1 << 63)
        self.best = f.var(self.kind, f.const(0 if place is None else lowest, self.kind))
        self.place = None if place is None else f.var(self.places, place)

    def take(self, value: SSAValue, at: SSAValue, live: SSAValue | None = None) -> None:
        f, best = self.f, self.best.get()
        if self.place is None:
            self.best.set(
                best + (value if live is None else f.select(live, value, f.const(0, self.kind)))
            )
            return
        wins = value.compare("ogt" if self.floating else "sgt", best)
        if self.floating:
            wins = wins | value.compare("uno", value)
        if live is not None:
            wins = wins & live
        self.best.set(f.select(wins, value, best))
        self.place.set(f.select(wins, at, self.place.get()))

    def deliver(self, to: SSAValue, mask: SSAValue | None, divisor: SSAValue | None) -> None:
        """Emit stores of the result; with a divisor, of the mean."""
        f, best = self.f, self.best.get()
        f.store(best if divisor is None else best / divisor, f.out, to, mask=mask)
        if self.place is not None:
            f.store(self.place.get(), f.index, to, mask=mask)


def _emit(module: Module, name: str, ctype: str, maximum: bool, across: bool) -> None:
    """Emit a kernel in which a task is a row of outputs of a plane; tasks count (plane, depth,
    row).
    """
    pointers = ("x", "out", "index" if maximum else "divisors", "table")
    f = threads.parallel_export(
        module, name, {**dict.fromkeys(pointers, "ptr"), **dict.fromkeys(_SIZES, "i64")}
    )
    width = target.host().lanes("double" if BYTES[ctype] == 8 else "float")
    kind, places = vector(ctype, width), vector("i64", width)
    rows = f.out_d * f.out_h
    first_h, first_w = f.out_d * 2, (f.out_d + f.out_h) * 2
    with f.loop(f.begin, f.end) as task:
        rest = task % rows
        a, b = rest // f.out_h, rest % f.out_h
        d0, nd = f.load("i64", f.table, a), f.load("i64", f.table, f.out_d + a)
        h0, nh = f.load("i64", f.table, first_h + b), f.load("i64", f.table, first_h + f.out_h + b)
        x = f.at(f.x, task // rows * f.d * f.h * f.w * f.inner, ctype)
        to, cell = task * f.out_w * f.inner, rest * f.out_w

        def line(t: SSAValue, u: SSAValue, d0: SSAValue = d0, h0: SSAValue = h0) -> SSAValue:
            return ((d0 + t * f.step_d) * f.h + h0 + u * f.step_h) * f.w

        first = (d0 * f.h + h0) * f.w

        def along(
            j: SSAValue,
            mask: SSAValue | None,
            x: SSAValue = x,
            to: SSAValue = to,
            cell: SSAValue = cell,
            first: SSAValue = first,
            nd: SSAValue = nd,
            nh: SSAValue = nh,
            line: Any = line,
        ) -> None:
            w0 = f.load(places, f.table, first_w + j, mask=mask)
            nw = f.load(places, f.table, first_w + f.out_w + j, mask=mask)
            window = _Window(f, ctype, width, f.splat(first, places) + w0 if maximum else None)
            with f.loop(0, nd) as t, f.loop(0, nh) as u:
                base = f.splat(line(t, u), places) + w0
                with f.loop(0, f.taps) as v:
                    live, at = (
                        nw.compare("sgt", f.splat(v, places)),
                        base + f.splat(v * f.step_w, places),
                    )
                    window.take(
                        f.gather(kind, f.addresses(x, at, ctype), live, BYTES[ctype]), at, live
                    )
            window.deliver(
                to + j,
                mask,
                None if maximum else f.load(kind, f.divisors, cell + j, mask=mask, other=1),
            )

        def side_by_side(
            j: SSAValue,
            x: SSAValue = x,
            to: SSAValue = to,
            cell: SSAValue = cell,
            first: SSAValue = first,
            nd: SSAValue = nd,
            nh: SSAValue = nh,
            line: Any = line,
        ) -> None:
            w0, nw = (
                f.load("i64", f.table, first_w + j),
                f.load("i64", f.table, first_w + f.out_w + j),
            )
            divisor = None if maximum else f.splat(f.load(ctype, f.divisors, cell + j), kind)

            def channels(i: SSAValue, mask: SSAValue | None) -> None:
                window = _Window(f, ctype, width, f.splat(first + w0, places) if maximum else None)
                with f.loop(0, nd) as t, f.loop(0, nh) as u, f.loop(0, nw) as v:
                    at = line(t, u) + w0 + v * f.step_w
                    window.take(f.load(kind, x, at * f.inner + i, mask=mask), f.splat(at, places))
                window.deliver(to + j * f.inner + i, mask, divisor)

            f.vector_loop(f.inner, width, channels)

        def one_by_one(side_by_side: Any = side_by_side) -> None:
            with f.loop(0, f.out_w) as j:
                side_by_side(j)

        if across:
            one_by_one()
        else:  # gathering a vector takes as long as several loads
            narrow = f.out_w.compare("slt", _NARROW)
            f.branch(narrow, one_by_one, lambda: f.vector_loop(f.out_w, width, along))
    f.ret()


def _emit_max_grad(module: Module, name: str, ctype: str) -> None:
    f = threads.parallel_export(
        module, name, {"g": "ptr", "index": "ptr", "out": "ptr", "size": "i64", "windows": "i64"}
    )
    with f.loop(f.begin, f.end) as plane:
        out, start = f.at(f.out, plane * f.size, ctype), plane * f.windows
        with f.loop(0, f.size) as i:
            f.store(f.const(0, ctype), out, i)
        with f.loop(0, f.windows) as i:
            place = f.load("i64", f.index, start + i)
            f.store(f.load(ctype, out, place) + f.load(ctype, f.g, start + i), out, place)
    f.ret()


def _emit_avg_grad(module: Module, name: str, ctype: str) -> None:
    """Emit the gradient of means. Overlapping windows are added to an element from the last window
    to the first, which is in the order of the taps.
    """
    f = threads.parallel_export(
        module,
        name,
        {**dict.fromkeys(("g", "out", "divisors", "table"), "ptr"), **dict.fromkeys(_SIZES, "i64")},
    )
    size, cells = f.d * f.h * f.w, f.out_d * f.out_h * f.out_w
    first_h, first_w = f.out_d * 2, (f.out_d + f.out_h) * 2
    with f.loop(f.begin, f.end) as plane:
        out = f.at(f.out, plane * size, ctype)
        with f.loop(0, size) as i:
            f.store(f.const(0, ctype), out, i)
        with f.loop(0, cells) as k:
            cell = cells - 1 - k
            a, b, c = cell // (f.out_h * f.out_w), cell // f.out_w % f.out_h, cell % f.out_w
            share = f.load(ctype, f.g, plane * cells + cell) / f.load(ctype, f.divisors, cell)
            d0, nd = f.load("i64", f.table, a), f.load("i64", f.table, f.out_d + a)
            h0, nh = (
                f.load("i64", f.table, first_h + b),
                f.load("i64", f.table, first_h + f.out_h + b),
            )
            w0, nw = (
                f.load("i64", f.table, first_w + c),
                f.load("i64", f.table, first_w + f.out_w + c),
            )
            with f.loop(0, nd) as t, f.loop(0, nh) as u, f.loop(0, nw) as v:
                at = ((d0 + t * f.step_d) * f.h + h0 + u * f.step_h) * f.w + w0 + v * f.step_w
                f.store(f.load(ctype, out, at) + share, out, at)
    f.ret()


def _build(name: str) -> str:
    module = Module()
    for ctype in _CTYPES.values():
        for across in (False, True):
            _emit(module, f"max{'_across' * across}.{ctype}", ctype, True, across)
    for ctype in _FLOATS.values():
        for across in (False, True):
            _emit(module, f"avg{'_across' * across}.{ctype}", ctype, False, across)
        _emit_max_grad(module, f"max_grad.{ctype}", ctype)
        _emit_avg_grad(module, f"avg_grad.{ctype}", ctype)
    return module.text(name)


_FORWARD = "paaaa" + "i" * (len(_SIZES) + 2)
_lib = jit.NativeLibrary(
    "pooling",
    _build,
    {
        **{f"max{across}.{c}": _FORWARD for across in ("", "_across") for c in _CTYPES.values()},
        **{f"avg{across}.{c}": _FORWARD for across in ("", "_across") for c in _FLOATS.values()},
        **{f"avg_grad.{c}": _FORWARD for c in _FLOATS.values()},
        **{f"max_grad.{c}": "paaaiiii" for c in _FLOATS.values()},
    },
)


@lru_cache(1024)
def _sizes(geo: PoolGeometry) -> tuple[np.ndarray, tuple[int, ...]]:
    """Return the table, and the kernels' size arguments except the last."""
    lead = 3 - len(geo.x)
    ones, zeros = (1,) * lead, (0,) * lead
    x, out, step = (*ones, *geo.x), (*ones, *geo.out), (*ones, *geo.dilation)
    taps, stride, pad = (*ones, *geo.k), (*ones, *geo.stride), (*zeros, *geo.pad)
    parts = []
    places = first_places(x, out, stride, pad, step)
    for size, count, dilation, most, move, before, empty in zip(
        x, out, step, taps, stride, pad, places, strict=True
    ):
        start = np.arange(count, dtype=np.int64) * move - before
        skipped = np.where(start < 0, -(start // dilation), 0)
        first = start + skipped * dilation
        inside = np.clip(np.minimum(most - skipped, -((first - size) // dilation)), 0, None)
        parts += [np.where(inside > 0, first, empty), inside]
    return np.concatenate(parts), (*x, *out, *step, taps[-1])


@lru_cache(1024)
def _geometry(shape: tuple[int, ...], *window: Any) -> PoolGeometry:
    return pool_geometry(shape, *window)


def _key(value: Any) -> Any:
    return value if value is None or isinstance(value, int) else tuple(value)


def side_by_side(x: np.ndarray) -> bool:
    """Return whether an array is in channels_last order in memory."""
    if x.flags.c_contiguous or x.ndim < 4 or x.shape[1] < _FEW_CHANNELS:
        return False
    return _channels_first_in(x.shape, x.strides, x.itemsize)


@lru_cache(1024)
def _channels_first_in(shape: tuple[int, ...], strides: tuple[int, ...], step: int) -> bool:
    for d in (1, *range(len(shape) - 1, 1, -1), 0):
        if shape[d] != 1 and strides[d] != step:
            return 0 in shape
        step *= shape[d]
    return True


class _Plan(NamedTuple):
    """A forward kernel, and its arguments for arrays of one shape and layout."""

    kernel: Any
    shape: tuple[int, ...]  # of the result, in its order in memory
    # the axes that bring the input to its order in memory; None if that is C order
    turned: tuple[int, ...] | None
    back: tuple[int, ...]  # the axes that bring the result back to (N, C, *spatial)
    divisors: np.ndarray | None
    table: np.ndarray
    numbers: tuple[int, ...]


@lru_cache(1024)
def _plan(
    name: str, shape: tuple[int, ...], dtype: np.dtype, across: bool, window: Any, mean: Any
) -> _Plan | None:
    geo = _geometry(shape, *window)
    ctype = (_FLOATS if name == "avg" else _CTYPES).get(name_of(dtype))
    if ctype is None or 0 in shape or len(geo.x) > 3 or 0 in geo.out_shape:
        return None
    kernel = getattr(_lib, f"{name}{'_across' * across}.{ctype}")
    if kernel is None:
        return None
    n, channels = geo.x_shape[:2]
    table, sizes = _sizes(geo)
    rows = (n if across else n * channels) * sizes[3] * sizes[4]
    inner = channels if across else 1
    return _Plan(
        kernel,
        (n, *geo.out, channels) if across else geo.out_shape,
        moved(len(shape), 1, -1) if across else None,
        moved(len(shape), -1, 1),
        None if mean is None else _divisors(geo, *mean, dtype.char),
        table,
        (*sizes, inner, rows, GRAIN // (sizes[5] * inner * math.prod(geo.k)) or 1),
    )


FEW = 512  # largest number of elements for which `few` is used


def few(
    name: str,
    shape: tuple[int, ...],
    dtype: np.dtype,
    window: tuple[Any, ...],
    mean: Any = None,
    across: bool = False,
) -> Callable[[np.ndarray], Any] | None:
    """Return a pooling function for small arrays of this shape and dtype, in C order, or (with
    `across`) in channels_last order; None if not supported.
    """
    plan = _plan(name, shape, dtype, across, window, mean)
    if plan is None or len(shape) > 4 or math.prod(shape) > FEW:
        return None
    kernel, made, divisors, table, numbers = (
        plan.kernel,
        plan.shape,
        plan.divisors,
        plan.table,
        plan.numbers,
    )

    def average(x: np.ndarray) -> np.ndarray:
        out = np.empty(made, dtype)
        kernel(0, x, out, divisors, table, *numbers)
        return out

    def largest(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        out, index = np.empty(made, dtype), np.empty(made, np.int64)
        kernel(0, x, out, index, table, *numbers)
        return out, index

    run: Callable[[np.ndarray], Any] = largest if mean is None else average
    if not across:
        return run
    turned, back = plan.turned, plan.back

    def side_by_side(x: np.ndarray) -> Any:
        made = run(x.transpose(turned))
        return made.transpose(back) if mean else tuple([a.transpose(back) for a in made])

    return side_by_side


def _forward(
    name: str, x: np.ndarray, window: tuple[Any, ...], mean: Any = None
) -> tuple[np.ndarray, Any] | None:
    across = side_by_side(x)
    try:
        plan = _plan(name, x.shape, x.dtype, across, window, mean)
    except TypeError:  # lists are not hashable
        plan = _plan(name, x.shape, x.dtype, across, tuple(map(_key, window)), mean)
    if plan is None:
        return None
    out = np.empty(plan.shape, x.dtype)
    second: Any = np.empty(plan.shape, np.int64) if mean is None else plan.divisors
    x = np.ascontiguousarray(x) if plan.turned is None else x.transpose(plan.turned)
    plan.kernel(threads.team(), x, out, second, plan.table, *plan.numbers)
    if across:
        return out.transpose(plan.back), second.transpose(plan.back) if mean is None else None
    return out, second


def native_max(
    shape: tuple[int, ...], dtype: str, *window: Any
) -> tuple[int, tuple[int, ...], np.ndarray, tuple[int, ...]] | None:
    """Return for `max_pool` of contiguous planes: the kernel's address, the result's shape, the
    table, and the arguments behind the table; None if not supported.
    """
    ctype, geo = _CTYPES.get(dtype), _geometry(tuple(shape), *map(_key, window))
    kernel = (
        None
        if ctype is None or len(geo.x) > 3 or 0 in geo.out_shape
        else getattr(_lib, f"max.{ctype}")
    )
    if kernel is None:
        return None
    table, sizes = _sizes(geo)
    rows = geo.x_shape[0] * geo.x_shape[1] * sizes[3] * sizes[4]
    return (
        jit.address(kernel),
        geo.out_shape,
        table,
        (*sizes, 1, rows, GRAIN // (sizes[5] * math.prod(geo.k)) or 1),
    )


def max_pool(
    x: np.ndarray, kernel: Any, stride: Any, padding: Any, dilation: Any, ceil_mode: bool
) -> Any:
    """Return the largest value of each window and its flat int64 position in the input's spatial
    dimensions, as the reference does.
    """
    return _forward("max", x, (kernel, stride, padding, dilation, ceil_mode))


def avg_pool(
    x: np.ndarray,
    kernel: Any,
    stride: Any,
    padding: Any,
    ceil_mode: bool,
    include: bool,
    divisor: int | None,
) -> Any:
    """Return the mean of each window."""
    made = _forward("avg", x, (kernel, stride, padding, 1, ceil_mode), (include, divisor))
    if made is None:
        return None
    # PyTorch's means of volumes are in C order
    return np.ascontiguousarray(made[0]) if x.ndim == 5 else made[0]


@lru_cache(1024)
def _divisors(geo: PoolGeometry, include: bool, divisor: int | None, char: str) -> np.ndarray:
    return np.ascontiguousarray(geo.divisors(include, divisor).astype(char))


def max_pool_grad(g: np.ndarray, index: np.ndarray, x_shape: Any) -> Any:
    """Return the gradient of `max_pool`: `g` added at the positions of the maxima, which must be
    inside the planes.
    """
    kernel = (
        getattr(_lib, f"max_grad.{_FLOATS[name_of(g.dtype)]}")
        if name_of(g.dtype) in _FLOATS
        else None
    )
    size = math.prod(x_shape[2:])
    if (
        kernel is None
        or not g.size
        or index.dtype != np.int64
        or index.shape != g.shape
        or tuple(g.shape[:2]) != tuple(x_shape[:2])
    ):
        return None
    if index.min() < 0 or index.max() >= size:
        return None
    out = np.empty(tuple(x_shape), g.dtype)
    windows = math.prod(g.shape[2:])
    sources = np.ascontiguousarray(g), np.ascontiguousarray(index)
    kernel(
        threads.team(),
        *sources,
        out,
        size,
        windows,
        out.shape[0] * out.shape[1],
        GRAIN // size or 1,
    )
    return out


def avg_pool_grad(
    g: np.ndarray,
    x_shape: Any,
    kernel: Any,
    stride: Any,
    padding: Any,
    ceil_mode: bool,
    include: bool,
    divisor: int | None,
) -> Any:
    """Return the gradient of `avg_pool`."""
    geo = _geometry(tuple(x_shape), _key(kernel), _key(stride), _key(padding), 1, ceil_mode)
    run = (
        getattr(_lib, f"avg_grad.{_FLOATS[name_of(g.dtype)]}")
        if name_of(g.dtype) in _FLOATS
        else None
    )
    if run is None or not g.size or len(geo.x) > 3 or g.shape != geo.out_shape:
        return None
    out = np.empty(geo.x_shape, g.dtype)
    table, sizes = _sizes(geo)
    divisors = _divisors(geo, include, divisor, g.dtype.char)
    run(
        threads.team(),
        np.ascontiguousarray(g),
        out,
        divisors,
        table,
        *sizes,
        1,
        out.shape[0] * out.shape[1],
        GRAIN // math.prod(geo.x) or 1,
    )
    return out
