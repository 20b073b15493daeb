"""Layers that flatten and unflatten dimensions."""

from __future__ import annotations

from typing import Any

from ...core.tensor import Tensor
from ...errors import ArgumentTypeError
from .module import Module

__all__ = ["Flatten", "Unflatten"]


class Flatten(Module):
    """Flattens the dimensions `start_dim` to `end_dim` into one; by default all but the batch
    dimension.

    Args:
        start_dim: the first dimension of those that become one. Default: 1.
        end_dim: the last one, included. Default: -1.

    Shape:
        input: any shape; the dimensions between become one of the size of their product.

    Example:
        >>> import pellucid as torch
        >>> torch.nn.Flatten()(torch.zeros(2, 3, 4)).shape
        torch.Size([2, 12])
    """

    def __init__(self, start_dim: int = 1, end_dim: int = -1) -> None:
        super().__init__()
        self.start_dim = start_dim
        self.end_dim = end_dim

    def forward(self, input: Tensor) -> Tensor:
        return input.flatten(self.start_dim, self.end_dim)

    def extra_repr(self) -> str:
        return f"start_dim={self.start_dim}, end_dim={self.end_dim}"


class Unflatten(Module):
    """Splits one dimension into several; the inverse of Flatten.

    Args:
        dim: the dimension.
        unflattened_size: its new sizes, a tuple or list; one of them may be -1, which stands for
            what is left.

    Shape:
        input: any shape in which the new sizes multiply to the size of `dim`.

    Raises:
        TypeError: sizes that are not integers; a name of a dimension.
        RuntimeError: sizes that do not multiply to the size of `dim`.

    Example:
        >>> import pellucid as torch
        >>> torch.nn.Unflatten(1, (3, 4))(torch.zeros(2, 12)).shape
        torch.Size([2, 3, 4])
    """

    dim: Any

    def __init__(self, dim: int | str, unflattened_size: Any) -> None:
        super().__init__()
        if isinstance(dim, (int, str)):
            if not isinstance(unflattened_size, (tuple, list)):
                raise ArgumentTypeError(
                    f"unflattened_size must be a tuple of ints, but found type {type(unflattened_size).__name__}"
                )
            for k, size in enumerate(unflattened_size):
                if not isinstance(size, int):
                    raise ArgumentTypeError(
                        f"unflattened_size must be tuple of ints, but found element of type {type(size).__name__} at pos {k}"
                    )
        else:
            raise ArgumentTypeError("invalid argument type for dim parameter")
        self.dim = dim
        self.unflattened_size = unflattened_size

    def forward(self, input: Tensor) -> Tensor:
        return input.unflatten(self.dim, self.unflattened_size)

    def extra_repr(self) -> str:
        return f"dim={self.dim}, unflattened_size={self.unflattened_size}"
