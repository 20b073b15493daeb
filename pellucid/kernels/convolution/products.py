"""Convolution with few results and many weights as one matrix product, forward and for both
gradients.

The last layers of a network see images of 2x2 or 4x4 pixels. Reading their weights takes most of
the time, and laying them out for the other kernels takes longer than the arithmetic. Here the
weights are used in place, as one operand of a product. The other operand is made of the windows of
the input:

  result[o, (n, p)]    = sum over k = (channel, tap) of  w[o, k] * windows[k, (n, p)]
  windows[k, (n, p)]   = sum over o of  w[o, k] * g[o, (n, p)],  then added to the input's pixels
  w[o, k]              = sum over (n, p) of  g[o, (n, p)] * windows[k, (n, p)]
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from math import prod
from typing import Any

import numpy as np

from ...llvm import jit, threads
from ...llvm.emit import Module
from ..matmul import call as matmul
from ..matmul.product import Product
from ..schedule import Address, Schedule
from . import memory as conv_memory
from .geometry import ConvGeometry

MOST = 64  # largest number of results per channel, over all images
# least number of weights; in the forward pass other kernels lay out fewer weights quickly
LEAST = {"forward": 1 << 19, "input": 1 << 17, "weight": 1 << 17}
_GRAIN = 4096  # elements per chunk


def _build(name: str) -> str:
    module = Module()
    _emit_windows(module)
    _emit_sums(module)
    _emit_turned(module)
    _emit_results(module)
    return module.text(name)


_SIZES = dict.fromkeys(("images", "channels", "size", "taps", "pixels"), "i64")


def _emit_windows(module: Module) -> None:
    """Emit the kernel that copies the windows of a range of channels. `table` has the position that
    each tap of each result reads, -1 if it is outside.
    """
    f = threads.parallel_export(
        module, "windows", {"x": "ptr", "out": "ptr", "table": "ptr", **_SIZES}
    )
    with f.loop(f.begin, f.end) as c, f.loop(0, f.taps) as t, f.loop(0, f.images) as n:
        own = f.at(f.x, (n * f.channels + c) * f.size, "float")
        row = f.at(f.out, ((c * f.taps + t) * f.images + n) * f.pixels, "float")
        with f.loop(0, f.pixels) as p:
            where = f.load("i64", f.table, t * f.pixels + p)
            outside = where.compare("slt", 0)
            value = f.load("float", own, f.select(outside, f.const(0, "i64"), where))
            f.store(f.select(outside, f.const(0.0, "float"), value), row, p)
    f.ret()


def _emit_sums(module: Module) -> None:
    """Emit the reverse of `windows`: add what the windows contain to the pixels, tap by tap."""
    f = threads.parallel_export(
        module, "sums", {"windows": "ptr", "out": "ptr", "table": "ptr", **_SIZES}
    )
    with f.loop(f.begin, f.end) as c, f.loop(0, f.images) as n:
        own = f.at(f.out, (n * f.channels + c) * f.size, "float")
        with f.loop(0, f.size) as i:
            f.store(f.const(0.0, "float"), own, i)
        with f.loop(0, f.taps) as t:
            row = f.at(f.windows, ((c * f.taps + t) * f.images + n) * f.pixels, "float")
            with f.loop(0, f.pixels) as p:
                where = f.load("i64", f.table, t * f.pixels + p)
                with f.when(where.compare("sge", 0)):
                    f.store(f.load("float", own, where) + f.load("float", row, p), own, where)
    f.ret()


def _emit_turned(module: Module) -> None:
    """Emit the transposition of (images, channels, pixels) to (channels, images, pixels)."""
    f = threads.parallel_export(
        module,
        "turned",
        {"x": "ptr", "out": "ptr", "images": "i64", "channels": "i64", "pixels": "i64"},
    )
    with f.loop(f.begin, f.end) as c, f.loop(0, f.images) as n, f.loop(0, f.pixels) as p:
        value = f.load("float", f.x, (n * f.channels + c) * f.pixels + p)
        f.store(value, f.out, (c * f.images + n) * f.pixels + p)
    f.ret()


def _emit_results(module: Module) -> None:
    """Emit the reverse of `turned`, adding a bias for each channel."""
    f = threads.parallel_export(
        module,
        "results",
        {
            "x": "ptr",
            "bias": "ptr",
            "out": "ptr",
            "images": "i64",
            "channels": "i64",
            "pixels": "i64",
        },
    )
    with f.loop(f.begin, f.end) as c:
        bias = f.load("float", f.bias, c)
        with f.loop(0, f.images) as n, f.loop(0, f.pixels) as p:
            value = f.load("float", f.x, (c * f.images + n) * f.pixels + p)
            f.store(value + bias, f.out, (n * f.channels + c) * f.pixels + p)
    f.ret()


_lib = jit.NativeLibrary(
    "convolution as a product",
    _build,
    {
        "windows": "paaaiiiiiii",
        "sums": "paaaiiiiiii",
        "turned": "paaiiiii",
        "results": "paaaiiiii",
    },
)


@dataclass
class ProductPlan:
    """A convolution, or one of its gradients, as a matrix product; `what` is "forward", "input" or
    "weight".
    """

    what: str
    geo: ConvGeometry
    table: np.ndarray
    zeros: np.ndarray  # a bias of zeros

    @property
    def sizes(self) -> tuple[int, int, int]:
        """The number of output channels, and the numbers of weights and of results of each."""
        geo = self.geo
        return geo.o, geo.c * geo.taps, geo.n * prod(geo.out)

    @property
    def product(self) -> Product:
        """The matrix product."""
        o, k, p = self.sizes
        if self.what == "forward":
            return Product(o, p, k, (k, 1), (p, 1), p)
        if self.what == "input":
            return Product(k, p, o, (1, k), (p, 1), p)
        return Product(o, k, p, (p, 1), (1, p), k)

    @property
    def room(self) -> tuple[int, int]:
        """The number of floats in the windows, and in the results or gradients with channels first."""
        o, k, p = self.sizes
        return k * p, o * p

    def steps(
        self, a: Any, b: Any, bias: Any, out: Any, windows: Any, turned: Any
    ) -> list[tuple[str, tuple[Any, ...]]]:
        """Return the calls as (name, arguments). `a` and `b` are input and weight for "forward",
        gradient and weight for "input", gradient and input for "weight".
        """
        geo = self.geo
        pixels, size = prod(geo.out), prod(geo.x)
        shape = (geo.n, geo.c, size, geo.taps, pixels)
        picked = (geo.c, max(1, _GRAIN // (geo.taps * geo.n * pixels)))
        rows = (geo.n, geo.o, pixels, geo.o, max(1, _GRAIN // (geo.n * pixels)))
        if self.what == "forward":
            return [
                ("windows", (a, windows, self.table, *shape, *picked)),
                ("product", (b, windows, turned)),
                ("results", (turned, bias, out, *rows)),
            ]
        first = ("turned", (a, turned, *rows))
        if self.what == "input":
            return [
                first,
                ("product", (b, turned, windows)),
                ("sums", (windows, out, self.table, *shape, *picked)),
            ]
        return [
            first,
            ("windows", (b, windows, self.table, *shape, *picked)),
            ("product", (turned, windows, out)),
        ]

    def run(
        self,
        a: np.ndarray,
        b: np.ndarray,
        out: np.ndarray | None = None,
        bias: np.ndarray | None = None,
    ) -> np.ndarray | None:
        """Compute it for contiguous arrays. Returns None if the product is not available."""
        made = matmul.gufuncs()
        if made is None or bias is not None and self.what == "input":
            return None
        o, k, p = self.sizes
        if out is None:
            out = np.empty(self.geo.w_shape, a.dtype)
        bias = self.zeros if bias is None else np.ascontiguousarray(bias)
        first, second = self.room
        memory = conv_memory.take(4 * (first + second))
        try:
            start = memory.address - memory.memory.ctypes.data
            floats = memory.memory[start : start + 4 * (first + second)].view(np.float32)
            windows, turned = floats[:first].reshape(k, p), floats[first:].reshape(o, p)
            for name, given in self.steps(a, b, bias, out, windows, turned):
                if name != "product":
                    getattr(_lib, name)(threads.team(), *given)
                    continue
                x, y, result = given
                if self.what == "forward":
                    made["matmul"](x.reshape(o, k), y, out=result)
                elif self.what == "input":
                    made["matmul"](x.reshape(o, k).T, y, out=result)
                else:
                    made["matmul"](x, y.T, out=result.reshape(o, k))
        finally:
            conv_memory.give(memory)
        return out

    def schedule(
        self,
        schedule: Schedule,
        a: Address,
        b: Address,
        bias: Address | None,
        out: Address,
        title: str,
    ) -> None:
        """Add the calls to a schedule."""
        schedule.plans.append(self)
        first, second = self.room
        windows, turned = schedule.room(4 * first), schedule.room(4 * second)
        biased = bias or Address("kept", schedule.keep(self.zeros))
        for name, given in self.steps(a, b, biased, out, windows, turned):
            if name == "product":
                x, y, result = given
                schedule.product(self.product, x, y, result, title=title)
            else:
                placed = [
                    Address("kept", schedule.keep(v)) if isinstance(v, np.ndarray) else v
                    for v in given
                ]
                function = jit.address(getattr(_lib, name))
                schedule.native(function, ["team", *placed], f"{name} of the {title}")


def _plan(what: str) -> Callable[[ConvGeometry], ProductPlan | None]:
    @lru_cache(maxsize=256)
    def plan(geo: ConvGeometry) -> ProductPlan | None:
        results = geo.n * prod(geo.out)
        if (
            geo.groups != 1
            or geo.real != "float"
            or geo.taps == 1
            or not 0 < results <= MOST
            or geo.o * geo.c * geo.taps < LEAST[what]
        ):
            return None
        made = ProductPlan(what, geo, _table(geo), np.zeros(geo.o, np.float32))
        ready = all(
            getattr(_lib, name) is not None for name in ("windows", "sums", "turned", "results")
        )
        return made if ready and made.product.served() == "gemm" else None

    return plan


def _table(geo: ConvGeometry) -> np.ndarray:
    """Return the pixel that each tap of each result reads, -1 if it is outside."""
    places: Any = np.zeros((1, 1), np.int64)
    inside: Any = np.ones((1, 1), bool)
    for size, k, out, stride, (before, _), dilation in zip(
        geo.x, geo.k, geo.out, geo.stride, geo.pads, geo.dilation, strict=True
    ):
        at = np.arange(k)[:, None] * dilation + np.arange(out) * stride - before
        good = (at >= 0) & (at < size)
        shape = (len(places) * k, places.shape[1] * out)
        places = (places[:, None, :, None] * size + at[None, :, None, :]).reshape(shape)
        inside = (inside[:, None, :, None] & good[None, :, None, :]).reshape(shape)
    return np.ascontiguousarray(np.where(inside, places, -1))


forward_plan, input_grad_plan, weight_grad_plan = map(_plan, ("forward", "input", "weight"))
