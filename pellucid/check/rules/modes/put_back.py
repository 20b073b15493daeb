"""Frozen parts of a model that were put into eval mode, and back into train mode with the rest."""

from __future__ import annotations

import weakref
from typing import Any

from ...events import ModuleCall, Op, Site, Switched
from ...numbers import number_of

_KEPT = 4096  # operations that are followed to a loss


class Part:
    """A frozen part that acts as in training although `eval()` was called on it."""

    __slots__ = ("call", "kinds", "site", "steps")

    def __init__(self, call: ModuleCall, site: Site | None) -> None:
        self.call = call
        self.site = site  # of the `train()` that reached it
        self.kinds: dict[str, str] = {}  # "dropout" or "batch norm" -> path of the first such layer
        self.steps: set[int] = set()  # whose loss is computed from its results


class PutBack:
    """Follows which parts somebody has put into eval mode, and which `train()` of a larger module
    has undone that.
    """

    def __init__(self) -> None:
        self._chosen: dict[int, Any] = {}  # by number of a module: a weak reference to it
        self._undone: dict[int, Site | None] = {}  # by the same: where
        self.parts: dict[int, Part] = {}  # by the same
        self._of_op: dict[int, Part] = {}  # by number of an operation of a part

    def note(self, event: Switched) -> None:
        """A module is switched."""
        key = number_of(event.module)
        self._undone.pop(key, None)
        self._chosen.pop(key, None)
        if not event.training:
            self._chosen[key] = weakref.ref(event.module)
            return
        for module in event.module.modules():
            held = self._chosen.get(number_of(module))
            if held is not None and held() is module:
                self._undone[number_of(module)] = event.site

    def acts(self, op: Op, kind: str) -> None:
        """A layer acts as in training, in an operation without gradients."""
        call = op.module
        while call is not None and call.parent is not None:
            module = call.module
            held = self._chosen.get(number_of(module))
            if number_of(module) in self._undone and held is not None and held() is module:
                break
            call = call.parent
        if call is None or call.parent is None or op.module is None:
            return
        parameters = list(call.module.parameters())
        if not parameters or any(p.requires_grad for p in parameters):
            return
        key = number_of(call.module)
        part = self.parts.setdefault(key, Part(call, self._undone[key]))
        part.kinds.setdefault(kind, op.module.path)
        while len(self._of_op) >= _KEPT:
            self._of_op.pop(next(iter(self._of_op)))
        self._of_op[op.number] = part

    def learned(self, op: Op, step: int) -> None:
        """A loss is computed from an operation."""
        part = self._of_op.get(op.number)
        if part is not None:
            part.steps.add(step)
