"""Pooling and its gradients with generated float32 kernels; float16 and bfloat16 are computed in
float32.

Max pooling packs each plane like a convolution (rows padded with -inf, split by the stride), so
that a window's taps are constant offsets and outputs fill whole vectors. Average pooling is a
depthwise convolution with ones, followed by a division. Each function returns None if it does not
support its arguments, and the caller uses `kernels.pooling.reference`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from math import prod
from typing import Any

import numpy as np

from ...dtypes import name_of
from ...llvm import jit, target, threads
from ...llvm.emit import Module, SSAValue, vector
from ...llvm.outputs import empty
from ..convolution import call as conv
from ..convolution import memory as conv_memory
from ..convolution import plan as conv_plan
from ..convolution import tiles as conv_kernels
from ..convolution.geometry import (
    IntOrSeq,
    PoolGeometry,
    even_windows,
    first_places,
    pool_geometry,
)
from ..indexing.transpose import in_order

_NEVER = -(1 << 31)  # no tap has been the largest yet


def max_pool(
    x: np.ndarray,
    kernel_size: IntOrSeq,
    stride: IntOrSeq | None = None,
    padding: IntOrSeq = 0,
    dilation: IntOrSeq = 1,
    ceil_mode: bool = False,
    index_dtype: Any = np.int64,
) -> tuple[np.ndarray, np.ndarray] | None:
    """Return the largest value of every window of ``x`` (N, C, *spatial), and its flat index as
    int64 (or int32, which takes half the memory).

    >>> made = max_pool(np.array([[[3, 1, 2, 5]]], np.float32), 2)
    >>> made is None or [a.ravel().tolist() for a in made] == [[3.0, 5.0], [0, 3]]
    True
    """
    if x.dtype != _FLOAT32:
        if name_of(x.dtype) not in ("float16", "bfloat16"):
            return None
        made = max_pool(
            x.astype(_FLOAT32), kernel_size, stride, padding, dilation, ceil_mode, index_dtype
        )
        return None if made is None else (made[0].astype(x.dtype), made[1])
    try:
        out_shape, plan = _max(x.shape, kernel_size, stride, padding, dilation, ceil_mode)
    except TypeError:  # lists are not hashable
        key = [_key(v) for v in (kernel_size, stride, padding, dilation)]
        out_shape, plan = _max(x.shape, *key, ceil_mode)
    if plan is None:
        return None
    best: np.ndarray = empty(out_shape, _FLOAT32)
    index: np.ndarray = empty(out_shape, index_dtype)
    if index.itemsize not in (4, 8) or index.dtype.kind != "i":
        raise TypeError(f"max_pool gives int32 or int64 indices, not {index.dtype}")
    x = in_order(x)
    planes, count = x.shape[0] * x.shape[1], threads.get_num_threads()
    team = threads.team() if count > 1 else 0
    grain = -(-planes // (2 * count)) if count > 1 else planes
    memory = conv_memory.take(plan.scratch * count)
    try:
        _natives()["max_pool"](
            team, plan.desc, x, best, index, memory.address, index.itemsize, planes, grain
        )
    finally:
        conv_memory.give(memory)
    return best, index


def max_pool_grad(g: np.ndarray, index: np.ndarray, x_shape: Sequence[int]) -> np.ndarray | None:
    """Return the gradient of the input of ``max_pool``: ``g`` added up at the flat indices (int32
    or int64) of the maxima.

    >>> made = max_pool_grad(np.ones((1, 1, 2), np.float32), np.array([[[0, 3]]]), (1, 1, 4))
    >>> made is None or made.ravel().tolist() == [1.0, 0.0, 0.0, 1.0]
    True
    """
    if g.dtype != _FLOAT32:
        return conv.in_float32(max_pool_grad, (g,), index, x_shape)
    if (
        not _applies(g)
        or index.dtype not in (np.dtype(np.int32), np.dtype(np.int64))
        or index.shape != g.shape
    ):
        return None
    g, index = np.ascontiguousarray(g), np.ascontiguousarray(index)
    out = empty(tuple(x_shape), np.float32)
    planes, count = out.shape[0] * out.shape[1], threads.get_num_threads()
    team = threads.team() if count > 1 else 0
    grain = -(-planes // (2 * count)) if count > 1 else planes
    size, windows = prod(out.shape[2:]), prod(g.shape[2:])
    _natives()["max_pool_grad"](team, g, index, out, size, windows, index.itemsize, planes, grain)
    return out


def avg_pool(
    x: np.ndarray,
    kernel_size: IntOrSeq,
    stride: IntOrSeq | None = None,
    padding: IntOrSeq = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> np.ndarray | None:
    """Return the mean of every window of ``x`` (N, C, *spatial), with the same divisors as the
    reference.

    >>> made = avg_pool(np.array([[[3, 1, 2, 5]]], np.float32), 2)
    >>> made is None or made.ravel().tolist() == [2.0, 3.5]
    True
    """
    if not _applies(x):
        return conv.in_float32(
            avg_pool,
            (x,),
            kernel_size,
            stride,
            padding,
            ceil_mode,
            count_include_pad,
            divisor_override,
        )
    window = (
        _key(kernel_size),
        _key(stride),
        _key(padding),
        ceil_mode,
        count_include_pad,
        divisor_override,
    )
    geo, divisor, pads = average(x.shape, *window)
    planes = x.shape[0] * x.shape[1]
    total = conv.conv(x.reshape(planes, 1, *geo.x), ones(geo.k), geo.stride, pads)
    if total is None:
        return None
    total /= divisor
    return total.reshape(geo.out_shape)


def avg_pool_grad(
    g: np.ndarray,
    x_shape: Sequence[int],
    kernel_size: IntOrSeq,
    stride: IntOrSeq | None = None,
    padding: IntOrSeq = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> np.ndarray | None:
    """Return the gradient of the input of ``avg_pool``, whose shape is ``x_shape``.

    >>> made = avg_pool_grad(np.array([[[2, 4]]], np.float32), (1, 1, 4), 2)
    >>> made is None or made.ravel().tolist() == [1.0, 1.0, 2.0, 2.0]
    True
    """
    window = (
        _key(kernel_size),
        _key(stride),
        _key(padding),
        ceil_mode,
        count_include_pad,
        divisor_override,
    )
    geo, divisor, pads = average(_key(x_shape), *window)
    if not _applies(g):
        return conv.in_float32(avg_pool_grad, (g,), x_shape, *window)
    planes = geo.x_shape[0] * geo.x_shape[1]
    share = (g / divisor).reshape(planes, 1, *geo.out)
    made = conv.conv_input_grad(share, ones(geo.k), (planes, 1, *geo.x), geo.stride, pads)
    return None if made is None else made.reshape(geo.x_shape)


def adaptive_avg_pool(x: np.ndarray, output_size: IntOrSeq) -> np.ndarray | None:
    """Return means over windows chosen so that the output has ``output_size``; None unless all
    windows have the same size.

    >>> made = adaptive_avg_pool(np.array([[[3, 1, 2, 5]]], np.float32), 2)
    >>> made is None or made.ravel().tolist() == [2.0, 3.5]
    True
    """
    windows = even_windows(x.shape, output_size)
    return None if windows is None else avg_pool(x, windows)


def adaptive_avg_pool_grad(g: np.ndarray, x_shape: Sequence[int]) -> np.ndarray | None:
    """Return the gradient of the input of ``adaptive_avg_pool``, whose shape is ``x_shape``.

    >>> made = adaptive_avg_pool_grad(np.array([[[2, 4]]], np.float32), (1, 1, 4))
    >>> made is None or made.ravel().tolist() == [1.0, 1.0, 2.0, 2.0]
    True
    """
    windows = even_windows(x_shape, g.shape[2:])
    return None if windows is None else avg_pool_grad(g, x_shape, windows)


def adaptive_max_pool(
    x: np.ndarray, output_size: IntOrSeq, index_dtype: Any = np.int64
) -> tuple[np.ndarray, np.ndarray] | None:
    """Return the largest value and its flat index for the windows of ``adaptive_avg_pool``. Its
    gradient is ``max_pool_grad``.

    >>> made = adaptive_max_pool(np.array([[[3, 1, 2, 5]]], np.float32), 2)
    >>> made is None or made[1].ravel().tolist() == [0, 3]
    True
    """
    windows = even_windows(x.shape, output_size)
    return None if windows is None else max_pool(x, windows, index_dtype=index_dtype)


def _applies(x: np.ndarray) -> bool:
    return x.dtype == np.float32 and x.size > 0 and target.available() and _natives() is not None


_FLOAT32 = np.dtype(np.float32)


def _key(value: Any) -> Any:
    """Convert sequences to tuples, which are hashable."""
    return value if value is None or isinstance(value, int) else tuple(value)


def max_plan(x_shape: tuple[int, ...], *args: Any) -> Any:
    """Return the plan of `max_pool` for contiguous float32 arrays of this shape; None if the kernel
    cannot be used.
    """
    return _max(x_shape, *(_key(v) for v in args[:-1]), args[-1])[1]


def function(name: str) -> int | None:
    """Return the native address of `max_pool` or `max_pool_grad`, for a schedule."""
    made = _natives() if target.available() else None
    return None if made is None else jit.address(made[name])


@lru_cache(maxsize=1024)
def _max(x_shape: tuple[int, ...], *args: Any) -> tuple[tuple[int, ...], Any]:
    """Return the output shape, and the plan or None."""
    geo = pool_geometry(x_shape, *args)
    if not prod(x_shape) or prod(geo.x) >= 1 << 30 or not target.available() or _natives() is None:
        return geo.out_shape, None
    return geo.out_shape, _max_plan(
        (1, 1, *geo.x), geo.k, geo.stride, geo.pad, geo.dilation, geo.out
    )


@lru_cache(maxsize=1024)
def average(
    x_shape: tuple[int, ...],
    kernel_size: Any,
    stride: Any,
    padding: Any,
    ceil_mode: bool,
    include: bool,
    override: int | None,
) -> tuple[PoolGeometry, Any, Any]:
    """Return for an average pooling: its sizes, the divisor (a single number if all windows have
    the same) and the padding of the equivalent convolution.
    """
    geo = pool_geometry(x_shape, kernel_size, stride, padding, 1, ceil_mode)
    divisors = geo.divisors(include, override).astype(_FLOAT32)
    same = divisors.size > 0 and (divisors == divisors.flat[0]).all()
    return geo, divisors.flat[0] if same else divisors, _pads(geo)


@lru_cache(maxsize=64)
def ones(k: tuple[int, ...], dtype: str = "float32") -> np.ndarray:
    """Return the weights of a window."""
    return np.ones((1, 1, *k), dtype)


def _pads(geo: PoolGeometry) -> tuple[tuple[int, int], ...]:
    """Return the convolution's padding that gives the windows of this pooling, including one that
    extends beyond the end.
    """
    reach = zip(geo.x, geo.k, geo.stride, geo.pad, geo.out, strict=True)
    return tuple((pad, (out - 1) * stride + k - pad - size) for size, k, stride, pad, out in reach)


@dataclass
class _MaxPlan:
    desc: np.ndarray
    tables: list[object]
    scratch: int


# Words of the descriptor.
(
    _PACK,
    _PACK_FUNCTION,
    _TAPS,
    _TAP_OFFSETS,
    _TAP_INDEX,
    _VECTORS,
    _STARTS,
    _MASKS,
    _FIRSTS,
    _BASES,
    _INITIAL,
) = range(11)
_IN_PLANE, _OUT_PLANE, _SCRATCH, _PACKED = range(11, 15)


@lru_cache(maxsize=256)
def _max_plan(
    x_shape: tuple[int, ...],
    k: tuple[int, ...],
    stride: tuple[int, ...],
    pad: tuple[int, ...],
    dilation: tuple[int, ...],
    out: tuple[int, ...],
) -> _MaxPlan | None:
    x = x_shape[2:]
    packing = conv_kernels.packing()
    if packing is None:
        return None
    extent = tuple(
        o + d * (size - 1) // s for o, d, size, s in zip(out, dilation, k, stride, strict=True)
    )
    layout = conv_plan.make_layout(x, stride, pad, extent, out[-1])
    vectors = conv_plan.cover(out, layout.steps, False)
    taps = [tuple(i * d for i, d in zip(tap, dilation, strict=True)) for tap in np.ndindex(k)]
    across = [prod(x[d + 1 :]) for d in range(len(x))]
    starts = [np.arange(o) * s - p for o, s, p in zip(out, stride, pad, strict=True)]
    # the index of a window that contains only -inf
    inside = first_places(x, out, stride, pad, dilation)

    def flat(positions: list[np.ndarray]) -> np.ndarray:
        grids = np.meshgrid(*positions, indexing="ij")
        return sum(grid * step for grid, step in zip(grids, across, strict=True)).ravel()

    room = [0] * conv_kernels.lanes()  # padding, since the kernel reads whole vectors
    keep: list[object] = []

    def table(values: Any, dtype: type = np.int64) -> int:
        array: np.ndarray = np.ascontiguousarray(values, dtype)
        keep.append(array)
        return array.ctypes.data

    pack = conv_plan.pack_tables(layout, x)
    packed = layout.channel + conv_kernels.lanes()
    scratch = -(-packed * 4 // 128) * 128
    desc = np.array(
        [
            pack[0].ctypes.data,
            jit.address(packing["pack"]),
            len(taps),
            table([layout.offset(tap) * 4 for tap in taps]),
            table(
                [sum(i * step for i, step in zip(tap, across, strict=True)) for tap in taps],
                np.int32,
            ),
            len(vectors.start),
            table(vectors.start * 4),
            table(vectors.mask, np.uint16),
            table(vectors.first),
            table([*flat(starts), *room], np.int32),
            table([*flat(inside), *room], np.int32),
            prod(x),
            prod(out),
            scratch,
            packed,
        ],
        np.int64,
    )
    return _MaxPlan(desc, [keep, pack], scratch)


@cache
def _natives() -> conv_kernels.Natives:
    return jit.compile_source(
        _text, {"max_pool": "paaaapiii", "max_pool_grad": "paaaiiiii"}, "max_pool"
    )


def _text() -> str:
    module = Module()
    _emit_max(module)
    _emit_max_grad(module)
    return module.text()


def _emit_max(module: Module) -> None:
    params = {
        "desc": "ptr",
        "x": "ptr",
        "best": "ptr",
        "index": "ptr",
        "scratch": "ptr",
        "index_bytes": "i64",
    }
    f = threads.parallel_export(module, "max_pool", params)
    width = conv_kernels.lanes()
    kind, whole = vector("float", width), vector("i32", width)

    def word(i: int) -> SSAValue:
        return f.load("i64", f.desc, i)

    def pointer(i: int) -> SSAValue:
        return f.load("ptr", f.at(f.desc, i, "i64"))

    own = f.at(f.scratch, f.thread * word(_SCRATCH), "i8")
    lowest = f.const(float("-inf"), kind)
    f.vector_loop(word(_PACKED), width, lambda i, mask: f.store(lowest, own, i, mask))
    taps, offsets, tap_index = word(_TAPS), pointer(_TAP_OFFSETS), pointer(_TAP_INDEX)
    starts, masks, firsts = pointer(_STARTS), pointer(_MASKS), pointer(_FIRSTS)
    wide = f.index_bytes.compare("eq", 8)
    with f.loop(f.begin, f.end) as plane:
        source = f.at(f.x, plane * word(_IN_PLANE))
        f.line(
            f"call void {pointer(_PACK_FUNCTION).name}(ptr {pointer(_PACK).name}, ptr {source.name}, ptr {own.name}, "
            "i64 1, i64 0, i64 1, i64 0, i64 0)"
        )

        def body(v: SSAValue, count: int, plane: SSAValue = plane) -> None:
            xs = [f.at(own, f.load("i64", starts, v + j), "i8") for j in range(count)]
            best = [f.var(kind, lowest) for _ in xs]
            index = [f.var(whole, _NEVER) for _ in xs]
            with f.loop(0, taps) as tap:
                offset = f.load("i64", offsets, tap)
                here = f.splat(f.load("i32", tap_index, tap), whole)
                for x, most, where in zip(xs, best, index, strict=True):
                    value = f.load(kind, f.at(x, offset, "i8"))
                    wins = value.compare("ogt", most.get()) | value.compare("uno", value)
                    most.set(f.select(wins, value, most.get()))
                    where.set(f.select(wins, here, where.get()))
            for j in range(count):
                valid, prefix = conv_kernels.lane_mask(f, masks, v + j)
                first = f.load("i64", firsts, v + j)
                to = plane * word(_OUT_PLANE) + first
                f.store(conv_kernels.compress(f, best[j].get(), valid), f.best, to, mask=prefix)
                # Integer indices are compressed as the bits of floats.
                bits = f.bitcast(
                    conv_kernels.compress(f, f.bitcast(index[j].get(), kind), valid), whole
                )
                base, initial = (
                    f.load(whole, pointer(_BASES), first),
                    f.load(whole, pointer(_INITIAL), first),
                )
                flat = f.select(bits.compare("eq", _NEVER), initial, bits + base)

                def store_wide(
                    flat: SSAValue = flat, to: SSAValue = to, prefix: SSAValue = prefix
                ) -> None:
                    f.store(f.extend(flat, vector("i64", width)), f.index, to, mask=prefix)

                def store_narrow(
                    flat: SSAValue = flat, to: SSAValue = to, prefix: SSAValue = prefix
                ) -> None:
                    f.store(flat, f.index, to, mask=prefix)

                f.branch(wide, store_wide, store_narrow)

        vectors = word(_VECTORS)
        even = vectors - vectors % 2
        with f.loop(0, even, 2) as v:
            body(v, 2)
        with f.loop(even, vectors) as v:
            body(v, 1)
    f.ret()


def _emit_max_grad(module: Module) -> None:
    params = {
        "g": "ptr",
        "index": "ptr",
        "out": "ptr",
        "size": "i64",
        "windows": "i64",
        "index_bytes": "i64",
    }
    f = threads.parallel_export(module, "max_pool_grad", params)
    with f.loop(f.begin, f.end) as plane:
        out = f.at(f.out, plane * f.size)
        conv_kernels.clear(f, out, f.size * 4)
        g = f.at(f.g, plane * f.windows)

        def scatter(
            ctype: str, plane: SSAValue = plane, out: SSAValue = out, g: SSAValue = g
        ) -> None:
            index = f.at(f.index, plane * f.windows, ctype)
            with f.loop(0, f.windows) as i:
                place = f.at(out, f.extend(f.load(ctype, index, i), "i64"))
                f.store(f.load("float", place) + f.load("float", g, i), place)

        f.branch(f.index_bytes.compare("eq", 8), lambda: scatter("i64"), lambda: scatter("i32"))
    f.ret()
