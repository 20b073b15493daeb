"""Batch, group and instance normalization, forward and backward (float32 and float64,
C-contiguous).

Statistics are as accurate as in `norm`: two passes, partial sums in float, long sums in double.
Every function returns None if it does not support its arguments.
"""

from __future__ import annotations

import math as pymath
from itertools import chain

import numpy as np

from ...llvm import jit, target, threads
from ...llvm.emit import Function, Module, SSAValue, vector
from ...llvm.outputs import empty
from ..indexing.transpose import in_order
from .norm import SUM_BLOCK, UNROLL, Sums, given, good, grain_of, inverse_root, load_or, store_map

__all__ = ["batch_norm", "batch_norm_backward", "group_norm", "group_norm_backward"]

_F32, _F64 = np.dtype(np.float32), np.dtype(np.float64)


def _build_channels(name: str, real: str = "float") -> str:
    """Emit batch and group norm of (batch, channels, inner) arrays."""
    module = Module()
    _emit_batch_norm(module, real)
    _emit_flat_batch_norm(module, real)
    _emit_flat_batch_norm_backward(module, real)
    _emit_batch_norm_backward(module, real)
    _emit_group_norm(module, real)
    _emit_group_norm_backward(module, real)
    return module.text(name)


def _image(f: Function, n: SSAValue, channel: SSAValue) -> SSAValue:
    """Return where the elements of one channel of one image begin."""
    return (n * f.channels + channel) * f.inner


def _channel_sums(f: Function, sums: Sums, channel: SSAValue, terms, *pointers: SSAValue) -> None:
    """Emit sums over one channel of all images. Several small images form a block."""
    group = f.larger(f.const(SUM_BLOCK, "i64") / f.inner, 1)
    with f.loop(0, f.batch, group) as start:
        sums.clear()
        with f.loop(start, f.smaller(start + group, f.batch)) as n:
            sums.accumulate(
                f.inner, terms, *[f.at(p, _image(f, n, channel), sums.real) for p in pointers]
            )
        sums.flush()


def _emit_batch_norm(module: Module, real: str) -> None:
    """Emit a kernel that computes the statistics of each channel over the batch and the inner
    elements, updates the running ones, and computes the result.
    """
    names = ("x", "weight", "bias", "out", "mean", "rstd", "running_mean", "running_var")
    sizes = {
        "batch": "i64",
        "channels": "i64",
        "inner": "i64",
        "eps": "double",
        "momentum": "double",
    }
    f = threads.parallel_export(module, "batch_norm", dict.fromkeys(names, "ptr") | sizes)
    count = f.to_float(f.batch * f.inner, "double")
    with f.loop(f.begin, f.end) as c:
        first, second = Sums(f, 1, real), Sums(f, 1, real)
        _channel_sums(f, first, c, lambda v: [v], f.x)
        mean = first.get() / count
        m = first.splat(mean)
        _channel_sums(f, second, c, lambda v, m=m: [(v - m) * (v - m)], f.x)
        variance = second.get() / count
        rstd = inverse_root(f, variance, f.eps)
        f.store(f.trunc(mean, real), f.mean, c)
        f.store(f.trunc(rstd, real), f.rstd, c)
        with f.when(given(f, f.running_mean)):
            # The running variance is unbiased: divided by count - 1.
            for pointer, value in (
                (f.running_mean, mean),
                (f.running_var, second.get() / (count - 1.0)),
            ):
                old = f.extend(f.load(real, pointer, c), "double")
                f.store(f.trunc(old * (1.0 - f.momentum) + value * f.momentum, real), pointer, c)
        scale = f.trunc(rstd, real) * load_or(f, f.weight, c, 1.0, real)
        s, b = f.splat(scale, first.kind), f.splat(load_or(f, f.bias, c, 0.0, real), first.kind)
        with f.loop(0, f.batch) as n:
            at = _image(f, n, c)
            store_map(
                f,
                f.inner,
                f.at(f.out, at, real),
                lambda v, m=m, s=s, b=b: f.fma(v - m, s, b),
                f.at(f.x, at, real),
                real=real,
            )
    f.ret()


def _emit_batch_norm_backward(module: Module, real: str) -> None:
    names = ("g", "x", "weight", "mean", "rstd", "out", "weight_grad", "bias_grad")
    sizes = {"batch": "i64", "channels": "i64", "inner": "i64"}
    f = threads.parallel_export(module, "batch_norm_backward", dict.fromkeys(names, "ptr") | sizes)
    count = f.to_float(f.batch * f.inner, "double")
    with f.loop(f.begin, f.end) as c:
        sums = Sums(f, 2, real)
        m = f.splat(f.load(real, f.mean, c), sums.kind)
        rstd = f.load(real, f.rstd, c)
        s = f.splat(rstd, sums.kind)
        _channel_sums(f, sums, c, lambda a, v, m=m, s=s: [a, a * ((v - m) * s)], f.g, f.x)
        f.store(f.trunc(sums.get(0), real), f.bias_grad, c)
        f.store(f.trunc(sums.get(1), real), f.weight_grad, c)
        scale = f.splat(rstd * load_or(f, f.weight, c, 1.0, real), sums.kind)
        c1, c2 = sums.splat(sums.get(0) / count), sums.splat(sums.get(1) / count)
        with f.loop(0, f.batch) as n:
            at = _image(f, n, c)
            here = (f.at(f.g, at, real), f.at(f.x, at, real))
            store_map(
                f,
                f.inner,
                f.at(f.out, at, real),
                lambda a, v, m=m, s=s, c1=c1, c2=c2, scale=scale: (
                    (a - c1 - (v - m) * s * c2) * scale
                ),
                *here,
                real=real,
            )
    f.ret()


# Batch norm of (batch, channels): a task is a block of adjacent channels, in vectors.

SUM_ROWS = 128  # number of rows summed in float


class Block:
    """The channels of a task: `UNROLL` adjacent vectors, with masks for lanes beyond the last
    channel.
    """

    def __init__(self, f: Function, block: SSAValue, real: str) -> None:
        self.f, self.real = f, real
        self.width = target.host().lanes(real)
        self.kind, self.double = vector(real, self.width), vector("double", self.width)
        self.first = block * (self.width * UNROLL)
        self.offsets = [self.first + u * self.width for u in range(UNROLL)]
        self.masks = [f.tail_mask(f.larger(f.channels - o, 0), self.width) for o in self.offsets]

    def load(self, pointer: SSAValue, row: SSAValue | None = None) -> list[SSAValue]:
        """Load the vectors of the block; of a row, if one is given."""
        start = pointer if row is None else self.f.at(pointer, row * self.f.channels, self.real)
        return [self.f.load(self.kind, start, o, mask=m) for o, m in zip(self.offsets, self.masks)]

    def load_or(self, pointer: SSAValue, default: float) -> list[SSAValue]:
        """Load the vectors at a pointer; they are `default` if the pointer is null."""
        made = [self.f.var(self.kind, default) for _ in self.offsets]
        with self.f.when(given(self.f, pointer)):
            for var, value in zip(made, self.load(pointer)):
                var.set(value)
        return [var.get() for var in made]

    def store(self, values: list[SSAValue], pointer: SSAValue, row: SSAValue | None = None) -> None:
        """Store the vectors of the block; to a row, if one is given."""
        start = pointer if row is None else self.f.at(pointer, row * self.f.channels, self.real)
        for value, offset, mask in zip(values, self.offsets, self.masks):
            self.f.store(value, start, offset, mask=mask)

    def sums(self, count: int, terms, *pointers: SSAValue) -> list[list[SSAValue]]:
        """Return for each of `count` quantities the sums of `terms(u, *vectors)` down the columns,
        as vectors of double.
        """
        f = self.f
        totals = [[f.var(self.double, 0.0) for _ in self.offsets] for _ in range(count)]
        parts = [[f.var(self.kind) for _ in self.offsets] for _ in range(count)]
        with f.loop(0, f.batch, SUM_ROWS) as start:
            for part in chain(*parts):
                part.set(0.0)
            with f.loop(start, f.smaller(start + SUM_ROWS, f.batch)) as r:
                vectors = [self.load(p, r) for p in pointers]
                for u in range(UNROLL):
                    for k, term in enumerate(terms(u, *[v[u] for v in vectors])):
                        parts[k][u].set(parts[k][u].get() + term)
            for total, part in zip(chain(*totals), chain(*parts)):
                total.set(total.get() + f.extend(part.get(), self.double))
        return [[total.get() for total in row] for row in totals]

    def narrow(self, values: list[SSAValue]) -> list[SSAValue]:
        """Convert vectors of double to the dtype of the arrays."""
        return [self.f.trunc(v, self.kind) for v in values]


def _emit_flat_batch_norm(module: Module, real: str) -> None:
    names = ("x", "weight", "bias", "out", "mean", "rstd", "running_mean", "running_var")
    sizes = {
        "batch": "i64",
        "channels": "i64",
        "inner": "i64",
        "eps": "double",
        "momentum": "double",
    }
    f = threads.parallel_export(module, "flat_batch_norm", dict.fromkeys(names, "ptr") | sizes)
    with f.loop(f.begin, f.end) as block:
        channels = Block(f, block, real)
        count = f.splat(f.to_float(f.batch, "double"), channels.double)
        eps, rate = f.splat(f.eps, channels.double), f.splat(f.momentum, channels.double)
        mean = [total / count for total in channels.sums(1, lambda u, v: [v], f.x)[0]]
        m = channels.narrow(mean)
        squares = channels.sums(1, lambda u, v, m=m: [(v - m[u]) * (v - m[u])], f.x)[0]
        rstd = channels.narrow([inverse_root(f, s / count, eps) for s in squares])
        channels.store(m, f.mean)
        channels.store(rstd, f.rstd)
        with f.when(given(f, f.running_mean)):
            unbiased = [s / (count - 1.0) for s in squares]
            for pointer, values in ((f.running_mean, mean), (f.running_var, unbiased)):
                old = [f.extend(v, channels.double) for v in channels.load(pointer)]
                new = [a * (1.0 - rate) + b * rate for a, b in zip(old, values)]
                channels.store(channels.narrow(new), pointer)
        s = [a * b for a, b in zip(rstd, channels.load_or(f.weight, 1.0))]
        shift = channels.load_or(f.bias, 0.0)
        with f.loop(0, f.batch) as r:
            x = channels.load(f.x, r)
            channels.store([f.fma(x[u] - m[u], s[u], shift[u]) for u in range(UNROLL)], f.out, r)
    f.ret()


def _emit_flat_batch_norm_backward(module: Module, real: str) -> None:
    names = ("g", "x", "weight", "mean", "rstd", "out", "weight_grad", "bias_grad")
    sizes = {"batch": "i64", "channels": "i64", "inner": "i64"}
    f = threads.parallel_export(
        module, "flat_batch_norm_backward", dict.fromkeys(names, "ptr") | sizes
    )
    with f.loop(f.begin, f.end) as block:
        channels = Block(f, block, real)
        count = f.splat(f.to_float(f.batch, "double"), channels.double)
        m, s = channels.load(f.mean), channels.load(f.rstd)
        shift, scale = channels.sums(
            2, lambda u, a, v, m=m, s=s: [a, a * ((v - m[u]) * s[u])], f.g, f.x
        )
        channels.store(channels.narrow(shift), f.bias_grad)
        channels.store(channels.narrow(scale), f.weight_grad)
        c1, c2 = (channels.narrow([total / count for total in totals]) for totals in (shift, scale))
        w = [a * b for a, b in zip(s, channels.load_or(f.weight, 1.0))]
        with f.loop(0, f.batch) as r:
            g, x = channels.load(f.g, r), channels.load(f.x, r)
            new = [(g[u] - c1[u] - (x[u] - m[u]) * s[u] * c2[u]) * w[u] for u in range(UNROLL)]
            channels.store(new, f.out, r)
    f.ret()


def _emit_group_norm(module: Module, real: str) -> None:
    """Emit group norm. A row consists of the `members` channels of one group of one image: `members
    * inner` contiguous elements.
    """
    names = ("x", "weight", "bias", "out", "mean", "rstd")
    sizes = {"groups": "i64", "members": "i64", "inner": "i64", "eps": "double"}
    f = threads.parallel_export(module, "group_norm", dict.fromkeys(names, "ptr") | sizes)
    length = f.members * f.inner
    count = f.to_float(length, "double")
    with f.loop(f.begin, f.end) as r:
        x, out = f.at(f.x, r * length, real), f.at(f.out, r * length, real)
        first, second = Sums(f, 1, real), Sums(f, 1, real)
        first.run(length, lambda v: [v], x)
        mean = first.get() / count
        m = first.splat(mean)
        second.run(length, lambda v, m=m: [(v - m) * (v - m)], x)
        rstd = f.trunc(inverse_root(f, second.get() / count, f.eps), real)
        f.store(f.trunc(mean, real), f.mean, r)
        f.store(rstd, f.rstd, r)
        with f.loop(0, f.members) as k:
            channel = r % f.groups * f.members + k
            s = f.splat(rstd * load_or(f, f.weight, channel, 1.0, real), first.kind)
            b = f.splat(load_or(f, f.bias, channel, 0.0, real), first.kind)
            at = k * f.inner
            store_map(
                f,
                f.inner,
                f.at(out, at, real),
                lambda v, m=m, s=s, b=b: f.fma(v - m, s, b),
                f.at(x, at, real),
                real=real,
            )
    f.ret()


def _emit_group_norm_backward(module: Module, real: str) -> None:
    """Emit the gradient of group norm. It also stores the sums of g xh and of g for each image and
    channel, which the caller adds up over the batch.
    """
    names = ("g", "x", "weight", "mean", "rstd", "out", "scale_sum", "shift_sum")
    sizes = {"groups": "i64", "members": "i64", "inner": "i64"}
    f = threads.parallel_export(module, "group_norm_backward", dict.fromkeys(names, "ptr") | sizes)
    length = f.members * f.inner
    count = f.to_float(length, "double")
    with f.loop(f.begin, f.end) as r:
        g, x, out = (f.at(p, r * length, real) for p in (f.g, f.x, f.out))
        kind = Sums(f, 0, real).kind
        rstd = f.load(real, f.rstd, r)
        m, s = f.splat(f.load(real, f.mean, r), kind), f.splat(rstd, kind)
        totals = [f.var("double", 0.0) for _ in range(2)]
        with f.loop(0, f.members) as k:
            sums = Sums(f, 2, real)
            at = k * f.inner
            for total in sums.totals:
                total.set(0.0)
            sums.run(
                f.inner,
                lambda a, v, m=m, s=s: [a, a * ((v - m) * s)],
                f.at(g, at, real),
                f.at(x, at, real),
            )
            f.store(f.trunc(sums.get(0), real), f.shift_sum, r * f.members + k)
            f.store(f.trunc(sums.get(1), real), f.scale_sum, r * f.members + k)
            w = f.extend(load_or(f, f.weight, r % f.groups * f.members + k, 1.0, real), "double")
            for q in range(2):
                totals[q].set(totals[q].get() + w * sums.get(q))
        c1, c2 = (sums.splat(total.get() / count) for total in totals)
        with f.loop(0, f.members) as k:
            at = k * f.inner
            w = f.splat(load_or(f, f.weight, r % f.groups * f.members + k, 1.0, real), kind)
            here = (f.at(g, at, real), f.at(x, at, real))
            store_map(
                f,
                f.inner,
                f.at(out, at, real),
                lambda a, v, w=w, m=m, s=s, c1=c1, c2=c2: (f.fma(a, w, -c1) - (v - m) * s * c2) * s,
                *here,
                real=real,
            )
    f.ret()


_SIGNATURES = {
    "batch_norm": "paaaaaaaaiiiddii",
    "batch_norm_backward": "paaaaaaaaiiiii",
    "flat_batch_norm": "paaaaaaaaiiiddii",
    "flat_batch_norm_backward": "paaaaaaaaiiiii",
    "group_norm": "paaaaaaiiidii",
    "group_norm_backward": "paaaaaaaaiiiii",
}
_channels = jit.NativeLibrary("batch_norm", _build_channels, _SIGNATURES)
_LIBRARIES = {
    _F32: _channels,
    _F64: jit.NativeLibrary(
        "batch_norm of doubles", lambda name: _build_channels(name, "double"), _SIGNATURES
    ),
}


def _library(name: str, *arrays: np.ndarray | None) -> jit.NativeLibrary | None:
    """Return the library with the kernel `name` for C-contiguous arrays of one dtype; None if there
    is none.
    """
    kind = next(a.dtype for a in arrays if a is not None)
    library = _LIBRARIES.get(kind)
    return (
        library
        if library is not None and good(*arrays, kind=kind) and getattr(library, name) is not None
        else None
    )


# The entries.


def wide(batch: int, channels: int, inner: int) -> bool:
    """Return whether channels have enough contiguous pixels for the kernels, or one pixel each."""
    return not 1 < inner < NARROW or batch == 1


def native(
    name: str, batch: int, channels: int, inner: int, dtype: str = "float32"
) -> tuple[int, int, int] | None:
    """Return the address of the native function for a dtype and a shape, the number of its tasks
    and the number of tasks per chunk; None if not supported.
    """
    library = _LIBRARIES.get(np.dtype(dtype)) if dtype in ("float32", "float64") else None
    if library is None or library.batch_norm is None or not wide(batch, channels, inner):
        return None
    kernel, tasks, grain = _tasks(library, name, batch, channels, inner)
    return jit.address(kernel), tasks, grain


def _sizes(x: np.ndarray) -> tuple[int, int, int]:
    return x.shape[0], x.shape[1], pymath.prod(x.shape[2:])


def batch_norm(
    x: np.ndarray,
    weight: np.ndarray | None = None,
    bias: np.ndarray | None = None,
    running_mean: np.ndarray | None = None,
    running_var: np.ndarray | None = None,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
    """Compute training-mode batch norm of `(N, C, ...)`. Returns the result, the channels' means
    and 1 / sqrt(var + eps).

    `running_mean` and `running_var` are updated in place if given (both or none). Source: Ioffe,
    Szegedy, "Batch Normalization", 2015.
    """
    if (pixels := _pixels(x, x)) is not None:
        made = batch_norm(pixels, weight, bias, running_mean, running_var, momentum, eps)
        return made and (_as_images(made[0], x), *made[1:])
    library = _library("batch_norm", x, weight, bias, running_mean, running_var)
    if x.ndim < 2 or library is None or x.size == 0:
        return None
    batch, channels, inner = _sizes(x)
    if (running_mean is None) != (running_var is None):
        return None
    if not wide(batch, channels, inner):
        made = batch_norm(_by_channel(x), weight, bias, running_mean, running_var, momentum, eps)
        return made and (_by_image(made[0], x), *made[1:])
    out = empty(x.shape, x.dtype)
    mean, rstd = np.empty((2, channels), x.dtype)
    arrays = (x, weight, bias, out, mean, rstd, running_mean, running_var)
    kernel, tasks, grain = _tasks(library, "batch_norm", batch, channels, inner)
    kernel(threads.team(), *arrays, batch, channels, inner, eps, momentum, tasks, grain)
    return out, mean, rstd


def _tasks(library: jit.NativeLibrary, name: str, batch: int, channels: int, inner: int):
    """Return the kernel, the number of its tasks and the number of tasks per chunk."""
    if inner > 1:
        return getattr(library, name), channels, grain_of(batch * inner)
    width = target.host().lanes("float" if library is _channels else "double") * UNROLL
    return getattr(library, f"flat_{name}"), -(-channels // width), grain_of(batch * width)


# with fewer pixels, a channel's elements are in pieces too short for vectors, and are gathered
# first
NARROW = 8


def _by_channel(x: np.ndarray) -> np.ndarray:
    """Return `(N, C, ...)` as `(1, C, N * ...)`."""
    return in_order(x.swapaxes(0, 1)).reshape(1, x.shape[1], -1)


def _pixels(x: np.ndarray, like: np.ndarray) -> np.ndarray | None:
    """Return `(N, C, ...)` as `(N * ..., C)` if `like` is in channels_last order, else None."""
    order = (0, *range(2, x.ndim), 1)
    if x.ndim < 3 or like.flags.c_contiguous or not like.transpose(order).flags.c_contiguous:
        return None
    return in_order(x.transpose(order)).reshape(-1, x.shape[1])


def _as_images(pixels: np.ndarray, like: np.ndarray) -> np.ndarray:
    """Reverse `_pixels`, in the same memory."""
    batch, channels, *inner = like.shape
    last = like.ndim - 1
    return pixels.reshape(batch, *inner, channels).transpose(0, last, *range(1, last))


def _by_image(x: np.ndarray, like: np.ndarray) -> np.ndarray:
    """Reverse `_by_channel`."""
    batch, channels = like.shape[:2]
    return np.ascontiguousarray(x.reshape(channels, batch, *like.shape[2:]).swapaxes(0, 1))


def batch_norm_backward(
    g: np.ndarray,
    x: np.ndarray,
    mean: np.ndarray,
    rstd: np.ndarray,
    weight: np.ndarray | None = None,
) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
    """Return the gradients of training-mode batch norm's input, weight and bias."""
    if g.shape == x.shape and (pixels := _pixels(x, x)) is not None:
        made = batch_norm_backward(_pixels(g, x), pixels, mean, rstd, weight)
        return made and (_as_images(made[0], x), *made[1:])
    g = in_order(g)
    library = _library("batch_norm_backward", g, x, mean, rstd, weight)
    if x.ndim < 2 or library is None or g.shape != x.shape or x.size == 0:
        return None
    batch, channels, inner = _sizes(x)
    if not wide(batch, channels, inner):
        made = batch_norm_backward(_by_channel(g), _by_channel(x), mean, rstd, weight)
        return made and (_by_image(made[0], x), *made[1:])
    out = empty(x.shape, x.dtype)
    weight_grad, bias_grad = np.empty((2, channels), x.dtype)
    arrays = (g, x, weight, mean, rstd, out, weight_grad, bias_grad)
    kernel, tasks, grain = _tasks(library, "batch_norm_backward", batch, channels, inner)
    kernel(threads.team(), *arrays, batch, channels, inner, tasks, grain)
    return out, weight_grad, bias_grad


def group_norm(
    x: np.ndarray,
    groups: int,
    weight: np.ndarray | None = None,
    bias: np.ndarray | None = None,
    eps: float = 1e-5,
) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
    """Compute group norm of `(N, C, ...)`. Returns the result, and `(N * groups,)` means and 1 /
    sqrt(var + eps).

    With as many groups as channels it is instance norm. Source: Wu, He, "Group Normalization",
    2018.
    """
    library = _library("group_norm", x, weight, bias)
    if x.ndim < 2 or library is None or x.size == 0 or groups < 1 or x.shape[1] % groups:
        return None
    batch, channels, inner = _sizes(x)
    out = empty(x.shape, x.dtype)
    rows, members = batch * groups, channels // groups
    mean, rstd = np.empty((2, rows), x.dtype)
    numbers = (groups, members, inner, eps, rows, grain_of(members * inner))
    library.group_norm(threads.team(), x, weight, bias, out, mean, rstd, *numbers)
    return out, mean, rstd


def group_norm_backward(
    g: np.ndarray,
    x: np.ndarray,
    mean: np.ndarray,
    rstd: np.ndarray,
    groups: int,
    weight: np.ndarray | None = None,
) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
    """Return the gradients of group norm's input, weight and bias."""
    g = in_order(g)
    library = _library("group_norm_backward", g, x, mean, rstd, weight)
    if x.ndim < 2 or library is None or g.shape != x.shape or x.size == 0:
        return None
    batch, channels, inner = _sizes(x)
    out = empty(x.shape, x.dtype)
    sums = np.empty((2, batch, channels), x.dtype)
    rows, members = batch * groups, channels // groups
    arrays = (g, x, weight, mean, rstd, out, sums[0], sums[1])
    numbers = (groups, members, inner, rows, grain_of(members * inner))
    library.group_norm_backward(threads.team(), *arrays, *numbers)
    scale, shift = sums.sum(1, dtype=np.float64).astype(x.dtype) if batch > 1 else sums[:, 0]
    return out, scale, shift
