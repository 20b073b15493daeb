"""Immutable lists and dictionaries. Nodes keep their arguments in them, so that the lists of
users stay correct.
"""

from __future__ import annotations

from typing import Any, NoReturn

__all__ = ["immutable_dict", "immutable_list"]

_ADVICE = (
    "If you are attempting to modify the kwargs or args of a torch.fx.Node object,\n"
    "instead create a new copy of it and assign the copy to the node:\n\n"
    "    new_args = ...  # copy and mutate args\n"
    "    node.args = new_args"
)


def _refuse(self: Any, *args: Any, **kwargs: Any) -> NoReturn:
    raise TypeError(f"{type(self).__name__!r} object does not support mutation. {_ADVICE}")


class immutable_list(list):  # noqa: N801 (PyTorch's name)
    """A list whose items stay as they are; it can be hashed when they can.

    Raises:
        TypeError: somebody tries to change it.

    >>> from pellucid.fx.immutable_collections import immutable_list
    >>> immutable_list([1, 2]) == [1, 2]
    True
    """

    __delitem__ = __iadd__ = __imul__ = __setitem__ = _refuse
    append = clear = extend = insert = pop = remove = reverse = sort = _refuse

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(tuple(self))

    def __reduce__(self) -> Any:
        return type(self), (tuple(self),)


class immutable_dict(dict):  # noqa: N801 (PyTorch's name)
    """A dictionary whose items stay as they are; it can be hashed when they can.

    Raises:
        TypeError: somebody tries to change it.

    >>> from pellucid.fx.immutable_collections import immutable_dict
    >>> immutable_dict(a=1)
    {'a': 1}
    """

    __delitem__ = __ior__ = __setitem__ = _refuse
    clear = pop = popitem = setdefault = update = _refuse

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(frozenset(self.items()))

    def __reduce__(self) -> Any:
        return type(self), (tuple(self.items()),)
