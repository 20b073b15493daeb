"""Layer, RMS, batch, group and instance normalization, forward and backward (float32, C-contiguous).

Variances are taken in two passes, around the mean. Sums over many elements have a partial sum for each lane and are
carried from block to block in double. Every function returns None where it cannot serve its arguments.
"""

from __future__ import annotations

import math as pymath

import numpy as np

from pellucid.codegen import jit, target, threads
from pellucid.codegen.emit import Function, Module, Value, vector

__all__ = [
    "batch_norm",
    "batch_norm_backward",
    "group_norm",
    "group_norm_backward",
    "layer_norm",
    "layer_norm_backward",
    "rms_norm",
    "rms_norm_backward",
]

_F32 = np.dtype(np.float32)
GRAIN = 16384  # elements a chunk
SUM_BLOCK = 8192  # elements summed in float before the sum is added to one in double


def _grain(columns: int) -> int:
    return max(1, GRAIN // max(1, columns))


class Sums:
    """Sums of several quantities over runs of elements: floats within a block, doubles beyond it."""

    def __init__(self, f: Function, count: int) -> None:
        self.f = f
        self.kind = vector("float", target.host().lanes("float"))
        self.width = target.host().lanes("float")
        self.totals = [f.var("double", 0.0) for _ in range(count)]
        self.parts = [f.var(self.kind) for _ in range(count)]

    def run(self, length: Value, terms, *pointers: Value) -> None:
        """Add `terms(*vectors)`, one value for each quantity, over `length` elements at the pointers."""
        f = self.f
        with f.loop(0, length, SUM_BLOCK) as start:
            for part in self.parts:
                part.set(0.0)
            here = [f.at(p, start) for p in pointers]

            def body(i: Value, mask: Value | None) -> None:
                vectors = [f.load(self.kind, p, i, mask=mask) for p in here]
                for part, term in zip(self.parts, terms(*vectors)):
                    # Terms may be nonzero where the loads gave zeros (a mean is subtracted): the tail is masked again.
                    part.set(part.get() + (term if mask is None else f.select(mask, term, 0.0)))

            f.vector_loop(f.smaller(length - start, SUM_BLOCK), self.width, body)
            for total, part in zip(self.totals, self.parts):
                total.set(total.get() + f.extend(f.total(part.get()), "double"))

    def get(self, k: int = 0) -> Value:
        return self.totals[k].get()

    def splat(self, value: Value) -> Value:
        return self.f.splat(self.f.trunc(value, "float"), self.kind)


def _map(f: Function, length: Value, out: Value, compute, *pointers: Value) -> None:
    width = target.host().lanes("float")

    def body(i: Value, mask: Value | None) -> None:
        vectors = [f.load(vector("float", width), p, i, mask=mask) for p in pointers]
        f.store(compute(*vectors), out, i, mask=mask)

    f.vector_loop(length, width, body)


def _given(f: Function, pointer: Value) -> Value:
    return f.emit(f"icmp ne ptr {pointer.name}, null", "i1")


def _or_one(f: Function, pointer: Value, index: Value, default: float) -> Value:
    """The float at `index`, or `default` where the pointer is null."""
    value = f.var("float", default)
    with f.when(_given(f, pointer)):
        value.set(f.load("float", pointer, index))
    return value.get()


def _inverse_root(f: Function, variance: Value, eps: Value) -> Value:
    return 1.0 / f.sqrt(variance + eps)


def _build_rows() -> str:
    """Layer and RMS norm: `x` is (n, columns); weight and bias are (columns,)."""
    module = Module()
    f = threads.parallel_export(
        module,
        "layer_norm",
        dict.fromkeys(("x", "weight", "bias", "out", "mean", "rstd"), "ptr")
        | {"columns": "i64", "eps": "double", "centered": "i64"},
    )
    size = f.to_float(f.columns, "double")
    with f.loop(f.begin, f.end) as r:
        x, out = f.at(f.x, r * f.columns), f.at(f.out, r * f.columns)
        first, second = Sums(f, 1), Sums(f, 1)
        mean = f.var("double", 0.0)
        with f.when(f.centered.compare("ne", 0)):
            first.run(f.columns, lambda v: [v], x)
            mean.set(first.get() / size)
            f.store(f.trunc(mean.get(), "float"), f.mean, r)
        m = first.splat(mean.get())
        second.run(f.columns, lambda v, m=m: [(v - m) * (v - m)], x)
        rstd = _inverse_root(f, second.get() / size, f.eps)
        f.store(f.trunc(rstd, "float"), f.rstd, r)
        s = first.splat(rstd)
        plain = f.emit(f"icmp eq ptr {f.weight.name}, null", "i1")
        with_bias = _given(f, f.bias)

        def affine(x=x, out=out, m=m, s=s, with_bias=with_bias) -> None:
            def both() -> None:
                _map(f, f.columns, out, lambda v, w, b: f.fma((v - m) * s, w, b), x, f.weight, f.bias)

            def scale() -> None:
                _map(f, f.columns, out, lambda v, w: (v - m) * s * w, x, f.weight)

            f.branch(with_bias, both, scale)

        def bare(x=x, out=out, m=m, s=s) -> None:
            _map(f, f.columns, out, lambda v: (v - m) * s, x)

        f.branch(plain, bare, affine)
    f.ret()
    _emit_rows_backward(module)
    return module.text()


def _emit_rows_backward(module: Module) -> None:
    """gx = rstd (gw - mean(gw) - xh mean(gw xh)) with gw = g w; each chunk adds its rows' g xh and g to its own partial."""
    f = threads.parallel_export(
        module,
        "layer_norm_backward",
        dict.fromkeys(("g", "x", "weight", "mean", "rstd", "out", "partial"), "ptr")
        | {"columns": "i64", "rows": "i64", "centered": "i64"},
    )
    size = f.to_float(f.columns, "double")
    width = target.host().lanes("float")
    kind = vector("float", width)
    affine = _given(f, f.weight)
    with f.loop(f.begin, f.end) as chunk:
        # Chunks of rows: the partial sums depend on the shape only.
        scale_sum = f.at(f.partial, chunk * f.columns * 2)
        shift_sum = f.at(scale_sum, f.columns)
        block = f.const(ROWS_A_PARTIAL, "i64")
        last = f.smaller((chunk + 1) * block, f.rows)
        with f.loop(chunk * block, last) as r:
            g, x, out = (f.at(p, r * f.columns) for p in (f.g, f.x, f.out))
            sums = Sums(f, 2)
            mean = f.var("float", 0.0)
            with f.when(f.centered.compare("ne", 0)):
                mean.set(f.load("float", f.mean, r))
            m = f.splat(mean.get(), kind)
            s = f.splat(f.load("float", f.rstd, r), kind)

            def weighted(g=g, x=x, m=m, s=s, sums=sums) -> None:
                sums.run(f.columns, lambda a, v, w: [a * w, a * w * ((v - m) * s)], g, x, f.weight)

            def plain(g=g, x=x, m=m, s=s, sums=sums) -> None:
                sums.run(f.columns, lambda a, v: [a, a * ((v - m) * s)], g, x)

            f.branch(affine, weighted, plain)
            keep = f.select(f.centered.compare("ne", 0), f.const(1.0, "double"), 0.0)
            c1, c2 = sums.splat(sums.get(0) / size * keep), sums.splat(sums.get(1) / size)

            def input_gradient(g=g, x=x, out=out, m=m, s=s, c1=c1, c2=c2) -> None:
                def body(i: Value, mask: Value | None) -> None:
                    a, v, w = (f.load(kind, p, i, mask=mask) for p in (g, x, f.weight))
                    xh = (v - m) * s
                    f.store((f.fma(a, w, -c1) - xh * c2) * s, out, i, mask=mask)
                    old, older = (f.load(kind, p, i, mask=mask) for p in (scale_sum, shift_sum))
                    f.store(f.fma(a, xh, old), scale_sum, i, mask=mask)
                    f.store(older + a, shift_sum, i, mask=mask)

                f.vector_loop(f.columns, width, body)

            def plain_gradient(g=g, x=x, out=out, m=m, s=s, c1=c1, c2=c2) -> None:
                _map(f, f.columns, out, lambda a, v: (a - c1 - (v - m) * s * c2) * s, g, x)

            f.branch(affine, input_gradient, plain_gradient)
    f.ret()


ROWS_A_PARTIAL = 64


def _build_channels() -> str:
    """Batch and group norm of (batch, channels, inner) arrays."""
    module = Module()
    _emit_batch_norm(module)
    _emit_flat_batch_norm(module)
    _emit_flat_batch_norm_backward(module)
    _emit_batch_norm_backward(module)
    _emit_group_norm(module)
    _emit_group_norm_backward(module)
    return module.text()


def _each_image(f: Function, channel: Value):
    """A loop over the images' offsets of one channel."""
    with f.loop(0, f.batch) as n:
        yield (n * f.channels + channel) * f.inner


def _emit_batch_norm(module: Module) -> None:
    """Statistics of each channel over the batch and the inner elements, the running ones updated, and the result."""
    names = ("x", "weight", "bias", "out", "mean", "rstd", "running_mean", "running_var")
    sizes = {"batch": "i64", "channels": "i64", "inner": "i64", "eps": "double", "momentum": "double"}
    f = threads.parallel_export(module, "batch_norm", dict.fromkeys(names, "ptr") | sizes)
    count = f.to_float(f.batch * f.inner, "double")
    with f.loop(f.begin, f.end) as c:
        first, second = Sums(f, 1), Sums(f, 1)
        for at in _each_image(f, c):
            first.run(f.inner, lambda v: [v], f.at(f.x, at))
        mean = first.get() / count
        m = first.splat(mean)
        for at in _each_image(f, c):
            second.run(f.inner, lambda v, m=m: [(v - m) * (v - m)], f.at(f.x, at))
        variance = second.get() / count
        rstd = _inverse_root(f, variance, f.eps)
        f.store(f.trunc(mean, "float"), f.mean, c)
        f.store(f.trunc(rstd, "float"), f.rstd, c)
        with f.when(_given(f, f.running_mean)):
            # The running variance is unbiased: over count - 1.
            for pointer, value in ((f.running_mean, mean), (f.running_var, second.get() / (count - 1.0))):
                old = f.extend(f.load("float", pointer, c), "double")
                f.store(f.trunc(old * (1.0 - f.momentum) + value * f.momentum, "float"), pointer, c)
        scale = f.trunc(rstd, "float") * _or_one(f, f.weight, c, 1.0)
        s, b = f.splat(scale, first.kind), f.splat(_or_one(f, f.bias, c, 0.0), first.kind)
        for at in _each_image(f, c):
            _map(f, f.inner, f.at(f.out, at), lambda v, m=m, s=s, b=b: f.fma(v - m, s, b), f.at(f.x, at))
    f.ret()


def _emit_batch_norm_backward(module: Module) -> None:
    names = ("g", "x", "weight", "mean", "rstd", "out", "weight_grad", "bias_grad")
    sizes = {"batch": "i64", "channels": "i64", "inner": "i64"}
    f = threads.parallel_export(module, "batch_norm_backward", dict.fromkeys(names, "ptr") | sizes)
    count = f.to_float(f.batch * f.inner, "double")
    with f.loop(f.begin, f.end) as c:
        sums = Sums(f, 2)
        m = f.splat(f.load("float", f.mean, c), sums.kind)
        rstd = f.load("float", f.rstd, c)
        s = f.splat(rstd, sums.kind)
        for at in _each_image(f, c):
            sums.run(f.inner, lambda a, v, m=m, s=s: [a, a * ((v - m) * s)], f.at(f.g, at), f.at(f.x, at))
        f.store(f.trunc(sums.get(0), "float"), f.bias_grad, c)
        f.store(f.trunc(sums.get(1), "float"), f.weight_grad, c)
        scale = f.splat(rstd * _or_one(f, f.weight, c, 1.0), sums.kind)
        c1, c2 = sums.splat(sums.get(0) / count), sums.splat(sums.get(1) / count)
        for at in _each_image(f, c):
            here = (f.at(f.g, at), f.at(f.x, at))
            _map(
                f,
                f.inner,
                f.at(f.out, at),
                lambda a, v, m=m, s=s, c1=c1, c2=c2, scale=scale: (a - c1 - (v - m) * s * c2) * scale,
                *here,
            )
    f.ret()


# Batch norm of (batch, channels): a task is a block of channels, side by side in vectors.

SUM_ROWS = 128  # rows summed in float


def _row_sums(f: Function, rows: Value, terms, *pointers: Value) -> list[Value]:
    """Vectors of sums down the columns at the pointers, of `terms(*vectors)`, as vectors of double."""
    width = target.host().lanes("float")
    kind, double = vector("float", width), vector("double", width)
    count = len(terms(*[f.const(0.0, kind)] * len(pointers)))
    totals = [f.var(double, 0.0) for _ in range(count)]
    parts = [f.var(kind) for _ in range(count)]
    with f.loop(0, rows, SUM_ROWS) as start:
        for part in parts:
            part.set(0.0)
        with f.loop(start, f.smaller(start + SUM_ROWS, rows)) as r:
            vectors = [f.load(kind, p, r * f.channels, mask=f.mask) for p in pointers]
            for part, term in zip(parts, terms(*vectors)):
                part.set(part.get() + term)
        for total, part in zip(totals, parts):
            total.set(total.get() + f.extend(part.get(), double))
    return [total.get() for total in totals]


def _channel_vector(f: Function, pointer: Value, first: Value, default: float) -> Value:
    width = target.host().lanes("float")
    value = f.var(vector("float", width), default)
    with f.when(_given(f, pointer)):
        value.set(f.load(value.ctype, pointer, first, mask=f.mask))
    return value.get()


def _emit_flat_batch_norm(module: Module) -> None:
    names = ("x", "weight", "bias", "out", "mean", "rstd", "running_mean", "running_var")
    sizes = {"batch": "i64", "channels": "i64", "inner": "i64", "eps": "double", "momentum": "double"}
    f = threads.parallel_export(module, "flat_batch_norm", dict.fromkeys(names, "ptr") | sizes)
    width = target.host().lanes("float")
    kind, double = vector("float", width), vector("double", width)
    count = f.splat(f.to_float(f.batch, "double"), double)
    with f.loop(f.begin, f.end) as block:
        first = block * width
        f.mask = f.tail_mask(f.channels - first, width)
        x, out = f.at(f.x, first), f.at(f.out, first)
        mean = _row_sums(f, f.batch, lambda v: [v], x)[0] / count
        m = f.trunc(mean, kind)
        squares = _row_sums(f, f.batch, lambda v, m=m: [(v - m) * (v - m)], x)[0]
        rstd = f.trunc(_inverse_root(f, squares / count, f.splat(f.eps, double)), kind)
        f.store(m, f.mean, first, mask=f.mask)
        f.store(rstd, f.rstd, first, mask=f.mask)
        with f.when(_given(f, f.running_mean)):
            rate = f.splat(f.momentum, double)
            for pointer, value in ((f.running_mean, mean), (f.running_var, squares / (count - 1.0))):
                old = f.extend(f.load(kind, pointer, first, mask=f.mask), double)
                f.store(f.trunc(old * (1.0 - rate) + value * rate, kind), pointer, first, mask=f.mask)
        s = rstd * _channel_vector(f, f.weight, first, 1.0)
        b = _channel_vector(f, f.bias, first, 0.0)
        with f.loop(0, f.batch) as r:
            v = f.load(kind, x, r * f.channels, mask=f.mask)
            f.store(f.fma(v - m, s, b), out, r * f.channels, mask=f.mask)
    f.ret()


def _emit_flat_batch_norm_backward(module: Module) -> None:
    names = ("g", "x", "weight", "mean", "rstd", "out", "weight_grad", "bias_grad")
    sizes = {"batch": "i64", "channels": "i64", "inner": "i64"}
    f = threads.parallel_export(module, "flat_batch_norm_backward", dict.fromkeys(names, "ptr") | sizes)
    width = target.host().lanes("float")
    kind, double = vector("float", width), vector("double", width)
    count = f.splat(f.to_float(f.batch, "double"), double)
    with f.loop(f.begin, f.end) as block:
        first = block * width
        f.mask = f.tail_mask(f.channels - first, width)
        g, x, out = (f.at(p, first) for p in (f.g, f.x, f.out))
        m, s = (f.load(kind, p, first, mask=f.mask) for p in (f.mean, f.rstd))
        shift, scale = _row_sums(f, f.batch, lambda a, v, m=m, s=s: [a, a * ((v - m) * s)], g, x)
        f.store(f.trunc(shift, kind), f.bias_grad, first, mask=f.mask)
        f.store(f.trunc(scale, kind), f.weight_grad, first, mask=f.mask)
        c1, c2 = (f.trunc(total / count, kind) for total in (shift, scale))
        w = s * _channel_vector(f, f.weight, first, 1.0)
        with f.loop(0, f.batch) as r:
            a, v = (f.load(kind, p, r * f.channels, mask=f.mask) for p in (g, x))
            f.store((a - c1 - (v - m) * s * c2) * w, out, r * f.channels, mask=f.mask)
    f.ret()


def _emit_group_norm(module: Module) -> None:
    """A row is the `members` channels of one group of one image, `members * inner` elements side by side."""
    names = ("x", "weight", "bias", "out", "mean", "rstd")
    sizes = {"groups": "i64", "members": "i64", "inner": "i64", "eps": "double"}
    f = threads.parallel_export(module, "group_norm", dict.fromkeys(names, "ptr") | sizes)
    length = f.members * f.inner
    count = f.to_float(length, "double")
    with f.loop(f.begin, f.end) as r:
        x, out = f.at(f.x, r * length), f.at(f.out, r * length)
        first, second = Sums(f, 1), Sums(f, 1)
        first.run(length, lambda v: [v], x)
        mean = first.get() / count
        m = first.splat(mean)
        second.run(length, lambda v, m=m: [(v - m) * (v - m)], x)
        rstd = f.trunc(_inverse_root(f, second.get() / count, f.eps), "float")
        f.store(f.trunc(mean, "float"), f.mean, r)
        f.store(rstd, f.rstd, r)
        with f.loop(0, f.members) as k:
            channel = r % f.groups * f.members + k
            s = f.splat(rstd * _or_one(f, f.weight, channel, 1.0), first.kind)
            b = f.splat(_or_one(f, f.bias, channel, 0.0), first.kind)
            at = k * f.inner
            _map(f, f.inner, f.at(out, at), lambda v, m=m, s=s, b=b: f.fma(v - m, s, b), f.at(x, at))
    f.ret()


def _emit_group_norm_backward(module: Module) -> None:
    """Also writes each image's and channel's sums of g xh and of g, which the caller adds up over the batch."""
    names = ("g", "x", "weight", "mean", "rstd", "out", "scale_sum", "shift_sum")
    sizes = {"groups": "i64", "members": "i64", "inner": "i64"}
    f = threads.parallel_export(module, "group_norm_backward", dict.fromkeys(names, "ptr") | sizes)
    length = f.members * f.inner
    count = f.to_float(length, "double")
    with f.loop(f.begin, f.end) as r:
        g, x, out = (f.at(p, r * length) for p in (f.g, f.x, f.out))
        kind = Sums(f, 0).kind
        rstd = f.load("float", f.rstd, r)
        m, s = f.splat(f.load("float", f.mean, r), kind), f.splat(rstd, kind)
        totals = [f.var("double", 0.0) for _ in range(2)]
        with f.loop(0, f.members) as k:
            sums = Sums(f, 2)
            at = k * f.inner
            for total in sums.totals:
                total.set(0.0)
            sums.run(f.inner, lambda a, v, m=m, s=s: [a, a * ((v - m) * s)], f.at(g, at), f.at(x, at))
            f.store(f.trunc(sums.get(0), "float"), f.shift_sum, r * f.members + k)
            f.store(f.trunc(sums.get(1), "float"), f.scale_sum, r * f.members + k)
            w = f.extend(_or_one(f, f.weight, r % f.groups * f.members + k, 1.0), "double")
            for q in range(2):
                totals[q].set(totals[q].get() + w * sums.get(q))
        c1, c2 = (sums.splat(total.get() / count) for total in totals)
        with f.loop(0, f.members) as k:
            at = k * f.inner
            w = f.splat(_or_one(f, f.weight, r % f.groups * f.members + k, 1.0), kind)
            here = (f.at(g, at), f.at(x, at))
            _map(
                f,
                f.inner,
                f.at(out, at),
                lambda a, v, w=w, m=m, s=s, c1=c1, c2=c2: (f.fma(a, w, -c1) - (v - m) * s * c2) * s,
                *here,
            )
    f.ret()


_rows = jit.Library("layer_norm", _build_rows, {"layer_norm": "paaaaaaidiii", "layer_norm_backward": "paaaaaaaiiiii"})
_channels = jit.Library(
    "batch_norm",
    _build_channels,
    {
        "batch_norm": "paaaaaaaaiiiddii",
        "batch_norm_backward": "paaaaaaaaiiiii",
        "flat_batch_norm": "paaaaaaaaiiiddii",
        "flat_batch_norm_backward": "paaaaaaaaiiiii",
        "group_norm": "paaaaaaiiidii",
        "group_norm_backward": "paaaaaaaaiiiii",
    },
)


# The entries.


def _good(*arrays: np.ndarray | None) -> bool:
    return all(a is None or (a.dtype is _F32 and a.flags.c_contiguous) for a in arrays)


def _as_rows(x: np.ndarray, shape: tuple[int, ...]) -> int | None:
    """The number of rows when normalizing over the last dimensions, of `shape`; None if they are others."""
    size = pymath.prod(shape)
    if not shape or x.shape[x.ndim - len(shape) :] != tuple(shape) or size == 0:
        return None
    return x.size // size


def layer_norm(
    x: np.ndarray,
    shape: tuple[int, ...],
    weight: np.ndarray | None = None,
    bias: np.ndarray | None = None,
    eps: float = 1e-5,
) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
    """(x - mean) / sqrt(var + eps) * weight + bias over the last dimensions; also the rows' means and 1 / sqrt(var + eps).

    Source: Ba, Kiros, Hinton, "Layer Normalization", 2016.
    """
    return _row_norm(x, shape, weight, bias, eps, 1)


def rms_norm(
    x: np.ndarray, shape: tuple[int, ...], weight: np.ndarray | None = None, eps: float | None = None
) -> tuple[np.ndarray, np.ndarray] | None:
    """x / sqrt(mean(x^2) + eps) * weight over the last dimensions, and the rows' 1 / sqrt(mean(x^2) + eps).

    `eps` is float32's by default. Source: Zhang, Sennrich, "Root Mean Square Layer Normalization", 2019.
    """
    eps = float(np.finfo(np.float32).eps) if eps is None else eps
    made = _row_norm(x, shape, weight, None, eps, 0)
    return made and (made[0], made[2])


def _row_norm(x, shape, weight, bias, eps, centered):
    rows = _as_rows(x, shape)
    if rows is None or not _good(x, weight, bias) or _rows.layer_norm is None or (weight is None and bias is not None):
        return None
    out = np.empty(x.shape, _F32)
    mean, rstd = np.empty((2, rows), _F32)
    columns = x.size // rows if rows else 1
    numbers = (columns, eps, centered, rows, _grain(columns))
    _rows.layer_norm(threads.team(), x, weight, bias, out, mean, rstd, *numbers)
    return out, mean, rstd


def layer_norm_backward(
    g: np.ndarray, x: np.ndarray, mean: np.ndarray, rstd: np.ndarray, weight: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray | None, np.ndarray | None] | None:
    """The gradients of the input, the weight and the bias (flat; the last two None without a weight)."""
    return _row_norm_backward(g, x, mean, rstd, weight, 1)


def rms_norm_backward(
    g: np.ndarray, x: np.ndarray, rstd: np.ndarray, weight: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray | None] | None:
    """The gradients of the input and the weight (flat; None without a weight)."""
    made = _row_norm_backward(g, x, rstd, rstd, weight, 0)
    return made and made[:2]


def _row_norm_backward(g, x, mean, rstd, weight, centered):
    if not _good(g, x, mean, rstd, weight) or g.shape != x.shape or _rows.layer_norm_backward is None:
        return None
    rows = rstd.size
    columns = x.size // rows if rows else 1
    out = np.empty(x.shape, _F32)
    chunks = -(-rows // ROWS_A_PARTIAL)
    partial = None if weight is None else np.zeros((chunks, 2, columns if rows else weight.size), _F32)
    grain = max(1, _grain(columns) // ROWS_A_PARTIAL)
    numbers = (columns, rows, centered, chunks, grain)
    _rows.layer_norm_backward(threads.team(), g, x, weight, mean, rstd, out, partial, *numbers)
    if partial is None:
        return out, None, None
    both = partial[0] if chunks == 1 else partial.sum(0)
    return out, both[0], both[1]


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
    """Training-mode batch norm of `(N, C, ...)`: the result, the channels' means and 1 / sqrt(var + eps).

    `running_mean` and `running_var` are updated in place where given (both or none).
    Source: Ioffe, Szegedy, "Batch Normalization", 2015.
    """
    if x.ndim < 2 or not _good(x, weight, bias, running_mean, running_var) or x.size == 0:
        return None
    batch, channels, inner = _sizes(x)
    if _channels.batch_norm is None or (running_mean is None) != (running_var is None):
        return None
    if 1 < inner < NARROW:
        made = batch_norm(_by_channel(x), weight, bias, running_mean, running_var, momentum, eps)
        return made and (_by_image(made[0], x), *made[1:])
    out = np.empty(x.shape, _F32)
    mean, rstd = np.empty((2, channels), _F32)
    arrays = (x, weight, bias, out, mean, rstd, running_mean, running_var)
    kernel, tasks, grain = _tasks("batch_norm", batch, channels, inner)
    kernel(threads.team(), *arrays, batch, channels, inner, eps, momentum, tasks, grain)
    return out, mean, rstd


def _tasks(name: str, batch: int, channels: int, inner: int):
    """The kernel, the number of its tasks and how many make a chunk."""
    if inner > 1:
        return getattr(_channels, name), channels, _grain(batch * inner)
    width = target.host().lanes()
    return getattr(_channels, f"flat_{name}"), -(-channels // width), _grain(batch * width)


NARROW = 8  # below, a channel's elements lie in pieces too short for vectors, and are gathered first


def _by_channel(x: np.ndarray) -> np.ndarray:
    """`(N, C, ...)` as `(1, C, N * ...)`."""
    return np.ascontiguousarray(x.swapaxes(0, 1)).reshape(1, x.shape[1], -1)


def _by_image(x: np.ndarray, like: np.ndarray) -> np.ndarray:
    """The way back from `_by_channel`."""
    batch, channels = like.shape[:2]
    return np.ascontiguousarray(x.reshape(channels, batch, *like.shape[2:]).swapaxes(0, 1))


def batch_norm_backward(
    g: np.ndarray, x: np.ndarray, mean: np.ndarray, rstd: np.ndarray, weight: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
    """The gradients of training-mode batch norm's input, weight and bias."""
    if x.ndim < 2 or not _good(g, x, mean, rstd, weight) or g.shape != x.shape or x.size == 0:
        return None
    batch, channels, inner = _sizes(x)
    if _channels.batch_norm_backward is None:
        return None
    if 1 < inner < NARROW:
        made = batch_norm_backward(_by_channel(g), _by_channel(x), mean, rstd, weight)
        return made and (_by_image(made[0], x), *made[1:])
    out = np.empty(x.shape, _F32)
    weight_grad, bias_grad = np.empty((2, channels), _F32)
    arrays = (g, x, weight, mean, rstd, out, weight_grad, bias_grad)
    kernel, tasks, grain = _tasks("batch_norm_backward", batch, channels, inner)
    kernel(threads.team(), *arrays, batch, channels, inner, tasks, grain)
    return out, weight_grad, bias_grad


def group_norm(
    x: np.ndarray,
    groups: int,
    weight: np.ndarray | None = None,
    bias: np.ndarray | None = None,
    eps: float = 1e-5,
) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
    """Group norm of `(N, C, ...)`: the result, and `(N * groups,)` means and 1 / sqrt(var + eps).

    With as many groups as channels it is instance norm. Source: Wu, He, "Group Normalization", 2018.
    """
    if x.ndim < 2 or not _good(x, weight, bias) or x.size == 0 or groups < 1 or x.shape[1] % groups:
        return None
    if _channels.group_norm is None:
        return None
    batch, channels, inner = _sizes(x)
    out = np.empty(x.shape, _F32)
    rows, members = batch * groups, channels // groups
    mean, rstd = np.empty((2, rows), _F32)
    numbers = (groups, members, inner, eps, rows, _grain(members * inner))
    _channels.group_norm(threads.team(), x, weight, bias, out, mean, rstd, *numbers)
    return out, mean, rstd


def group_norm_backward(
    g: np.ndarray, x: np.ndarray, mean: np.ndarray, rstd: np.ndarray, groups: int, weight: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
    """The gradients of group norm's input, weight and bias."""
    if x.ndim < 2 or not _good(g, x, mean, rstd, weight) or g.shape != x.shape or x.size == 0:
        return None
    if _channels.group_norm_backward is None:
        return None
    batch, channels, inner = _sizes(x)
    out = np.empty(x.shape, _F32)
    sums = np.empty((2, batch, channels), _F32)
    rows, members = batch * groups, channels // groups
    arrays = (g, x, weight, mean, rstd, out, sums[0], sums[1])
    numbers = (groups, members, inner, rows, _grain(members * inner))
    _channels.group_norm_backward(threads.team(), *arrays, *numbers)
    scale, shift = sums.sum(1, dtype=np.float64).astype(_F32) if batch > 1 else sums[:, 0]
    return out, scale, shift
