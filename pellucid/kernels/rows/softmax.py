"""Softmax, log-softmax and cross-entropy over the last axis, forward and backward (float32 and
float64), each in one pass over memory. Other axes are handled by `softmax_columns`.

Every function returns None if it does not support its arguments (dtype, layout, no compiler).
"""

from __future__ import annotations

import functools
import math as pymath
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...errors import IndexOutOfRangeError
from ...llvm import jit, math, math64, target, threads
from ...llvm.emit import Function, Module, SSAValue, vector
from ...llvm.outputs import empty
from . import softmax_columns

__all__ = [
    "cross_entropy",
    "cross_entropy_backward",
    "log_softmax",
    "log_softmax_backward",
    "softmax",
    "softmax_backward",
]

_F32, _F64, _I64 = np.dtype(np.float32), np.dtype(np.float64), np.dtype(np.int64)
GRAIN = 16384  # elements per chunk


def _grain(columns: int) -> int:
    return GRAIN // columns or 1 if columns else GRAIN


# The kernels. `Row` is one row during a pass. Sums over a row have one partial sum per lane, which
# keeps their errors small.


class Row:
    """Loops over the vectors of a row of `count` numbers, "float" or "double"."""

    def __init__(self, f: Function, count: SSAValue, real: str) -> None:
        self.f, self.count = f, count
        self.width = target.host().lanes(real)
        self.kind = vector(real, self.width)
        self.functions = math if real == "float" else math64

    def exp(self, x: SSAValue) -> SSAValue:
        """Return the exponential of each lane."""
        return self.functions.exp(self.f, x)

    def log(self, x: SSAValue) -> SSAValue:
        """Return the logarithm of each lane."""
        return self.functions.log(self.f, x)

    def accumulate(
        self, initial: float, combine, *pointers: SSAValue, other: float = 0.0
    ) -> SSAValue:
        """Fold `combine(total, i, mask, *vectors)` over the row, and return the vector of partial
        results.
        """
        total = self.f.var(self.kind, initial)

        def body(i: SSAValue, mask: SSAValue | None) -> None:
            vectors = [self.f.load(self.kind, p, i, mask=mask, other=other) for p in pointers]
            total.set(combine(total.get(), i, mask, *vectors))

        self.f.vector_loop(self.count, self.width, body)
        return total.get()

    def map(self, out: SSAValue, compute, *pointers: SSAValue) -> None:
        """Store `compute(*vectors)` over the row."""

        def body(i: SSAValue, mask: SSAValue | None) -> None:
            vectors = [self.f.load(self.kind, p, i, mask=mask) for p in pointers]
            self.f.store(compute(*vectors), out, i, mask=mask)

        self.f.vector_loop(self.count, self.width, body)

    def splat(self, value: SSAValue) -> SSAValue:
        """Broadcast a number to all lanes of a vector."""
        return self.f.splat(value, self.kind)

    def total(self, value: SSAValue) -> SSAValue:
        """Return the sum of the lanes."""
        return self.f.total(value)

    def maximum(self, x: SSAValue) -> SSAValue:
        """Return the largest element, ignoring NaN, which appears in every sum anyway."""
        best = self.accumulate(
            -pymath.inf, lambda t, i, mask, v: self.f.larger(v, t), x, other=-pymath.inf
        )
        return self.f.fold(best, self.f.larger)

    def sum_exp(self, x: SSAValue, m: SSAValue, out: SSAValue | None = None) -> SSAValue:
        """Return the sum of exp(x - m); its terms are stored in `out`, if given."""
        shift = self.splat(m)
        return self.sum_of(lambda v: self.exp(v - shift), x, out)

    def sum_of(
        self, term: Callable[[SSAValue], SSAValue], x: SSAValue, out: SSAValue | None = None
    ) -> SSAValue:
        """Return the sum of a function of the elements; its values are stored in `out`, if given."""

        def add(total: SSAValue, i: SSAValue, mask: SSAValue | None, v: SSAValue) -> SSAValue:
            e = term(v)
            if out is not None:
                self.f.store(e, out, i, mask=mask)
            return total + e

        # Lanes beyond the row are masked, since the function may not be zero for what they load.
        def masked(total: SSAValue, i: SSAValue, mask: SSAValue | None, v: SSAValue) -> SSAValue:
            return (
                add(total, i, mask, v)
                if mask is None
                else self.f.select(mask, add(total, i, mask, v), total)
            )

        return self.total(self.accumulate(0.0, masked, x))


def _build(name: str, real: str = "float") -> str:
    module = Module()

    def kernel(name: str, pointers: str, **more: str):
        params = dict.fromkeys(pointers.split(), "ptr") | more | {"columns": "i64"}
        return threads.parallel_export(module, name, params)

    _EMIT[name](kernel, module, real)
    return module.text()


def _at(f: Function, name: str, row: SSAValue, real: str) -> SSAValue:
    return f.at(getattr(f, name), row * f.columns, real)


def _emit_softmax(kernel, _: Module, real: str) -> None:
    f = kernel("softmax", "x out")
    with f.loop(f.begin, f.end) as r:
        row, x, out = Row(f, f.columns, real), _at(f, "x", r, real), _at(f, "out", r, real)
        scale = row.splat(1.0 / row.sum_exp(x, row.maximum(x), out))
        row.map(out, lambda v, scale=scale: v * scale, out)
    f.ret()


def _emit_log_softmax(kernel, _: Module, real: str) -> None:
    f = kernel("log_softmax", "x out")
    with f.loop(f.begin, f.end) as r:
        row, x = Row(f, f.columns, real), _at(f, "x", r, real)
        m = row.maximum(x)
        shift, rest = row.splat(m), row.splat(row.log(row.sum_exp(x, m)))
        row.map(_at(f, "out", r, real), lambda v, shift=shift, rest=rest: v - shift - rest, x)
    f.ret()


def _emit_softmax_backward(kernel, _: Module, real: str) -> None:
    f = kernel("softmax_backward", "g y out")
    with f.loop(f.begin, f.end) as r:
        row, g, y = Row(f, f.columns, real), _at(f, "g", r, real), _at(f, "y", r, real)
        dot = row.accumulate(0.0, lambda t, i, mask, a, b, f=f: f.fma(a, b, t), g, y)
        total = row.splat(row.total(dot))
        row.map(_at(f, "out", r, real), lambda a, b, total=total: (a - total) * b, g, y)
    f.ret()


def _emit_log_softmax_backward(kernel, _: Module, real: str) -> None:
    f = kernel("log_softmax_backward", "g y out")
    with f.loop(f.begin, f.end) as r:
        row, g, y = Row(f, f.columns, real), _at(f, "g", r, real), _at(f, "y", r, real)
        total = row.splat(row.total(row.accumulate(0.0, lambda t, i, mask, a: t + a, g)))
        row.map(
            _at(f, "out", r, real), lambda a, b, total=total, row=row: a - row.exp(b) * total, g, y
        )
    f.ret()


def _emit_cross_entropy(kernel, _: Module, real: str) -> None:
    """Emit loss = w (log_sum - (1 - s) (x[t] - m) - s (mean(x) - m)), where m is the largest logit,
    log_sum = log(sum(exp(x - m))), t the class, w its weight and s the smoothing.

    `sums` receives m and log_sum of each row separately: in their sum large logits would leave few
    digits.
    """
    f = kernel(
        "cross_entropy", "x target weight loss used sums bad", ignore="i64", smoothing="double"
    )
    with f.loop(f.begin, f.end) as r:
        row, x = Row(f, f.columns, real), _at(f, "x", r, real)
        t = f.load("i64", f.target, r)
        for name in ("loss", "used"):
            f.store(f.const(0.0, real), getattr(f, name), r)
        m = row.maximum(x)
        # If m is infinite, x - m is NaN, and so is the loss.
        log_sum = row.log(row.sum_exp(x, m))
        f.store(m, f.sums, r * 2)
        f.store(log_sum, f.sums, r * 2 + 1)
        with f.when(t.compare("ne", f.ignore)):
            inside = t.compare("ult", f.columns)

            def good(f=f, r=r, row=row, x=x, t=t, m=m, log_sum=log_sum) -> None:
                w = _weight(f, t, real)
                s = f.trunc(f.smoothing, real)
                mean = f.var(real, 0.0)
                with f.when(s.compare("une", 0.0)):
                    shift = row.splat(m)
                    total = row.sum_of(lambda v: v - shift, x)
                    mean.set(total / f.to_float(f.columns, real) * s)
                loss = log_sum - (f.load(real, x, t) - m) * (1.0 - s) - mean.get()
                f.store(loss * w, f.loss, r)
                f.store(w, f.used, r)

            def bad(f=f, r=r, t=t) -> None:
                # The first position, counted from 1. Initially it is 0, and 0 - 1 is the largest
                # unsigned number.
                with f.when(r.compare("ult", f.load("i64", f.bad) - 1)):
                    f.store(r + 1, f.bad)
                    f.store(t, f.bad, 1)

            f.branch(inside, good, bad)
    f.ret()


def _emit_cross_entropy_backward(kernel, _: Module, real: str) -> None:
    f = kernel(
        "cross_entropy_backward",
        "x target weight sums g out",
        ignore="i64",
        smoothing="double",
        step="i64",
    )
    with f.loop(f.begin, f.end) as r:
        row, x, out = Row(f, f.columns, real), _at(f, "x", r, real), _at(f, "out", r, real)
        t = f.load("i64", f.target, r)

        def ignored(f=f, r=r, row=row, out=out) -> None:
            # 0 times the softmax, which is NaN if one of these is
            log_sum = f.load(real, f.sums, r * 2) + f.load(real, f.sums, r * 2 + 1)
            nothing = row.splat(log_sum - log_sum)
            row.map(out, lambda: nothing)

        def used(f=f, r=r, row=row, x=x, out=out, t=t) -> None:
            # `step` is 0 for a single gradient for all rows, 1 for a gradient per row.
            scale = f.load(real, f.g, r * f.step) * _weight(f, t, real)
            s = f.trunc(f.smoothing, real)
            shift = row.splat(f.load(real, f.sums, r * 2))
            rest, wide = row.splat(f.load(real, f.sums, r * 2 + 1)), row.splat(scale)
            spread = row.splat(s / f.to_float(f.columns, real))
            row.map(out, lambda v: (row.exp(v - shift - rest) - spread) * wide, x)
            f.store(f.load(real, out, t) - scale * (1.0 - s), out, t)

        f.branch(t.compare("eq", f.ignore), ignored, used)
    f.ret()


def _weight(f: Function, t: SSAValue, real: str) -> SSAValue:
    """Load the class's weight; 1 without weights."""
    w = f.var(real, 1.0)
    given = f.emit(f"icmp ne ptr {f.weight.name}, null", "i1")
    with f.when(given):
        w.set(f.load(real, f.weight, t))
    return w.get()


def _emit_total(_, module: Module, real: str) -> None:
    """Emit the sum of a few numbers, in double."""
    f = module.function("total", "double", x="ptr", n="i64")
    total = f.var("double", 0.0)
    with f.loop(0, f.n) as i:
        total.set(total.get() + f.extend(f.load(real, f.x, i), "double"))
    f.ret(total.get())


_EMIT = {
    "softmax": _emit_softmax,
    "log_softmax": _emit_log_softmax,
    "softmax_backward": _emit_softmax_backward,
    "log_softmax_backward": _emit_log_softmax_backward,
    "cross_entropy": _emit_cross_entropy,
    "cross_entropy_backward": _emit_cross_entropy_backward,
    "total": _emit_total,
}
_SIGNATURES = {
    "softmax": "paaiii",
    "log_softmax": "paaiii",
    "softmax_backward": "paaaiii",
    "log_softmax_backward": "paaaiii",
    "cross_entropy": "paaaaaaaidiii",
    "cross_entropy_backward": "paaaaaaidiiii",
    "total": "ai>d",
}
_lib = jit.NativeLibrary("softmax", _build, _SIGNATURES)
_LIBRARIES = {
    _F32: _lib,
    _F64: jit.NativeLibrary("softmax of doubles", lambda name: _build(name, "double"), _SIGNATURES),
}


def available() -> bool:
    """Return whether the kernels of this file can be compiled."""
    return _lib.cross_entropy is not None


def native(name: str, real: str = "float") -> int:
    """Return the address of a native function of this file, for "float" or "double"."""
    return jit.address(getattr(_LIBRARIES[_F32 if real == "float" else _F64], name))


def grain(columns: int) -> int:
    """Return the number of rows per chunk of a row-wise kernel."""
    return _grain(columns)


# The entries.


@functools.lru_cache(1024)
def _prepared(
    name: str, axis: int, shape: tuple[int, ...], dtype: np.dtype[Any]
) -> tuple[Any, tuple[int, ...]] | None:
    """Return the kernel and its numbers; None if there is none."""
    library = _LIBRARIES.get(dtype)
    if library is None or not shape or 0 in shape:
        return None
    numbers: tuple[int, ...]
    if axis in (-1, len(shape) - 1):
        columns = shape[-1]
        rows = pymath.prod(shape[:-1])
        kernel, numbers = getattr(library, name), (columns, rows, GRAIN // columns or 1)
    else:
        axis %= len(shape)
        middle = (
            (1, *shape)
            if len(shape) == 2
            else (pymath.prod(shape[:axis]), shape[axis], pymath.prod(shape[axis + 1 :]))
        )
        kernel, numbers = softmax_columns.prepared(name, middle, dtype)
    return kernel and (kernel, numbers)


def few(
    name: str, shape: tuple[int, ...], dtype: np.dtype[Any], axis: int
) -> Callable[[np.ndarray], np.ndarray] | None:
    """Return a function for softmax or log_softmax of small contiguous arrays of this shape and
    dtype; None if there is no kernel.
    """
    prepared = _prepared(name, axis, shape, dtype)
    if prepared is None:
        return None
    kernel, numbers = prepared

    def run(x: np.ndarray) -> np.ndarray:
        out = np.empty(shape, dtype)
        kernel(0, x, out, *numbers)
        return out

    return run


def _over_rows(
    name: str, axis: int, x: np.ndarray, y: np.ndarray | None = None
) -> np.ndarray | None:
    shape, kind = x.shape, x.dtype
    if y is not None and (y.dtype != kind or y.shape != shape):
        return None
    prepared = _prepared(name, axis, shape, kind)
    if prepared is None:
        return empty(shape, kind) if not x.size and shape and kind in _LIBRARIES else None
    kernel, numbers = prepared
    if not x.flags.c_contiguous:
        x = np.ascontiguousarray(x)
    out = empty(shape, kind)
    if y is None:
        kernel(threads.team(), x, out, *numbers)
    else:
        kernel(threads.team(), x, np.ascontiguousarray(y), out, *numbers)
    return out


def softmax(x: np.ndarray, axis: int = -1) -> np.ndarray | None:
    """Return e^x / sum(e^x) along `axis`, for arrays of float32 or float64 with at least one
    dimension.
    """
    return _over_rows("softmax", axis, x)


def log_softmax(x: np.ndarray, axis: int = -1) -> np.ndarray | None:
    """Return x - log(sum(e^x)) along `axis`."""
    return _over_rows("log_softmax", axis, x)


def softmax_backward(g: np.ndarray, y: np.ndarray, axis: int = -1) -> np.ndarray | None:
    """Return the gradient of softmax's input; `y` is its output."""
    return _over_rows("softmax_backward", axis, g, y)


def log_softmax_backward(g: np.ndarray, y: np.ndarray, axis: int = -1) -> np.ndarray | None:
    """Return the gradient of log_softmax's input; `y` is its output."""
    return _over_rows("log_softmax_backward", axis, g, y)


def _serves(x: np.ndarray, target: np.ndarray, weight: np.ndarray | None, smoothing: float) -> bool:
    shape = x.shape
    fits = len(shape) == 2 and x.dtype in _LIBRARIES and x.flags.c_contiguous and shape[1] > 0
    fits = fits and target.dtype is _I64 and target.shape == shape[:1] and target.flags.c_contiguous
    if weight is not None:
        fits = (
            fits
            and weight.dtype == x.dtype
            and weight.shape == shape[1:]
            and weight.flags.c_contiguous
        )
        fits = fits and smoothing == 0
    return fits


def class_out_of_range(bad: Sequence[int] | np.ndarray, classes: int) -> Exception:
    """Return the error for a label that is not a class. `bad` has its position, counted from 1, and
    the label.
    """
    row, label = int(bad[0]) - 1, int(bad[1])
    found = f"label {label} in element {row} of the target; there are {classes} classes (0 to {classes - 1})"
    if label < 0:
        hint = "labels start at 0; to leave some elements out, give them one label and pass it as ignore_index="
    elif label == classes:
        hint = f"labels start at 0: subtract 1 if yours start at 1, or make the last layer output {label + 1} scores"
    else:
        hint = f"labels start at 0, and the last layer outputs {classes} scores: is that the number of classes?"
    return IndexOutOfRangeError(
        f"Target {label} is out of bounds.", op="cross_entropy", found=found, hint=hint
    )


def cross_entropy(
    x: np.ndarray,
    target: np.ndarray,
    weight: np.ndarray | None = None,
    ignore_index: int = -100,
    label_smoothing: float = 0.0,
    reduction: str = "mean",
) -> tuple[np.ndarray, tuple[np.ndarray, np.ndarray | None]] | None:
    """Return the cross-entropy of logits `(N, C)` and classes `(N,)` (int64), and what the backward
    needs: the maximum of each row, log(sum(exp(x - maximum))), and the rows' weights if `reduction`
    is "mean".

    `reduction` is "mean", "sum" or "none". Class weights together with label smoothing are not
    supported. Raises IndexError for a class outside of `0..C`.
    """
    kind = x.dtype
    library = _LIBRARIES.get(kind)
    if (
        library is None
        or library.cross_entropy is None
        or not _serves(x, target, weight, label_smoothing)
    ):
        return None
    rows, columns = x.shape
    # rows of a single array, as compiled steps expect them
    memory = np.empty((4, rows), kind)
    loss, used, sums = memory[0], memory[1], memory[2:]
    bad = np.zeros(2, _I64)
    numbers = (ignore_index, label_smoothing, columns, rows, _grain(columns))
    library.cross_entropy(threads.team(), x, target, weight, loss, used, sums, bad, *numbers)
    if bad.item(0):
        raise class_out_of_range(bad, columns)
    if reduction == "none":
        return loss, (sums, None)
    total = library.total(loss, rows)
    if reduction == "sum":
        return np.array(total, kind), (sums, None)
    count = library.total(used, rows)
    mean = total / count if count else pymath.nan
    return np.array(mean, kind), (sums, used)


def cross_entropy_backward(
    g: np.ndarray,
    x: np.ndarray,
    target: np.ndarray,
    saved: tuple[np.ndarray, np.ndarray | None],
    weight: np.ndarray | None = None,
    ignore_index: int = -100,
    label_smoothing: float = 0.0,
) -> np.ndarray | None:
    """Return the gradient of the logits. `g` is the gradient of the loss, with its shape, and
    `saved` the second result of `cross_entropy`.
    """
    kind = x.dtype
    library = _LIBRARIES.get(kind)
    if (
        library is None
        or library.cross_entropy_backward is None
        or not _serves(x, target, weight, label_smoothing)
    ):
        return None
    rows, columns = x.shape
    sums, used = saved
    count = 1.0 if used is None else library.total(used, rows)
    if g.dtype != kind or g.shape not in ((), (rows,)):
        return None
    g = np.ascontiguousarray(g) if g.ndim else np.array([g / count if count else np.nan], kind)
    out = empty((rows, columns), kind)
    numbers = (
        ignore_index,
        label_smoothing,
        int(g.size == rows and rows > 1),
        columns,
        rows,
        _grain(columns),
    )
    library.cross_entropy_backward(threads.team(), x, target, weight, sums, g, out, *numbers)
    return out
