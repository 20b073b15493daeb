"""Binary cross entropy of probabilities and of logits."""

from __future__ import annotations

from typing import Any

import numpy as np

from ....core import tracing
from ....core.primitive import TENSORS as F
from ....core.primitive import defop
from ....core.public import public
from ....core.tensor import Tensor
from ....dtypes import promote_types
from ....errors import DtypeError, OperationError, ShapeError, ShapeValueError
from ....ir.formula import Formula
from ....shapes import broadcast_shapes
from ..._rules import asked_for, full_precision, require_tensor
from ..._samples import Sample
from ._checks import has_log_sigmoid, no_kernel
from ._reduction import get_reduction, reduce_loss


def _bce(m: Any, x: Any, t: Any) -> Any:
    # PyTorch clamps the logarithms at -100, so that the loss stays finite.
    return (t - 1) * m.maximum(m.log1p(-x), -100) - t * m.maximum(m.log(x), -100)


def _bce_grad(F: Any, g: Any, input: Any, target: Any) -> Any:
    return g * (input - target) / F.clamp_min_number(input * (1 - input), low=1e-12)


def _onnx_bce(c: Any) -> Any:
    logs = [
        c.emit("Max", c.emit("Log", x), c.number(-100))
        for x in (c[0], c.emit("Sub", c.number(1), c[0]))
    ]
    rest = c.emit("Sub", c.number(1), c[1])
    return c.emit("Neg", c.emit("Add", c.emit("Mul", c[1], logs[0]), c.emit("Mul", rest, logs[1])))


bce_op = defop(
    "binary_cross_entropy",
    "input target",
    formula=Formula(_bce),
    vjp={
        "input": _bce_grad,
        "target": lambda F, g, input: (
            g
            * (
                F.clamp_min_number(F.log1p(-input), low=-100.0)
                - F.clamp_min_number(F.log(input), low=-100.0)
            )
        ),
    },
    elementwise=True,
    lies="input",
    onnx=_onnx_bce,
    samples=lambda rng: [Sample((rng.uniform(0.1, 0.9, (2, 3)), rng.random((2, 3))))],
)


def _weighted(loss: Tensor, weight: Tensor | None) -> Tensor:
    """Return the loss times the weights, in the dtype of the loss."""
    if weight is None:
        return loss
    shape = broadcast_shapes(loss._array.shape, weight._array.shape)
    if shape != loss._array.shape:
        raise ShapeError(
            f"output with shape {list(loss._array.shape)} doesn't match the broadcast shape {list(shape)}"
        )
    made, kind = loss * weight, loss._array.dtype
    return made if made._array.dtype == kind else F.cast(made, dtype=kind)


@public(namespace="nn.functional")
@full_precision
def binary_cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Cross entropy of probabilities with targets:
    `-(target * log(input) + (1 - target) * log(1 - input))`.

    The logarithms are at least -100. For raw scores use `binary_cross_entropy_with_logits`, which
    is more precise.

    Args:
        input: probabilities in [0, 1], any shape.
        target: numbers in [0, 1] in the same shape, floating point.
        weight: factors that broadcast with the input. Default: None.
        reduction: "mean", "sum" or "none" (one loss for each element). Default: "mean". Older
            forms: `size_average`, `reduce`.

    Raises:
        ValueError: the shapes differ. RuntimeError: an input outside [0, 1].

    >>> import pellucid as torch
    >>> torch.nn.functional.binary_cross_entropy(torch.tensor([0.5, 0.5]), torch.tensor([1.0, 0.0]))
    tensor(0.6931)
    """
    reduction = get_reduction(size_average, reduce, reduction, True)
    asked_for("size", target, input)
    if weight is not None:
        asked_for("size", weight)
    x, t = (
        require_tensor(input, "binary_cross_entropy")._array,
        require_tensor(target, "binary_cross_entropy", "target", 2)._array,
    )
    if x.shape != t.shape:
        raise ShapeValueError(
            f"Using a target size (torch.Size({list(t.shape)})) that is different to the input size (torch.Size({list(x.shape)})) is "
            "deprecated. Please ensure they have the same size.",
            op="binary_cross_entropy",
            hint=shape_hint(x.shape, t.shape),
        )
    if x.dtype != t.dtype:
        raise OperationError(
            f"Found dtype {target.dtype.scalar_type_name} but expected {input.dtype.scalar_type_name}",
            op="binary_cross_entropy",
        )
    if not input.dtype.is_floating_point:
        raise no_kernel("binary_cross_entropy", input.dtype)
    if x.size and type(x) is np.ndarray:
        tracing.check(_check_probabilities, x)
    if t.size and type(t) is np.ndarray:
        tracing.check(_check_targets, t)
    return reduce_loss(
        _weighted(bce_op.call(input, target), weight),
        reduction,
        "BinaryCrossEntropy",
        (input, target),
        weight=weight,
    )


def _check_targets(t: np.ndarray) -> None:
    if not bool(((t >= 0) & (t <= 1)).all()):
        raise OperationError(
            "all elements of target should be between 0 and 1",
            op="binary_cross_entropy",
            hint="targets are 0 and 1, or probabilities between them",
        )


def _check_probabilities(x: np.ndarray) -> None:
    if not bool(((x >= 0) & (x <= 1)).all()):
        raise OperationError(
            "all elements of input should be between 0 and 1",
            op="binary_cross_entropy",
            hint="the input must be probabilities: apply sigmoid, or use binary_cross_entropy_with_logits on raw scores",
        )


def _bce_logits(m: Any, x: Any, t: Any) -> Any:
    # infinite logits with the right label have loss 0
    return (1 - t) * x + (m.maximum(-x, 0) + m.log1p(m.exp(-m.abs(x))))


bce_logits_op = defop(
    "binary_cross_entropy_with_logits",
    "input target",
    formula=Formula(_bce_logits),
    vjp={
        "input": lambda F, g, input, target: g * (F.sigmoid(input) - target),
        "target": lambda g, input: -g * input,
    },
    elementwise=True,
    lies="target",
    autocast="float32",
    traits="saturates",
    onnx=lambda c: c.emit("Sub", c.emit("Softplus", c[0]), c.emit("Mul", c[0], c[1])),
    samples=lambda rng: [Sample((rng.standard_normal((2, 3)), rng.random((2, 3))))],
)


@public(namespace="nn.functional")
@full_precision
def binary_cross_entropy_with_logits(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    pos_weight: Tensor | None = None,
) -> Tensor:
    """Binary cross entropy of raw scores: sigmoid and logarithm in one, without overflow.

    Args:
        input: scores before the sigmoid, any shape.
        target: numbers in [0, 1] in the same shape, floating point.
        weight: factors that broadcast with the input. Default: None.
        reduction: "mean", "sum" or "none" (one loss for each element). Default: "mean". Older
            forms: `size_average`, `reduce`.
        pos_weight: weight of the positive examples, broadcast with the target. Default: None.

    Raises:
        ValueError: target and input have different shapes.

    >>> import pellucid as torch
    >>> torch.nn.functional.binary_cross_entropy_with_logits(torch.zeros(3), torch.ones(3))
    tensor(0.6931)
    """
    reduction = get_reduction(size_average, reduce, reduction, True)
    name = "binary_cross_entropy_with_logits"
    asked_for("size", target, input)
    x, t = require_tensor(input, name)._array, require_tensor(target, name, "target", 2)._array
    if x.shape != t.shape:
        raise ShapeValueError(
            f"Target size (torch.Size({list(t.shape)})) must be the same as input size (torch.Size({list(x.shape)}))",
            op=name,
            hint=shape_hint(x.shape, t.shape),
        )
    has_log_sigmoid(input)
    if t.dtype.kind == "b":
        raise DtypeError(
            "Subtraction, the `-` operator, with two bool tensors is not supported. Use the `^` or `logical_xor()` operator instead.",
            op=name,
            hint="the target has the dtype of the input: use target.float()",
        )
    if t.dtype.kind in "iu":
        raise DtypeError(
            f"result type {input.dtype.scalar_type_name} can't be cast to the desired output type {target.dtype.scalar_type_name}",
            op=name,
            hint="the target has the dtype of the input: use target.float()",
        )
    # Compute in the wider dtype of the two; as in PyTorch, the loss has the target's dtype.
    if t.dtype != x.dtype:
        common = promote_types(input.dtype, target.dtype).numpy
        input, target = (
            v if v._array.dtype == common else F.cast(v, dtype=common) for v in (input, target)
        )
    if pos_weight is None:
        loss = bce_logits_op.call(input, target)
    else:
        log_weight = (pos_weight - 1) * target + 1
        loss = (1 - target) * input + log_weight * F.softplus_of(-input)
    loss = _weighted(loss, weight)
    if loss._array.dtype != t.dtype:
        loss = F.cast(loss, dtype=t.dtype)
    return reduce_loss(
        loss,
        reduction,
        "BinaryCrossEntropyWithLogits",
        (input, target),
        weight=weight,
        pos_weight=pos_weight,
    )


def shape_hint(a: tuple[int, ...], b: tuple[int, ...]) -> str | None:
    """The repair for the usual mismatch, a missing or extra dimension of size 1."""
    if (*a, 1) == b:
        return "the target has one dimension of size 1 too many: target.squeeze(-1)"
    if a == (*b, 1):
        return "the input has one dimension of size 1 too many: input.squeeze(-1), or target.unsqueeze(-1)"
    return None
