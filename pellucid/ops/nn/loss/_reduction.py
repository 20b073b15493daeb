"""How a loss is reduced: mean, sum or none, and PyTorch's two old flags."""

from __future__ import annotations

from ....core.tape import titled
from ....core.tensor import Tensor
from ....errors import ArgumentValueError, warn


def checked(reduction: str) -> str:
    """A word for a reduction: "none", "mean" or "sum"; "elementwise_mean" is an old one for "mean".

    Raises:
        ValueError: another word.
    """
    if reduction == "elementwise_mean":
        warn("reduction='elementwise_mean' is deprecated. Please use reduction='mean' instead.")
        return "mean"
    if reduction not in ("none", "mean", "sum"):
        raise ArgumentValueError(f"{reduction} is not a valid value for reduction")
    return reduction


def get_reduction(size_average: bool | None, reduce: bool | None, reduction: str) -> str:
    """The reduction that a loss was asked for, as a checked word."""
    return checked(flagged(size_average, reduce, reduction))


def flagged(size_average: bool | None, reduce: bool | None, reduction: str) -> str:
    """The reduction that PyTorch's two old flags stand for, when they are given."""
    if size_average is None and reduce is None:
        return reduction
    warn(
        "size_average and reduce args will be deprecated, please use reduction='{}' instead.".format(
            name := "none"
            if reduce is not None and not reduce
            else "mean"
            if size_average is None or size_average
            else "sum"
        ),
        UserWarning,
    )
    return name


def reduce_loss(loss: Tensor, reduction: str, title: str = "") -> Tensor:
    """Apply "mean", "sum" or "none"; a title is what the result's node is called."""
    if reduction == "mean":
        loss = loss.mean()
    elif reduction == "sum":
        loss = loss.sum()
    elif reduction != "none":
        raise ArgumentValueError(f"{reduction} is not a valid value for reduction")
    return titled(loss, title) if title else loss
