"""Optimizers that are one element-wise formula, run as a generated kernel, in NumPy or as recorded
operations.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from itertools import repeat
from operator import call
from types import SimpleNamespace
from typing import Any

import numpy as np

from ..arrays.native import enabled, kernels, spared
from ..core.primitive import RAW, TENSORS
from ..core.tensor import Tensor, make_tensor
from ._arrays import ArrayOptimizer, Changes, full, step_counter
from .optimizer import to_number

_fill = np.ndarray.fill
# what an update costs NumPy, beside an element-wise function; and its temporaries take memory
_PASSES = 4


class FormulaOptimizer(ArrayOptimizer):
    """An optimizer whose update is the same formula for each element.

    A subclass has the formula, `formula(m, n, param, grad, ...)`, a pure function that returns new
    values by name, in the language of `ir.formula`: `m` has the operations by their names, and
    `fma`, `differs` and `constant`. `n` has numbers, by the names in `numbers`, which `_numbers`
    makes anew for each step. The other arguments are arrays of the state (`_arrays` says which ones
    this group uses). `scalars` are the state's counters.

    Arrays in `begins` are made by the first step: the formula goes without them, with
    `begins=True`.
    """

    by_elements = True
    formula: Callable[..., dict[str, Any]]
    numbers: tuple[str, ...]
    scalars: tuple[str, ...] = ("step",)
    begins: tuple[str, ...] = ()

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        for held in self.state.values():
            for name in self.scalars:
                # old checkpoints have numbers
                if name in held and not isinstance(held[name], Tensor):
                    held[name] = full(step_counter(), held[name])

    def _arrays(self, group: dict[str, Any]) -> tuple[str, ...]:
        """The names of the state's arrays that the formula uses."""
        raise NotImplementedError

    def _flags(self, group: dict[str, Any]) -> tuple[str, ...]:
        """Arguments of the formula that are True."""
        return ()

    def _numbers(
        self, group: dict[str, Any], *scalars: Any
    ) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        """The numbers of the next step, and what the scalars are after it. Options may be tensors
        where the step is recorded.
        """
        raise NotImplementedError

    def rule(self, group: dict[str, Any], begins: bool = False) -> Any:
        """The formula in the form in which kernels are made of it (`kernels.updates.optim.UpdateRule`)."""
        return _rule(
            type(self).formula,
            self._arrays(group),
            self.numbers,
            (*self._flags(group), *["begins"] * begins),
        )

    def _changes(
        self,
        group: dict[str, Any],
        params: list[Any],
        grads: list[Any],
        states: list[dict[str, Any]],
        changes: Changes,
    ) -> None:
        if self._fused(group, params, grads, states, changes):
            return
        parts: dict[Any, list[int]] = {}
        for k, (p, state) in enumerate(zip(params, states)):
            counts = tuple(state[name]._array.item() for name in self.scalars)
            parts.setdefault((p.dtype, p.flags.forc, tuple(state), counts), []).append(k)
        for chosen in parts.values():
            some = (
                [params[k] for k in chosen],
                [grads[k] for k in chosen],
                [states[k] for k in chosen],
            )
            if len(parts) == 1 or not self._fused(group, *some, changes):
                self._one_by_one(group, *some, changes)

    def _fused(
        self,
        group: dict[str, Any],
        params: list[Any],
        grads: list[Any],
        states: list[dict[str, Any]],
        changes: Changes,
    ) -> bool:
        if not enabled():
            return False
        before, counters = [], []
        for name in self.scalars:
            held = [state[name]._array for state in states]
            values = [c.item() for c in held]
            if values.count(values[0]) != len(values):
                return False
            before.append(held[0][()])
            counters.append(held)
        names = self._arrays(group)
        begun = [
            name
            for name in self.begins
            if name in names and any(name not in state for state in states)
        ]
        if any(name in state for state in states for name in begun):
            return False
        options = plain(group)
        rule = self.rule(options, bool(begun))
        elements = sum(p.size for p in params)
        if not kernels.updates.optim.made(rule, params[0].dtype) and spared(
            rule.symbol, _PASSES * elements
        ):
            return False
        lists = [
            [np.empty_like(p) for p in params]
            if name in begun
            else [state[name]._array for state in states]
            for name in names
        ]
        numbers, after = self._numbers(options, *before)
        maximize = bool(options.get("maximize"))
        update = kernels.updates.optim.prepared(rule, [params, grads, *lists], maximize, numbers)
        if update is None:
            return False
        calls: list[Any] = [map(call, (update,))]
        for held, value in zip(counters, after):
            calls.append(map(_fill, held, repeat(value)))
        for name in begun:
            tensors = list(map(make_tensor, lists[names.index(name)]))
            calls.append(map(dict.__setitem__, states, repeat(name), tensors))
        changes.add(params, calls)
        return True

    def _update(self, group: dict[str, Any], p: Any, g: Any, state: dict[str, Any]) -> None:
        group = plain(group)
        numbers, after = self._numbers(group, *[state[name][()] for name in self.scalars])
        for name, value in self._computed(_ARRAYS, group, numbers, p, g, state).items():
            if name == "param":
                p[...] = value
            elif name in state:
                state[name][...] = value
            else:
                state[name] = value
        for name, value in zip(self.scalars, after):
            state[name][...] = value

    def _recorded(self, group: dict[str, Any], p: Any, g: Any, state: dict[str, Any]) -> Any:
        held = [state[name] for name in self.scalars]
        numbers, after = self._numbers(group, *[t if t.requires_grad else t.item() for t in held])
        made = self._computed(_TENSORS, group, numbers, p, g, state)
        param = made.pop("param")
        state.update(made)
        for name, t, value in zip(self.scalars, held, after):
            state[name] = value if isinstance(value, Tensor) else full(t, value)
        return param

    def _computed(
        self, m: Any, group: dict[str, Any], numbers: Any, p: Any, g: Any, state: dict[str, Any]
    ) -> dict[str, Any]:
        flags = dict.fromkeys(self._flags(group), True)
        arrays = {}
        for name in self._arrays(group):
            if name in self.begins and name not in state:
                flags["begins"] = True
            else:
                arrays[name] = state[name]
        named = SimpleNamespace(**dict(zip(self.numbers, numbers, strict=True)))
        return type(self).formula(m, named, param=p, grad=g, **arrays, **flags)


@functools.cache
def _rule(
    formula: Any, arrays: tuple[str, ...], numbers: tuple[str, ...], flags: tuple[str, ...]
) -> Any:
    return kernels.updates.optim.UpdateRule(formula, arrays, numbers, flags)


def plain(group: dict[str, Any]) -> dict[str, Any]:
    """The options with numbers in the place of tensors."""
    if type(group["lr"]) is float and not isinstance(group.get("weight_decay"), Tensor):
        return group
    return {key: to_number(value) for key, value in group.items()}


class _Operations:
    """What formulas compute with: the operations of `F`, and the words that updates need besides."""

    def __init__(self, F: Any, constant: Callable[[Any], Any]) -> None:
        self.F, self.constant = F, constant

    def __getattr__(self, name: str) -> Any:
        return getattr(self.F, name)

    def fma(self, a: Any, b: Any, c: Any) -> Any:
        return a * b + c

    def differs(self, number: Any, other: float) -> bool:
        return isinstance(number, Tensor) or bool(number != other)


# copies of scalars are arrays, too, which 0-d arrays become in formulas
_ARRAYS = _Operations(RAW, np.array)
_TENSORS = _Operations(TENSORS, lambda x: x.detach().clone())
