"""Maxima over windows: max_pool1d, max_pool2d, max_pool3d."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ....arrays.formulas import planned
from ....arrays.native import kernels
from ....core import tracing
from ....core.bind import wrap
from ....core.display.packing import given
from ....core.primitive import defop
from ....core.public import public
from ....core.tape import reads_later
from ....core.tensor import Tensor
from ....dtypes import channels_last
from ....errors import OperationError, ShapeError
from ..._format import in_format
from ..._rules import full_precision, require_tensor
from ..._samples import cases
from ...shape.storage import suggested_format
from ._window import (
    INTEGERS,
    FewWindows,
    Shown,
    Sizes,
    batch_images,
    batched,
    ceil_changes,
    check_dtype,
    plain_window,
    unbatched,
    window,
    window_of,
)


def _max_pool(
    xp: Any, x: Any, *, kernel: Any, stride: Any, padding: Any, dilation: Any, ceil_mode: bool
) -> Any:
    return xp.max_pool(x, kernel, stride, padding, dilation, ceil_mode)


def _onnx_max_pool(c: Any) -> Any:
    low, high = c.pads
    dilation = c.p["dilation"]
    if c.p["ceil_mode"] and ceil_changes(c, low, high, dilation):
        # Pad the end until the last window fits: padding is never the maximum.
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


def _few(shape: tuple[int, ...], dtype: Any, *window: Any, across: bool = False) -> Any:
    return kernels.pooling.direct.few("max", shape, dtype, window, None, across)


max_pool_op = defop(
    "max_pool",
    "input",
    forward=planned(
        _few,
        _max_pool,
        widens="float32",
    ),
    aux=True,
    vjp={
        "input": lambda F, g, aux, input_shape: F.max_pool_grad(g, index=aux, x_shape=input_shape)
    },
    jvp=lambda F, tangents, aux: F.pool_gather(tangents[0], index=aux),
    grad_name="MaxPool",
    variant=(shown := Shown("MaxPool", "WithIndices")),
    nodes=shown.nodes,
    packs="input aux",
    linked="input",
    batch=batch_images,
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
    shows=window("kernel_size stride dilation", padding=0),
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


# Read values at flat spatial positions. It is the transpose of max_pool_grad.
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


_KNOWN = {n: FewWindows(max_pool_op, _few) for n in (1, 2, 3)}


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
    few, usual = (
        _KNOWN[n],
        type(dilation) is int and dilation == 1 and ceil_mode is return_indices is False,
    )
    usual = usual and plain_window(kernel_size, stride, padding)
    if usual and (made := few.made(input, kernel_size, stride, padding)) is not None:
        return made
    name = f"max_pool{n}d"
    x = require_tensor(input, name)
    window = window_of(
        name, x, kernel_size, stride, padding, dilation, bool(ceil_mode), bool(return_indices)
    )
    if n == 1 and not return_indices:
        check_dtype(x, "max_pool1d_impl")
    else:
        check_dtype(x, f"max_pool{max(n, 2)}d", INTEGERS)
    kernel, step, pads, spread = window
    x, lead = batched(x, n)
    params = {
        "kernel": kernel,
        "stride": step,
        "padding": pads,
        "dilation": spread,
        "ceil_mode": bool(ceil_mode),
    }
    with given(unbatched=lead == 1):
        out = max_pool_op.call(x, **params)
    out = in_format(out, x)
    if usual and lead == 2:
        few.remember(x, (kernel_size, stride, padding), lambda a: few.plan(a, params), out)
    if not return_indices:
        return unbatched(out, lead, input)
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
    made = unbatched(reads_later(out, places), lead, input)
    return made, unbatched(places, lead)


def _maxima(x: Any, kernel: Any, stride: Any, padding: Any, dilation: Any, ceil_mode: bool) -> Any:
    """Return the positions of the maxima of `max_pool`."""
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
        if n == 1 and isinstance(kernel_size, (tuple, list)) and len(kernel_size) != 1:
            raise ShapeError(
                f"max_pool1d() argument 'kernel_size' should contain one int (got {len(kernel_size)})"
            )
        return _max(n, input, kernel_size, stride, padding, dilation, ceil_mode, True)

    function.__name__ = f"max_pool{n}d_with_indices"
    size = ", 4" * n
    function.__doc__ = (
        f"`max_pool{n}d` with the flat position of each maximum in the input's spatial dimensions (int64).\n\n"
        ">>> import pellucid as torch\n>>> pool = torch.nn.functional."
        f"{function.__name__}\n>>> values, places = pool(torch.zeros(3{size}), 2)\n"
        f">>> places.shape\ntorch.Size({[3] + [2] * n})\n"
    )
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
    if require_tensor(input, "max_pool3d").ndim == 4 and suggested_format(input) is channels_last:
        raise OperationError("Unsupported memory format. Supports only ChannelsLast3d, Contiguous")
    return _max(3, input, kernel_size, stride, padding, dilation, ceil_mode, return_indices)
