"""Tensor types with partly unknown shapes (`torch.fx.tensor_type`)."""

from __future__ import annotations

from typing import Any

from ._compatibility import compatibility

__all__ = ["Dyn", "TensorType", "is_consistent", "is_more_precise"]


@compatibility(is_backward_compatible=False)
class TensorType:
    """The type of tensors of a shape.

    Args:
        dim: the sizes, `Dyn` where one is not known.

    >>> from pellucid.fx.tensor_type import Dyn, TensorType, is_consistent
    >>> TensorType((1, Dyn))
    TensorType[(1, Dyn)]
    >>> is_consistent(TensorType((1, 2)), TensorType((1, Dyn)))
    True
    """

    def __init__(self, dim: Any) -> None:
        self.__origin__ = TensorType
        self.__args__ = dim

    def __repr__(self) -> str:
        return f"TensorType[{self.__args__}]"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TensorType) and list(self.__args__) == list(other.__args__)

    def __hash__(self) -> int:
        return hash(tuple(self.__args__))

    @staticmethod
    def __class_getitem__(*args: Any) -> TensorType:
        return TensorType(tuple(args[0]) if len(args) == 1 and isinstance(args[0], tuple) else args)


class _DynType:
    """The size that is not known."""

    def __init__(self) -> None:
        self.__name__ = "_DynType"

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other)

    def __hash__(self) -> int:
        return hash(type(self))

    def __str__(self) -> str:
        return "Dyn"

    def __repr__(self) -> str:
        return "Dyn"


Dyn = _DynType()


@compatibility(is_backward_compatible=False)
def is_consistent(t1: Any, t2: Any) -> bool:
    """Whether two types may be of one value: equal, or where they differ one of them is not known."""
    if t1 == t2 or t1 == Dyn or t2 == Dyn:
        return True
    if isinstance(t1, TensorType) and isinstance(t2, TensorType):
        return len(t1.__args__) == len(t2.__args__) and all(
            map(is_consistent, t1.__args__, t2.__args__)
        )
    return False


@compatibility(is_backward_compatible=False)
def is_more_precise(t1: Any, t2: Any) -> bool:
    """Whether the first type says at least what the second does."""
    if t1 == t2 or t2 == Dyn:
        return True
    if isinstance(t1, TensorType) and isinstance(t2, TensorType):
        return len(t1.__args__) == len(t2.__args__) and all(
            map(is_more_precise, t1.__args__, t2.__args__)
        )
    return False
