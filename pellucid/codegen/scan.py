"""Running sums and products along one dimension of float32, accumulated in double as PyTorch's are, and the products' gradient.

>>> cumsum(np.ones(3, np.float32), 0) is None or cumsum(np.ones(3, np.float32), 0).tolist() == [1.0, 2.0, 3.0]
True
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence

import numpy as np

from pellucid.codegen import jit, target, threads
from pellucid.codegen.emit import Function, Module, Value, vector

__all__ = ["cumprod", "cumprod_backward", "cumsum", "native", "numbers"]

_F32 = np.dtype(np.float32)
GRAIN = 16384  # elements a chunk
WIDE = 8  # lines side by side from which on vectors run across them


def _accumulated(f: Function, kind: str, total: Value, x: Value) -> Value:
    return total + x if kind == "cumsum" else total * x


def _lines(module: Module, kind: str) -> None:
    """`kind(team, x, out, length, inner, n, grain)` over n lines of an array (outer, length, inner)."""
    f = threads.parallel_export(module, kind, {"x": "ptr", "out": "ptr", "length": "i64", "inner": "i64"})
    with f.loop(f.begin, f.end) as line:
        start = line // f.inner * f.length * f.inner + line % f.inner
        total = f.var("double", float(kind == "cumprod"))
        with f.loop(0, f.length) as i:
            at = start + i * f.inner
            total.set(_accumulated(f, kind, total.get(), f.extend(f.load("float", f.x, at), "double")))
            f.store(f.trunc(total.get(), "float"), f.out, at)
    f.ret()


def _across(module: Module, kind: str) -> None:
    """`kind_across(team, x, out, length, inner, outer, grain)`: vectors run along `inner`."""
    f = threads.parallel_export(module, f"{kind}_across", {"x": "ptr", "out": "ptr", "length": "i64", "inner": "i64"})
    width = target.host().lanes("double")
    floats, doubles = vector("float", width), vector("double", width)
    with f.loop(f.begin, f.end) as o:
        base = o * f.length * f.inner

        def column(i: Value, mask: Value | None, base: Value = base) -> None:
            total = f.var(doubles, f.const(float(kind == "cumprod"), doubles))
            with f.loop(0, f.length) as j:
                at = base + j * f.inner + i
                total.set(_accumulated(f, kind, total.get(), f.extend(f.load(floats, f.x, at, mask=mask), doubles)))
                f.store(f.trunc(total.get(), floats), f.out, at, mask=mask)

        f.vector_loop(f.inner, width, column)
    f.ret()


def _cumprod_backward(module: Module) -> None:
    """With s[k] = g[k] + x[k + 1] * s[k + 1] the gradient is s[k] times the product of what stands before: no division, zeros are fine."""
    params = {"x": "ptr", "product": "ptr", "g": "ptr", "out": "ptr", "length": "i64", "inner": "i64"}
    f = threads.parallel_export(module, "cumprod_backward", params)
    with f.loop(f.begin, f.end) as line:
        start = line // f.inner * f.length * f.inner + line % f.inner
        total, factor = f.var("double", 0.0), f.var("double", 0.0)
        with f.loop(0, f.length) as i:
            k = f.length - 1 - i
            at = start + k * f.inner
            total.set(f.extend(f.load("float", f.g, at), "double") + factor.get() * total.get())
            factor.set(f.extend(f.load("float", f.x, at), "double"))
            before = f.load("float", f.product, f.larger(at - f.inner, start))
            before = f.extend(f.select(k.compare("eq", 0), f.const(1.0, "float"), before), "double")
            f.store(f.trunc(total.get() * before, "float"), f.out, at)
    f.ret()


def _build(name: str) -> str:
    module = Module()
    for kind in ("cumsum", "cumprod"):
        _lines(module, kind)
        _across(module, kind)
    _cumprod_backward(module)
    return module.text(name)


_NAMES = ("cumsum", "cumprod", "cumsum_across", "cumprod_across")
_lib = jit.Library("scan", _build, {**dict.fromkeys(_NAMES, "paaiiii"), "cumprod_backward": "paaaaiiii"})


def native(name: str, shape: Sequence[int], dim: int) -> int | None:
    """The address of the kernel that serves a shape; None where it cannot be compiled."""
    function = getattr(_lib, _kernel(name, shape, dim))
    return None if function is None else jit.address(function)


def _kernel(name: str, shape: Sequence[int], dim: int) -> str:
    return f"{name}_across" if math.prod(shape[dim + 1 :]) >= WIDE and name != "cumprod_backward" else name


def numbers(name: str, shape: Sequence[int], dim: int) -> tuple[int, ...]:
    """The kernel's last arguments."""
    length, inner, outer = shape[dim], math.prod(shape[dim + 1 :]), math.prod(shape[:dim])
    if _kernel(name, shape, dim) != name:
        return length, inner, outer, max(1, GRAIN // max(1, length * inner))
    return length, inner, outer * inner, max(1, GRAIN // max(1, length))


def _run(name: str, dim: int, *arrays: np.ndarray) -> np.ndarray | None:
    shape = arrays[0].shape
    for a in arrays:
        if a.dtype is not _F32 or not a.flags.c_contiguous or a.shape != shape:
            return None
    kernel, last = _chosen(name, shape, dim % len(shape))
    function = getattr(_lib, kernel)
    if function is None:
        return None
    out = np.empty(shape, _F32)
    function(threads.team(), *arrays, out, *last)
    return out


@functools.lru_cache(512)
def _chosen(name: str, shape: tuple[int, ...], dim: int) -> tuple[str, tuple[int, ...]]:
    """The kernel that serves a shape, and its last arguments."""
    return _kernel(name, shape, dim), numbers(name, shape, dim)


def cumsum(x: np.ndarray, axis: int) -> np.ndarray | None:
    """`np.cumsum(x, axis)` of a contiguous float32 array; None for others."""
    return _run("cumsum", axis, x)


def cumprod(x: np.ndarray, axis: int) -> np.ndarray | None:
    """`np.cumprod(x, axis)` of a contiguous float32 array; None for others."""
    return _run("cumprod", axis, x)


def cumprod_backward(x: np.ndarray, product: np.ndarray, g: np.ndarray, axis: int) -> np.ndarray | None:
    """The gradient of `product`, the running product of x, in x; None for others than contiguous float32 arrays."""
    return _run("cumprod_backward", axis, x, product, g)
