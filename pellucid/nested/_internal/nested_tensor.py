"""`torch.nested._internal.nested_tensor`: the class of jagged tensors, and what makes them."""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping
from typing import Any

from ...core.tensor import Tensor
from .. import nested_tensor_from_jagged
from .._jagged import NestedTensor as NestedTensor
from .._ragged import NestedInt, symbol

__all__ = [
    "NestedTensor",
    "buffer_from_jagged",
    "get_tensor_symint",
    "nested_from_padded",
    "nested_view_from_values_offsets",
    "nested_view_from_values_offsets_lengths",
]


def get_tensor_symint(tensor: Tensor, *, coeff: int = 1) -> NestedInt:
    """The ragged size that offsets stand for."""
    return symbol(tensor) * coeff if coeff != 1 else symbol(tensor)


class _Sizes(MutableMapping[Tensor, Any]):
    """The ragged size of each tensor of offsets. Others that are given it stand for the same size."""

    def __getitem__(self, offsets: Tensor) -> Any:
        return symbol(offsets)

    def __setitem__(self, offsets: Tensor, size: Any) -> None:
        offsets.__dict__["_nested_int"] = size

    def __delitem__(self, offsets: Tensor) -> None:
        offsets.__dict__.pop("_nested_int", None)

    def __contains__(self, offsets: object) -> bool:
        return isinstance(offsets, Tensor) and "_nested_int" in offsets.__dict__

    def get(self, offsets: Tensor, default: Any = None) -> Any:
        return offsets.__dict__.get("_nested_int", default)

    def __iter__(self) -> Iterator[Tensor]:
        return iter(())  # tensors keep their own

    def __len__(self) -> int:
        return 0


_tensor_symint_registry = _Sizes()


def buffer_from_jagged(jagged: NestedTensor) -> Tensor:
    """The packed values."""
    return jagged.values()


def nested_view_from_values_offsets(
    values: Tensor,
    offsets: Tensor,
    ragged_idx: int = 1,
    min_seqlen: Any = None,
    max_seqlen: Any = None,
) -> Any:
    """A jagged tensor of packed values."""
    return nested_tensor_from_jagged(
        values, offsets, jagged_dim=ragged_idx, min_seqlen=min_seqlen, max_seqlen=max_seqlen
    )


def nested_view_from_values_offsets_lengths(
    values: Tensor,
    offsets: Tensor,
    lengths: Tensor,
    ragged_idx: int = 1,
    min_seqlen: Any = None,
    max_seqlen: Any = None,
) -> Any:
    """A jagged tensor of values that have gaps."""
    return nested_tensor_from_jagged(
        values,
        offsets,
        lengths,
        jagged_dim=ragged_idx,
        min_seqlen=min_seqlen,
        max_seqlen=max_seqlen,
    )


def nested_from_padded(
    padded: Tensor,
    offsets: Tensor,
    ragged_idx: int = 1,
    min_seqlen: int | None = None,
    max_seqlen: int | None = None,
    sum_S: int | None = None,  # noqa: N803 (PyTorch's name)
) -> NestedTensor:
    """The components of a padded tensor, without the padding."""
    like = NestedTensor.make(
        padded.flatten(0, 1), offsets, None, ragged_idx, min_seqlen, max_seqlen
    )
    return like.unpad(padded)
