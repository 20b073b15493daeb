"""`torch.jit.annotations`: types in the signatures of code that PyTorch would compile."""

from __future__ import annotations

from typing import Any, Dict, Final, List, Optional, Tuple, Union  # noqa: UP035 (names that libraries import from here)

from ..core.tensor import Tensor
from ._marks import Attribute, annotate

__all__ = [
    "Any",
    "Attribute",
    "BroadcastingList1",
    "BroadcastingList2",
    "BroadcastingList3",
    "Dict",
    "Final",
    "List",
    "Optional",
    "Tensor",
    "Tuple",
    "Union",
    "annotate",
    "ignore_fn",
    "is_function_or_method",
]


class _BroadcastingList:
    """`BroadcastingList2[int]`: a list of two, or one number for both. As an annotation, its
    element's type.
    """

    def __getitem__(self, types: Any) -> Any:
        return None


BroadcastingList1 = BroadcastingList2 = BroadcastingList3 = _BroadcastingList()
BroadcastingList4 = BroadcastingList5 = BroadcastingList6 = BroadcastingList1


def ignore_fn(fn: Any) -> bool:
    """False: every function runs."""
    return False


def is_function_or_method(the_callable: Any) -> bool:
    """Whether it is a function or a bound method."""
    import inspect

    return inspect.isfunction(the_callable) or inspect.ismethod(the_callable)
