"""A model that is to take away noise, taught with its noisy input as the target."""

from __future__ import annotations

import re
from typing import Any

from ...events import VIEWS, ModuleCall, Op, Value, lineage, made_by

_NOISES = frozenset("randn randn_like normal rand rand_like bernoulli randint empty_like".split())
_NORMAL = frozenset("randn randn_like normal".split())
_MASKS = frozenset("lt gt le ge bernoulli".split())
_SCALED = VIEWS | {"mul", "div", "lt", "gt", "le", "ge", "sub", "neg"}
_SPOILS = frozenset("add sub mul masked_fill where dropout clamp".split())
_CALLED = re.compile(r"nois|corrupt|damag|degrad|spoil|blur|masked|dirty", re.I)


def spoiled_target(op: Op, call: ModuleCall | None, batches: set[int]) -> Op | None:
    """The operation that puts noise on numbers which a model gets as its input, and its loss as the
    target. They must have been clean before: a batch of a loader, or what the program itself calls
    noisy now.
    """
    target = op.args.get("target")
    if call is None or not call.inputs or not isinstance(target, Value):
        return None
    given = call.inputs[0]
    if target.number != given.number and not _same(target, given):
        return None
    made = made_by(target, VIEWS | {"clamp"})
    if made is None or made.name not in _SPOILS or made.step != op.step:
        return None
    written = _written(op)
    named = written is not None and _CALLED.search(written) is not None
    dropped = made.name == "dropout" and made.args.get("training", True)
    if not dropped and not _noisy(made, named):
        return None
    if named:
        return made
    clean = {v.id for value in made.inputs for v in _sources(value)}
    return made if clean & batches else None


def _same(target: Value, given: Value) -> bool:
    """Whether both are views of one tensor with the same numbers."""
    through = frozenset("view reshape flatten unsqueeze squeeze contiguous detach to float".split())
    for value, other in ((target, given), (given, target)):
        if any(other.number == v.number for o in lineage(value, through, 4) for v in o.inputs[:1]):
            return target.numel == given.numel
    return False


def _noisy(made: Op, plain: bool) -> bool:
    """Whether random numbers are among what an operation is given; if not `plain`, such that leave
    no doubt: normal ones that are added, or a mask, for each element one.
    """
    for value in made.inputs:
        names = {o.name for o in lineage(value, _SCALED, 8)}
        if names & _NOISES:
            drawn = names & (_NORMAL if made.name in ("add", "sub") else _MASKS)
            if plain or drawn and value.shape == made.inputs[0].shape:
                return True
    return False


def _sources(value: Value) -> list[Value]:
    """A value and what it is a view of."""
    return [value, *(v for o in lineage(value, VIEWS, 8) for v in o.inputs[:1])]


def _written(op: Op) -> str | None:
    """What stands for the target, in the call of the loss or of its module."""
    if op.direct or op.module is None:
        return op.written("target")
    call: Any = op.module.site.call if op.module.site is not None else None
    return call.arguments[1] if call is not None and len(call.arguments) > 1 else None
