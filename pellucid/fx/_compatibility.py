"""Which names of `torch.fx` keep their signatures between releases."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

_BACK_COMPAT_OBJECTS: dict[Any, None] = {}
_MARKED_WITH_COMPATIBILITY: dict[Any, None] = {}

Thing = TypeVar("Thing")


def compatibility(is_backward_compatible: bool) -> Callable[[Thing], Thing]:
    """Decorator that registers a function or class as stable between releases, or as not; it
    changes nothing else.

    >>> from pellucid.fx._compatibility import compatibility
    >>> @compatibility(is_backward_compatible=False)
    ... def half(x):
    ...     return x / 2
    >>> half(4)
    2.0
    """

    def mark(thing: Thing) -> Thing:
        _MARKED_WITH_COMPATIBILITY.setdefault(thing)
        if is_backward_compatible:
            _BACK_COMPAT_OBJECTS.setdefault(thing)
        return thing

    return mark
