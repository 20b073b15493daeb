"""The dictionaries of a module. Those of hooks count their changes, so that compiled code knows when
to check them again; its members are in plain ones, which libraries take apart as such.
"""

from __future__ import annotations

import copy
from collections import OrderedDict
from typing import Any

from ...core.modes import state

# The tables of hooks that every module has, and the three of what it consists of.
HOOKS = (
    "_backward_pre_hooks",
    "_backward_hooks",
    "_forward_hooks",
    "_forward_hooks_with_kwargs",
    "_forward_hooks_always_called",
    "_forward_pre_hooks",
    "_forward_pre_hooks_with_kwargs",
    "_state_dict_hooks",
    "_state_dict_pre_hooks",
    "_load_state_dict_pre_hooks",
    "_load_state_dict_post_hooks",
)
MEMBERS = ("_parameters", "_buffers", "_modules")


class Hooks(OrderedDict[Any, Any]):
    """A table of hooks, whose every change counts in `state.structure`."""

    def __repr__(self) -> str:
        return repr(OrderedDict(self))

    def __reduce__(self) -> Any:
        # Files hold plain dictionaries; `adopt` makes them count again.
        return OrderedDict, (list(self.items()),)

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        # At once in the memo: a copied handle finds the copied table.
        made = memo[id(self)] = type(self)()
        for key, value in self.items():
            made[key] = copy.deepcopy(value, memo)
        return made


def _counting(name: str) -> Any:
    plain = getattr(OrderedDict, name)

    def change(self: Any, *args: Any, **kwargs: Any) -> Any:
        state.structure += 1
        return plain(self, *args, **kwargs)

    change.__name__ = name
    change.__doc__ = plain.__doc__
    return change


for _name in (
    "__setitem__",
    "__delitem__",
    "__ior__",
    "clear",
    "move_to_end",
    "pop",
    "popitem",
    "setdefault",
    "update",
):
    setattr(Hooks, _name, _counting(_name))


def adopt(own: dict[str, Any]) -> None:
    """Make the tables of hooks in a module's `__dict__` count their changes, and add those that a
    file of an older version lacks.
    """
    for name in HOOKS:
        if type(own.get(name)) is not Hooks:
            own[name] = Hooks(own.get(name) or ())
