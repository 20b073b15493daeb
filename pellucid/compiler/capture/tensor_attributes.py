"""Attributes that users set on tensors, such as `x.mask = ...`."""

from __future__ import annotations

import dis
import weakref
from collections.abc import Iterable
from types import CodeType
from typing import Any

from ...core.tensor import Parameter, Tensor
from ..trace.refusal import Refusal
from .guards import SCALARS, Guard
from .structure import flatten

_LIBRARY = frozenset(dir(Tensor)) | frozenset(dir(Parameter))


class TensorAttributes:
    """The attributes that some tensors have when a traced call begins."""

    def __init__(self, tensors: list[Tensor]) -> None:
        # weak references, so that a gradient which the call clears can be freed
        self._before = [(weakref.ref(t), dict(t.__dict__)) for t in tensors]

    def settle(
        self, result: Any, guards: list[Guard], environment: Any, witness: Any
    ) -> frozenset[str]:
        """The attribute names that the code may have looked up on arguments without finding them.

        Attributes of the environment's tensors are guarded. Raises Refusal if a call would have to
        set attributes, or to read those of an argument.
        """
        before = [(t, held) for ref, held in self._before if (t := ref()) is not None]
        for t, held in before:
            if list(held) != list(t.__dict__) or any(
                t.__dict__[name] is not value for name, value in held.items()
            ):
                raise Refusal("the step sets an attribute of a tensor", witness.entry)
        leaving: list[Any] = []
        flatten(result, leaving)
        found = {id(t) for t, _ in before}
        if any(isinstance(t, Tensor) and id(t) not in found and t.__dict__ for t in leaving):
            raise Refusal("the step returns a tensor with attributes of its own", witness.entry)
        asked = (
            None
            if witness.dynamic
            else _asked(witness.codes_of_users(), environment.module_names())
        )
        # some name is not an attribute of any other object
        unclear = asked is not None and bool(asked - environment.words())
        for t, held in before:
            mine = asked is None or not asked.isdisjoint(held)
            if id(t) in environment.given:
                if held and mine:
                    raise Refusal(
                        "the step may read attributes that an argument has besides a tensor's own",
                        witness.entry,
                    )
            elif held and mine or unclear:
                guards.append(Guard("keys", t.__dict__, None, [*held], "attributes of a tensor"))
                guards += [
                    Guard("item", t.__dict__, k, v, f"a tensor's {k}", not isinstance(v, SCALARS))
                    for k, v in held.items()
                ]
        return asked or frozenset()


def _asked(codes: Iterable[CodeType], modules: set[str]) -> frozenset[str]:
    """The attribute names that code reads, or passes to `getattr`, except on Python modules and
    their contents.
    """
    found: set[str] = set()
    for code in codes:
        module = False  # whether the last loaded value is a module, or a part of one
        by_name = not {"getattr", "hasattr"}.isdisjoint(code.co_names)
        for i in dis.get_instructions(code):
            if i.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
                module = i.argval in modules
            elif i.opname in ("LOAD_ATTR", "LOAD_METHOD"):
                if not module:
                    found.add(i.argval)
            elif i.opname == "LOAD_CONST" and isinstance(i.argval, str) and by_name:
                found.add(i.argval)
            elif i.opname not in ("PRECALL", "PUSH_NULL", "EXTENDED_ARG", "CACHE"):
                module = False
    return frozenset(found - _LIBRARY)
