"""Regression losses: mse_loss, l1_loss, smooth_l1_loss, huber_loss."""

from __future__ import annotations

import math
from typing import Any

from ....arrays.halves import HALVES
from ....core.bind import common_dtype
from ....core.primitive import TENSORS as F
from ....core.primitive import defop
from ....core.public import public
from ....core.tensor import Tensor
from ....errors import ArgumentTypeError, OperationError, ShapeValueError, type_name
from ....ir.formula import Formula
from ....shapes import broadcast_shapes
from ..._rules import asked_for, full_precision
from ..._samples import Sample, cases
from ._checks import check_pair, held_by, no_kernel
from ._reduction import checked, get_reduction, reduce_loss


def _onnx_squared_difference(c: Any) -> Any:
    d = c.emit("Sub", c[0], c[1])
    return c.emit("Mul", d, d)


mse_op = defop(
    "squared_difference",
    "input target",
    formula=Formula(lambda m, x, t: m.square(x - t), "fhi"),
    vjp={
        # multiply g first: twice the difference might overflow
        "input": lambda g, input, target: g * 2.0 * (input - target),
        "target": lambda g, input, target: g * 2.0 * (target - input),
    },
    promote="common",
    elementwise=True,
    grad_name="MseLoss",
    autocast="float32",
    title="squared error",
    onnx=_onnx_squared_difference,
    samples=cases((((2, 3), (2, 3)), {}), (((2, 1), (3,)), {}), complex=False),
    overload="mse_loss",
)


def _huber(m: Any, x: Any, t: Any, *, delta: float, scale: float) -> Any:
    d = m.abs(x - t)
    return m.where(d < delta, d * d * (0.5 * scale), (d - 0.5 * delta) * (delta * scale))


def _huber_slope(F: Any, input: Any, target: Any, delta: float, scale: float) -> Any:
    """Return the derivative with respect to the difference: the difference clamped to delta."""
    away = input - target
    if F.raw:
        return F.clamp(away, min=-delta, max=delta) * scale
    # The slope of the slope is 0 at delta itself.
    return -F.minimum_number(-F.minimum_number(away, high=delta), high=delta) * scale


def _onnx_huber(c: Any) -> Any:
    delta, scale = float(c.p["delta"]), float(c.p["scale"])
    d = c.emit("Abs", c.emit("Sub", c[0], c[1]))
    near = c.emit("Mul", c.emit("Mul", d, d), c.number(0.5 * scale))
    far = c.emit("Mul", c.emit("Sub", d, c.number(0.5 * delta)), c.number(delta * scale))
    return c.emit("Where", c.emit("Less", d, c.number(delta)), near, far)


huber_op = defop(
    "huber",
    "input target",
    formula=Formula(_huber),
    vjp={
        "input": lambda F, g, input, target, delta, scale: (
            g * _huber_slope(F, input, target, delta, scale)
        ),
        "target": lambda F, g, input, target, delta, scale: (
            -g * _huber_slope(F, input, target, delta, scale)
        ),
    },
    promote="common",
    elementwise=True,
    grad_name="SmoothL1Loss",
    autocast="float32",
    title="huber_loss",
    onnx=_onnx_huber,
    samples=lambda rng: [
        Sample(
            (rng.standard_normal((3, 4)) * 3, rng.standard_normal(shape)),
            {"delta": delta, "scale": scale},
        )
        for shape, delta, scale in (((3, 4), 1.0, 1.0), ((4,), 0.7, 1 / 0.7), ((3, 1), 2.0, 1.0))
    ],
)


def _matched(input: Tensor, target: Tensor, kernel: str = "") -> tuple[Tensor, Tensor]:
    """Expand both to one shape if their dtypes differ, so that neither counts as a mere number in
    type promotion.
    """
    a, b = input._array, target._array
    kind = common_dtype([input, target])
    if kernel and not kind.is_floating_point:
        raise no_kernel(kernel, kind)
    if kernel and "b" in (a.dtype.kind, b.dtype.kind):  # convert bools to the common dtype
        input, target = (
            F.cast(t, dtype=kind.numpy) if t._array.dtype.kind == "b" else t
            for t in (input, target)
        )
    if a.dtype == b.dtype or a.shape == b.shape:
        return input, target
    shape = broadcast_shapes(a.shape, b.shape)
    return F.expand(input, shape=shape), F.expand(target, shape=shape)


def _single(input: Tensor, target: Tensor) -> bool:
    """Return whether the fused operation handles the arguments: floats of one dtype."""
    kind = input._array.dtype
    return (kind in HALVES or kind.kind == "f") and target._array.dtype == kind


def _reduce_weighted(
    loss: Tensor,
    weight: Tensor | None,
    reduction: str,
    title: str = "",
    of: tuple[Tensor, ...] = (),
    **shown: Any,
) -> Tensor:
    """Reduce a loss whose elements may have weights. The weighted mean is divided by the sum of the
    weights.
    """
    if weight is None:
        return reduce_loss(loss, reduction, title, of, **shown)
    loss = loss * weight
    if reduction == "mean":
        return loss.sum() / weight.sum()
    return reduce_loss(loss, reduction)


@public(namespace="nn.functional")
@full_precision
def mse_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    weight: Tensor | None = None,
) -> Tensor:
    """Mean squared difference of two tensors of one shape: `(input - target)^2`, averaged.

    A difference in shape that broadcasts is warned about: it is nearly always a mistake, as (N, 1)
    with (N,).

    Args:
        input, target: any shape, the same for both.
        reduction: "mean", "sum" or "none" (one loss for each element). Default: "mean". Older
            forms: `size_average`, `reduce`.
        weight: factors of the elements, in the same shape. Default: None.

    >>> import pellucid as torch
    >>> torch.nn.functional.mse_loss(torch.tensor([1.0, 2.0]), torch.tensor([1.0, 4.0]))
    tensor(2.)
    """
    check_pair("mse_loss", input, target)
    reduction = get_reduction(size_average, reduce, reduction)
    input, target = _matched(input, target, "mse_cpu")
    loss = mse_op.call(input, target)
    if weight is not None and tuple(weight._array.shape) != tuple(input._array.shape):
        raise ShapeValueError("Weights and input must have the same size.")
    return _reduce_weighted(loss, weight, reduction, "MseLoss", (input, target))


@public(namespace="nn.functional")
@full_precision
def l1_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    weight: Tensor | None = None,
) -> Tensor:
    """Mean absolute difference of two tensors of one shape: `|input - target|`, averaged.

    A difference in shape that broadcasts is warned about: it is nearly always a mistake, as (N, 1)
    with (N,).

    Args:
        input, target: any shape, the same for both.
        reduction: "mean", "sum" or "none" (one loss for each element). Default: "mean". Older
            forms: `size_average`, `reduce`.
        weight: factors of the elements, in the same shape. Default: None.

    >>> import pellucid as torch
    >>> torch.nn.functional.l1_loss(torch.tensor([1.0, 2.0]), torch.tensor([1.0, 4.0]))
    tensor(1.)
    """
    check_pair("l1_loss", input, target)
    reduction = get_reduction(size_average, reduce, reduction)
    input, target = _matched(input, target)
    return _reduce_weighted((input - target).abs(), weight, reduction)


@public(namespace="nn.functional")
@full_precision
def smooth_l1_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    beta: float = 1.0,
) -> Tensor:
    """Smooth L1 loss, with d = input - target: `d^2 / (2 beta)` where |d| < beta, else
    `|d| - beta / 2`.

    Args:
        input, target: any shape, the same for both.
        reduction: "mean", "sum" or "none" (one loss for each element). Default: "mean". Older
            forms: `size_average`, `reduce`.
        beta: where the two forms meet; 0 gives `l1_loss`. Default: 1.

    Raises:
        RuntimeError: a negative beta.

    Source: Girshick, "Fast R-CNN", 2015.

    >>> import pellucid as torch
    >>> torch.nn.functional.smooth_l1_loss(torch.tensor([0.5, 3.0]), torch.zeros(2), reduction="none")
    tensor([0.1250, 2.5000])
    """
    check_pair("smooth_l1_loss", input, target)
    reduction = get_reduction(size_average, reduce, reduction)
    if beta == 0:
        return reduce_loss((input - target).abs(), reduction)
    if beta < 0:
        raise OperationError("smooth_l1_loss does not support negative values for beta.")
    input, target = _matched(input, target, "smooth_l1_cpu")
    if _single(input, target):
        return reduce_loss(
            huber_op.call(input, target, delta=beta, scale=1.0 / beta),
            reduction,
            "SmoothL1Loss",
            (input, target),
            beta=float(beta),
        )
    d = (input - target).abs()
    # no slope of what is not taken: 0 times infinity; but that of NaN
    inside = F.where(d >= beta, 0.0, d)
    return reduce_loss(
        F.where(d < beta, inside * inside * (0.5 / beta), d - 0.5 * beta),
        reduction,
        "SmoothL1Loss",
        (input, target),
        beta=float(beta),
    )


@public(namespace="nn.functional")
@full_precision
def huber_loss(
    input: Tensor,
    target: Tensor,
    reduction: str = "mean",
    delta: float = 1.0,
    weight: Tensor | None = None,
) -> Tensor:
    """Huber loss, with d = input - target: `d^2 / 2` where |d| <= delta, else
    `delta * (|d| - delta / 2)`.

    Args:
        input, target: any shape, the same for both.
        reduction: "mean", "sum" or "none" (one loss for each element). Default: "mean".
        delta: where the two forms meet, and the slope beyond. Default: 1.
        weight: factors of the elements, in the same shape. Default: None.

    Source: Huber, "Robust estimation of a location parameter", 1964.

    >>> import pellucid as torch
    >>> torch.nn.functional.huber_loss(torch.tensor([0.5, 3.0]), torch.zeros(2), reduction="none")
    tensor([0.1250, 2.5000])
    """
    check_pair("huber_loss", input, target)
    if weight is not None:
        asked_for("size", weight)
    reduction = checked(reduction)
    if not isinstance(delta, (int, float)):
        raise ArgumentTypeError(
            f"huber_loss(): argument 'delta' (position 4) must be float, not {type_name(delta)}"
        )
    if delta <= 0:
        raise OperationError("huber_loss does not support non-positive values for delta.")
    own = input.dtype
    held_by(own, common_dtype([input, target]))
    input, target = _matched(input, target, "huber_cpu")
    if _single(input, target):
        return _reduce_weighted(
            huber_op.call(input, target, delta=delta, scale=1.0),
            weight,
            reduction,
            "HuberLoss",
            (input, target),
            delta=float(delta),
        )
    d = (input - target).abs()
    near = d < delta
    # no slope of what is not taken: 0 times infinity; but that of NaN
    beyond = d if math.isfinite(delta) else F.where(near, 0.0, d)
    inside = F.where(d >= delta, 0.0, d)
    loss = F.where(near, inside * inside * 0.5, (beyond - 0.5 * delta) * delta)
    if own.is_floating_point and loss.dtype is not own:
        loss = F.cast(loss, dtype=own.numpy)  # as in PyTorch, whatever the dtype of the target
    return _reduce_weighted(
        loss, weight, reduction, "HuberLoss", (input, target), delta=float(delta)
    )
