"""The dictionaries of a module. They count their changes, so that compiled code knows when to check
them again.
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


def _counted(name: str, kind: type) -> type:
    """A subclass of a dictionary whose every change counts in `state.structure`."""

    def method(name: str) -> Any:
        plain = getattr(kind, name)

        def change(self: Any, *args: Any, **kwargs: Any) -> Any:
            state.structure += 1
            return plain(self, *args, **kwargs)

        change.__name__ = name
        change.__doc__ = plain.__doc__
        return change

    def reduce(self: Any) -> Any:
        # Files and copies hold plain dictionaries; `adopt` makes them count again.
        return kind, (list(self.items()),)

    def deepcopy(self: Any, memo: dict[int, Any]) -> Any:
        # At once in the memo: a copied handle finds the copied table.
        made = memo[id(self)] = type(self)()
        for key, value in self.items():
            made[key] = copy.deepcopy(value, memo)
        return made

    names = [
        "__setitem__",
        "__delitem__",
        "__ior__",
        "clear",
        "pop",
        "popitem",
        "setdefault",
        "update",
    ]
    names += ["move_to_end"] if kind is OrderedDict else []
    body = {name: method(name) for name in names}
    return type(
        name,
        (kind,),
        body
        | {
            "__reduce__": reduce,
            "__deepcopy__": deepcopy,
            "__module__": __name__,
            "__doc__": _counted.__doc__,
        },
    )


Members: Any = _counted("Members", dict)
Hooks: Any = _counted("Hooks", OrderedDict)


def adopt(own: dict[str, Any]) -> None:
    """Make the tables in a module's `__dict__` count their changes, and add what a file of an older
    version lacks.
    """
    for names, kind in ((MEMBERS, Members), (HOOKS, Hooks)):
        for name in names:
            if type(own.get(name)) is not kind:
                own[name] = kind(own.get(name) or ())
