"""The classes that all losses are made of."""

from __future__ import annotations

from typing import Any

from ...core.tensor import Tensor
from ...errors import warn
from .module import Module


def _old_reduction(size_average: bool | None, reduce: bool | None, reduction: str) -> str:
    """`reduction`, or what the two older arguments mean."""
    if size_average is None and reduce is None:
        return reduction
    average = True if size_average is None else size_average
    each = True if reduce is None else reduce
    result = "none" if not each else "mean" if average else "sum"
    warn(
        f"size_average and reduce args will be deprecated, please use reduction='{result}' instead.",
    )
    return result


class _Loss(Module):
    reduction: str

    def __init__(
        self, size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean"
    ) -> None:
        super().__init__()
        self.reduction = _old_reduction(size_average, reduce, reduction)


class _WeightedLoss(_Loss):
    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.register_buffer("weight", weight)
        self.weight: Any
