"""Pooling over windows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from ... import dtypes, shapes
from ...core import tracing
from ...core.bind import wrap
from ...core.primitive import TENSORS as F
from ...core.primitive import defop
from ...core.public import public
from ...core.tape import reads_later
from ...core.tensor import Tensor
from ...errors import ArgumentTypeError, OperationError, ShapeError, UnsupportedError
from .._format import in_format
from .._rules import full_precision, per_dimension, require_tensor
from .._samples import cases

Sizes = int | Sequence[int]


def _max_pool(
    xp: Any, x: Any, *, kernel: Any, stride: Any, padding: Any, dilation: Any, ceil_mode: bool
) -> Any:
    return xp.max_pool(x, kernel, stride, padding, dilation, ceil_mode)


def _batch_images(b: Any) -> Any:
    """The batch of samples joins the batch of images."""
    if b.ndim < 3:
        return None
    r = b.call(b.fold(b[0]))
    return tuple(map(b.unfold, r)) if isinstance(r, tuple) else b.unfold(r)


def _ceil_changes(c: Any, low: list[int], high: list[int], dilation: Any) -> bool:
    """Whether rounding up gives another size than rounding down."""
    sizes, made = c.fixed(c.shape()[2:]), c.fixed(c.out_shape[2:])
    for k, (kernel, stride) in enumerate(zip(c.p["kernel"], c.p["stride"], strict=True)):
        if (sizes[k] + low[k] + high[k] - dilation[k] * (kernel - 1) - 1) // stride + 1 != made[k]:
            return True
    return False


def _onnx_max_pool(c: Any) -> Any:
    low, high = c.pads
    dilation = c.p["dilation"]
    if c.p["ceil_mode"] and _ceil_changes(c, low, high, dilation):
        # More padding at the end until the last window fits: padding is never the maximum.
        sizes, made = c.fixed(c.shape()[2:]), c.fixed(c.out_shape[2:])
        for k, (kernel, stride) in enumerate(zip(c.p["kernel"], c.p["stride"], strict=True)):
            high[k] = max(
                high[k], (made[k] - 1) * stride + dilation[k] * (kernel - 1) + 1 - sizes[k] - low[k]
            )
            if high[k] >= kernel:
                raise c.refuse("with ceil_mode and a window wholly in the padding")
    return c.emit(
        "MaxPool",
        c[0],
        kernel_shape=list(c.p["kernel"]),
        strides=list(c.p["stride"]),
        pads=low + high,
        dilations=list(dilation),
    )


max_pool_op = defop(
    "max_pool",
    "input",
    forward=_max_pool,
    aux=True,
    vjp={
        "input": lambda F, g, aux, input_shape: F.max_pool_grad(g, index=aux, x_shape=input_shape)
    },
    jvp=lambda F, tangents, aux: F.pool_gather(tangents[0], index=aux),
    grad_name="MaxPool2DWithIndices",
    linked="input",
    batch=_batch_images,
    traits="passes",
    onnx=_onnx_max_pool,
    samples=cases(
        (
            ((2, 2, 5, 6),),
            {
                "kernel": (3, 2),
                "stride": (2, 1),
                "padding": (1, 0),
                "dilation": (1, 2),
                "ceil_mode": False,
            },
        ),
        (
            ((1, 2, 7),),
            {"kernel": (3,), "stride": (3,), "padding": (0,), "dilation": (1,), "ceil_mode": True},
        ),
    ),
)

max_pool_grad = defop(
    "max_pool_grad",
    "grad",
    forward=lambda xp, g, *, index, x_shape: xp.max_pool_grad(g, index, x_shape),
    aval=lambda g, index, x_shape: (tuple(x_shape), g[1]),
    vjp={"grad": lambda F, g, index: F.pool_gather(g, index=index)},
    jvp="linear",
    grad_name="MaxPool2DWithIndicesBackward",
    samples=cases(
        (((1, 2, 3),), {"index": np.array([[[4, 1, 1], [0, 2, 5]]]), "x_shape": (1, 2, 6)})
    ),
)


def _pool_gather(xp: Any, x: Any, *, index: Any) -> Any:
    flat = x.reshape(*x.shape[:2], math.prod(x.shape[2:]))
    return xp.take_along_axis(
        flat, index.reshape(*index.shape[:2], math.prod(index.shape[2:])), -1
    ).reshape(index.shape)


# Values at flat spatial positions: the transpose of max_pool_grad.
pool_gather = defop(
    "pool_gather",
    "input",
    forward=_pool_gather,
    aval=lambda x, index: (tuple(index.shape), x[1]),
    vjp={
        "input": lambda F, g, input_shape, index: F.max_pool_grad(
            g, index=index, x_shape=input_shape
        )
    },
    jvp="linear",
    samples=cases((((1, 2, 6),), {"index": np.array([[[4, 1, 1], [0, 2, 5]]])})),
)


def _adaptive_steps(c: Any) -> tuple[list[int], tuple[int, ...], bool]:
    """Output sizes, input sizes, and whether all windows of adaptive pooling have one size."""
    wanted = [int(n) for n in c.fixed(c.out_shape[2:])]
    sizes = c.fixed(c.shape()[2:])
    return wanted, sizes, all(n % m == 0 for n, m in zip(sizes, wanted, strict=True))


def _onnx_adaptive(c: Any, word: str) -> Any:
    if all(n == 1 for n in c.out_shape[2:]):
        return c.emit(f"Global{word}Pool", c[0])
    wanted, sizes, even = _adaptive_steps(c)
    if even:
        kernel = [n // m for n, m in zip(sizes, wanted, strict=True)]
        return c.emit(f"{word}Pool", c[0], kernel_shape=kernel, strides=kernel)
    if word == "Max" or len(wanted) > 2:
        raise c.refuse(f"from {list(sizes)} to {wanted}, which is not a multiple")
    out = c[0]
    for k, (n, m) in enumerate(zip(sizes, wanted, strict=True)):
        matrix = np.zeros((m, n), c.dtype)
        for row in range(m):
            start, end = row * n // m, -((-(row + 1) * n) // m)
            matrix[row, start:end] = 1 / (end - start)
        last = k == len(wanted) - 1
        out = (
            c.emit("MatMul", out, c.const(matrix.T.copy()))
            if last
            else c.emit("MatMul", c.const(matrix), out)
        )
    return out


def _check_empty(kind: str, g: Any) -> None:
    """Refuse the gradient of an adaptive pool of no windows."""
    shape = tuple(g.shape)
    if 0 not in shape[2:]:
        return
    n = max(2, len(shape) - 2)
    if len(shape) == 3:  # one dimension is reported as a plane with a height of 1
        shape = (*shape[:2], 1, shape[2])
    raise ShapeError(
        f"adaptive_{kind}_pool{n}d_backward(): Expected grad_output to have non-zero size for non-batch dimensions, but grad_output "
        f"has sizes {list(shape)} with dimension {shape.index(0, 2)} being empty"
    )


def _adaptive_max_back(F: Any, g: Any, aux: Any, input_shape: tuple[int, ...]) -> Any:
    _check_empty("max", g)
    return F.max_pool_grad(g, index=aux, x_shape=input_shape)


def _adaptive_avg_back(F: Any, g: Any, input_shape: tuple[int, ...]) -> Any:
    _check_empty("avg", g)
    return F.adaptive_avg_pool_grad(g, x_shape=input_shape)


adaptive_max_op = defop(
    "adaptive_max_pool",
    "input",
    forward=lambda xp, x, *, output_size: xp.adaptive_max_pool(x, output_size),
    aux=True,
    vjp={"input": _adaptive_max_back},
    jvp=lambda F, tangents, aux: F.pool_gather(tangents[0], index=aux),
    grad_name="AdaptiveMaxPool2D",
    linked="input",
    batch=_batch_images,
    traits="passes",
    onnx=lambda c: _onnx_adaptive(c, "Max"),
    samples=cases(
        (((2, 2, 5, 6),), {"output_size": (2, 3)}), (((1, 2, 7),), {"output_size": (3,)})
    ),
)


def _onnx_avg_pool(c: Any) -> Any:
    low, high = c.pads
    kernel = list(c.p["kernel"])
    if c.p["ceil_mode"] and _ceil_changes(c, low, high, [1] * len(kernel)):
        raise c.refuse("with ceil_mode where it adds a window")
    out = c.emit(
        "AveragePool", c[0], kernel_shape=kernel, strides=list(c.p["stride"]), pads=low + high,
        count_include_pad=int(c.p["include_pad"] or c.p["divisor"] is not None),
    )  # fmt: skip
    return (
        out
        if c.p["divisor"] is None
        else c.emit("Mul", out, c.number(math.prod(kernel) / c.p["divisor"]))
    )


_WINDOWS = {"kernel": (3, 2), "stride": (2, 1), "padding": (1, 0)}  # of samples

avg_pool_op = defop(
    "avg_pool",
    "input",
    forward=lambda xp, x, *, kernel, stride, padding, ceil_mode, include_pad, divisor: xp.avg_pool(
        x, kernel, stride, padding, ceil_mode, include_pad, divisor
    ),
    vjp={
        "input": lambda F, g, input_shape, kernel, stride, padding, ceil_mode, include_pad, divisor: (
            F.avg_pool_grad(
                g,
                x_shape=input_shape,
                kernel=kernel,
                stride=stride,
                padding=padding,
                ceil_mode=ceil_mode,
                include_pad=include_pad,
                divisor=divisor,
            )
        )
    },  # fmt: skip
    jvp="linear",
    grad_name="AvgPool2D",
    linked="input",
    batch=_batch_images,
    traits="passes",
    onnx=_onnx_avg_pool,
    samples=cases(
        (((2, 2, 5, 6),), {**_WINDOWS, "ceil_mode": False, "include_pad": True, "divisor": None}),
        (((2, 2, 5, 6),), {**_WINDOWS, "ceil_mode": True, "include_pad": False, "divisor": None}),
        (((2, 2, 5, 6),), {**_WINDOWS, "ceil_mode": False, "include_pad": True, "divisor": 5}),
    ),
)

avg_pool_grad = defop(
    "avg_pool_grad",
    "grad",
    forward=lambda xp, g, *, x_shape, kernel, stride, padding, ceil_mode, include_pad, divisor: (
        xp.avg_pool_grad(g, x_shape, kernel, stride, padding, ceil_mode, include_pad, divisor)
    ),
    aval=lambda g, x_shape, **_: (tuple(x_shape), g[1]),
    vjp={
        "grad": lambda F, g, kernel, stride, padding, ceil_mode, include_pad, divisor: F.avg_pool(
            g,
            kernel=kernel,
            stride=stride,
            padding=padding,
            ceil_mode=ceil_mode,
            include_pad=include_pad,
            divisor=divisor,
        )
    },
    jvp="linear",
    grad_name="AvgPool2DBackward",
    samples=cases(
        (
            ((2, 2, 3, 5),),
            {
                "x_shape": (2, 2, 5, 6),
                **_WINDOWS,
                "ceil_mode": False,
                "include_pad": True,
                "divisor": None,
            },
        ),
        (
            ((2, 2, 3, 5),),
            {
                "x_shape": (2, 2, 5, 6),
                **_WINDOWS,
                "ceil_mode": True,
                "include_pad": False,
                "divisor": None,
            },
        ),
    ),
)

adaptive_avg_op = defop(
    "adaptive_avg_pool",
    "input",
    forward=lambda xp, x, *, output_size: xp.adaptive_avg_pool(x, output_size),
    vjp={"input": _adaptive_avg_back},
    jvp="linear",
    grad_name="AdaptiveAvgPool2D",
    linked="input",
    batch=_batch_images,
    traits="passes",
    onnx=lambda c: _onnx_adaptive(c, "Average"),
    samples=cases(
        (((2, 2, 5, 6),), {"output_size": (2, 3)}), (((1, 2, 7),), {"output_size": (3,)})
    ),
)

adaptive_avg_grad = defop(
    "adaptive_avg_pool_grad",
    "grad",
    forward=lambda xp, g, *, x_shape: xp.adaptive_avg_pool_grad(g, x_shape),
    aval=lambda g, x_shape: (tuple(x_shape), g[1]),
    vjp={
        "grad": lambda F, g, grad_shape: F.adaptive_avg_pool(g, output_size=tuple(grad_shape[2:]))
    },
    jvp="linear",
    grad_name="AdaptiveAvgPool2DBackward",
    samples=cases(
        (((2, 2, 2, 3),), {"x_shape": (2, 2, 5, 6)}), (((1, 2, 3),), {"x_shape": (1, 2, 7)})
    ),
)


def _stride(stride: Any, kernel: tuple[int, ...], n: int) -> tuple[int, ...]:
    if stride is None or (not isinstance(stride, int) and not tuple(stride)):
        return kernel
    return per_dimension(stride, n)


# What PyTorch calls the pools in their refusals, and the types beside floats that each has kernels
# for.
_NOTHING: tuple[dtypes.dtype, ...] = ()
_INTEGERS = (dtypes.uint8, dtypes.int8, dtypes.int16, dtypes.int32, dtypes.int64)


def _check_dtype(x: Tensor, kernel: str, also: tuple[dtypes.dtype, ...] = _NOTHING) -> None:
    kind = x.dtype
    if not kind.is_floating_point and kind not in also:
        raise UnsupportedError(
            f"\"{kernel}\" not implemented for '{kind.scalar_type_name}'",
            hint="convert first: x.float()",
        )


def _batched(x: Tensor, n: int) -> tuple[Tensor, int]:
    """The input with exactly two dimensions in front of the windows' ones, and how many it had."""
    lead = x.ndim - n
    if lead == 2:
        return x, 2
    if lead == 1:
        return F.unsqueeze(x, dim=0), 1
    raise AssertionError("checked by the shape rules")


def _back(x: Tensor, lead: int) -> Tensor:
    return F.squeeze(x, dims=(0,)) if lead == 1 else x


def _within(steps: Any, sizes: Any, pads: Any, windows: Any = None) -> Any:
    """Steps no longer than the padded image, or than the window, which with `ceil_mode` may be
    longer than the image.
    """
    bounded = shapes.within(steps, sizes, [(p, p) for p in pads])
    return (
        bounded
        if windows is None
        else tuple(max(b, min(s, w)) for b, s, w in zip(bounded, steps, windows, strict=True))
    )


class _Window(NamedTuple):
    """What a pooling works with, for each dimension."""

    kernel: tuple[int, ...]
    stride: tuple[int, ...]
    padding: tuple[int, ...]
    dilation: tuple[int, ...]


def _window(name: str, x: Tensor, *given: Any) -> _Window:
    """The window of a pooling with these arguments, once they are known to be good; of whole numbers
    and tuples of them it is remembered.
    """
    sizes = given[:4]
    for v in sizes:
        if type(v) is not int and v is not None:
            if type(v) is not tuple or any(type(e) is not int for e in v):
                return _new_window(name, x._array.shape, *given)
    shape = x._array.shape
    remembered = type(x._array) is np.ndarray
    return (_known_window if remembered else _new_window)(name, shape, *given)


def _new_window(
    name: str,
    shape: tuple[int, ...],
    kernel_size: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    ceil_mode: bool,
    indices: bool,
) -> _Window:
    shapes.pool_shape(name, shape, kernel_size, stride, padding, dilation, ceil_mode, indices)
    n = int(name[-2])
    kernel, pads = per_dimension(kernel_size, n), per_dimension(padding, n)
    spread = _within(per_dimension(dilation, n), shape[-n:], pads)
    reach = [(k - 1) * d + 1 for k, d in zip(kernel, spread, strict=True)]
    step = _within(_stride(stride, kernel, n), shape[-n:], pads, reach)
    return _Window(kernel, step, pads, spread)


_known_window = lru_cache(1024)(_new_window)


def _max(
    n: int,
    input: Tensor,
    kernel_size: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    ceil_mode: bool,
    return_indices: bool,
) -> Any:
    name = f"max_pool{n}d"
    x = require_tensor(input, name)
    window = _window(
        name, x, kernel_size, stride, padding, dilation, bool(ceil_mode), bool(return_indices)
    )
    if n == 1 and not return_indices:
        _check_dtype(x, "max_pool1d_impl")
    else:
        _check_dtype(x, f"max_pool{max(n, 2)}d", _INTEGERS)
    kernel, step, pads, spread = window
    x, lead = _batched(x, n)
    out = in_format(
        max_pool_op.call(
            x, kernel=kernel, stride=step, padding=pads, dilation=spread, ceil_mode=bool(ceil_mode)
        ),
        x,
    )
    if not return_indices:
        return _back(out, lead)
    index = tracing.effect(
        _maxima,
        x._array,
        kernel,
        step,
        pads,
        spread,
        bool(ceil_mode),
    )
    places = in_format(wrap(index), x)
    return _back(reads_later(out, places), lead), _back(places, lead)


def _maxima(x: Any, kernel: Any, stride: Any, padding: Any, dilation: Any, ceil_mode: bool) -> Any:
    """Where the maxima of `max_pool` are."""
    return max_pool_op.numpy_forward(
        x, kernel=kernel, stride=stride, padding=padding, dilation=dilation, ceil_mode=ceil_mode
    )[1]  # fmt: skip


def _with_indices(n: int) -> Any:
    def function(
        input: Tensor,
        kernel_size: Sizes,
        stride: Any = None,
        padding: Sizes = 0,
        dilation: Sizes = 1,
        ceil_mode: bool = False,
        return_indices: bool = False,
    ) -> Any:
        return _max(n, input, kernel_size, stride, padding, dilation, ceil_mode, True)

    function.__name__ = f"max_pool{n}d_with_indices"
    function.__doc__ = f"`max_pool{n}d` with the flat position of each maximum in the input's spatial dimensions (int64)."
    return function


for _n in (1, 2, 3):
    public(namespace="nn.functional torch" if _n == 1 else "nn.functional")(_with_indices(_n))


@public(namespace="nn.functional torch")
def max_pool1d(
    input: Tensor,
    kernel_size: Sizes,
    stride: Any = None,
    padding: Sizes = 0,
    dilation: Sizes = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """Max pooling: the largest value of each window of `(N, C, L)` or `(C, L)`.

    Args:
        input: `(N, C, L)` or `(C, L)`.
        kernel_size: size of the window, a number; so are stride, padding and dilation.
        stride: step between windows; the kernel size when left out.
        padding: added at both sides and never chosen; at most half the window. Default: 0.
        dilation: step between two elements of a window. Default: 1.
        ceil_mode: keep a last window that sticks out. Default: False.
        return_indices: also return where the maxima are, in the flattened spatial dimensions.
            Default: False.

    Returns:
        `(N, C, ...)` or `(C, ...)`, where each spatial size is (size + 2 padding - dilation (kernel
        - 1) - 1) // stride + 1;
            with `return_indices` a pair (values, indices).

    Raises:
        RuntimeError: padding above half the window, or an empty result.

    >>> import pellucid as torch
    >>> torch.nn.functional.max_pool1d(torch.tensor([[[1.0, 3.0, 2.0, 0.0]]]), 2)
    tensor([[[3., 2.]]])
    """
    return _max(1, input, kernel_size, stride, padding, dilation, ceil_mode, return_indices)


@public(namespace="nn.functional torch")
def max_pool2d(
    input: Tensor,
    kernel_size: Sizes,
    stride: Any = None,
    padding: Sizes = 0,
    dilation: Sizes = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """Max pooling: the largest value of each window of `(N, C, H, W)` or `(C, H, W)`.

    Args:
        input: `(N, C, H, W)` or `(C, H, W)`.
        kernel_size: size of the window, a number or a pair (height, width); so are stride, padding
            and dilation.
        stride: step between windows; the kernel size when left out.
        padding: added at both sides and never chosen; at most half the window. Default: 0.
        dilation: step between two elements of a window. Default: 1.
        ceil_mode: keep a last window that sticks out. Default: False.
        return_indices: also return where the maxima are, in the flattened spatial dimensions.
            Default: False.

    Returns:
        `(N, C, ...)` or `(C, ...)`, where each spatial size is (size + 2 padding - dilation (kernel
        - 1) - 1) // stride + 1;
            with `return_indices` a pair (values, indices).

    Raises:
        RuntimeError: padding above half the window, or an empty result.

    >>> import pellucid as torch
    >>> torch.nn.functional.max_pool2d(torch.arange(16.0).reshape(1, 1, 4, 4), 2)
    tensor([[[[ 5.,  7.],
              [13., 15.]]]])
    """
    return _max(2, input, kernel_size, stride, padding, dilation, ceil_mode, return_indices)


@public(namespace="nn.functional torch")
@full_precision
def max_pool3d(
    input: Tensor,
    kernel_size: Sizes,
    stride: Any = None,
    padding: Sizes = 0,
    dilation: Sizes = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """Max pooling: the largest value of each window of `(N, C, D, H, W)` or `(C, D, H, W)`.

    Args:
        input: `(N, C, D, H, W)` or `(C, D, H, W)`.
        kernel_size: size of the window, a number or a triple (depth, height, width); so are stride,
            padding and dilation.
        stride: step between windows; the kernel size when left out.
        padding: added at both sides and never chosen; at most half the window. Default: 0.
        dilation: step between two elements of a window. Default: 1.
        ceil_mode: keep a last window that sticks out. Default: False.
        return_indices: also return where the maxima are, in the flattened spatial dimensions.
            Default: False.

    Returns:
        `(N, C, ...)` or `(C, ...)`, where each spatial size is (size + 2 padding - dilation (kernel
        - 1) - 1) // stride + 1;
            with `return_indices` a pair (values, indices).

    Raises:
        RuntimeError: padding above half the window, or an empty result.

    >>> import pellucid as torch
    >>> torch.nn.functional.max_pool3d(torch.ones(1, 1, 2, 2, 2), 2).shape
    torch.Size([1, 1, 1, 1, 1])
    """
    return _max(3, input, kernel_size, stride, padding, dilation, ceil_mode, return_indices)


def _avg(
    n: int,
    input: Tensor,
    kernel_size: Any,
    stride: Any,
    padding: Any,
    ceil_mode: bool,
    include_pad: bool,
    divisor: int | None,
) -> Tensor:
    name = f"avg_pool{n}d"
    x = require_tensor(input, name)
    kernel, step, pads, _ = _window(
        name, x, kernel_size, stride, padding, 1, bool(ceil_mode), False
    )
    if divisor is not None and divisor == 0:
        raise RuntimeError("divisor must be not zero")
    _check_dtype(x, "avg_pool3d_out_frame" if n == 3 else "avg_pool2d", (dtypes.int64,))
    x, lead = _batched(x, n)
    out = avg_pool_op.call(
        x,
        kernel=kernel,
        stride=step,
        padding=pads,
        ceil_mode=bool(ceil_mode),
        include_pad=bool(include_pad),
        divisor=divisor,
    )
    return _back(in_format(out, x) if n < 3 else out, lead)


@public(namespace="nn.functional torch")
def avg_pool1d(
    input: Tensor,
    kernel_size: Sizes,
    stride: Any = None,
    padding: Sizes = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
) -> Tensor:
    """Average pooling: the mean of each window of `(N, C, L)` or `(C, L)`.

    Args:
        input: `(N, C, L)` or `(C, L)`.
        kernel_size: size of the window, a number; likewise stride and padding.
        stride: step between windows; the kernel size when left out.
        padding: zeros at both sides; at most half the window. Default: 0.
        ceil_mode: keep a last window that sticks out. Default: False.
        count_include_pad: padding counts in the divisor. Default: True.

    Returns:
        `(N, C, ...)` or `(C, ...)`, where each spatial size is (size + 2 padding - kernel) //
        stride + 1.

    Raises:
        RuntimeError: padding above half the window.

    >>> import pellucid as torch
    >>> torch.nn.functional.avg_pool1d(torch.tensor([[[1.0, 3.0, 2.0, 0.0]]]), 2)
    tensor([[[2., 1.]]])
    """
    return _avg(1, input, kernel_size, stride, padding, ceil_mode, count_include_pad, None)


@public(namespace="nn.functional", out="same")
def avg_pool2d(
    input: Tensor,
    kernel_size: Sizes,
    stride: Any = None,
    padding: Sizes = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Tensor:
    """Average pooling: the mean of each window of `(N, C, H, W)` or `(C, H, W)`.

    Args:
        input: `(N, C, H, W)` or `(C, H, W)`.
        kernel_size: size of the window, a number or a pair (height, width); so are stride and
            padding.
        stride: step between windows; the kernel size when left out.
        padding: zeros at both sides; at most half the window. Default: 0.
        ceil_mode: keep a last window that sticks out. Default: False.
        count_include_pad: padding counts in the divisor. Default: True.
        divisor_override: divide by this instead of the window's size. Default: None.

    Returns:
        `(N, C, ...)` or `(C, ...)`, where each spatial size is (size + 2 padding - kernel) //
        stride + 1.

    Raises:
        RuntimeError: padding above half the window.

    >>> import pellucid as torch
    >>> torch.nn.functional.avg_pool2d(torch.ones(1, 1, 4, 4), 2).shape
    torch.Size([1, 1, 2, 2])
    """
    return _avg(
        2, input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override
    )


@public(namespace="nn.functional", out=True)
@full_precision
def avg_pool3d(
    input: Tensor,
    kernel_size: Sizes,
    stride: Any = None,
    padding: Sizes = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Tensor:
    """Average pooling: the mean of each window of `(N, C, D, H, W)` or `(C, D, H, W)`.

    Args:
        input: `(N, C, D, H, W)` or `(C, D, H, W)`.
        kernel_size: size of the window, a number or a triple (depth, height, width); so are stride
            and padding.
        stride: step between windows; the kernel size when left out.
        padding: zeros at both sides; at most half the window. Default: 0.
        ceil_mode: keep a last window that sticks out. Default: False.
        count_include_pad: padding counts in the divisor. Default: True.
        divisor_override: divide by this instead of the window's size. Default: None.

    Returns:
        `(N, C, ...)` or `(C, ...)`, where each spatial size is (size + 2 padding - kernel) //
        stride + 1.

    Raises:
        RuntimeError: padding above half the window.

    >>> import pellucid as torch
    >>> torch.nn.functional.avg_pool3d(torch.ones(1, 1, 4, 4, 4), 2).shape
    torch.Size([1, 1, 2, 2, 2])
    """
    return _avg(
        3, input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override
    )


def _adaptive(
    name: str, n: int, input: Tensor, output_size: Any
) -> tuple[Tensor, int, tuple[int, ...]]:
    x = require_tensor(input, name)
    shape = shapes.adaptive_pool_shape(name, x._array.shape, output_size)
    _check_dtype(x, f"{name}_cpu" if n == 3 else f"{name[:-2]}2d")
    check_fits(name, shape, x._array.dtype.itemsize)
    x, lead = _batched(x, n)
    return x, lead, tuple(shape[-n:])


_LARGE = 1 << 34


def check_fits(name: str, shape: Sequence[int], itemsize: int) -> None:
    """Refuse a result that no memory holds before the work on its windows begins."""
    size = math.prod(shape)
    if max(shape, default=0) >= 1 << 63:
        raise ArgumentTypeError(
            f"{name}(): argument 'output_size' failed to unpack the object at pos 1 with error "
            '"Overflow when unpacking long long'
        )
    if size * itemsize < _LARGE:
        return
    if size * itemsize >= 1 << 63:
        raise OperationError("numel: integer multiplication overflow")
    try:
        np.empty(size * itemsize, np.uint8)
    except MemoryError:
        raise OperationError(
            "[enforce fail at alloc_cpu.cpp:127] err == 0. DefaultCPUAllocator: can't allocate memory: you tried to allocate "
            f"{size * itemsize} bytes. Error code 12 (Cannot allocate memory)"
        ) from None


def _adaptive_avg(n: int, input: Tensor, output_size: Any) -> Tensor:
    whole = (
        output_size == 1
        or isinstance(output_size, (tuple, list))
        and tuple(output_size) == (1,) * n
    )
    if (
        whole
        and isinstance(input, Tensor)
        and n < input.ndim < n + 3
        and 0 in input._array.shape[-n:]
    ):
        # of nothing: NaN, where other sizes are refused
        return input.mean(dim=tuple(range(-n, 0)), keepdim=True)
    x, lead, size = _adaptive(f"adaptive_avg_pool{n}d", n, input, output_size)
    out = adaptive_avg_op.call(x, output_size=size)
    return _back(in_format(out, x) if n < 3 else out, lead)


def _adaptive_max(n: int, input: Tensor, output_size: Any, return_indices: bool) -> Any:
    x, lead, size = _adaptive(f"adaptive_max_pool{n}d", n, input, output_size)
    out = adaptive_max_op.call(x, output_size=size)
    out = in_format(out, x) if n < 3 else out
    if not return_indices:
        return _back(out, lead)
    places = wrap(tracing.effect(_adaptive_maxima, x._array, size))
    places = in_format(places, x) if n < 3 else places
    return _back(reads_later(out, places), lead), _back(places, lead)


def _adaptive_maxima(x: Any, size: tuple[int, ...]) -> Any:
    return adaptive_max_op.numpy_forward(x, output_size=size)[1]


@public(namespace="nn.functional torch")
def adaptive_avg_pool1d(input: Tensor, output_size: Any) -> Tensor:
    """Means over windows that divide the input evenly, chosen so that the result has a given size.

    Window i of a dimension runs from floor(i size / output_size) to ceil((i + 1) size /
    output_size).

    Args:
        input: `(N, C, L)` or `(C, L)`.
        output_size: size of the result: a number.

    >>> import pellucid as torch
    >>> torch.nn.functional.adaptive_avg_pool1d(torch.tensor([[[1.0, 2.0, 3.0, 4.0]]]), 2)
    tensor([[[1.5000, 3.5000]]])
    """
    return _adaptive_avg(1, input, output_size)


@public(namespace="nn.functional")
def adaptive_avg_pool2d(input: Tensor, output_size: Any) -> Tensor:
    """Means over windows that divide the input evenly, chosen so that the result has a given size.

    Window i of a dimension runs from floor(i size / output_size) to ceil((i + 1) size /
    output_size).

    Args:
        input: `(N, C, H, W)` or `(C, H, W)`.
        output_size: size of the result: a number for all dimensions, or a tuple in which None keeps
            a size.

    >>> import pellucid as torch
    >>> torch.nn.functional.adaptive_avg_pool2d(torch.ones(1, 3, 5, 7), (2, None)).shape
    torch.Size([1, 3, 2, 7])
    """
    return _adaptive_avg(2, input, output_size)


@public(namespace="nn.functional")
@full_precision
def adaptive_avg_pool3d(input: Tensor, output_size: Any) -> Tensor:
    """Means over windows that divide the input evenly, chosen so that the result has a given size.

    Window i of a dimension runs from floor(i size / output_size) to ceil((i + 1) size /
    output_size).

    Args:
        input: `(N, C, D, H, W)` or `(C, D, H, W)`.
        output_size: size of the result: a number for all dimensions, or a tuple in which None keeps
            a size.

    >>> import pellucid as torch
    >>> torch.nn.functional.adaptive_avg_pool3d(torch.ones(1, 3, 5, 5, 5), 2).shape
    torch.Size([1, 3, 2, 2, 2])
    """
    return _adaptive_avg(3, input, output_size)


@public(namespace="nn.functional")
def adaptive_max_pool1d(input: Tensor, output_size: Any, return_indices: bool = False) -> Any:
    """Maxima over windows that divide the input evenly, chosen so that the result has a given size.

    Window i of a dimension runs from floor(i size / output_size) to ceil((i + 1) size /
    output_size).

    Args:
        input: `(N, C, L)` or `(C, L)`.
        output_size: size of the result: a number.
        return_indices: also return where the maxima are, in the flattened spatial dimensions.
            Default: False.

    >>> import pellucid as torch
    >>> torch.nn.functional.adaptive_max_pool1d(torch.ones(1, 3, 5), 2).shape
    torch.Size([1, 3, 2])
    """
    return _adaptive_max(1, input, output_size, return_indices)


@public(namespace="nn.functional")
def adaptive_max_pool2d(input: Tensor, output_size: Any, return_indices: bool = False) -> Any:
    """Maxima over windows that divide the input evenly, chosen so that the result has a given size.

    Window i of a dimension runs from floor(i size / output_size) to ceil((i + 1) size /
    output_size).

    Args:
        input: `(N, C, H, W)` or `(C, H, W)`.
        output_size: size of the result: a number for all dimensions, or a tuple in which None keeps
            a size.
        return_indices: also return where the maxima are, in the flattened spatial dimensions.
            Default: False.

    >>> import pellucid as torch
    >>> torch.nn.functional.adaptive_max_pool2d(torch.ones(1, 3, 5, 5), 2).shape
    torch.Size([1, 3, 2, 2])
    """
    return _adaptive_max(2, input, output_size, return_indices)


@public(namespace="nn.functional")
@full_precision
def adaptive_max_pool3d(input: Tensor, output_size: Any, return_indices: bool = False) -> Any:
    """Maxima over windows that divide the input evenly, chosen so that the result has a given size.

    Window i of a dimension runs from floor(i size / output_size) to ceil((i + 1) size /
    output_size).

    Args:
        input: `(N, C, D, H, W)` or `(C, D, H, W)`.
        output_size: size of the result: a number for all dimensions, or a tuple in which None keeps
            a size.
        return_indices: also return where the maxima are, in the flattened spatial dimensions.
            Default: False.

    >>> import pellucid as torch
    >>> torch.nn.functional.adaptive_max_pool3d(torch.ones(1, 3, 5, 5, 5), 2).shape
    torch.Size([1, 3, 2, 2, 2])
    """
    return _adaptive_max(3, input, output_size, return_indices)


def _adaptive_indices(n: int) -> Any:
    def function(input: Tensor, output_size: Any, return_indices: bool = False) -> Any:
        return _adaptive_max(n, input, output_size, True)

    function.__name__ = f"adaptive_max_pool{n}d_with_indices"
    function.__doc__ = f"`adaptive_max_pool{n}d` with the positions of the maxima."
    return function


for _n in (1, 2, 3):
    public(namespace="nn.functional")(_adaptive_indices(_n))
