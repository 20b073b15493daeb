"""The classes that all losses are made of."""

from __future__ import annotations

from typing import Any

from ...core.tensor import Tensor
from ...errors import OperationError
from ...ops.nn.loss._reduction import flagged
from .module import Module


class _Loss(Module):
    reduction: str

    def __init__(
        self, size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean"
    ) -> None:
        super().__init__()
        for option in (size_average, reduce):
            if isinstance(option, Tensor) and option.numel() > 1:
                name = type(self).__name__
                raise OperationError(
                    "Boolean value of Tensor with more than one value is ambiguous",
                    op=name,
                    hint=f"make the loss first, then call it: criterion = nn.{name}(); criterion(input, target)",
                )
        self.reduction = flagged(size_average, reduce, reduction)


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
