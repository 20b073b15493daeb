"""Reduction of losses: mean, sum or none, and PyTorch's two old flags."""

from __future__ import annotations

import sys
import warnings
from types import CodeType
from typing import Any

from ....core.tape import titled
from ....core.tensor import Tensor
from ....errors import ArgumentValueError, line_of_program, warn

REDUCTIONS = ("none", "mean", "sum")


def numbered(number: int) -> str:
    """The word for PyTorch's number of a reduction, which leaves the values as they are for every
    other number.
    """
    return REDUCTIONS[number if 0 <= number < len(REDUCTIONS) else 0]


def known(reduction: str) -> str:
    """A word for a reduction: "none", "mean" or "sum".

    Raises:
        ValueError: another word.
    """
    if reduction not in REDUCTIONS:
        raise ArgumentValueError(f"{reduction} is not a valid value for reduction")
    return reduction


def checked(reduction: str) -> str:
    """`known`, of most losses: "elementwise_mean" is an old word for "mean"."""
    if reduction == "elementwise_mean":
        warn("reduction='elementwise_mean' is deprecated. Please use reduction='mean' instead.")
        return "mean"
    return known(reduction)


def of_flags(
    size_average: bool | None, reduce: bool | None, warns: bool = True, together: bool = False
) -> str:
    """The reduction that the two old flags stand for; None is True. `together`: of the losses whose
    warning stands at one line in PyTorch.
    """
    if reduce is not None and not reduce:
        word = "none"
    else:
        word = "mean" if size_average is None or size_average else "sum"
    if warns:
        _warn_once_a_place(
            f"size_average and reduce args will be deprecated, please use reduction='{word}' instead.",
            together,
        )
    return word


_given: dict[tuple[CodeType | bool, str], dict[Any, Any]] = {}


def _warn_once_a_place(text: str, together: bool) -> None:
    """Warn at the program's line, as often as PyTorch does. PyTorch's warning is raised at one line
    of each loss, so by default it is shown once for all lines that call that loss.
    """
    frame = sys._getframe(2)
    while frame.f_code.co_filename == __file__ and frame.f_back is not None:
        frame = frame.f_back
    place = together or frame.f_code, text
    user = line_of_program(frame)
    known = text, UserWarning, user.f_lineno
    # Python's record of warnings shown, with the line replaced by the current one
    record = {k if k == "version" else known: v for k, v in _given.get(place, {}).items()}
    name = user.f_globals.get("__name__", "<string>")
    warnings.warn_explicit(text, UserWarning, user.f_code.co_filename, user.f_lineno, name, record)
    _given[place] = record


def flagged(
    size_average: bool | None, reduce: bool | None, reduction: str, together: bool = False
) -> str:
    """The reduction that the two old flags stand for, when they are given; else the word."""
    if size_average is None and reduce is None:
        return reduction
    return of_flags(size_average, reduce, True, together)


def get_reduction(
    size_average: bool | None, reduce: bool | None, reduction: str, together: bool = False
) -> str:
    """The reduction that a loss was asked for, as a checked word."""
    if size_average is reduce is None and reduction in ("mean", "sum", "none"):
        return reduction
    return checked(flagged(size_average, reduce, reduction, together))


def added(x: Tensor, number: float) -> Tensor:
    """`x + number` as PyTorch's own functions have it: the number is no argument of the node."""
    return titled(x + number, "AddBackward1", of=(x,))


def clamped(x: Tensor) -> Tensor:
    """`x` where it is above 0, as PyTorch's own functions have it."""
    return titled(x.clamp(min=0), "ClampMinBackward0")


def reduce_loss(
    loss: Tensor, reduction: str, title: str = "", of: tuple[Tensor, ...] = (), **shown: Any
) -> Tensor:
    """Apply "mean", "sum" or "none"; with a title, the result's node is called so and shows edges
    to the tensors `of`, and what is `shown`.
    """
    if known(reduction) != "none":
        loss = loss.mean() if reduction == "mean" else loss.sum()
    if not title:
        return loss
    return titled(loss, title, of=of, reduction=REDUCTIONS.index(reduction), **shown)
