"""Running sums, products and extremes along one dimension, for every dtype; and the gradient of
running products of float32 and float64.

Sums and products of floats are accumulated in double (as PyTorch does for float32), those of
complex numbers part by part, those of integers and booleans in int64, which is also the dtype of
their result.

>>> cumsum(np.ones(3, np.float32), 0) is None or cumsum(np.ones(3, np.float32), 0).tolist() == [1.0, 2.0, 3.0]
True
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...dtypes import name_of
from ...llvm import jit, target, threads
from ...llvm.emit import MEMORY, REGISTER, Function, Module, SSAValue, lanes, types_of, vector
from ...llvm.outputs import empty
from ..matmul.pack import exchanged
from ..pointwise.values import available, convert, is_float, is_half, pack, unpack

__all__ = ["cumprod", "cumprod_backward", "cumsum", "extremes", "native", "numbers"]

_CTYPES = types_of("float32 float64")  # for gradients
# the dtype of the parts of a complex number
_PARTS = {"complex64": "float32", "complex128": "float64"}
_ORDERED = "float32 float64 float16 bfloat16 int64 int32 int16 int8 uint8".split()
_ADDED = [*_ORDERED, "bool", *_PARTS]
GRAIN = 16384  # elements per chunk
WIDE = 2  # number of adjacent lines from which on vectors run across them
_I64, _WHOLE = "int64", np.dtype(np.int64)


class _Elements:
    """How elements are loaded, held and stored: in one register, or in two for complex numbers."""

    def __init__(self, held: str, memory: str, result: str) -> None:
        self.parts = 2 if memory in _PARTS else 1
        self.held, self.result = held, _PARTS.get(result, result)
        self.memory = _PARTS.get(memory, memory)

    def read(
        self, f: Function, base: SSAValue, at: SSAValue, n: int, mask: SSAValue | None
    ) -> list[SSAValue]:
        """Load elements in their memory type, as a list of parts."""
        kind = vector(MEMORY[self.memory], n * self.parts)
        if self.parts == 1:
            return [f.load(kind, base, at, mask=mask)]
        if n == 1:
            return [f.load(MEMORY[self.memory], base, at * 2 + part) for part in (0, 1)]
        both = f.load(kind, base, at * 2, mask=_twice(f, mask))
        return [f.shuffle(both, both, list(range(part, 2 * n, 2))) for part in (0, 1)]

    def wide(self, f: Function, x: SSAValue) -> SSAValue:
        """Convert a part to the type used in computations."""
        return convert(f, unpack(f, x, self.memory), self.memory, self.held)

    def narrow(self, f: Function, x: SSAValue) -> SSAValue:
        """Convert a part to its memory type. Doubles are rounded to float32 before they are rounded
        to two-byte floats.
        """
        if is_float(self.result):
            x = f.trunc(x, vector(REGISTER[self.result], lanes(x.ctype)))
        return pack(f, x, self.result)

    def write(
        self,
        f: Function,
        parts: list[SSAValue],
        base: SSAValue,
        at: SSAValue,
        mask: SSAValue | None,
    ) -> None:
        """Store elements, given their parts in the memory type."""
        n = lanes(parts[0].ctype)
        if len(parts) == 1:
            f.store(parts[0], base, at, mask=mask)
        elif n == 1:
            for k, part in enumerate(parts):
                f.store(part, base, at * 2 + k)
        else:
            both = f.shuffle(parts[0], parts[1], [k // 2 + k % 2 * n for k in range(2 * n)])
            f.store(both, base, at * 2, mask=_twice(f, mask))


def _twice(f: Function, mask: SSAValue | None) -> SSAValue | None:
    if mask is None:
        return None
    return f.shuffle(mask, mask, [k // 2 for k in range(2 * lanes(mask.ctype))])


# The state of a scan along lines: `step(x, i)` takes the next elements of `n` lines and returns the
# results, as a list of parts for each output array.
_Step = Callable[[list[SSAValue], SSAValue], list[list[SSAValue]]]


def _accumulating(f: Function, kind: str, e: _Elements, n: int) -> _Step:
    first = int(kind == "cumprod")
    held = vector(REGISTER[e.held], n)
    totals = [f.var(held, f.const(first if k == 0 else 0, held)) for k in range(e.parts)]

    def step(x: list[SSAValue], i: SSAValue) -> list[list[SSAValue]]:
        old, new = [t.get() for t in totals], [e.wide(f, part) for part in x]
        if kind == "cumsum":
            made = [a + b for a, b in zip(old, new)]
        elif e.parts == 1:
            made = [old[0] * new[0]]
        else:
            (a, b), (c, d) = old, new
            made = [a * c - b * d, a * d + b * c]
        for total, value in zip(totals, made):
            total.set(value)
        return [[e.narrow(f, value) for value in made]]

    return step


def _extreme(f: Function, kind: str, e: _Elements, n: int) -> _Step:
    """Return a step that keeps the extreme so far and its last position; a NaN stays."""
    floating = is_float(e.held)
    lowest: float
    if floating:
        lowest = -math.inf if kind == "cummax" else math.inf
    else:
        lowest = np.iinfo(e.held).min if kind == "cummax" else np.iinfo(e.held).max
    held, places = vector(REGISTER[e.held], n), vector("i64", n)
    how = "o" if floating else "u" if e.held.startswith("u") else "s"
    how += "ge" if kind == "cummax" else "le"
    best, place = f.var(held, f.const(lowest, held)), f.var(places, f.const(0, places))

    def step(x: list[SSAValue], i: SSAValue) -> list[list[SSAValue]]:
        new = e.wide(f, x[0])
        wins = new.compare(how, best.get())
        if floating:
            wins = wins | new.compare("uno", new)
        best.set(f.select(wins, new, best.get()))
        place.set(f.select(wins, f.splat(i, places), place.get()))
        return [[pack(f, best.get(), e.result, exact=True)], [place.get()]]

    return step


def _build(name: str) -> str:
    """Emit `name(team, x, out, [index,] length, inner, n, grain)`, which scans n lines of an array
    (n, length); or, if `_across`, n blocks of an array (n, length, inner), with vectors along
    `inner`.
    """
    module = Module()
    kind, _, dtype = name.partition(".")
    if kind == "cumprod_backward":
        _cumprod_backward(module, dtype)
        return module.text(name)
    kind, _, across = kind.partition("_")
    extreme = kind in ("cummax", "cummin")
    pointers = ("x", "out", "index") if extreme else ("x", "out")
    params = dict.fromkeys(pointers, "ptr") | dict.fromkeys(("length", "inner"), "i64")
    f = threads.parallel_export(module, name, params)
    n = target.host().lanes("double")
    if extreme:
        e = _Elements("float32" if is_half(dtype) else dtype, dtype, dtype)
    elif is_float(dtype) or dtype in _PARTS:
        e = _Elements("float64", dtype, dtype)
    else:
        e = _Elements(_I64, dtype, _I64)
    start = functools.partial(_extreme if extreme else _accumulating, f, kind, e)
    arrays = [(e, f.out), (_Elements(_I64, _I64, _I64), f.index)] if extreme else [(e, f.out)]
    if across:
        _across(f, e, arrays, start, n)
    else:
        _along(f, e, arrays, start, n)
    f.ret()
    return module.text(name)


_Arrays = list[tuple[_Elements, SSAValue]]


def _across(
    f: Function, e: _Elements, arrays: _Arrays, start: Callable[[int], _Step], n: int
) -> None:
    with f.loop(f.begin, f.end) as o:
        base = o * f.length * f.inner

        def column(i: SSAValue, mask: SSAValue | None) -> None:
            step = start(n)
            with f.loop(0, f.length) as j:
                at = base + j * f.inner + i
                for (kind, to), made in zip(arrays, step(e.read(f, f.x, at, n, mask), j)):
                    kind.write(f, made, to, at, mask)

        f.vector_loop(f.inner, n, column)


def _along(
    f: Function, e: _Elements, arrays: _Arrays, start: Callable[[int], _Step], n: int
) -> None:
    """Emit a scan of several lines together, one square of elements at a time. Its transpose holds
    the next elements of all lines, whose sums are independent of each other. A single remaining
    line is scanned alone.
    """

    def single(line: SSAValue) -> None:
        step = start(1)
        base = line * f.length
        with f.loop(0, f.length) as i:
            for (kind, to), made in zip(arrays, step(e.read(f, f.x, base + i, 1, None), i)):
                kind.write(f, made, to, base + i, None)

    def together(first: SSAValue, last: SSAValue) -> None:
        step = start(n)
        # repeat the last line if there are fewer
        lines = [f.smaller(first + u, last) * f.length for u in range(n)]

        def square(i: SSAValue, mask: SSAValue | None) -> None:
            rows = [e.read(f, f.x, line + i, n, mask) for line in lines]
            columns = [exchanged(f, [row[part] for row in rows]) for part in range(e.parts)]
            made = [step([column[j] for column in columns], i + j) for j in range(n)]
            for k, (kind, to) in enumerate(arrays):
                parts = [exchanged(f, [m[k][part] for m in made]) for part in range(kind.parts)]
                for u, line in enumerate(lines):
                    kind.write(f, [part[u] for part in parts], to, line + i, mask)

        f.vector_loop(f.length, n, square)

    with f.loop(f.begin, f.end, n) as first:
        last = f.end - 1
        f.branch(first.compare("slt", last), lambda: together(first, last), lambda: single(first))


def _cumprod_backward(module: Module, dtype: str) -> None:
    """Emit the gradient. With s[k] = g[k] + x[k + 1] * s[k + 1] it is s[k] times the product of the
    preceding elements. There is no division, so zeros are no problem.
    """
    ctype = _CTYPES[dtype]
    params = {
        "x": "ptr",
        "product": "ptr",
        "g": "ptr",
        "out": "ptr",
        "length": "i64",
        "inner": "i64",
    }
    f = threads.parallel_export(module, f"cumprod_backward.{dtype}", params)
    with f.loop(f.begin, f.end) as line:
        start = line // f.inner * f.length * f.inner + line % f.inner
        total, factor = f.var("double", 0.0), f.var("double", 0.0)
        with f.loop(0, f.length) as i:
            k = f.length - 1 - i
            at = start + k * f.inner
            total.set(f.extend(f.load(ctype, f.g, at), "double") + factor.get() * total.get())
            factor.set(f.extend(f.load(ctype, f.x, at), "double"))
            before = f.load(ctype, f.product, f.larger(at - f.inner, start))
            before = f.extend(f.select(k.compare("eq", 0), f.const(1.0, ctype), before), "double")
            f.store(f.trunc(total.get() * before, ctype), f.out, at)
    f.ret()


_lib = jit.NativeLibrary(
    "scan",
    _build,
    {
        **{
            f"{kind}{across}.{dtype}": letters
            for kinds, dtypes, letters in (
                (("cumsum", "cumprod"), _ADDED, "paaiiii"),
                (("cummax", "cummin"), _ORDERED, "paaaiiii"),
            )
            for kind, across, dtype in itertools.product(kinds, ("", "_across"), dtypes)
        },
        **{f"cumprod_backward.{dtype}": "paaaaiiii" for dtype in _CTYPES},
    },
)


def native(name: str, shape: Sequence[int], dim: int, dtype: str = "float32") -> int | None:
    """Return the address of the kernel for a shape and dtype; None if there is none or it cannot be
    compiled.
    """
    kernel = _kernel(name, shape, dim, dtype)
    function = None if kernel is None else getattr(_lib, kernel)
    return None if function is None else jit.address(function)


def _kernel(name: str, shape: Sequence[int], dim: int, dtype: str) -> str | None:
    if name == "cumprod_backward":
        return f"{name}.{dtype}" if dtype in _CTYPES else None
    served = _ORDERED if name in ("cummax", "cummin") else _ADDED
    if dtype not in served or dtype not in _PARTS and not available(dtype):
        return None
    return f"{name}{'_across' if _is_across(name, shape, dim) else ''}.{dtype}"


def _is_across(name: str, shape: Sequence[int], dim: int) -> bool:
    return name != "cumprod_backward" and math.prod(shape[dim + 1 :]) >= WIDE


def numbers(name: str, shape: Sequence[int], dim: int) -> tuple[int, ...]:
    """Return the kernel's last arguments."""
    length, inner, outer = shape[dim], math.prod(shape[dim + 1 :]), math.prod(shape[:dim])
    if _is_across(name, shape, dim):
        return length, inner, outer, max(1, GRAIN // max(1, length * inner))
    together = target.host().lanes("double")
    lines = GRAIN // max(1, length)
    return length, inner, outer * inner, max(together, lines - lines % together)


def _run(name: str, dim: int, *arrays: np.ndarray) -> np.ndarray | None:
    shape, dtype = arrays[0].shape, arrays[0].dtype
    for a in arrays:
        if a.dtype is not dtype or not a.flags.c_contiguous or a.shape != shape:
            return None
    kernel, last = _chosen(name, shape, dim % len(shape), dtype)
    function = None if kernel is None else getattr(_lib, kernel)
    if function is None:
        return None
    out = empty(shape, _WHOLE if dtype.kind in "biu" else dtype)
    function(threads.team(), *arrays, out, *last)
    return out


def few(
    name: str, shape: tuple[int, ...], dtype: np.dtype[Any], dim: int
) -> Callable[[np.ndarray], Any] | None:
    """Return a function for a running sum, product or extreme of small contiguous arrays of this
    shape and dtype; None if not supported.
    """
    kernel, last = _chosen(name, shape, dim % len(shape), dtype) if shape else (None, ())
    function = None if kernel is None else getattr(_lib, kernel)
    if function is None:
        return None

    def one(x: np.ndarray) -> np.ndarray:
        out = np.empty(shape, dtype)
        function(0, x, out, *last)
        return out

    def two(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        out, index = np.empty(shape, dtype), np.empty(shape, _WHOLE)
        function(0, x, out, index, *last)
        return out, index

    return two if name in ("cummax", "cummin") else one


@functools.lru_cache(512)
def _chosen(
    name: str, shape: tuple[int, ...], dim: int, dtype: np.dtype[Any]
) -> tuple[str | None, tuple[int, ...]]:
    """Return the name of the kernel for a shape and dtype, or None, and its last arguments."""
    return _kernel(name, shape, dim, name_of(dtype)), numbers(name, shape, dim)


def cumsum(x: np.ndarray, axis: int) -> np.ndarray | None:
    """Like `np.cumsum(x, axis)` for a contiguous array, with integers summed in int64; None for
    others.
    """
    return _run("cumsum", axis, x)


def cumprod(x: np.ndarray, axis: int) -> np.ndarray | None:
    """Like `np.cumprod(x, axis)` for a contiguous array, with integers multiplied in int64; None
    for others.
    """
    return _run("cumprod", axis, x)


def cumprod_backward(
    x: np.ndarray, product: np.ndarray, g: np.ndarray, axis: int
) -> np.ndarray | None:
    """Return the gradient of x, given that of `product`, the running product of x; None unless the
    arrays are contiguous and of float32 or float64.
    """
    return _run("cumprod_backward", axis, x, product, g)


def extremes(x: np.ndarray, axis: int, largest: bool) -> tuple[np.ndarray, np.ndarray] | None:
    """Return the largest (or smallest) element so far of a contiguous array of real numbers, and
    its last position; None for others.
    """
    if not x.flags.c_contiguous or not x.size:
        return None
    kernel, last = _chosen("cummax" if largest else "cummin", x.shape, axis % x.ndim, x.dtype)
    function = None if kernel is None else getattr(_lib, kernel)
    if function is None:
        return None
    values, index = empty(x.shape, x.dtype), empty(x.shape, _WHOLE)
    function(threads.team(), x, values, index, *last)
    return values, index
