"""`torch.nn.quantized`: modules for arithmetic that quantisation would observe; they compute in floating point."""

from __future__ import annotations

from typing import Any

from ...core.public import FUNCTIONS
from ...core.tensor import Tensor
from ..modules.module import Module

__all__ = ["FloatFunctional"]


class FloatFunctional(Module):
    """Arithmetic as methods: `add`, `mul`, `cat` and others, each of them the operation itself.

    >>> import pellucid as torch
    >>> torch.nn.quantized.FloatFunctional().add_relu(torch.tensor([1.0]), torch.tensor([-3.0]))
    tensor([0.])
    """

    def forward(self, x: Any) -> Any:
        raise RuntimeError("FloatFunctional is not intended to use the 'forward'. Please use the underlying operation")

    def add(self, x: Tensor, y: Tensor) -> Tensor:
        """x + y."""
        return x + y

    def add_scalar(self, x: Tensor, y: float) -> Tensor:
        """x + y."""
        return x + y

    def mul(self, x: Tensor, y: Tensor) -> Tensor:
        """x * y."""
        return x * y

    def mul_scalar(self, x: Tensor, y: float) -> Tensor:
        """x * y."""
        return x * y

    def cat(self, x: Any, dim: int = 0) -> Tensor:
        """The tensors one after the other along a dimension."""
        return FUNCTIONS["torch"]["cat"](x, dim)

    def add_relu(self, x: Tensor, y: Tensor) -> Tensor:
        """relu(x + y)."""
        return FUNCTIONS["torch"]["relu"](x + y)

    def matmul(self, x: Tensor, y: Tensor) -> Tensor:
        """x @ y."""
        return x @ y
