"""Tensors of a module that should be parameters: a scale of ones, a shift of zeros, a log-scale of
zeros.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from ...events import ModuleCall, Op, Value
from ...numbers import number_of
from ...rule import Rule
from ..source.places import attribute_place, is_users

_MADE_POSITIVE = ("exp", "softplus", "sigmoid")
# what a distribution is compared with; what is no part of the function
_KNOWN = re.compile(r"prior|target|mask|running|ref")


class _Constant:
    """A tensor of a module, what is done with it, and in which steps it was the same."""

    __slots__ = ("kind", "name", "number", "owner", "place", "shape", "site", "steps")

    def __init__(
        self, value: Value, kind: str, owner: Any, name: str, place: Any, site: Any
    ) -> None:
        self.number = value.number
        self.shape = list(value.shape)
        self.kind = kind
        self.owner = owner
        self.name = name
        self.place = place
        self.site = site
        self.steps: set[int] = set()


class Constants:
    """Follows such tensors for a rule. Nothing is said of one that is ever written."""

    ops = ("mul", "add", *_MADE_POSITIVE)
    LOOKS = 3  # steps

    def __init__(self, rule: Rule) -> None:
        self._rule = rule
        self._held: dict[int, _Constant | None] = {}  # by `Value.id`

    def see(self, op: Op) -> None:
        """A product, a sum, or a function that makes numbers positive, in a module that is trained."""
        if op.module is None or not op.grad_enabled or not op.direct or op.inplace:
            return
        values = op.inputs
        if op.name in ("mul", "add"):
            if len(values) != 2 or values[0].requires_grad == values[1].requires_grad:
                return
            value, other = values if values[1].requires_grad else values[::-1]
            if (
                value.numel < 2
                or other.numel <= value.numel
                or value.shape[-1:] != other.shape[-1:]
            ):
                return
        else:
            value = values[0]
            if value.requires_grad or value.numel < 2:
                return
        held = self._held.get(value.id)
        if held is None:
            if value.id in self._held or len(self._held) > 2000:
                return
            held = self._held[value.id] = (
                self._found(op, value) if value.is_floating_point else None
            )
            if held is None:
                return
        if held.number != value.number:
            self._held[value.id] = None  # written since
        else:
            held.steps.add(op.step)

    def _found(self, op: Op, value: Value) -> _Constant | None:
        tensor, recorder = value.tensor, self._rule.session.recorder
        array = value.numpy()
        if tensor is None or array is None or np.ptp(array):
            return None
        first = float(array.reshape(-1)[0])
        if op.name == "mul" and first != 1 or op.name == "add" and first != 0:
            return None
        call: ModuleCall | None = op.module
        while call is not None:
            module = call.module
            if module is not None and is_users(recorder, module):
                for name, thing in (*vars(module).items(), *module._buffers.items()):
                    if thing is tensor and not _KNOWN.search(name):
                        place = attribute_place(recorder, module, name)
                        return (
                            _Constant(value, op.name, number_of(module), name, place, op.site)
                            if place is not None
                            else None
                        )
            call = call.parent
        return None

    def finish(self) -> None:
        """Say what was the same to the end."""
        held = [c for c in self._held.values() if c is not None and len(c.steps) >= self.LOOKS]
        for c in held:
            if c.kind in _MADE_POSITIVE:
                self._tell(
                    c,
                    f"`{c.kind}` makes it positive in every step, as is usual for a parameter; a constant would not need it",
                )
            elif c.kind == "mul" and any(o.kind == "add" and o.owner == c.owner for o in held):
                self._tell(
                    c,
                    "it multiplies by one in every step, and another of the module's tensors adds zero",
                )

    def _tell(self, c: _Constant, why: str) -> None:
        self._rule.report(
            c.place,
            f"`self.{c.name}` is not an nn.Parameter and never changes, although {why}. It was probably meant to be trained.",
            evidence={
                "attribute": c.name,
                "shape": c.shape,
                "used_at": str(c.site),
                "steps": len(c.steps),
            },
            fix=f"`self.{c.name} = nn.Parameter(...)`",
            severity="warning",
        )
