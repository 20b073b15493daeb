"""Every operation of a broad list, by dtype and by size, compared with PyTorch; the worst ratios
come first.

    python benchmarks/sizes.py                                  # all dtypes, all sizes
    python benchmarks/sizes.py --dtype float64 --size large     # a part
    python benchmarks/sizes.py --only topk --rounds 15
    python benchmarks/sizes.py --size small --recorded          # arguments that require gradients: forward, recorded
    python benchmarks/sizes.py --threads 2                      # the time that passes, with two threads on both sides

A case is timed in short alternating rounds by the process's own time on the processor, and the
ratio is that of the two lowest rounds. With more than one thread it is the time that passes, and a
second column says what the threads gain Pellucid.
"""

from __future__ import annotations

import argparse
import gc
import os
import sys
import warnings
from collections.abc import Callable, Iterator
from time import perf_counter, process_time
from typing import Any

ROWS = {"small": (4, 8), "medium": (64, 128), "large": (512, 1024)}
FLOATS = ("float32", "float64", "bfloat16", "float16")
REAL = (*FLOATS, "int64")
ALL = (*REAL, "complex64")
NUMBERS = (*FLOATS, "complex64")
PRECISE = ("float32", "float64")
EXTRA = ("int32", "uint8", "int8", "bool")  # measured when asked for

CASES: dict[str, tuple[tuple[str, ...], Callable[..., Any]]] = {}


class Operands:
    """Arguments of one case, the same numbers for both libraries; made when they are asked for."""

    def __init__(self, lib: Any, kind: str, size: str, recorded: bool) -> None:
        self.lib, self.kind, self.size, self.recorded = lib, kind, size, recorded
        self.rows, self.columns = ROWS[size]
        self.F = lib.nn.functional

    def values(self, *shape: int, shift: int = 0, kind: str | None = None) -> Any:
        lib, kind = self.lib, kind or self.kind
        count = 1
        for extent in shape:
            count *= extent
        x = ((lib.arange(count, dtype=lib.float32) + shift) * 0.37) % 4.0 - 2.0
        if kind.startswith("complex"):
            x = lib.complex(x, x.flip(0))
        elif kind == "bool":
            x = x > 0
        elif not kind.startswith(("float", "bfloat")):
            x = x * 25 + (50 if kind == "uint8" else 0)
        x = x.reshape(shape).to(getattr(lib, kind))
        return (
            x.requires_grad_() if self.recorded and (x.is_floating_point() or x.is_complex()) else x
        )

    def __getattr__(self, name: str) -> Any:
        rows, columns, lib = self.rows, self.columns, self.lib
        made: Any
        match name:
            case "x":
                made = self.values(rows, columns)
            case "y":
                made = self.values(rows, columns, shift=5)
            case "z":
                made = self.values(rows, columns, shift=9)
            case "p":
                made = self.x.detach().abs().add(1).requires_grad_(self.x.requires_grad)
            case "row":
                made = self.values(columns, shift=3)
            case "column":
                made = self.values(rows, 1, shift=3)
            case "mask":
                made = self.values(rows, columns, shift=5, kind="float32") > 0.5
            case "index":
                made = (lib.arange(rows * columns) * 37 % columns).view(rows, columns)
            case "picks":
                made = lib.arange(rows) * 7 % rows
            case "labels":
                made = lib.arange(rows) * 7 % columns
            case "square":
                side = min(rows, columns, 256)
                made = self.values(side, side)
            case "other":
                side = min(rows, columns, 256)
                made = self.values(side, side, shift=3)
            case "batch":
                made = self.values(8, rows // 4, columns // 2)
            case "image":
                n, side = {"small": (1, 4), "medium": (2, 16), "large": (8, 64)}[self.size]
                made = self.values(n, 16, side, side)
            case "last":
                made = (
                    self.image.detach()
                    .contiguous(memory_format=lib.channels_last)
                    .requires_grad_(self.image.requires_grad)
                )
            case "filter":
                made = self.values(16, 16, 3, 3, shift=3)
            case _:
                raise AttributeError(name)
        setattr(self, name, made)
        return made


def case(names: str, kinds: tuple[str, ...], function: Callable[..., Any]) -> None:
    CASES[names] = (kinds, function)


def methods(kinds: tuple[str, ...], *names: str, on: str = "x") -> None:
    for name in names:
        case(
            name,
            kinds,
            lambda o, n=name: (
                getattr(o.lib, n, None) and (lambda f=getattr(o.lib, n), x=getattr(o, on): f(x))
            ),
        )


methods(ALL, "neg", "abs", "square", "sign" if False else "positive")
methods(NUMBERS, "exp", "sin", "cos", "tanh", "sigmoid", "reciprocal")
methods(NUMBERS, "sqrt", "log", "rsqrt", "log1p", on="p")
methods(
    FLOATS,
    "tan",
    "sinh",
    "atan",
    "asinh",
    "erf",
    "expm1",
    "exp2",
    "floor",
    "ceil",
    "round",
    "trunc",
    "frac",
    "relu",
)
methods(FLOATS, "log2", "log10", "lgamma", "digamma", on="p")
methods(REAL, "sign", "isnan", "isinf", "isfinite", "signbit")
methods(("int64", "int32", "uint8", "bool"), "bitwise_not", "logical_not")
for _name in (
    "gelu",
    "silu",
    "elu",
    "softplus",
    "hardswish",
    "hardsigmoid",
    "leaky_relu",
    "selu",
    "mish",
    "logsigmoid",
    "relu6",
):
    case(_name, FLOATS, lambda o, n=_name: lambda f=getattr(o.F, n), x=o.x: f(x))
case("gelu tanh", FLOATS, lambda o: lambda f=o.F.gelu, x=o.x: f(x, approximate="tanh"))
case("x + 1", ALL, lambda o: lambda x=o.x: x + 1)
case("x * 2.5", NUMBERS, lambda o: lambda x=o.x: x * 2.5)
case("x ** 2", ALL, lambda o: lambda x=o.x: x**2)
case("x ** 3", ALL, lambda o: lambda x=o.x: x**3)
case("x ** 0.5", FLOATS, lambda o: lambda x=o.p: x**0.5)
case("x > 0", REAL, lambda o: lambda x=o.x: x > 0)
case("x == 0", ALL, lambda o: lambda x=o.x: x == 0)
case("clamp", REAL, lambda o: lambda x=o.x: x.clamp(-1, 1))
case("clamp_min", REAL, lambda o: lambda x=o.x: x.clamp_min(0))
case("nan_to_num", FLOATS, lambda o: lambda f=o.lib.nan_to_num, x=o.x: f(x))
case("x + y", ALL, lambda o: lambda x=o.x, y=o.y: x + y)
case("x - y", ALL, lambda o: lambda x=o.x, y=o.y: x - y)
case("x * y", ALL, lambda o: lambda x=o.x, y=o.y: x * y)
case("x / y", ALL, lambda o: lambda x=o.x, y=o.p: x / y)
case("x // y", REAL, lambda o: lambda x=o.x, y=o.p: x // y)
case("x % y", REAL, lambda o: lambda x=o.x, y=o.p: x % y)
case("fmod", REAL, lambda o: lambda f=o.lib.fmod, x=o.x, y=o.p: f(x, y))
case("pow", FLOATS, lambda o: lambda f=o.lib.pow, x=o.p, y=o.y: f(x, y))
case("atan2", FLOATS, lambda o: lambda f=o.lib.atan2, x=o.x, y=o.y: f(x, y))
case("hypot", FLOATS, lambda o: lambda f=o.lib.hypot, x=o.x, y=o.y: f(x, y))
case("maximum", REAL, lambda o: lambda f=o.lib.maximum, x=o.x, y=o.y: f(x, y))
case("x > y", REAL, lambda o: lambda x=o.x, y=o.y: x > y)
case("x == y", ALL, lambda o: lambda x=o.x, y=o.y: x == y)
case("x & y", ("int64", "int32", "uint8", "bool"), lambda o: lambda x=o.x, y=o.y: x & y)
case("x << 2", ("int64", "int32", "uint8"), lambda o: lambda x=o.x: x << 2)
case("x + row", ALL, lambda o: lambda x=o.x, y=o.row: x + y)
case("x * column", ALL, lambda o: lambda x=o.x, y=o.column: x * y)
case("x.T + y.T", ALL, lambda o: lambda x=o.x.t(), y=o.y.t(): x + y)
case("x.T * row", ALL, lambda o: lambda x=o.x.t(), y=o.values(o.rows): x * y)
case("x[:, ::2] + 1", ALL, lambda o: lambda x=o.x[:, ::2]: x + 1)
case("where", ALL, lambda o: lambda f=o.lib.where, m=o.mask, x=o.x, y=o.y: f(m, x, y))
case("where number", ALL, lambda o: lambda f=o.lib.where, m=o.mask, x=o.x: f(m, x, 0))
case("masked_fill", ALL, lambda o: lambda m=o.mask, x=o.x: x.masked_fill(m, 0))
case("masked_select", ALL, lambda o: lambda m=o.mask, x=o.x: x.masked_select(m))
case("add_", ALL, lambda o: lambda x=o.x.detach().clone(), y=o.y.detach(): x.add_(y))
case("mul_ number", NUMBERS, lambda o: lambda x=o.x.detach().clone(): x.mul_(1.0))
case("copy_", ALL, lambda o: lambda x=o.x.detach().clone(), y=o.y.detach(): x.copy_(y))
case("zero_", ALL, lambda o: lambda x=o.x.detach().clone(): x.zero_())
case("addcmul", ALL, lambda o: lambda f=o.lib.addcmul, x=o.x, y=o.y, z=o.z: f(x, y, z))
case("addcdiv", NUMBERS, lambda o: lambda f=o.lib.addcdiv, x=o.x, y=o.y, z=o.p: f(x, y, z))
case("lerp", NUMBERS, lambda o: lambda f=o.lib.lerp, x=o.x, y=o.y: f(x, y, 0.3))
case("lerp tensor", NUMBERS, lambda o: lambda f=o.lib.lerp, x=o.x, y=o.y, z=o.z: f(x, y, z))
case("x + y * z", ALL, lambda o: lambda x=o.x, y=o.y, z=o.z: x + y * z)

methods(ALL, "sum", "any" if False else "prod")
methods(REAL, "max", "min", "argmax")
methods(NUMBERS, "mean")
methods(FLOATS, "var", "std", "median", "nansum", "logcumsumexp" if False else "norm")
for _name in ("sum", "prod", "cumsum", "cumprod"):
    case(f"{_name} rows", ALL, lambda o, n=_name: lambda f=getattr(o.lib, n), x=o.x: f(x, 1))
    case(f"{_name} columns", ALL, lambda o, n=_name: lambda f=getattr(o.lib, n), x=o.x: f(x, 0))
for _name in ("mean", "logsumexp", "var", "std", "var_mean", "softmax", "log_softmax"):
    kinds = NUMBERS if _name == "mean" else FLOATS
    case(f"{_name} rows", kinds, lambda o, n=_name: lambda f=getattr(o.lib, n), x=o.x: f(x, dim=1))
    case(
        f"{_name} columns", kinds, lambda o, n=_name: lambda f=getattr(o.lib, n), x=o.x: f(x, dim=0)
    )
for _name in (
    "amax",
    "amin",
    "max",
    "argmax",
    "median",
    "mode",
    "sort",
    "argsort",
    "cummax",
    "aminmax",
):
    kinds = REAL
    case(f"{_name} rows", kinds, lambda o, n=_name: lambda f=getattr(o.lib, n), x=o.x: f(x, dim=1))
    if _name != "mode":
        case(
            f"{_name} columns",
            kinds,
            lambda o, n=_name: lambda f=getattr(o.lib, n), x=o.x: f(x, dim=0),
        )
case("topk rows", REAL, lambda o: lambda f=o.lib.topk, x=o.x: f(x, 4, 1))
case("topk columns", REAL, lambda o: lambda f=o.lib.topk, x=o.x: f(x, 3, 0))
case("kthvalue", REAL, lambda o: lambda f=o.lib.kthvalue, x=o.x: f(x, 3))
case("logcumsumexp", PRECISE, lambda o: lambda f=o.lib.logcumsumexp, x=o.x: f(x, 1))
case("quantile", PRECISE, lambda o: lambda f=o.lib.quantile, x=o.x: f(x, 0.3, dim=1))
case("any rows", (*REAL, "bool"), lambda o: lambda x=o.x: x.any(1))
case("all", (*REAL, "bool"), lambda o: lambda x=o.x: x.all())
case("count_nonzero", REAL, lambda o: lambda f=o.lib.count_nonzero, x=o.x: f(x))
case("norm rows", NUMBERS, lambda o: lambda x=o.x: x.norm(dim=1))
case("norm 1 rows", FLOATS, lambda o: lambda x=o.x: x.norm(p=1, dim=1))
case("normalize", FLOATS, lambda o: lambda f=o.F.normalize, x=o.x: f(x))
case("cosine_similarity", FLOATS, lambda o: lambda f=o.F.cosine_similarity, x=o.x, y=o.y: f(x, y))
case("diff", ALL, lambda o: lambda f=o.lib.diff, x=o.x: f(x))
case("unique", REAL, lambda o: lambda f=o.lib.unique, x=o.x: f(x))
case("nonzero", REAL, lambda o: lambda x=o.x: x.nonzero())
case("histc", PRECISE, lambda o: lambda f=o.lib.histc, x=o.x: f(x, 10, -2, 2))
case("bincount", ("int64",), lambda o: lambda f=o.lib.bincount, x=o.labels: f(x))
case(
    "bucketize",
    PRECISE,
    lambda o: lambda f=o.lib.bucketize, x=o.x, b=o.lib.linspace(-2, 2, 9).to(o.x.dtype): f(x, b),
)
case("equal", ALL, lambda o: lambda f=o.lib.equal, x=o.x, y=o.x.clone(): f(x, y))
case("item", ALL, lambda o: lambda x=o.x.detach()[0, 0]: x.item())

case("clone", ALL, lambda o: lambda x=o.x: x.clone())
case("t contiguous", ALL, lambda o: lambda x=o.x: x.t().contiguous())
case("permute contiguous", ALL, lambda o: lambda x=o.batch: x.permute(1, 0, 2).contiguous())
case("to float32", (*ALL[1:5], "uint8"), lambda o: lambda x=o.x, k=o.lib.float32: x.to(k))
case("to float64", ("float32", "int64"), lambda o: lambda x=o.x, k=o.lib.float64: x.to(k))
case(
    "to bfloat16",
    ("float32", "float64", "float16"),
    lambda o: lambda x=o.x, k=o.lib.bfloat16: x.to(k),
)
case("to int64", FLOATS, lambda o: lambda x=o.x, k=o.lib.int64: x.to(k))
case("to bool", REAL, lambda o: lambda x=o.x, k=o.lib.bool: x.to(k))
case("cat", ALL, lambda o: lambda f=o.lib.cat, a=[o.x, o.y]: f(a))
case("cat columns", ALL, lambda o: lambda f=o.lib.cat, a=[o.x, o.y]: f(a, 1))
case("stack", ALL, lambda o: lambda f=o.lib.stack, a=[o.x, o.y]: f(a))
case("unbind", ALL, lambda o: lambda x=o.values(4, 8): x.unbind())
case("split", ALL, lambda o: lambda x=o.x: x.split(2, 1) if o.size == "small" else x.chunk(4, 1))
case("roll", ALL, lambda o: lambda x=o.x: x.roll(3, 1))
case("flip", ALL, lambda o: lambda x=o.x: x.flip(1))
case("repeat", ALL, lambda o: lambda x=o.x: x.repeat(2, 1))
case("repeat_interleave", ALL, lambda o: lambda x=o.x: x.repeat_interleave(2, 0))
case("tril", ALL, lambda o: lambda x=o.x: x.tril())
case("pad", ALL, lambda o: lambda f=o.F.pad, x=o.x: f(x, (1, 1)))
case("pad reflect", FLOATS, lambda o: lambda f=o.F.pad, x=o.x: f(x, (1, 1), mode="reflect"))
case("expand", ALL, lambda o: lambda x=o.row: x.expand(4, -1))
case("view", ALL, lambda o: lambda x=o.x: x.view(-1))
case("transpose", ALL, lambda o: lambda x=o.x: x.transpose(0, 1))
case("x[1]", ALL, lambda o: lambda x=o.x: x[1])
case("x[:, 1:3]", ALL, lambda o: lambda x=o.x: x[:, 1:3])
case("x[index]", ALL, lambda o: lambda x=o.x, i=o.picks: x[i])
case("x[mask]", ALL, lambda o: lambda x=o.x, m=o.mask: x[m])
case("x[i, j]", ALL, lambda o: lambda x=o.x, i=o.picks, j=o.labels: x[i, j])
case("index_select", ALL, lambda o: lambda x=o.x, i=o.picks: x.index_select(0, i))
case("index_add", ALL, lambda o: lambda x=o.x, i=o.picks, y=o.y: x.index_add(0, i, y))
case("index_copy", ALL, lambda o: lambda x=o.x, i=o.picks, y=o.y: x.index_copy(0, i, y))
case("gather", ALL, lambda o: lambda x=o.x, i=o.index: x.gather(1, i))
case("scatter", ALL, lambda o: lambda x=o.x, i=o.index, y=o.y: x.scatter(1, i, y))
case("scatter_add", ALL, lambda o: lambda x=o.x, i=o.index, y=o.y: x.scatter_add(1, i, y))
case("take_along_dim", ALL, lambda o: lambda f=o.lib.take_along_dim, x=o.x, i=o.index: f(x, i, 1))
case(
    "x[:, 0] = 1", ALL, lambda o: lambda x=o.x.detach().clone(): x.__setitem__((slice(None), 0), 1)
)
case("x[mask] = 0", ALL, lambda o: lambda x=o.x.detach().clone(), m=o.mask: x.__setitem__(m, 0))
case("embedding", NUMBERS, lambda o: lambda f=o.F.embedding, x=o.x, i=o.picks: f(i, x))
case("one_hot", ("int64",), lambda o: lambda f=o.F.one_hot, x=o.labels, n=o.columns: f(x, n))
case("meshgrid", PRECISE, lambda o: lambda f=o.lib.meshgrid, x=o.row: f(x, x, indexing="ij"))
case("outer", ALL, lambda o: lambda f=o.lib.outer, x=o.row: f(x, x))

case("mse_loss", FLOATS, lambda o: lambda f=o.F.mse_loss, x=o.x, y=o.y.detach(): f(x, y))
case("l1_loss", FLOATS, lambda o: lambda f=o.F.l1_loss, x=o.x, y=o.y.detach(): f(x, y))
case(
    "smooth_l1_loss", FLOATS, lambda o: lambda f=o.F.smooth_l1_loss, x=o.x, y=o.y.detach(): f(x, y)
)
case("huber_loss", FLOATS, lambda o: lambda f=o.F.huber_loss, x=o.x, y=o.y.detach(): f(x, y))
case(
    "kl_div",
    FLOATS,
    lambda o: lambda f=o.F.kl_div, x=o.x, y=o.p.detach(): f(x, y, reduction="batchmean"),
)
case(
    "bce_with_logits", FLOATS,
    lambda o: lambda f=o.F.binary_cross_entropy_with_logits, x=o.x, y=o.mask.to(o.x.dtype): f(x, y),
)  # fmt: skip
case("cross_entropy", FLOATS, lambda o: lambda f=o.F.cross_entropy, x=o.x, y=o.labels: f(x, y))
case("nll_loss", FLOATS, lambda o: lambda f=o.F.nll_loss, x=o.x, y=o.labels: f(x, y))
case(
    "layer_norm",
    FLOATS,
    lambda o: lambda f=o.F.layer_norm, x=o.x, r=o.row, s=(o.columns,): f(x, s, r, r),
)
case(
    "rms_norm", FLOATS, lambda o: lambda f=o.F.rms_norm, x=o.x, r=o.row, s=(o.columns,): f(x, s, r)
)
case("group_norm", FLOATS, lambda o: lambda f=o.F.group_norm, x=o.image: f(x, 4))
case("instance_norm", FLOATS, lambda o: lambda f=o.F.instance_norm, x=o.image: f(x))
case(
    "batch_norm",
    FLOATS,
    lambda o: lambda m=o.lib.nn.BatchNorm2d(16, dtype=o.image.dtype), x=o.image: m(x),
)
case(
    "batch_norm eval",
    FLOATS,
    lambda o: lambda m=o.lib.nn.BatchNorm2d(16, dtype=o.image.dtype).eval(), x=o.image: m(x),
)
case("max_pool2d", (*FLOATS, "int64"), lambda o: lambda f=o.F.max_pool2d, x=o.image: f(x, 2))
case("avg_pool2d", FLOATS, lambda o: lambda f=o.F.avg_pool2d, x=o.image: f(x, 2))
case("adaptive_avg_pool2d", FLOATS, lambda o: lambda f=o.F.adaptive_avg_pool2d, x=o.image: f(x, 1))
case(
    "interpolate nearest",
    FLOATS,
    lambda o: lambda f=o.F.interpolate, x=o.image: f(x, scale_factor=2),
)
case(
    "interpolate bilinear",
    FLOATS,
    lambda o: lambda f=o.F.interpolate, x=o.image: f(x, scale_factor=2, mode="bilinear"),
)
case("pixel_shuffle", ALL, lambda o: lambda f=o.F.pixel_shuffle, x=o.image: f(x, 2))
case("unfold", FLOATS, lambda o: lambda f=o.F.unfold, x=o.image: f(x, 3, padding=1))
case("conv2d", FLOATS, lambda o: lambda f=o.F.conv2d, x=o.image, w=o.filter: f(x, w, padding=1))
case("dropout", FLOATS, lambda o: lambda f=o.F.dropout, x=o.x: f(x, 0.1))
case("conv2d last", FLOATS, lambda o: lambda f=o.F.conv2d, x=o.last, w=o.filter: f(x, w, padding=1))
case(
    "batch_norm last",
    FLOATS,
    lambda o: lambda m=o.lib.nn.BatchNorm2d(16, dtype=o.image.dtype), x=o.last: m(x),
)
case("relu last", FLOATS, lambda o: lambda f=o.F.relu, x=o.last: f(x))
case("max_pool2d last", FLOATS, lambda o: lambda f=o.F.max_pool2d, x=o.last: f(x, 2))
case("avg_pool2d last", FLOATS, lambda o: lambda f=o.F.avg_pool2d, x=o.last: f(x, 2))
case("mean last", FLOATS, lambda o: lambda x=o.last: x.mean((2, 3)))

case("mm", ALL, lambda o: lambda x=o.square, y=o.other: x @ y)
case("mv", ALL, lambda o: lambda x=o.x, y=o.row: x @ y)
case("dot", ALL, lambda o: lambda f=o.lib.dot, x=o.x.reshape(-1), y=o.y.reshape(-1): f(x, y))
case("bmm", ALL, lambda o: lambda x=o.batch, y=o.batch.mT: x @ y)
case(
    "linear",
    FLOATS,
    lambda o: lambda f=o.F.linear, x=o.square, w=o.other, b=o.values(o.other.shape[0]): f(x, w, b),
)
case("einsum", NUMBERS, lambda o: lambda f=o.lib.einsum, x=o.batch: f("bij,bkj->bik", x, x))
case("cdist", PRECISE, lambda o: lambda f=o.lib.cdist, x=o.square, y=o.other: f(x, y))
case("trace", ALL, lambda o: lambda x=o.square: x.trace())
case("fft", ("float32", "float64", "complex64"), lambda o: lambda f=o.lib.fft.fft, x=o.x: f(x))
case("conj", ("complex64",), lambda o: lambda x=o.x: x.conj() + x)
case("angle", ("complex64",), lambda o: lambda x=o.x: x.angle())
case("real", ("complex64",), lambda o: lambda x=o.x: x.real + 1)
case(
    "inv",
    ("float32", "float64", "complex64"),
    lambda o: (
        lambda f=o.lib.linalg.inv, x=o.lib.eye(len(o.square)) + o.square.detach() * 0.001: f(x)
    ),
)

case(
    "zeros", ALL, lambda o: lambda f=o.lib.zeros, s=(o.rows, o.columns), k=o.x.dtype: f(s, dtype=k)
)
case(
    "full", ALL, lambda o: lambda f=o.lib.full, s=(o.rows, o.columns), k=o.x.dtype: f(s, 2, dtype=k)
)
case("ones_like", ALL, lambda o: lambda f=o.lib.ones_like, x=o.x: f(x))
case(
    "empty", ALL, lambda o: lambda f=o.lib.empty, s=(o.rows, o.columns), k=o.x.dtype: f(s, dtype=k)
)
case("arange", REAL, lambda o: lambda f=o.lib.arange, n=o.rows, k=o.x.dtype: f(n, dtype=k))
case(
    "linspace",
    PRECISE,
    lambda o: lambda f=o.lib.linspace, n=o.rows * o.columns, k=o.x.dtype: f(0, 1, n, dtype=k),
)
case("tensor", REAL, lambda o: lambda f=o.lib.tensor, a=[1, 2, 3], k=o.x.dtype: f(a, dtype=k))
case(
    "rand", FLOATS, lambda o: lambda f=o.lib.rand, s=(o.rows, o.columns), k=o.x.dtype: f(s, dtype=k)
)
case(
    "randn",
    FLOATS,
    lambda o: lambda f=o.lib.randn, s=(o.rows, o.columns), k=o.x.dtype: f(s, dtype=k),
)
case(
    "randint",
    ("int64", "float32"),
    lambda o: lambda f=o.lib.randint, s=(o.rows, o.columns), k=o.x.dtype: f(0, 10, s, dtype=k),
)
case("randperm", ("int64",), lambda o: lambda f=o.lib.randperm, n=o.rows * o.columns: f(n))
case("bernoulli", FLOATS, lambda o: lambda x=o.x.detach().clone().fill_(0.3): x.bernoulli())
case("bernoulli_", FLOATS, lambda o: lambda x=o.x.detach().clone(): x.bernoulli_(0.3))
case("uniform_", FLOATS, lambda o: lambda x=o.x.detach().clone(): x.uniform_())
case("normal_", FLOATS, lambda o: lambda x=o.x.detach().clone(): x.normal_())
case("exponential_", FLOATS, lambda o: lambda x=o.x.detach().clone(): x.exponential_())
case("multinomial", PRECISE, lambda o: lambda f=o.lib.multinomial, x=o.p.detach(): f(x, 2))

#: Cases that make their own numbers or write into them: without a form that requires gradients.
PLAIN = {
    "add_",
    "mul_ number",
    "copy_",
    "zero_",
    "x[:, 0] = 1",
    "x[mask] = 0",
    "zeros",
    "full",
    "ones_like",
    "empty",
    "arange",
    "linspace",
    "tensor",
    "rand",
    "randn",
    "randint",
    "randperm",
    "bernoulli",
    "bernoulli_",
    "uniform_",
    "normal_",
    "exponential_",
    "multinomial",
    "item",
}


def chosen(
    arguments: argparse.Namespace,
) -> Iterator[tuple[str, str, str, str, Callable[..., Any]]]:
    """Dtype, size, name, direction and maker of each case that was asked for."""
    for kind in arguments.dtype:
        for size in arguments.size:
            for name, (kinds, make) in CASES.items():
                if kind not in (
                    kinds if kind not in EXTRA else (*kinds, kind) if "int64" in kinds else kinds
                ):
                    continue
                if arguments.only and not any(
                    part == name or part in name for part in arguments.only
                ):
                    continue
                if (arguments.recorded or arguments.backward) and (
                    name in PLAIN or kind not in NUMBERS
                ):
                    continue
                yield kind, size, name, "", make


def time_of(work: Callable[[], Any], calls: int, clock: Callable[[], float]) -> float:
    repeat = range(calls)
    start = clock()
    for _ in repeat:
        work()
    return (clock() - start) / calls


def with_backward(work: Callable[[], Any]) -> Callable[[], Any]:
    """The call and the backward pass of its first floating result, with a seed of ones."""
    y = work()
    first = next(
        (t for t in (y if isinstance(y, (tuple, list)) else (y,)) if t.requires_grad), None
    )
    if first is None:
        raise LookupError("no gradient")
    seed = first.detach().clone().fill_(1)
    place = (
        next((k for k, t in enumerate(y) if t is first), None)
        if isinstance(y, (tuple, list))
        else None
    )

    def run() -> None:
        out = work()
        (out if place is None else out[place]).backward(seed)

    return run


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--dtype", nargs="+", default=list(ALL), choices=ALL + EXTRA)
    parser.add_argument("--size", nargs="+", default=list(ROWS), choices=list(ROWS))
    parser.add_argument("--only", nargs="+", help="parts of the names of cases")
    parser.add_argument(
        "--recorded", action="store_true", help="arguments require gradients; forward only"
    )
    parser.add_argument(
        "--backward", action="store_true", help="arguments require gradients; forward and backward"
    )
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument(
        "--milliseconds", type=float, default=1.0, help="about the length of one round of one side"
    )
    parser.add_argument("--above", type=float, default=0.0, help="print ratios from here on")
    arguments = parser.parse_args()
    for variable in (
        "OMP_NUM_THREADS",
        "OPENBLAS_NUM_THREADS",
        "MKL_NUM_THREADS",
        "PELLUCID_NUM_THREADS",
    ):
        os.environ[variable] = str(arguments.threads)
    import torch

    import pellucid

    torch.set_num_threads(arguments.threads)
    clock = process_time if arguments.threads == 1 else perf_counter
    warnings.simplefilter("ignore")
    results, refused = [], []
    grad = arguments.recorded or arguments.backward
    for kind, size, name, _, make in chosen(arguments):
        sides = []
        for lib in (torch, pellucid):
            try:
                work = make(Operands(lib, kind, size, grad))
                if work is None:
                    raise LookupError("not there")
                work = with_backward(work) if arguments.backward else work
                work()
            except Exception as error:
                if lib is pellucid:
                    refused.append(
                        (
                            kind,
                            size,
                            name,
                            f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}",
                        )
                    )
                break
            sides.append(work)
        if len(sides) < 2:
            continue
        calls = []
        for work in sides:
            work()
            once = max(1e-8, min(time_of(work, 3, clock) for _ in range(2)))
            calls.append(max(1, int(arguments.milliseconds / 1e3 / once)))
        best = [float("inf")] * 3
        gc.collect()
        gc.disable()
        for turn in range(arguments.rounds):
            for side in (0, 1) if turn % 2 else (1, 0):
                best[side] = min(best[side], time_of(sides[side], calls[side], clock))
            if arguments.threads > 1:
                pellucid.set_num_threads(1)
                best[2] = min(best[2], time_of(sides[1], calls[1], clock))
                pellucid.set_num_threads(arguments.threads)
        gc.enable()
        results.append((best[1] / best[0], kind, size, name, *best))
        if sys.stderr.isatty():
            print(f"\r{len(results)} {kind} {size} {name:<30}", end="", file=sys.stderr)
    results.sort(reverse=True)
    for ratio, kind, size, name, theirs, ours, single in results:
        if ratio >= arguments.above:
            gain = (
                f"  {single / ours:5.2f} from {arguments.threads} threads"
                if arguments.threads > 1
                else ""
            )
            print(
                f"{ratio:7.2f}  {kind:9} {size:6} {name:24} {ours * 1e6:10.2f} us {theirs * 1e6:10.2f} us{gain}"
            )
    for line in refused:
        print("refused:", *line)
    ratios = [r[0] for r in results]
    print(
        f"{len(ratios)} cases; "
        + ", ".join(
            f"above {limit}: {sum(r > limit for r in ratios)}" for limit in (0.9, 1.2, 2, 3, 5)
        )
    )


if __name__ == "__main__":
    main()
