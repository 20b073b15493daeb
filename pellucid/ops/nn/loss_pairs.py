"""Losses between tensors of one shape, and between embeddings."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ... import dtypes
from ...backends.halves import HALVES
from ...core import tracing
from ...core.bind import common_dtype, wrap
from ...core.modes import state
from ...core.primitive import TENSORS as F
from ...core.primitive import defop
from ...core.public import public
from ...core.tape import titled
from ...core.tensor import Tensor
from ...dtypes import can_cast, promote_types
from ...errors import (
    ArgumentTypeError,
    ArgumentValueError,
    DimensionError,
    DtypeError,
    OperationError,
    ShapeError,
    ShapeValueError,
    UnsupportedError,
)
from ...ir.formula import Formula
from ...shapes import broadcast_shapes
from .._numbers import fitting
from .._rules import asked_for, full_precision, require_tensor
from .._samples import Sample, cases
from .loss import check_pair, get_reduction, has_log_sigmoid, reduce_loss


def _onnx_squared_difference(c: Any) -> Any:
    d = c.emit("Sub", c[0], c[1])
    return c.emit("Mul", d, d)


mse_op = defop(
    "squared_difference",
    "input target",
    formula=Formula(lambda m, x, t: m.square(x - t), "fhi"),
    vjp={
        # twice the difference might be infinite
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
)


def _huber(m: Any, x: Any, t: Any, *, delta: float, scale: float) -> Any:
    d = m.abs(x - t)
    return m.where(d < delta, d * d * (0.5 * scale), (d - 0.5 * delta) * (delta * scale))


def _huber_slope(F: Any, input: Any, target: Any, delta: float, scale: float) -> Any:
    """The derivative in the difference: the difference itself, cut off at delta."""
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


def _paired(name: str, input: Tensor, target: Tensor, kernel: str = "") -> tuple[Tensor, Tensor]:
    """The two, checked, and in one shape where their types differ: neither then counts as a mere
    number.
    """
    check_pair(name, input, target)
    a, b = input._array, target._array
    kind = common_dtype([input, target])
    if kernel and not kind.is_floating_point:
        raise UnsupportedError(
            f"\"{kernel}\" not implemented for '{kind.scalar_type_name}'",
            hint="convert first: x.float()",
        )
    if kernel and "b" in (a.dtype.kind, b.dtype.kind):  # numbers of the other's type
        input, target = (
            F.cast(t, dtype=kind.numpy) if t._array.dtype.kind == "b" else t
            for t in (input, target)
        )
    if a.dtype == b.dtype or a.shape == b.shape:
        return input, target
    shape = broadcast_shapes(a.shape, b.shape)
    return F.expand(input, shape=shape), F.expand(target, shape=shape)


def _held_by(own: dtypes.dtype, kind: dtypes.dtype, name: str = "") -> None:
    """Refuse to write results of type `kind` into a tensor of type `own`, which is called `name` in
    the error.
    """
    if not can_cast(kind, own):
        name = name or own.scalar_type_name
        raise DtypeError(
            f"result type {kind.scalar_type_name} can't be cast to the desired output type {name}"
        )


def _single(input: Tensor, target: Tensor) -> bool:
    """Whether one operation serves: plain floats of one type, and nobody who watches the steps."""
    kind = input._array.dtype
    return not state.slow and (kind in HALVES or kind.kind == "f") and target._array.dtype == kind


def _reduce_weighted(
    loss: Tensor, weight: Tensor | None, reduction: str, title: str = ""
) -> Tensor:
    """Reduce a loss whose elements may have weights; its mean is then divided by the sum of the
    weights.
    """
    if weight is None:
        return reduce_loss(loss, reduction, title)
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
    reduction = get_reduction(size_average, reduce, reduction)
    input, target = _paired("mse_loss", input, target, "mse_cpu")
    loss = mse_op.call(input, target)
    if weight is not None and tuple(weight._array.shape) != tuple(input._array.shape):
        raise ShapeValueError("Weights and input must have the same size.")
    return _reduce_weighted(loss, weight, reduction, "MseLoss")


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
    reduction = get_reduction(size_average, reduce, reduction)
    input, target = _paired("l1_loss", input, target)
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
    reduction = get_reduction(size_average, reduce, reduction)
    input, target = _paired("smooth_l1_loss", input, target, "smooth_l1_cpu")
    if beta < 0:
        raise OperationError("smooth_l1_loss does not support negative values for beta.")
    if beta == 0:
        return l1_loss(input, target, reduction=reduction)
    if _single(input, target):
        return reduce_loss(
            huber_op.call(input, target, delta=beta, scale=1.0 / beta), reduction, "SmoothL1Loss"
        )
    d = (input - target).abs()
    return reduce_loss(
        F.where(d < beta, d * d * (0.5 / beta), d - 0.5 * beta), reduction, "SmoothL1Loss"
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
    own = input.dtype
    _held_by(own, common_dtype([input, target]))
    input, target = _paired("huber_loss", input, target, "huber_cpu")
    if not isinstance(delta, (int, float)):
        raise ArgumentTypeError(
            f"huber_loss(): argument 'delta' (position 4) must be float, not {type(delta).__name__}"
        )
    if delta <= 0:
        raise OperationError("huber_loss does not support non-positive values for delta.")
    if _single(input, target):
        return _reduce_weighted(
            huber_op.call(input, target, delta=delta, scale=1.0), weight, reduction, "HuberLoss"
        )
    d = (input - target).abs()
    near = d < delta
    # no slope of what is not taken: 0 times infinity
    beyond = d if math.isfinite(delta) else F.where(near, 0.0, d)
    loss = F.where(near, d * d * 0.5, (beyond - 0.5 * delta) * delta)
    if own.is_floating_point and loss.dtype is not own:
        loss = F.cast(loss, dtype=own.numpy)  # as PyTorch, whatever the target's type
    return _reduce_weighted(loss, weight, reduction, "HuberLoss")


@public(namespace="nn.functional")
@full_precision
def soft_margin_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Logistic loss: log(1 + exp(-target * input)), targets 1 or -1.

    Args:
        input, target: any shape, the same for both.
        reduction: "mean", "sum" or "none". Default: "mean". Older forms: `size_average`, `reduce`.

    >>> import pellucid as torch
    >>> torch.nn.functional.soft_margin_loss(torch.tensor([2.0, -1.0]), torch.tensor([1.0, -1.0]))
    tensor(0.2201)
    """
    reduction = get_reduction(size_average, reduce, reduction)
    x, t = (
        require_tensor(input, "soft_margin_loss"),
        require_tensor(target, "soft_margin_loss", "target", 2),
    )
    # PyTorch computes in the memory of -input: the target has to fit its shape and type.
    own, away = x.dtype, -x
    shape = broadcast_shapes(x._array.shape, t._array.shape)
    if shape != tuple(x._array.shape):
        raise ShapeError(
            f"output with shape {list(x._array.shape)} doesn't match the broadcast shape {list(shape)}"
        )
    _held_by(own, common_dtype([x, t]))
    _held_by(own, own if own.category > 1 else dtypes.get_default_dtype())
    loss = F.softplus_of(away * (F.cast(t, dtype=own.numpy) if t.dtype is dtypes.bool_ else t))
    loss = loss if loss.dtype is own else F.cast(loss, dtype=own.numpy)
    return reduce_loss(loss, reduction, "SoftMarginLoss")


@public(namespace="nn.functional")
def gaussian_nll_loss(
    input: Tensor,
    target: Tensor,
    var: Tensor | float,
    full: bool = False,
    eps: float = 1e-6,
    reduction: str = "mean",
) -> Tensor:
    """Negative log-likelihood under normal distributions:
    `(log(var) + (input - target)^2 / var) / 2`.

    Args:
        input, target: means and observations, `(N, *)`.
        var: variances in the same shape, or with 1 as last dimension, or without it; or a number.
        full: whether to add the constant log(2 pi) / 2. Default: False.
        eps: lower bound of the variance. Default: 1e-6.
        reduction: "mean", "sum" or "none". Default: "mean".

    Raises:
        ValueError: a negative variance, or one of a shape that does not fit.

    >>> import pellucid as torch
    >>> mean, target, var = torch.zeros(2), torch.tensor([0.0, 1.0]), torch.ones(2)
    >>> torch.nn.functional.gaussian_nll_loss(mean, target, var)
    tensor(0.2500)
    """
    asked_for("size", input)
    if not isinstance(var, Tensor):
        if var < 0:
            raise ArgumentValueError("var has negative entry/entries")
        var = input * 0 + var
    shape, v = tuple(input._array.shape), tuple(var._array.shape)
    if v != shape:
        if shape[:-1] == v:
            var = var.unsqueeze(-1)
        elif not (shape[:-1] == v[:-1] and v[-1:] == (1,)) and not (
            len(v) == len(shape) and all(a in (1, b) for a, b in zip(v, shape, strict=True))
        ):
            raise ArgumentValueError("var is of incorrect size")
    if reduction not in ("none", "mean", "sum"):
        raise ArgumentValueError(reduction + " is not valid")
    tracing.check(_check_variance, var._array)
    if var.dtype.is_integral and isinstance(eps, float):
        _held_by(var.dtype, dtypes.get_default_dtype(), var.dtype.c_name)
    safe = floored_op.call(var, low=eps)
    loss = 0.5 * (safe.log() + (input - target) ** 2 / safe)
    if full:
        loss = loss + 0.5 * math.log(2 * math.pi)
    return reduce_loss(loss, reduction)


# PyTorch puts the limit under the variance outside of the graph: the gradient is that of the
# limited value.
floored_op = defop(
    "floored",
    "input",
    formula=Formula(lambda m, x, *, low: m.maximum(x, low)),
    vjp={"input": lambda g: g},
    jvp="elementwise",
    elementwise=True,
    samples=lambda rng: [Sample((rng.uniform(0.5, 2.0, (3, 4)),), {"low": 0.25})],
)


def _check_variance(a: np.ndarray) -> None:
    if bool((a < 0).any()):
        raise ArgumentValueError("var has negative entry/entries")


@public(namespace="nn.functional")
@full_precision
def poisson_nll_loss(
    input: Tensor,
    target: Tensor,
    log_input: bool = True,
    full: bool = False,
    size_average: bool | None = None,
    eps: float = 1e-8,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Negative log-likelihood of counts under Poisson distributions with (log) rate `input`.

    Args:
        full: add Stirling's approximation of log(target!).

    >>> import pellucid as torch
    >>> log_rate, counts = torch.tensor([0.0, 1.0]), torch.tensor([1.0, 3.0])
    >>> torch.nn.functional.poisson_nll_loss(log_rate, counts)
    tensor(0.3591)
    """
    reduction = get_reduction(size_average, reduce, reduction)
    if reduction not in ("none", "mean", "sum"):
        raise ArgumentValueError(reduction + " is not a valid value for reduction")
    x, t = (
        require_tensor(input, "poisson_nll_loss"),
        require_tensor(target, "poisson_nll_loss", "target", 2),
    )
    loss = x.exp() - t * x if log_input else x - t * (x + eps).log()
    if full:
        stirling = t * t.log() - t + 0.5 * (2 * math.pi * t).log()
        loss = loss + F.where(t > 1, stirling, 0.0)
    return reduce_loss(loss, reduction)


@public(namespace="nn.functional")
@full_precision
def margin_ranking_loss(
    input1: Tensor,
    input2: Tensor,
    target: Tensor,
    margin: float = 0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """max(0, -target * (input1 - input2) + margin): target 1 wants input1 ranked higher, -1 input2.

    Args:
        input1, input2, target: `(N,)` or `()`, the same for all.
        margin: how far apart the inputs should be. Default: 0.
        reduction: "mean", "sum" or "none". Default: "mean". Older forms: `size_average`, `reduce`.

    >>> import pellucid as torch
    >>> first, second, target = torch.tensor([1.0, 1.0]), torch.tensor([0.0, 2.0]), torch.ones(2)
    >>> torch.nn.functional.margin_ranking_loss(first, second, target)
    tensor(0.5000)
    """
    reduction = get_reduction(size_average, reduce, reduction)
    asked_for("dim", input1, input2, target)
    if not input1.ndim == input2.ndim == target.ndim:
        raise OperationError(
            "margin_ranking_loss : All input tensors should have same dimension but got sizes: "
            f"input1: {input1.shape}, input2: {input2.shape}, target: {target.shape} "
        )
    return reduce_loss((-target * (input1 - input2) + float(margin)).clamp(min=0), reduction)


@public(namespace="nn.functional")
@full_precision
def hinge_embedding_loss(
    input: Tensor,
    target: Tensor,
    margin: float = 1.0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """`input` where target is 1, max(0, margin - input) where it is -1.

    Args:
        input: distances, any shape.
        target: 1 or -1, in the same shape.
        margin: distance beyond which dissimilar pairs cost nothing. Default: 1.
        reduction: "mean", "sum" or "none". Default: "mean". Older forms: `size_average`, `reduce`.

    >>> import pellucid as torch
    >>> distances, target = torch.tensor([0.5, 0.2]), torch.tensor([1.0, -1.0])
    >>> torch.nn.functional.hinge_embedding_loss(distances, target)
    tensor(0.6500)
    """
    reduction = get_reduction(size_average, reduce, reduction)
    x, t = (
        require_tensor(input, "hinge_embedding_loss"),
        require_tensor(target, "hinge_embedding_loss", "target", 2),
    )
    # The margin and 0 are numbers of the input's type.
    margin, zero = (fitting(number, x.dtype) for number in (margin, 0))
    far = F.where(t != 1, (margin - x).clamp(min=zero), zero)
    near = F.where(t != -1, x, zero)
    return reduce_loss(far + near, reduction)


@public(namespace="nn.functional")
def multilabel_soft_margin_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Mean over the classes of binary cross entropies with logits.

    >>> import pellucid as torch
    >>> scores, target = torch.tensor([[2.0, -1.0]]), torch.tensor([[1.0, 0.0]])
    >>> torch.nn.functional.multilabel_soft_margin_loss(scores, target)
    tensor(0.2201)
    """
    reduction = get_reduction(size_average, reduce, reduction)
    x: Tensor = require_tensor(input, "log_sigmoid")
    t: Any = target  # a number serves
    has_log_sigmoid(x)
    loss = t * F.softplus_of(-x) + (1 - t) * F.softplus_of(x)
    if weight is not None:
        loss = loss * weight
    if not x.ndim:
        raise DimensionError("Dimension specified as -1 but tensor has no dimensions")
    loss = loss.sum(dim=-1) / x._array.shape[-1]
    return reduce_loss(loss, reduction)


def _check_margin_types(kernel: str, input: Tensor, target: Tensor) -> None:
    if input.dtype not in (dtypes.float32, dtypes.float64):
        raise UnsupportedError(
            f"\"{kernel}\" not implemented for '{input.dtype.scalar_type_name}'",
            hint="convert first: x.float()",
        )
    if target.dtype is not dtypes.int64:
        raise DtypeError(f"expected scalar type Long but found {target.dtype.scalar_type_name}")


def _check_multi(name: str, x: Tensor, t: Tensor, label_rows: bool) -> tuple[int, int]:
    require_tensor(x, name), require_tensor(t, name, "target", 2)
    a, b = x._array.shape, t._array.shape
    if x.ndim > 2 or (x.ndim == 2 and a[1] == 0) or (x.ndim == 1 and a[0] == 0):
        raise OperationError(
            f"Expected non-empty vector or matrix with optional 0-dim batch size, but got: {list(a)}"
        )
    rows = a[0] if x.ndim == 2 else 1
    classes = a[1] if x.ndim == 2 else (a[0] if x.ndim else 1)
    if label_rows:
        if tuple(b) != tuple(a):
            raise OperationError(
                f"inconsistent target size: {list(b)} for input of size: {list(a)}"
            )
    elif t.ndim > 1 or t._array.size != rows:
        raise OperationError(
            f"{name}: target tensor should be 1-D with size equal to the number of input samples (batch size). Expected target size "
            f"[{rows}], but got {list(b)}. Input has shape {list(a)}."
        )
    return rows, classes


def _classes_of(target: np.ndarray, rows: int, classes: int) -> tuple[np.ndarray, ...]:
    """The class of each row as a column and as a vector, and a mask of the other classes."""
    t = target.reshape(rows).astype(np.int64)
    if t.size and (t.min() < 0 or t.max() >= classes):
        raise OperationError("target out of range")
    others = np.ones((rows, classes), bool)
    others[np.arange(rows), t] = False
    return t[:, None].copy(), t, others


def _wanted_classes(target: np.ndarray, rows: int, classes: int) -> tuple[np.ndarray, np.ndarray]:
    """The classes listed in each row (0 after the end of its list), and a mask of the pairs of a
    listed and an unlisted class.
    """
    t = target.reshape(rows, classes)
    if t.size and (t.min() < -1 or t.max() >= classes):
        raise OperationError("target out of range")
    wanted = ~(np.cumsum(t < 0, axis=1) > 0)
    is_target = np.zeros((rows, classes), bool)
    row, column = np.nonzero(wanted)
    is_target[row, t[row, column]] = True
    return np.where(wanted, t, 0).astype(np.int64), wanted[:, :, None] & ~is_target[:, None, :]


@public(namespace="nn.functional")
@full_precision
def multi_margin_loss(
    input: Tensor,
    target: Tensor,
    p: int = 1,
    margin: float = 1.0,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """The sum over the other classes of max(0, margin - x[label] + x[class]) ** p, divided by the
    number of classes.

    Args:
        input: scores, `(N, C)` or `(C,)`.
        target: labels, int64, `(N,)` or `()`.
        p: 1 or 2. Default: 1.
        margin: how far the label's score should exceed the others. Default: 1.
        weight: `(C,)`, one factor for each label. Default: None.
        reduction: "mean", "sum" or "none". Default: "mean". Older forms: `size_average`, `reduce`.

    Raises:
        ValueError: p is neither 1 nor 2.

    >>> import pellucid as torch
    >>> scores = torch.tensor([[0.1, 0.2, 0.9]])
    >>> torch.nn.functional.multi_margin_loss(scores, torch.tensor([2]))
    tensor(0.1667)
    """
    reduction = get_reduction(size_average, reduce, reduction)
    if p not in (1, 2):
        raise ArgumentValueError("only p == 1 and p == 2 supported")
    rows, classes = _check_multi("multi_margin_loss", input, target, False)
    if weight is not None and (weight.ndim != 1 or weight._array.size != classes):
        raise (
            ArgumentValueError("weight must be one-dimensional")
            if weight.ndim != 1
            else OperationError(
                f"inconsistent weight size, expected {classes} but got {list(weight._array.shape)}"
            )
        )
    _check_margin_types("multi_margin_loss_cpu_kernel", input, target)
    x = input.reshape(rows, classes)
    column, t, others = tracing.effect(_classes_of, target._array, rows, classes)
    own = F.take_along(x, wrap(column), dim=1, unique=True)
    slack = F.relu(margin - own + x)  # whose gradient at the margin is 0
    if p == 2:
        slack = slack * slack
    if weight is not None:
        slack = slack * weight.index_select(0, wrap(t)).unsqueeze(1)
    loss = F.where(wrap(others), slack, 0.0).sum(dim=1) / classes
    if input.ndim < 2 and target.ndim == 0 and reduction == "none":
        loss = loss.reshape(())
    return reduce_loss(loss, reduction, "MultiMarginLoss")


@public(namespace="nn.functional")
@full_precision
def multilabel_margin_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Sum over pairs of a wanted and an unwanted class of max(0, 1 - (x[wanted] - x[unwanted])),
    divided by the number of classes.

    Each row of the target lists the wanted classes; -1 ends the list.

    >>> import pellucid as torch
    >>> scores = torch.tensor([[0.1, 0.2, 0.4, 0.8]])
    >>> torch.nn.functional.multilabel_margin_loss(scores, torch.tensor([[3, 0, -1, 1]]))
    tensor(0.8500)
    """
    reduction = get_reduction(size_average, reduce, reduction)
    rows, classes = _check_multi("multilabel_margin_loss", input, target, True)
    _check_margin_types("multilabel_margin_loss_forward_out_frame", input, target)
    x = input.reshape(rows, classes)
    listed, counted = tracing.effect(_wanted_classes, target._array, rows, classes)
    own = F.take_along(x, wrap(listed), dim=1, unique=False)
    slack = F.relu(1 - (own.unsqueeze(2) - x.unsqueeze(1)))
    loss = F.where(wrap(counted), slack, 0.0).sum(dim=(1, 2)) / classes
    if input.ndim < 2 and reduction == "none":
        loss = loss.reshape(())
    return reduce_loss(loss, reduction, "MultilabelMarginLoss")


# ---- distances ----------------------------------------------------------------------------------
@public(namespace="nn.functional torch")
def cosine_similarity(x1: Tensor, x2: Tensor, dim: int = 1, eps: float = 1e-8) -> Tensor:
    """Cosine of the angle between vectors: `x1 . x2 / (max(|x1|, eps) max(|x2|, eps))`.

    Args:
        x1, x2: floating point, shapes that broadcast.
        dim: the dimension of the vectors, which the result does not have. Default: 1.
        eps: lower bound of the norms. Default: 1e-8.

    >>> import pellucid as torch
    >>> torch.cosine_similarity(torch.tensor([[1.0, 0.0]]), torch.tensor([[1.0, 1.0]]))
    tensor([0.7071])
    """
    a, b = (
        require_tensor(x1, "cosine_similarity", "x1"),
        require_tensor(x2, "cosine_similarity", "x2", 2),
    )
    common = promote_types(a.dtype, b.dtype)
    if not common.is_floating_point:
        raise OperationError(
            f"expected common dtype to be floating point, yet common dtype is {common.scalar_type_name}"
        )
    a, b = F.cast(a, dtype=common.numpy), F.cast(b, dtype=common.numpy)
    shape = broadcast_shapes(a._array.shape, b._array.shape)
    # Norms are taken after broadcasting, which matters when `dim` itself is broadcast.
    a, b = F.expand(a, shape=shape), F.expand(b, shape=shape)
    na = _norm(a, dim).clamp_min(eps)
    nb = _norm(b, dim).clamp_min(eps)
    return ((a / na) * (b / nb)).sum(dim=dim)


def _norm(x: Tensor, dim: int) -> Any:
    return x.norm(2, dim=dim, keepdim=True)


@public(namespace="nn.functional torch")
def pairwise_distance(
    x1: Tensor, x2: Tensor, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False
) -> Tensor:
    """The p-norm of `x1 - x2 + eps` over the last dimension.

    Args:
        x1, x2: `(N, D)` or `(D,)`; they broadcast.
        p: of the norm. Default: 2.
        eps: added to the differences. Default: 1e-6.
        keepdim: keep the last dimension with size 1. Default: False.

    >>> import pellucid as torch
    >>> torch.nn.functional.pairwise_distance(torch.tensor([[0.0, 0.0]]), torch.tensor([[3.0, 4.0]]))
    tensor([5.0000])
    """
    require_tensor(x1, "pairwise_distance", "x1"), require_tensor(x2, "pairwise_distance", "x2", 2)
    return titled((x1 - x2 + eps).norm(p, dim=-1, keepdim=keepdim), "NormBackward1")


@public(namespace="nn.functional")
@full_precision
def cosine_embedding_loss(
    input1: Tensor,
    input2: Tensor,
    target: Tensor,
    margin: float = 0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Cosine embedding loss: 1 - cos(x1, x2) where target is 1, max(0, cos(x1, x2) - margin) where
    it is -1.

    Args:
        input1, input2: `(N, D)` or `(D,)`.
        target: 1 or -1, `(N,)` or `()`.
        margin: cosine below which dissimilar pairs cost nothing. Default: 0.
        reduction: "mean", "sum" or "none". Default: "mean". Older forms: `size_average`, `reduce`.

    >>> import pellucid as torch
    >>> a, b = torch.tensor([[1.0, 0.0], [1.0, 0.0]]), torch.tensor([[1.0, 1.0], [0.0, 1.0]])
    >>> torch.nn.functional.cosine_embedding_loss(a, b, torch.tensor([1, -1]))
    tensor(0.1464)
    """
    reduction = get_reduction(size_average, reduce, reduction)
    for k, (name, t) in enumerate(
        (("input1", input1), ("input2", input2), ("target", target)), start=1
    ):
        require_tensor(t, "cosine_embedding_loss", name, k)
    if target.ndim not in (0, 1):
        raise OperationError("0D or 1D target tensor expected, multi-target not supported")
    if (
        target.ndim == 1
        and (input1.ndim != 2 or input2.ndim != 2)
        or target.ndim == 0
        and (input1.ndim != 1 or input2.ndim != 1)
    ):
        sizes = f"{target.ndim}D target tensor expects {target.ndim + 1}D input tensors, but found inputs with sizes "
        raise OperationError(
            sizes + f"{list(input1._array.shape)} and {list(input2._array.shape)}."
        )
    # PyTorch's own epsilon here: added to the squared norms.
    eps = 1e-12
    dot = (input1 * input2).sum(dim=-1)
    cos = (
        dot / (((input1 * input1).sum(dim=-1) + eps) * ((input2 * input2).sum(dim=-1) + eps)).sqrt()
    )
    positive = F.where(target == 1, 1 - cos, 0.0)
    negative = F.where(target == -1, (cos - margin).clamp(min=0), 0.0)
    return reduce_loss(positive + negative, reduction)


@public(namespace="nn.functional")
@full_precision
def triplet_margin_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    margin: float = 1.0,
    p: float = 2,
    eps: float = 1e-6,
    swap: bool = False,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Triplet loss: max(0, d(anchor, positive) - d(anchor, negative) + margin) with p-norm
    distances.

    Args:
        swap: use the smaller of d(anchor, negative) and d(positive, negative). Source: Balntas et
            al., 2016.

    >>> import pellucid as torch
    >>> anchor, near, far = torch.tensor([[0.0]]), torch.tensor([[0.5]]), torch.tensor([[1.0]])
    >>> torch.nn.functional.triplet_margin_loss(anchor, near, far)
    tensor(0.5000)
    """
    reduction = get_reduction(size_average, reduce, reduction)
    for k, (name, t) in enumerate(
        (("anchor", anchor), ("positive", positive), ("negative", negative)), start=1
    ):
        require_tensor(t, "triplet_margin_loss", name, k)
    if margin <= 0:
        raise ArgumentValueError(f"margin must be greater than 0, got {margin}")
    if not anchor.ndim == positive.ndim == negative.ndim:
        raise OperationError(
            f"The anchor, positive, and negative tensors are expected to have the same number of dimensions, but got: anchor "
            f"{anchor.ndim}D, positive {positive.ndim}D, and negative {negative.ndim}D inputs"
        )
    return _triplet(
        anchor,
        positive,
        negative,
        lambda a, b: pairwise_distance(a, b, p, eps),
        margin,
        swap,
        reduction,
    )


def _triplet(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    distance: Callable[[Tensor, Tensor], Tensor],
    margin: float,
    swap: bool,
    reduction: str,
) -> Tensor:
    near, far = distance(anchor, positive), distance(anchor, negative)
    if swap:
        far = far.minimum(distance(positive, negative))
    return reduce_loss((near + margin - far).clamp(min=0), reduction)


@public(namespace="nn.functional")
def triplet_margin_with_distance_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    *,
    distance_function: Callable[[Tensor, Tensor], Tensor] | None = None,
    margin: float = 1.0,
    swap: bool = False,
    reduction: str = "mean",
) -> Tensor:
    """`triplet_margin_loss` with any distance function.

    >>> import pellucid as torch
    >>> anchor, near, far = torch.tensor([[0.0]]), torch.tensor([[0.5]]), torch.tensor([[1.0]])
    >>> city = lambda x, y: (x - y).abs().sum(dim=1)
    >>> torch.nn.functional.triplet_margin_with_distance_loss(
    ...     anchor, near, far, distance_function=city
    ... )
    tensor(0.5000)
    """
    if reduction not in ("mean", "sum", "none"):
        raise ArgumentValueError(f"{reduction} is not a valid value for reduction")
    if margin <= 0:
        raise ArgumentValueError(f"margin must be greater than 0, got {margin}")
    if not anchor.ndim == positive.ndim == negative.ndim:
        raise OperationError(
            f"The anchor, positive, and negative tensors are expected to have the same number of dimensions, but got: anchor "
            f"{anchor.ndim}D, positive {positive.ndim}D, and negative {negative.ndim}D inputs"
        )
    return _triplet(
        anchor, positive, negative, distance_function or pairwise_distance, margin, swap, reduction
    )


@public(namespace="nn.functional")
def normalize(
    input: Tensor, p: float = 2.0, dim: int = 1, eps: float = 1e-12, out: Tensor | None = None
) -> Tensor:
    """Vectors of norm 1: `input / max(norm(input), eps)`.

    Args:
        input: floating point or complex, any shape.
        p: of the norm. Default: 2.
        dim: the dimension of the vectors. Default: 1.
        eps: lower bound of the norm. Default: 1e-12.
        out: where the result is written.

    >>> import pellucid as torch
    >>> torch.nn.functional.normalize(torch.tensor([[3.0, 4.0]]))
    tensor([[0.6000, 0.8000]])
    """
    x = require_tensor(input, "normalize")
    result = x / x.norm(p, dim, keepdim=True).clamp_min(eps).expand_as(x)
    if out is None:
        return result
    return out.copy_(result)
