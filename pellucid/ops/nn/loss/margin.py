"""Margin losses: for signs, rankings, and one or several classes."""

from __future__ import annotations

from typing import Any

import numpy as np

from .... import dtypes
from ....core import tracing
from ....core.bind import common_dtype, wrap
from ....core.primitive import TENSORS as F
from ....core.public import public
from ....core.tape import titled
from ....core.tensor import Tensor
from ....core.transforms.whole import one_node
from ....errors import (
    ArgumentValueError,
    DimensionError,
    DtypeError,
    OperationError,
    ShapeError,
    UnsupportedError,
)
from ....shapes import broadcast_shapes
from ..._numbers import fitting
from ..._rules import asked_for, full_precision, require_tensor
from ._checks import has_log_sigmoid, held_by
from ._reduction import added, clamped, flagged, get_reduction, reduce_loss


@public(namespace="nn.functional")
@full_precision
@one_node("SoftMarginLoss", "input", "input target")
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
    reduction = get_reduction(size_average, reduce, reduction, True)
    x, t = (
        require_tensor(input, "soft_margin_loss"),
        require_tensor(target, "soft_margin_loss", "target", 2),
    )
    # PyTorch computes in the memory of -input, so the target must fit its shape and dtype.
    own, away = x.dtype, -x
    shape = broadcast_shapes(x._array.shape, t._array.shape)
    if shape != tuple(x._array.shape):
        raise ShapeError(
            f"output with shape {list(x._array.shape)} doesn't match the broadcast shape {list(shape)}"
        )
    held_by(own, common_dtype([x, t]))
    held_by(own, own if own.category > 1 else dtypes.get_default_dtype())
    loss = F.softplus_of(away * (F.cast(t, dtype=own.numpy) if t.dtype is dtypes.bool_ else t))
    loss = loss if loss.dtype is own else F.cast(loss, dtype=own.numpy)
    return reduce_loss(loss, reduction, "SoftMarginLoss", (input,), target=target)


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
    reduction = get_reduction(size_average, reduce, reduction, True)
    asked_for("dim", input1, input2, target)
    if not input1.ndim == input2.ndim == target.ndim:
        raise OperationError(
            "margin_ranking_loss : All input tensors should have same dimension but got sizes: "
            f"input1: {input1.shape}, input2: {input2.shape}, target: {target.shape} "
        )
    return ranked(input1, input2, target, margin, reduction)


def ranked(input1: Tensor, input2: Tensor, target: Tensor, margin: float, reduction: str) -> Tensor:
    """As `margin_ranking_loss`, of tensors of any dimensions."""
    for position, (name, t) in enumerate(
        {"input1": input1, "input2": input2, "target": target}.items(), 1
    ):
        require_tensor(t, "margin_ranking_loss", name, position)
    return reduce_loss(clamped(added(-target * (input1 - input2), float(margin))), reduction)


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
    reduction = get_reduction(size_average, reduce, reduction, True)
    x, t = (
        require_tensor(input, "hinge_embedding_loss"),
        require_tensor(target, "hinge_embedding_loss", "target", 2),
    )
    # Convert the margin and 0 to the input's dtype.
    margin, zero = (fitting(number, x.dtype) for number in (margin, 0))
    away = wrap(tracing.constant(np.asarray(margin, x._array.dtype))) - x
    far = F.where(t != 1, titled(away.clamp(min=zero), "ClampMin"), zero)
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
    reduction = flagged(size_average, reduce, reduction)
    x: Tensor = require_tensor(input, "log_sigmoid")
    t: Any = target  # may be a number
    has_log_sigmoid(x)
    loss = -(t * F.log_sigmoid(x) + (1 - t) * F.log_sigmoid(-x))
    if weight is not None:
        loss = loss * weight
    if not x.ndim:
        raise DimensionError("Dimension specified as -1 but tensor has no dimensions")
    # count the dimension from the front: a target of more dimensions does not move the classes
    loss = loss.sum(dim=x.ndim - 1) / x._array.shape[-1]
    if reduction not in ("none", "mean", "sum"):
        raise ArgumentValueError(reduction + " is not valid")
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
    """Return the class of each row as a column and as a vector, and a mask of the other classes."""
    t = target.reshape(rows).astype(np.int64)
    if t.size and (t.min() < 0 or t.max() >= classes):
        raise OperationError("target out of range")
    others = np.ones((rows, classes), bool)
    others[np.arange(rows), t] = False
    return t[:, None].copy(), t, others


def _wanted_classes(target: np.ndarray, rows: int, classes: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the classes listed in each row (0 after the end of its list), and a mask of the pairs
    of a listed and an unlisted class.
    """
    t = target.reshape(rows, classes)
    if t.size and (t.min() < -1 or t.max() >= classes):
        raise OperationError("argument #2 'target' is out of range")
    wanted = ~(np.cumsum(t < 0, axis=1) > 0)
    is_target = np.zeros((rows, classes), bool)
    row, column = np.nonzero(wanted)
    is_target[row, t[row, column]] = True
    return np.where(wanted, t, 0).astype(np.int64), wanted[:, :, None] & ~is_target[:, None, :]


@public(namespace="nn.functional")
@full_precision
@one_node("MultiMarginLoss", "input", "input target weight")
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
    reduction = get_reduction(size_average, reduce, reduction, True)
    if p not in (1, 2):
        raise ArgumentValueError("only p == 1 and p == 2 supported")
    rows, classes = _check_multi("multi_margin_loss", input, target, False)
    if weight is not None and (weight.dim() != 1 or weight._array.size != classes):
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
    slack = F.relu(margin - own + x)  # its gradient at the margin is 0
    if p == 2:
        slack = slack * slack
    if weight is not None:
        slack = slack * weight.index_select(0, wrap(t)).unsqueeze(1)
    loss = F.where(wrap(others), slack, 0.0).sum(dim=1) / classes
    if input.ndim < 2 and target.ndim == 0 and reduction == "none":
        loss = loss.reshape(())
    return reduce_loss(
        loss,
        reduction,
        "MultiMarginLoss",
        (input,),
        target=target,
        weight=weight,
        margin=margin,
        p=p,
    )


def _marked(input: Tensor, target: Tensor, **_: Any) -> dict[str, Any]:
    """Return the listed classes as a mask of numbers, which PyTorch's node saves."""
    t = target._array
    listed = t.reshape(-1, t.shape[-1]) if t.ndim else t.reshape(1, 1)
    marked = np.zeros(listed.shape, input._array.dtype)
    row, column = np.nonzero(np.cumsum(listed < 0, axis=1) == 0)
    marked[row, listed[row, column]] = 1
    return {"is_target": marked.reshape(t.shape)}


@public(namespace="nn.functional")
@full_precision
@one_node("MultilabelMarginLoss", "input", "input target is_target", beside=_marked)
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
    reduction = get_reduction(size_average, reduce, reduction, True)
    rows, classes = _check_multi("multilabel_margin_loss", input, target, True)
    _check_margin_types("multilabel_margin_loss_forward_out_frame", input, target)
    x = input.reshape(rows, classes)
    listed, counted = tracing.effect(_wanted_classes, target._array, rows, classes)
    own = F.take_along(x, wrap(listed), dim=1, unique=False)
    slack = F.relu(1 - (own.unsqueeze(2) - x.unsqueeze(1)))
    loss = F.where(wrap(counted), slack, 0.0).sum(dim=(1, 2)) / classes
    if input.ndim < 2 and reduction == "none":
        loss = loss.reshape(())
    return reduce_loss(loss, reduction, "MultilabelMarginLoss", (input,), target=target)
