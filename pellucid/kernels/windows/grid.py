"""Images sampled at the positions of a grid, and both gradients: two and three dimensions, float32
and float64.

A kernel is generated for each way of sampling: number of dimensions, mode, padding, and whether
corners are aligned. Along each dimension a position has one neighbor (nearest), two (bilinear) or
four (bicubic), with weights; neighbors outside of the image do not count. Positions are computed in
vectors and used for all channels.

    >>> how = Sampling(2, "bilinear", "zeros", True, "float32")
    >>> made = sample(np.arange(4, dtype=np.float32).reshape(1, 1, 2, 2), np.zeros((1, 1, 1, 2), np.float32), how)
    >>> made is None or made.tolist() == [[[[1.5]]]]
    True
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...llvm import jit, target, threads
from ...llvm.emit import Function, Module, SSAValue, types_of, vector
from ...llvm.outputs import empty

__all__ = ["Sampling", "gathered", "grid_gradient", "image_gradient", "native", "numbers", "sample"]

BLOCK = 256  # positions per task
TOGETHER = 64  # number of positions whose neighbors are stored while the channels are processed
CHANNELS = 16  # channels per task of the image's gradient
_CTYPES = types_of("float32 float64")
_CUBIC = -0.75


@dataclass(frozen=True)
class Sampling:
    """The way in which images are sampled."""

    dims: int
    mode: str  # "bilinear", "nearest" or "bicubic"
    padding: str  # "zeros", "border" or "reflection"
    align: bool
    dtype: str

    @property
    def spreads(self) -> bool:
        """Whether neighbors outside of the image count as 0 times their weight, so that a NaN
        position gives NaN, as in PyTorch.
        """
        return self.dims == 2 and self.mode != "nearest"

    def kernel(self, kind: str) -> Any:
        """Return the native function of a kind ("sample", "image", "grid"), or None."""
        ctype = _CTYPES.get(self.dtype)
        if ctype is None:
            return None
        return getattr(
            _lib, f"{kind}.{self.dims}.{self.mode}.{self.padding}.{int(self.align)}.{ctype}"
        )


# ---- one dimension --------------------------------------------------------------------------------------
@dataclass
class _Neighbour:
    """A neighbor of positions along one dimension: its position, whether that is inside, its
    weight, and the derivative of the weight.
    """

    at: SSAValue
    inside: SSAValue
    weight: SSAValue | None
    slope: SSAValue


def _floor(f: Function, x: SSAValue) -> SSAValue:
    return f.intrinsic("floor", x.ctype, x)


def _kept(f: Function, how: Sampling, x: SSAValue, top: SSAValue) -> tuple[SSAValue, SSAValue]:
    """Clip positions to 0 .. top. Also returns which were outside or at the border.

    As in PyTorch, NaN becomes the first position in planes and the last in volumes.
    """
    low, high = x.compare("ule" if how.dims == 2 else "ole", 0.0), x.compare("uge", top)
    return f.select(low, f.const(0.0, x.ctype), f.select(high, top, x)), low | high


def _reflected(f: Function, x: SSAValue, size: SSAValue, align: bool) -> tuple[SSAValue, SSAValue]:
    """Mirror positions at the borders until they are inside. Also returns their direction, 1 or -1."""
    low, span = (0.0, size - 1.0) if align else (-0.5, size)
    away = x - low
    moved = f.fabs(away)
    flips = _floor(f, moved / span)
    extra = f.fma(-flips, span, moved)
    even = (flips - _floor(f, flips * 0.5) * 2.0).compare("oeq", 0.0)
    at = f.select(even, extra, span - extra) + low
    one = f.const(1.0, x.ctype)
    sign = f.select(even, one, -one)
    if align:
        at = f.select(span.compare("oeq", 0.0), f.const(0.0, x.ctype), at)  # dimension of size one
    return at, f.select(away.compare("olt", 0.0), -sign, sign)


def _axis(
    f: Function, how: Sampling, raw: SSAValue, size: SSAValue
) -> tuple[list[_Neighbour], SSAValue]:
    """Return the neighbors of positions in [-1, 1] along a dimension, and the derivative of their
    coordinates with respect to the positions.
    """
    kind = raw.ctype
    top, one = size - 1.0, f.const(1.0, kind)
    factor = (top if how.align else size) * 0.5
    at = (raw + 1.0) * factor if how.align else ((raw + 1.0) * size - 1.0) * 0.5
    if how.mode != "bicubic" and how.padding != "zeros":
        if how.padding == "reflection":
            at, sign = _reflected(f, at, size, how.align)
            factor = factor * sign
        at, stuck = _kept(f, how, at, top)
        factor = f.select(stuck, f.const(0.0, kind), factor)

    def neighbour(at: SSAValue, weight: SSAValue | None, slope: SSAValue) -> _Neighbour:
        if how.mode == "bicubic" and how.padding != "zeros":
            if how.padding == "reflection":
                at = _reflected(f, at, size, how.align)[0]
            at = _kept(f, how, at, top)[0]
        return _Neighbour(at, at.compare("oge", 0.0) & at.compare("ole", top), weight, slope)

    if how.mode == "nearest":
        return [neighbour(f.rint(at), None, f.const(0.0, kind))], factor
    first = _floor(f, at)
    t = at - first
    if how.mode == "bilinear":
        return [neighbour(first, one - t, -one), neighbour(first + 1.0, t, one)], factor
    a = _CUBIC

    def near(d: SSAValue) -> tuple[SSAValue, SSAValue]:
        return (d * (a + 2) - (a + 3)) * d * d + 1.0, (d * (3 * (a + 2)) - 2 * (a + 3)) * d

    def far(d: SSAValue) -> tuple[SSAValue, SSAValue]:
        return ((d * a - 5 * a) * d + 8 * a) * d - 4 * a, (d * (3 * a) - 10 * a) * d + 8 * a

    made = [far(t + 1.0), near(t), near(one - t), far(2.0 - t)]
    return [
        neighbour(first + (k - 1.0), w, s if k < 2 else -s) for k, (w, s) in enumerate(made)
    ], factor


# ---- all dimensions ---------------------------------------------------------------------------------------
@dataclass
class _Corner:
    """One combination of neighbors: its place in a plane, whether it is inside, its weight, the
    weight or 0 if it is outside, and the weight's slope along each dimension.
    """

    place: SSAValue
    inside: SSAValue
    weight: SSAValue
    counted: SSAValue
    slopes: list[SSAValue]


def _product(values: list[SSAValue | None], one: SSAValue) -> SSAValue:
    made = None
    for v in values:
        made = v if made is None else made if v is None else made * v
    return one if made is None else made


def _corners(
    f: Function, how: Sampling, grid: SSAValue, mask: SSAValue, width: int
) -> tuple[list[_Corner], list[SSAValue]]:
    """Return all neighbors of the positions that `grid` points to, and the derivative of each
    coordinate with respect to the grid's.
    """
    ctype = _CTYPES[how.dtype]
    kind, ints = vector(ctype, width), vector("i32", width)
    axes, factors = [], []
    for d in range(how.dims):
        lane = f.iota(ints) * how.dims + (how.dims - 1 - d)
        raw = gathered(f, grid, lane, mask, ctype, width)
        size = f.splat(f.to_float(getattr(f, f"size{d}"), ctype), kind)
        neighbours, factor = _axis(f, how, raw, size)
        axes.append(neighbours)
        factors.append(factor)
    corners, one, zero = [], f.const(1.0, kind), f.const(0.0, kind)
    for chosen in itertools.product(*axes):
        inside, place = mask, f.const(0, ints)
        for d, n in enumerate(chosen):
            inside = inside & n.inside
            own = f.to_int(f.select(n.inside, n.at, zero), ints)
            place = (
                own
                if d == 0
                else place * f.splat(f.trunc(getattr(f, f"size{d}"), "i32"), ints) + own
            )
        weights = [n.weight for n in chosen]
        slopes = [
            _product([*weights[:d], n.slope, *weights[d + 1 :]], one) for d, n in enumerate(chosen)
        ]
        weight = _product(weights, one)
        counted = f.select(inside, weight, zero)
        corners.append(
            _Corner(f.select(inside, place, f.const(0, ints)), inside, weight, counted, slopes)
        )
    return corners, factors


def gathered(
    f: Function, base: SSAValue, where: SSAValue, here: SSAValue, ctype: str, width: int
) -> SSAValue:
    """Return the elements at the given places; lanes that are left out are 0."""
    return f.gather(
        vector(ctype, width),
        f.addresses(base, where, ctype),
        here,
        align=4 if ctype in ("float", "i32") else 8,
    )


def _scattered(
    f: Function,
    value: SSAValue,
    base: SSAValue,
    where: SSAValue,
    here: SSAValue,
    ctype: str,
    width: int,
) -> None:
    """Store lanes at the given places."""
    f.scatter(value, f.addresses(base, where, ctype), here, align=4 if ctype == "float" else 8)


def _volume(f: Function, how: Sampling) -> SSAValue:
    made = f.size0
    for d in range(1, how.dims):
        made = made * getattr(f, f"size{d}")
    return made


def _begun(module: Module, name: str, how: Sampling, pointers: str) -> Function:
    numbers = ["channels", *(f"size{d}" for d in range(how.dims)), "points"]
    return threads.parallel_export(
        module, name, {**dict.fromkeys(pointers.split(), "ptr"), **dict.fromkeys(numbers, "i64")}
    )


def _build(name: str) -> str:
    kind, dims, mode, padding, align, ctype = name.split(".")
    how = Sampling(
        int(dims), mode, padding, bool(int(align)), {c: d for d, c in _CTYPES.items()}[ctype]
    )
    module = Module()
    {"sample": _sample, "image": _image, "grid": _grid}[kind](
        module, name, how, ctype, target.host().lanes(ctype)
    )
    return module.text(name)


def _sample(module: Module, name: str, how: Sampling, ctype: str, width: int) -> None:
    """Emit `sample(team, x, grid, out, channels, sizes..., points, n, grain)`, where n counts
    blocks of positions, image by image.
    """
    f = _begun(module, name, how, "x grid out")
    blocks, volume = (f.points + (BLOCK - 1)) // BLOCK, _volume(f, how)
    with f.loop(f.begin, f.end) as task:
        image, start = task // blocks, task % blocks * BLOCK
        grid = f.at(f.grid, image * f.points * how.dims, ctype)
        with f.loop(start, f.smaller(start + BLOCK, f.points), width) as i:
            mask = f.tail_mask(f.points - i, width)
            corners, _ = _corners(f, how, f.at(grid, i * how.dims, ctype), mask, width)
            with f.loop(0, f.channels) as c:
                plane = image * f.channels + c
                x, total = f.at(f.x, plane * volume, ctype), f.const(0.0, vector(ctype, width))
                for k in corners:
                    total = f.fma(
                        gathered(f, x, k.place, k.inside, ctype, width),
                        k.weight if how.spreads else k.counted,
                        total,
                    )
                f.store(total, f.out, plane * f.points + i, mask=mask)
    f.ret()


def _grid(module: Module, name: str, how: Sampling, ctype: str, width: int) -> None:
    """Emit `grid(team, g, x, grid, out, channels, sizes..., points, n, grain)`, the gradient of the
    grid.
    """
    f = _begun(module, name, how, "g x grid out")
    blocks, volume, kind = (f.points + (BLOCK - 1)) // BLOCK, _volume(f, how), vector(ctype, width)
    with f.loop(f.begin, f.end) as task:
        image, start = task // blocks, task % blocks * BLOCK
        with f.loop(start, f.smaller(start + BLOCK, f.points), width) as i:
            mask = f.tail_mask(f.points - i, width)
            here = (image * f.points + i) * how.dims
            corners, factors = _corners(f, how, f.at(f.grid, here, ctype), mask, width)
            totals = [f.var(kind, f.const(0.0, kind)) for _ in factors]
            with f.loop(0, f.channels) as c:
                plane = image * f.channels + c
                x, g = (
                    f.at(f.x, plane * volume, ctype),
                    f.load(kind, f.g, plane * f.points + i, mask=mask),
                )
                values = [gathered(f, x, k.place, k.inside, ctype, width) for k in corners]
                for d, total in enumerate(totals):
                    slope = f.const(0.0, kind)
                    for k, v in zip(corners, values, strict=True):
                        part = v * k.slopes[d]
                        slope = slope + (
                            part if how.spreads else f.select(k.inside, part, f.const(0.0, kind))
                        )
                    total.set(f.fma(slope, g, total.get()))
            for d, (total, factor) in enumerate(zip(totals, factors, strict=True)):
                lane = f.iota(vector("i32", width)) * how.dims + (how.dims - 1 - d)
                _scattered(
                    f, total.get() * factor, f.at(f.out, here, ctype), lane, mask, ctype, width
                )
    f.ret()


def _image(module: Module, name: str, how: Sampling, ctype: str, width: int) -> None:
    """Emit `image(team, g, grid, out, channels, sizes..., points, n, grain)`, the gradient of the
    images, where n counts blocks of channels.
    """
    f = _begun(module, name, how, "g grid out")
    blocks, volume, kind = (
        (f.channels + (CHANNELS - 1)) // CHANNELS,
        _volume(f, how),
        vector(ctype, width),
    )
    count = {"nearest": 1, "bilinear": 2, "bicubic": 4}[how.mode] ** how.dims
    # Neighbors and weights of several positions.
    places, weights = f.buffer("i32", count * TOGETHER), f.buffer(ctype, count * TOGETHER)
    with f.loop(f.begin, f.end) as task:
        image, first = task // blocks, task % blocks * CHANNELS
        last = f.smaller(first + CHANNELS, f.channels)
        planes = f.at(f.out, (image * f.channels + first) * volume, ctype)
        f.vector_loop(
            (last - first) * volume,
            width,
            lambda i, mask: f.store(f.const(0.0, kind), planes, i, mask=mask),
        )
        with f.loop(0, f.points, TOGETHER) as start:
            some = f.smaller(f.points - start, TOGETHER)
            with f.loop(0, some, width) as i:
                at = (image * f.points + start + i) * how.dims
                mask = f.tail_mask(some - i, width)
                for k, corner in enumerate(
                    _corners(f, how, f.at(f.grid, at, ctype), mask, width)[0]
                ):
                    f.store(corner.place, places, i + k * TOGETHER)
                    f.store(corner.counted, weights, i + k * TOGETHER)
            with f.loop(first, last) as c:
                plane = image * f.channels + c
                out, own = (
                    f.at(f.out, plane * volume, ctype),
                    f.at(f.g, plane * f.points + start, ctype),
                )
                with f.loop(0, some) as i:
                    g = f.load(ctype, own, i)
                    for k in range(count):
                        weight = f.load(ctype, weights, i + k * TOGETHER)
                        to = f.at(
                            out, f.extend(f.load("i32", places, i + k * TOGETHER), "i64"), ctype
                        )
                        part = f.select(weight.compare("une", 0.0), weight * g, f.const(0.0, ctype))
                        f.store(f.load(ctype, to) + part, to)
    f.ret()


_POINTERS = {"sample": "aaa", "image": "aaa", "grid": "aaaa"}
_WAYS = [
    f"{dims}.{mode}.{padding}.{align}.{ctype}"
    for dims in (2, 3)
    for mode in ("bilinear", "nearest", "bicubic")[: 5 - dims]
    for padding in ("zeros", "border", "reflection")
    for align in (0, 1)
    for ctype in _CTYPES.values()
]
_lib = jit.NativeLibrary(
    "grid",
    _build,
    {
        f"{kind}.{way}": "p" + a + "i" * (4 + int(way[0]))
        for kind, a in _POINTERS.items()
        for way in _WAYS
    },
)


# ---- on arrays ------------------------------------------------------------------------------------------
def native(kind: str, how: Sampling) -> int | None:
    """Return the address of a kernel, or None."""
    function = how.kernel(kind)
    return None if function is None else jit.address(function)


def numbers(kind: str, shape: tuple[int, ...], points: int) -> tuple[int, ...]:
    """Return a kernel's last arguments for images of shape `(N, C, ...)`."""
    channels = shape[1]
    if kind == "image":
        count, grain = shape[0] * -(-channels // CHANNELS), 1
    else:
        count, grain = shape[0] * -(-points // BLOCK), max(1, 16384 // (BLOCK * max(1, channels)))
    return (*shape[1:], points, count, grain)


def _run(
    kind: str,
    how: Sampling,
    shape: tuple[int, ...],
    points: int,
    out: tuple[int, ...],
    *arrays: np.ndarray,
) -> Any:
    function = how.kernel(kind)
    if function is None or math.prod(shape[2:]) >= 1 << 31:
        return None
    made = empty(out, arrays[0].dtype)
    function(
        threads.team(), *map(np.ascontiguousarray, arrays), made, *numbers(kind, shape, points)
    )
    return made


def sample(x: np.ndarray, grid: np.ndarray, how: Sampling) -> np.ndarray | None:
    """Return images `(N, C, ...)` sampled at the positions `(N, ..., dims)`; None if there is no
    kernel.
    """
    points = math.prod(grid.shape[1:-1])
    return _run("sample", how, x.shape, points, (*x.shape[:2], *grid.shape[1:-1]), x, grid)


def image_gradient(
    g: np.ndarray, grid: np.ndarray, shape: tuple[int, ...], how: Sampling
) -> np.ndarray | None:
    """Return the gradient of images of this shape; None if there is no kernel."""
    return _run("image", how, shape, math.prod(grid.shape[1:-1]), shape, g, grid)


def grid_gradient(
    g: np.ndarray, x: np.ndarray, grid: np.ndarray, how: Sampling
) -> np.ndarray | None:
    """Return the gradient of the positions; None if there is no kernel."""
    return _run("grid", how, x.shape, math.prod(grid.shape[1:-1]), grid.shape, g, x, grid)
