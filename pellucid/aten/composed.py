"""Operators that PyTorch composes from others, if the public function has other arguments."""

from __future__ import annotations

from typing import Any

from ..core.tensor import Tensor
from .computed import T


def numpy_T(self: Tensor) -> Tensor:  # noqa: N802 (the operator's name)
    """All dimensions in reverse order."""
    return self.permute(*range(self.ndim - 1, -1, -1))


def mT(self: Tensor) -> Tensor:  # noqa: N802 (the operator's name)
    """The last two dimensions swapped."""
    return self.mT


def mH(self: Tensor) -> Tensor:  # noqa: N802 (the operator's name)
    """The last two dimensions swapped, and conjugated."""
    return self.mH


def einsum(equation: str, operands: list[Tensor], *, path: list[int] | None = None) -> Tensor:
    """Sums of products over letters."""
    made: Tensor = T.einsum(equation, *operands)
    return made


def tensordot(self: Tensor, other: Tensor, dims_self: list[int], dims_other: list[int]) -> Tensor:
    """Sums of products over dimensions."""
    made: Tensor = T.tensordot(self, other, dims=(dims_self, dims_other))
    return made


def broadcast_tensors(tensors: list[Tensor]) -> list[Tensor]:
    """Tensors of one shape."""
    return list(T.broadcast_tensors(*tensors))


def meshgrid__default(tensors: list[Tensor]) -> list[Tensor]:
    """Coordinates on a grid."""
    return list(T.meshgrid(*tensors, indexing="ij"))


def meshgrid__indexing(tensors: list[Tensor], *, indexing: str) -> list[Tensor]:
    """Coordinates on a grid."""
    return list(T.meshgrid(*tensors, indexing=indexing))


def _assert_scalar(self: Any, assert_msg: str) -> None:
    """Raise RuntimeError unless a number is true."""
    if not self:
        raise RuntimeError(assert_msg)


def _assert_async__msg(self: Tensor, assert_msg: str) -> None:
    """Raise RuntimeError unless the element of a tensor is true."""
    if not bool(self):
        raise RuntimeError(assert_msg)


def _assert_tensor_metadata(
    a: Tensor,
    size: Any = None,
    stride: Any = None,
    dtype: Any = None,
    *,
    device: Any = None,
    layout: Any = None,
) -> None:
    """Raise RuntimeError unless a tensor is as described."""
    for what, got, want in (
        ("sizes", list(a.shape), size),
        ("strides", list(a.stride()), stride),
        ("dtype", a.dtype, dtype),
        ("device", a.device, device),
        ("layout", a.layout, layout),
    ):
        if want is not None and got != want:
            raise RuntimeError(f"Tensor {what} mismatch! Expected: {want}, Got: {got}")
