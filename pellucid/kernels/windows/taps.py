"""Weighted sums of a few elements along one dimension: interpolation, adaptive average pooling, and
the transposes of both (float32 and float64).

A `Table` has for each output the elements that it adds, and their weights. Arrays are regarded as
(outer, n, inner), with this dimension in the middle. If it is not the last one, vectors run along
`inner`; if it is, they run along the outputs, and elements are gathered.

    >>> table = make_table(np.array([[0, 1], [1, 1]]), np.array([[0.5, 0.5], [1.0, 0.0]]), 2)
    >>> made = apply(np.array([[3.0, 5.0]], np.float32), 1, table)
    >>> made is None or made.tolist() == [[4.0, 5.0]]
    True
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from ...dtypes import name_of
from ...llvm import jit, target, threads
from ...llvm.emit import Function, Module, SSAValue, types_of, vector
from ...llvm.outputs import empty
from ..convolution.geometry import adaptive_windows
from ..indexing.transpose import in_order

__all__ = ["Table", "adaptive_tables", "apply", "make_table", "native", "sequence"]

_CTYPES = types_of("float32 float64")
GRAIN = 16384  # elements per chunk


@dataclass(frozen=True, eq=False)
class Table:
    """A linear map from `size` inputs to `len(counts)` outputs: output j is the sum over t <
    counts[j] of weights[t, j] * x[index[t, j]].
    """

    size: int
    counts: np.ndarray  # int32
    index: np.ndarray  # int32, (taps, outputs)
    weights: np.ndarray  # float64, (taps, outputs)

    @property
    def outputs(self) -> int:
        """The number of outputs."""
        return len(self.counts)

    @functools.cached_property
    def transposed(self) -> Table:
        """The transposed map: each input adds the outputs that read it."""
        taps, j = np.nonzero(np.arange(len(self.index))[:, None] < self.counts)
        return _packed(self.index[taps, j], j, self.weights[taps, j], self.size, self.outputs)

    @functools.cached_property
    def single(self) -> np.ndarray:
        """The weights as float32."""
        return self.weights.astype(np.float32)

    def arrays(self, dtype: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the arrays that the kernel of a dtype reads."""
        return self.counts, self.index, self.weights if dtype == "float64" else self.single


def _packed(
    to: np.ndarray, origin: np.ndarray, weights: np.ndarray, outputs: int, size: int
) -> Table:
    """Make a table from a list of (output, input, weight)."""
    order = np.lexsort((origin, to))
    to, origin, weights = to[order], origin[order], weights[order]
    counts = np.bincount(to, minlength=outputs)
    rank = np.arange(to.size) - np.repeat(np.cumsum(counts) - counts, counts)
    taps = max(int(counts.max(initial=0)), 1)
    index, held = np.zeros((taps, outputs), np.int32), np.zeros((taps, outputs))
    index[rank, to], held[rank, to] = origin, weights
    return Table(size, counts.astype(np.int32), index, held)


def make_table(index: np.ndarray, weight: np.ndarray | None, size: int) -> Table:
    """Return the table for indices (outputs, taps) and weights of the same shape (None for ones).
    Tables are cached.
    """
    weight = np.ones(index.shape) if weight is None else weight
    key = (index.tobytes(), weight.tobytes(), index.shape, size)
    known = _tables.get(key)
    if known is None:
        if len(_tables) > 256:
            _tables.clear()
        counts = np.full(len(index), index.shape[1], np.int32)
        index32 = np.ascontiguousarray(index.T, np.int32)
        weights = np.ascontiguousarray(weight.T, np.float64)
        known = _tables[key] = Table(size, counts, index32, weights)
    return known


_tables: dict[tuple[bytes, bytes, tuple[int, ...], int], Table] = {}


def _windows(windows: Sequence[tuple[int, int]], divisors: Sequence[float], size: int) -> Table:
    """Make a table of the sums of windows (start, stop), each divided by its divisor."""
    to = np.repeat(np.arange(len(windows)), [b - a for a, b in windows])
    origin = (
        np.concatenate([np.arange(a, b) for a, b in windows]) if windows else np.zeros(0, np.int64)
    )
    return _packed(to, origin, (1.0 / np.asarray(divisors, float))[to], len(windows), size)


@functools.lru_cache(maxsize=256)
def adaptive_tables(sizes: tuple[int, ...], out: tuple[int, ...]) -> tuple[Table, ...]:
    """Return adaptive average pooling as a table for each dimension."""
    tables = []
    for size, count in zip(sizes, out, strict=True):
        windows = adaptive_windows(size, count)
        tables.append(_windows(windows, [b - a for a, b in windows], size))
    return tuple(tables)


def sequence(
    shape: Sequence[int], tables: Sequence[Table]
) -> list[tuple[int, Table, tuple[int, ...]]]:
    """Return (dimension, table, shape afterwards) in the order with the least work: dimensions that
    shrink first, those that grow last.
    """
    shape, steps = list(shape), []
    for k in sorted(range(len(tables)), key=lambda k: tables[k].outputs / tables[k].size):
        axis = len(shape) - len(tables) + k
        shape[axis] = tables[k].outputs
        steps.append((axis, tables[k], tuple(shape)))
    return steps


# ---- the kernel -----------------------------------------------------------------------------------------
def _build(name: str) -> str:
    real = name.split(".")[1]
    module = Module(real)
    width = target.host().lanes(real)
    floats, ints = vector(real, width), vector("i32", width)
    params = {
        "x": "ptr",
        "out": "ptr",
        "counts": "ptr",
        "index": "ptr",
        "weights": "ptr",
        "size": "i64",
        "outputs": "i64",
    }

    # Vectors along the inner dimensions.
    f = threads.parallel_export(module, f"inside.{real}", {**params, "inner": "i64"})
    f.scalar = True
    with f.loop(f.begin, f.end) as line:
        o, j = line // f.outputs, line % f.outputs
        base, to = f.at(f.x, o * f.size * f.inner), f.at(f.out, line * f.inner)
        count = f.extend(f.load("i32", f.counts, j), "i64")

        def sums(
            i: SSAValue,
            mask: SSAValue | None,
            j: SSAValue = j,
            base: SSAValue = base,
            to: SSAValue = to,
            count: SSAValue = count,
        ) -> None:
            total = f.var(floats, f.const(0.0, floats))
            with f.loop(0, count) as t:
                at = t * f.outputs + j
                row = f.extend(f.load("i32", f.index, at), "i64") * f.inner
                weight = f.splat(f.load(real, f.weights, at), floats)
                total.set(f.fma(f.load(floats, base, row + i, mask=mask), weight, total.get()))
            f.store(total.get(), to, i, mask=mask)

        f.vector_loop(f.inner, width, sums)
    f.ret()

    # Vectors of outputs.
    f = threads.parallel_export(module, f"along.{real}", params)
    f.scalar = True
    with f.loop(f.begin, f.end) as o:
        base, to = f.at(f.x, o * f.size), f.at(f.out, o * f.outputs)

        def outputs(
            j: SSAValue, mask: SSAValue | None, base: SSAValue = base, to: SSAValue = to
        ) -> None:
            """Compute a vector of outputs."""
            counts = f.load(ints, f.counts, j, mask=mask)
            most = f.extend(f.fold(counts, f.larger), "i64")
            total = f.var(floats, f.const(0.0, floats))
            with f.loop(0, most) as t:
                at = t * f.outputs + j
                here = counts.compare("sgt", f.splat(f.trunc(t, "i32"), ints))
                where, weight = (
                    f.load(ints, f.index, at, mask=mask),
                    f.load(floats, f.weights, at, mask=mask),
                )
                total.set(f.fma(_gathered(f, base, where, here, width), weight, total.get()))
            f.store(total.get(), to, j, mask=mask)

        f.vector_loop(f.outputs, width, outputs)
    f.ret()
    return module.text(name)


def _gathered(f: Function, base: SSAValue, where: SSAValue, here: SSAValue, width: int) -> SSAValue:
    """Return the elements at the given positions; lanes that are left out are 0."""
    real = f.module.real
    align = 4 if real == "float" else 8
    return f.gather(vector(real, width), f.addresses(base, where, real), here, align=align)


_SIGNATURES = {"inside": "paaaaaiiiii", "along": "paaaaaiiii"}
_lib = jit.NativeLibrary(
    "taps",
    _build,
    {f"{name}.{real}": s for name, s in _SIGNATURES.items() for real in _CTYPES.values()},
)


def _function(dtype: str, inner: int) -> Callable[..., None] | None:
    """Return the kernel for a dimension with `inner` elements behind each of its positions; None if
    the dtype is not supported.
    """
    real = _CTYPES.get(dtype)
    if real is None:
        return None
    made: Callable[..., None] | None = getattr(
        _lib, f"{'along' if inner == 1 else 'inside'}.{real}"
    )
    return made


def native(dtype: str, inner: int) -> int | None:
    """Return the address of that kernel; None if the dtype is not supported."""
    function = _function(dtype, inner)
    return None if function is None else jit.address(function)


def numbers(shape: Sequence[int], axis: int, table: Table) -> tuple[int, ...]:
    """Return the kernel's last arguments, for an input of this shape."""
    outer, inner = math.prod(shape[:axis]), math.prod(shape[axis + 1 :])
    if inner == 1:
        return table.size, table.outputs, outer, max(1, GRAIN // table.outputs)
    return table.size, table.outputs, inner, outer * table.outputs, max(1, GRAIN // inner)


def apply(x: np.ndarray, axis: int, table: Table) -> np.ndarray | None:
    """Return the sums along a dimension, from `(..., size, ...)` to `(..., outputs, ...)`; None if
    not supported.
    """
    dtype = name_of(x.dtype)
    function = _function(dtype, math.prod(x.shape[axis + 1 :]))
    if function is None or not x.size or not table.outputs:
        return None
    x = in_order(x)
    out: np.ndarray = empty((*x.shape[:axis], table.outputs, *x.shape[axis + 1 :]), x.dtype)
    function(threads.team(), x, out, *table.arrays(dtype), *numbers(x.shape, axis, table))
    return out
