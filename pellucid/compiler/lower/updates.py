"""Optimizer updates as native code: their constants, and the numbers that are read again at each
call.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy import ndarray

from ...core.tensor import Tensor
from ...ir import Instruction, Value
from ...kernels.updates.optim import KINDS, UpdateRule, served
from ...optim._formula import FormulaOptimizer, plain
from ..trace.watch import is_own

OURS = ("formula", "_arrays", "_flags", "_numbers", "rule", "_update_group", "_changes", "_fused")


@dataclass(eq=False)
class GroupUpdate:
    """The update of a parameter group: its rule, the values of parameters and gradients, and the
    arrays of its state.
    """

    rule: UpdateRule
    kind: str  # dtype of all elements
    params: list[Value]
    grads: list[Value]
    states: list[list[ndarray]]  # per kind of state, one array for each parameter
    # per kind of counter, one number for each parameter; updated by the step
    scalars: list[list[ndarray]]
    holders: list[tuple[Tensor, ndarray]]  # tensors with the arrays that they must still hold
    numbers: Callable[[], tuple[float, ...] | None]  # returns None if the rule has changed

    def copy(self) -> GroupUpdate:
        """The same update on copies of the state."""
        states, scalars = (
            [[a.copy() for a in kind] for kind in kinds] for kinds in (self.states, self.scalars)
        )
        return replace(self, states=states, scalars=scalars)

    @property
    def count(self) -> int:
        """The number of scalars that the update takes."""
        return 1 + len(self.rule.numbers) + len(self.scalars)


def counters_of(i: Instruction) -> set[int]:
    """The ids of the step counters that a recorded call of `_update_group` advances, in native code
    or not.
    """
    function = i.record[0]
    owner = getattr(function, "__self__", None)
    if getattr(function, "__name__", "") != "_update_group" or not isinstance(
        owner, FormulaOptimizer
    ):
        return set()
    states = i.params["args"][3]
    held = [state.get(name) for state in states for name in owner.scalars]
    return {id(t._array) for t in held if isinstance(t, Tensor)}


def update_of(i: Instruction) -> GroupUpdate | str:
    """The update made by a recorded call of `_update_group`, or the reason why it stays a call."""
    function = i.record[0]
    owner = getattr(function, "__self__", None)
    if getattr(function, "__name__", "") != "_update_group" or not isinstance(
        owner, FormulaOptimizer
    ):
        return "a call of Python code"
    if not all(is_own(getattr(type(owner), name).__code__.co_filename) for name in OURS):
        return "an update that is not this library's"
    group, params, grads, states = i.params["args"]
    values, grad_values = [r.value for r in params], [r.value for r in grads]
    dtype = np.dtype(values[0].dtype)
    given = (*values, *grad_values)
    if any(v.dtype != dtype.name or not v.contiguous for v in given) or not served(dtype):
        return "parameters that are not contiguous, or not all of one float type"
    return _update(owner, group, dtype, values, grad_values, states)


def _update(
    owner: FormulaOptimizer,
    group: dict[str, Any],
    dtype: np.dtype,
    params: list[Value],
    grads: list[Value],
    states: list[dict[str, Any]],
) -> GroupUpdate | str:
    rule = owner.rule(group)
    holders: list[tuple[Tensor, ndarray]] = []

    def held(name: str, dtype: np.dtype, sizes: list[int]) -> list[ndarray] | None:
        tensors = [t for t in (state.get(name) for state in states) if isinstance(t, Tensor)]
        arrays = [t._array for t in tensors]
        fits = (
            a.dtype == dtype and a.flags.c_contiguous and a.size == n
            for a, n in zip(arrays, sizes, strict=False)
        )
        if len(arrays) < len(states) or not all(fits):
            return None
        holders.extend(zip(tensors, arrays, strict=True))
        return arrays

    sizes = [v.size for v in params]
    arrays = [a for name in rule.arrays if (a := held(name, dtype, sizes)) is not None]
    # Counters are float64 if that was the default dtype when they were created.
    ones = [1] * len(states)
    scalars = [
        a for name in owner.scalars for kind in KINDS if (a := held(name, kind, ones)) is not None
    ]
    if len(arrays) < len(rule.arrays) or len(scalars) < len(owner.scalars):
        return "optimizer state that is not there yet, or not of the parameters' type"
    firsts: list[ndarray] = [c[0] for c in scalars]
    if any(a.item() != c[0].item() for c in scalars for a in c):
        return "counters of steps that differ"

    names, flags, items = rule.arrays, rule.flags, [([a.item for a in c], len(c)) for c in scalars]

    def numbers() -> tuple[float, ...] | None:
        for kind, count in items:
            values = [item() for item in kind]
            if values.count(values[0]) != count:
                return None  # other code changed the counters, and they disagree
        if owner._arrays(group) != names or owner._flags(group) != flags:
            return None
        made, after = owner._numbers(plain(group), *[first[()] for first in firsts])
        return (-1.0 if group.get("maximize") else 1.0, *made, *after)

    return GroupUpdate(rule, dtype.name, params, grads, arrays, scalars, holders, numbers)
