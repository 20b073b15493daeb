"""Layer and RMS normalization, forward and backward (float32 and float64, C-contiguous).

Variances are computed in two passes, around the mean. Sums over many elements use several partial
sums per lane, and are carried from block to block in double. Every function returns None if it does
not support its arguments.
"""

from __future__ import annotations

import math as pymath
from itertools import chain

import numpy as np

from ...llvm import jit, target, threads
from ...llvm.emit import Function, Module, SSAValue, vector
from ...llvm.outputs import empty

__all__ = ["layer_norm", "layer_norm_backward", "rms_norm", "rms_norm_backward"]

_F32, _F64 = np.dtype(np.float32), np.dtype(np.float64)
GRAIN = 16384  # elements per chunk
SUM_BLOCK = 8192  # number of elements summed in float before the sum is added to one in double
UNROLL = 4


def grain_of(columns: int) -> int:
    """Return how many rows a thread takes at a time."""
    return GRAIN // columns or 1 if columns else GRAIN


class Sums:
    """Sums of several quantities over runs of elements: in the arrays' own type, `real`, within a
    block, and in double beyond it.
    """

    def __init__(self, f: Function, count: int, real: str = "float") -> None:
        self.f, self.real = f, real
        self.width = target.host().lanes(real)
        self.kind = vector(real, self.width)
        self.totals = [f.var("double", 0.0) for _ in range(count)]
        # Several partial sums of each quantity, so that an addition need not wait for the previous
        # one.
        self.parts = [[f.var(self.kind) for _ in range(count)] for _ in range(UNROLL)]

    def clear(self) -> None:
        """Set all partial sums to zero."""
        for part in chain(*self.parts):
            part.set(0.0)

    def accumulate(self, length: SSAValue, terms, *pointers: SSAValue) -> None:
        """Add `terms(*vectors)`, one value for each quantity, over `length` elements at the
        pointers, in the arrays' type.
        """
        f = self.f

        def add(parts, i: SSAValue, mask: SSAValue | None) -> None:
            vectors = [f.load(self.kind, p, i, mask=mask) for p in pointers]
            for part, term in zip(parts, terms(*vectors)):
                # Terms may be nonzero for masked lanes, which load zeros (a mean is subtracted), so
                # the tail is masked again.
                part.set(part.get() + (term if mask is None else f.select(mask, term, 0.0)))

        whole = length - length % (self.width * UNROLL)
        with f.loop(0, whole, self.width * UNROLL) as i:
            for u, parts in enumerate(self.parts):
                add(parts, i + u * self.width, None)
        rest = length - length % self.width
        with f.loop(whole, rest, self.width) as i:
            add(self.parts[0], i, None)
        with f.when(rest.compare("slt", length)):
            add(self.parts[1], rest, f.tail_mask(length - rest, self.width))

    def flush(self) -> None:
        """Add the partial sums to the totals in double."""
        for total, *parts in zip(self.totals, *self.parts):
            values = [part.get() for part in parts]
            while len(values) > 1:
                values = [a + b for a, b in zip(values[::2], values[1::2])]
            total.set(total.get() + self.f.extend(self.f.total(values[0]), "double"))

    def run(self, length: SSAValue, terms, *pointers: SSAValue) -> None:
        """Add over `length` elements at the pointers, in blocks."""
        with self.f.loop(0, length, SUM_BLOCK) as start:
            self.clear()
            here = [self.f.at(p, start, self.real) for p in pointers]
            self.accumulate(self.f.smaller(length - start, SUM_BLOCK), terms, *here)
            self.flush()

    def get(self, k: int = 0) -> SSAValue:
        """Return a total."""
        return self.totals[k].get()

    def splat(self, value: SSAValue) -> SSAValue:
        """Broadcast a number to all lanes of a vector of the arrays' dtype."""
        return self.f.splat(self.f.trunc(value, self.real), self.kind)


def store_map(
    f: Function, length: SSAValue, out: SSAValue, compute, *pointers: SSAValue, real: str = "float"
) -> None:
    """Emit `out[i] = compute(p[i] for p in pointers)` for i below `length`, one vector at a time.

    All arrays are contiguous and of type `real`; the last, partial vector is masked.
    """
    width = target.host().lanes(real)

    def body(i: SSAValue, mask: SSAValue | None) -> None:
        vectors = [f.load(vector(real, width), p, i, mask=mask) for p in pointers]
        f.store(compute(*vectors), out, i, mask=mask)

    f.vector_loop(length, width, body)


def given(f: Function, pointer: SSAValue) -> SSAValue:
    """Return whether a pointer is not null."""
    return f.emit(f"icmp ne ptr {pointer.name}, null", "i1")


def load_or(
    f: Function, pointer: SSAValue, index: SSAValue, default: float, real: str = "float"
) -> SSAValue:
    """Load the number at `index`; it is `default` if the pointer is null."""
    value = f.var(real, default)
    with f.when(given(f, pointer)):
        value.set(f.load(real, pointer, index))
    return value.get()


def inverse_root(f: Function, variance: SSAValue, eps: SSAValue) -> SSAValue:
    """Return `1 / sqrt(variance + eps)`."""
    return 1.0 / f.sqrt(variance + eps)


def _build_rows(name: str, real: str = "float") -> str:
    """Emit layer and RMS norm: `x` is (n, columns), weight and bias are (columns,)."""
    module = Module()
    f = threads.parallel_export(
        module,
        "layer_norm",
        dict.fromkeys(("x", "weight", "bias", "out", "mean", "rstd"), "ptr")
        | {"columns": "i64", "eps": "double", "centered": "i64"},
    )
    size = f.to_float(f.columns, "double")
    with f.loop(f.begin, f.end) as r:
        x, out = f.at(f.x, r * f.columns, real), f.at(f.out, r * f.columns, real)
        first, second = Sums(f, 1, real), Sums(f, 1, real)
        mean = f.var("double", 0.0)
        with f.when(f.centered.compare("ne", 0)):
            first.run(f.columns, lambda v: [v], x)
            mean.set(first.get() / size)
            f.store(f.trunc(mean.get(), real), f.mean, r)
        m = first.splat(mean.get())
        second.run(f.columns, lambda v, m=m: [(v - m) * (v - m)], x)
        rstd = inverse_root(f, second.get() / size, f.eps)
        f.store(f.trunc(rstd, real), f.rstd, r)
        s = first.splat(rstd)
        plain = f.emit(f"icmp eq ptr {f.weight.name}, null", "i1")
        with_bias = given(f, f.bias)

        def affine(x=x, out=out, m=m, s=s, with_bias=with_bias) -> None:
            def both() -> None:
                store_map(
                    f,
                    f.columns,
                    out,
                    lambda v, w, b: f.fma((v - m) * s, w, b),
                    x,
                    f.weight,
                    f.bias,
                    real=real,
                )

            def scale() -> None:
                store_map(f, f.columns, out, lambda v, w: (v - m) * s * w, x, f.weight, real=real)

            f.branch(with_bias, both, scale)

        def bare(x=x, out=out, m=m, s=s) -> None:
            store_map(f, f.columns, out, lambda v: (v - m) * s, x, real=real)

        f.branch(plain, bare, affine)
    f.ret()
    _emit_rows_backward(module, real)
    return module.text(name)


def _emit_rows_backward(module: Module, real: str) -> None:
    """Emit gx = rstd (gw - mean(gw) - xh mean(gw xh)) with gw = g w. Each chunk adds g xh and g of
    its rows to its own partial sums.
    """
    f = threads.parallel_export(
        module,
        "layer_norm_backward",
        dict.fromkeys(("g", "x", "weight", "mean", "rstd", "out", "partial"), "ptr")
        | {"columns": "i64", "rows": "i64", "centered": "i64"},
    )
    size = f.to_float(f.columns, "double")
    width = target.host().lanes(real)
    kind = vector(real, width)
    affine = given(f, f.weight)
    with f.loop(f.begin, f.end) as chunk:
        # Chunks of a fixed number of rows, so that partial sums depend on the shape only.
        scale_sum = f.at(f.partial, chunk * f.columns * 2, real)
        shift_sum = f.at(scale_sum, f.columns, real)
        block = f.const(ROWS_A_PARTIAL, "i64")
        last = f.smaller((chunk + 1) * block, f.rows)
        with f.loop(chunk * block, last) as r:
            g, x, out = (f.at(p, r * f.columns, real) for p in (f.g, f.x, f.out))
            sums = Sums(f, 2, real)
            mean = f.var(real, 0.0)
            with f.when(f.centered.compare("ne", 0)):
                mean.set(f.load(real, f.mean, r))
            m = f.splat(mean.get(), kind)
            s = f.splat(f.load(real, f.rstd, r), kind)

            def weighted(g=g, x=x, m=m, s=s, sums=sums) -> None:
                sums.run(f.columns, lambda a, v, w: [a * w, a * w * ((v - m) * s)], g, x, f.weight)

            def plain(g=g, x=x, m=m, s=s, sums=sums) -> None:
                sums.run(f.columns, lambda a, v: [a, a * ((v - m) * s)], g, x)

            f.branch(affine, weighted, plain)
            keep = f.select(f.centered.compare("ne", 0), f.const(1.0, "double"), 0.0)
            c1, c2 = sums.splat(sums.get(0) / size * keep), sums.splat(sums.get(1) / size)

            def input_gradient(g=g, x=x, out=out, m=m, s=s, c1=c1, c2=c2) -> None:
                def body(i: SSAValue, mask: SSAValue | None) -> None:
                    a, v, w = (f.load(kind, p, i, mask=mask) for p in (g, x, f.weight))
                    xh = (v - m) * s
                    f.store((f.fma(a, w, -c1) - xh * c2) * s, out, i, mask=mask)
                    old, older = (f.load(kind, p, i, mask=mask) for p in (scale_sum, shift_sum))
                    f.store(f.fma(a, xh, old), scale_sum, i, mask=mask)
                    f.store(older + a, shift_sum, i, mask=mask)

                f.vector_loop(f.columns, width, body)

            def plain_gradient(g=g, x=x, out=out, m=m, s=s, c1=c1, c2=c2) -> None:
                store_map(
                    f, f.columns, out, lambda a, v: (a - c1 - (v - m) * s * c2) * s, g, x, real=real
                )

            f.branch(affine, input_gradient, plain_gradient)
    f.ret()


ROWS_A_PARTIAL = 64


_SIGNATURES = {"layer_norm": "paaaaaaidiii", "layer_norm_backward": "paaaaaaaiiiii"}
_rows = jit.NativeLibrary("layer_norm", _build_rows, _SIGNATURES)
_LIBRARIES = {
    _F32: _rows,
    _F64: jit.NativeLibrary(
        "layer_norm of doubles", lambda name: _build_rows(name, "double"), _SIGNATURES
    ),
}


def native(name: str, dtype: str = "float32") -> int | None:
    """Return the address of a native function of this file for a dtype; None if there is none or it
    cannot be compiled.
    """
    library = _LIBRARIES.get(np.dtype(dtype)) if dtype in ("float32", "float64") else None
    function = None if library is None else getattr(library, name)
    return None if function is None else jit.address(function)


# The entries.


def good(*arrays: np.ndarray | None, kind: np.dtype = _F32) -> bool:
    """Return whether all arrays have the dtype and are contiguous. None stands for one that is left
    out.
    """
    for a in arrays:
        if a is not None and (a.dtype != kind or not a.flags.c_contiguous):
            return False
    return True


def _as_rows(x: np.ndarray, shape: tuple[int, ...]) -> int | None:
    """Return the number of rows when normalizing over the last dimensions, of `shape`; None if `x`
    has other last dimensions.
    """
    size = pymath.prod(shape)
    if not shape or x.shape[x.ndim - len(shape) :] != shape or size == 0:
        return None
    return x.size // size


def layer_norm(
    x: np.ndarray,
    shape: tuple[int, ...],
    weight: np.ndarray | None = None,
    bias: np.ndarray | None = None,
    eps: float = 1e-5,
) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
    """Return (x - mean) / sqrt(var + eps) * weight + bias over the last dimensions, and the rows'
    means and 1 / sqrt(var + eps).

    Source: Ba, Kiros, Hinton, "Layer Normalization", 2016.
    """
    return _row_norm(x, shape, weight, bias, eps, 1)


def rms_norm(
    x: np.ndarray,
    shape: tuple[int, ...],
    weight: np.ndarray | None = None,
    eps: float | None = None,
) -> tuple[np.ndarray, np.ndarray] | None:
    """Return x / sqrt(mean(x^2) + eps) * weight over the last dimensions, and the rows' 1 /
    sqrt(mean(x^2) + eps).

    `eps` is float32's by default. Source: Zhang, Sennrich, "Root Mean Square Layer Normalization",
    2019.
    """
    eps = float(np.finfo(np.float32).eps) if eps is None else eps
    made = _row_norm(x, shape, weight, None, eps, 0)
    return made and (made[0], made[2])


def _row_norm(x, shape, weight, bias, eps, centered):
    rows = _as_rows(x, shape)
    kind = x.dtype
    library = _LIBRARIES.get(kind)
    if (
        rows is None
        or library is None
        or not good(x, weight, bias, kind=kind)
        or (weight is None and bias is not None)
    ):
        return None
    if library.layer_norm is None:
        return None
    out = empty(x.shape, kind)
    mean, rstd = np.empty(rows, kind), np.empty(rows, kind)
    columns = x.size // rows if rows else 1
    numbers = (columns, eps, centered, rows, grain_of(columns))
    library.layer_norm(threads.team(), x, weight, bias, out, mean, rstd, *numbers)
    return out, mean, rstd


def layer_norm_backward(
    g: np.ndarray,
    x: np.ndarray,
    mean: np.ndarray,
    rstd: np.ndarray,
    weight: np.ndarray | None = None,
) -> tuple[np.ndarray, np.ndarray | None, np.ndarray | None] | None:
    """Return the gradients of the input, the weight and the bias (flat; the last two are None
    without a weight).
    """
    return _row_norm_backward(g, x, mean, rstd, weight, 1)


def rms_norm_backward(
    g: np.ndarray, x: np.ndarray, rstd: np.ndarray, weight: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray | None] | None:
    """Return the gradients of the input and the weight (flat; None without a weight)."""
    made = _row_norm_backward(g, x, rstd, rstd, weight, 0)
    return made and made[:2]


def _row_norm_backward(g, x, mean, rstd, weight, centered):
    kind = x.dtype
    library = _LIBRARIES.get(kind)
    g = np.ascontiguousarray(g)  # the gradient of a sum is a broadcast number
    if (
        library is None
        or not good(g, x, mean, rstd, weight, kind=kind)
        or g.shape != x.shape
        or library.layer_norm_backward is None
    ):
        return None
    rows = rstd.size
    columns = x.size // rows if rows else 1
    out = empty(x.shape, kind)
    chunks = -(-rows // ROWS_A_PARTIAL)
    partial = (
        None if weight is None else np.zeros((chunks, 2, columns if rows else weight.size), kind)
    )
    grain = max(1, grain_of(columns) // ROWS_A_PARTIAL)
    numbers = (columns, rows, centered, chunks, grain)
    library.layer_norm_backward(threads.team(), g, x, weight, mean, rstd, out, partial, *numbers)
    if partial is None:
        return out, None, None
    both = partial[0] if chunks == 1 else partial.sum(0)
    return out, both[0], both[1]
