"""Averages over windows: avg_pool1d, avg_pool2d, avg_pool3d."""

from __future__ import annotations

import math
from typing import Any

from .... import dtypes
from ....arrays.formulas import planned
from ....arrays.native import kernels
from ....core.display.packing import given
from ....core.primitive import defop
from ....core.public import public
from ....core.tensor import Tensor
from ..._format import in_format
from ..._rules import full_precision, require_tensor
from ..._samples import cases
from ._window import (
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


def _onnx_avg_pool(c: Any) -> Any:
    low, high = c.pads
    kernel = list(c.p["kernel"])
    if c.p["ceil_mode"] and ceil_changes(c, low, high, [1] * len(kernel)):
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


_WINDOWS = {"kernel": (3, 2), "stride": (2, 1), "padding": (1, 0)}  # for the samples


def _as_operator(
    A: Any,
    x: Any,
    *,
    kernel: Any,
    stride: Any,
    padding: Any,
    ceil_mode: bool,
    include_pad: bool,
    divisor: Any,
) -> Any:
    """Call the operator of aten. As in PyTorch, one dimension is computed as two."""
    sizes = [list(v) for v in (kernel, stride, padding)]
    rest = (ceil_mode, include_pad, *([] if divisor is None else [divisor]))
    if len(kernel) > 1:
        return getattr(A, f"avg_pool{len(kernel)}d")(x, *sizes, *rest)
    sizes = [[filler, *v] for filler, v in zip((1, 1, 0), sizes, strict=True)]
    return A.squeeze.dim(A.avg_pool2d(A.unsqueeze(x, -2), *sizes, *rest), -2)


def _few(
    shape: tuple[int, ...],
    dtype: Any,
    kernel: Any,
    stride: Any,
    padding: Any,
    ceil_mode: bool,
    include_pad: bool,
    divisor: Any,
    across: bool = False,
) -> Any:
    window = (kernel, stride, padding, 1, ceil_mode)
    return kernels.pooling.direct.few("avg", shape, dtype, window, (include_pad, divisor), across)


avg_pool_op = defop(
    "avg_pool",
    "input",
    forward=planned(
        _few,
        lambda xp, x, *, kernel, stride, padding, ceil_mode, include_pad, divisor: xp.avg_pool(
            x, kernel, stride, padding, ceil_mode, include_pad, divisor
        ),
        widens="float32",
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
    grad_name="AvgPool",
    variant=(shown := Shown("AvgPool")),
    nodes=shown.nodes,
    packs="input",
    linked="input",
    batch=batch_images,
    traits="passes",
    onnx=_onnx_avg_pool,
    aten=_as_operator,
    samples=cases(
        (((2, 2, 5, 6),), {**_WINDOWS, "ceil_mode": False, "include_pad": True, "divisor": None}),
        (((2, 2, 5, 6),), {**_WINDOWS, "ceil_mode": True, "include_pad": False, "divisor": None}),
        (((2, 2, 5, 6),), {**_WINDOWS, "ceil_mode": False, "include_pad": True, "divisor": 5}),
    ),
    shows={
        **window("kernel_size stride", padding=0),
        "count_include_pad": "include_pad",
        "divisor_override": "divisor",
    },
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


_KNOWN = {n: FewWindows(avg_pool_op, _few) for n in (1, 2, 3)}


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
    few, usual = _KNOWN[n], ceil_mode is False and include_pad is True and divisor is None
    usual = usual and plain_window(kernel_size, stride, padding)
    if usual and (made := few.made(input, kernel_size, stride, padding)) is not None:
        return made
    name = f"avg_pool{n}d"
    x = require_tensor(input, name)
    kernel, step, pads, _ = window_of(
        name, x, kernel_size, stride, padding, 1, bool(ceil_mode), False
    )
    if divisor is not None and divisor == 0:
        raise RuntimeError("divisor must be not zero")
    check_dtype(x, "avg_pool3d_out_frame" if n == 3 else "avg_pool2d", (dtypes.int64,))
    x, lead = batched(x, n)
    params = {
        "kernel": kernel,
        "stride": step,
        "padding": pads,
        "ceil_mode": bool(ceil_mode),
        "include_pad": bool(include_pad),
        "divisor": divisor,
    }
    with given(unbatched=lead == 1):
        out = avg_pool_op.call(x, **params)
    out = in_format(out, x) if n < 3 else out
    if usual and lead == 2:
        few.remember(x, (kernel_size, stride, padding), lambda a: few.plan(a, params), out)
    return unbatched(out, lead, input)


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


@public(namespace="nn.functional", out="same")
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
