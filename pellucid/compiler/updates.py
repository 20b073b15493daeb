"""Optimizer updates as native code: what is constant about them, and the numbers that each call reads anew."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy import ndarray

from ..codegen import optim
from ..core.tensor import Tensor
from ..ir import Instruction, Value
from ..optim.adam import Adam
from ..optim.adamw import AdamW
from ..optim.optimizer import to_number
from ..optim.sgd import SGD


@dataclass(eq=False)
class Update:
    """A group's update: the rule of `codegen.optim`, values of parameters and gradients, and the arrays of the state."""

    rule: str
    params: list[Value]
    grads: list[Value]
    states: list[list[ndarray]]  # for each kind of state, one array a parameter
    holders: list[tuple[Tensor, ndarray]]  # tensors that must still hold those arrays
    numbers: Callable[[], tuple[float, ...] | None]  # None: the rule is another one now
    counters: list[ndarray]  # of steps, float32: the last of the numbers is stored in each

    def copy(self) -> Update:
        """The same update of copies of the state."""
        states = [[a.copy() for a in kind] for kind in self.states]
        return replace(self, states=states, counters=[a.copy() for a in self.counters])

    @property
    def count(self) -> int:
        """How many numbers there are."""
        return len(optim.UPDATES[self.rule][1].split()) + bool(self.counters)


def update_of(i: Instruction) -> Update | str:
    """The update that a recorded call of `_update_group` makes, or why it stays a call."""
    function = i.record[0]
    owner = getattr(function, "__self__", None)
    if getattr(function, "__name__", "") != "_update_group" or type(owner) not in (Adam, AdamW, SGD):
        return "a call of Python code"
    group, params, grads, states = i.params["args"]
    values = [r.value for r in params]
    grad_values = [r.value for r in grads]
    for v in (*values, *grad_values):
        if v.dtype != "float32" or not v.contiguous:
            return "parameters that are not contiguous float32"
    return _sgd(group, values, grad_values, states) if isinstance(owner, SGD) else _adam(group, values, grad_values, states)


def _held(states: list[dict[str, Any]], name: str, sizes: list[int]) -> tuple[list[ndarray], list[tuple[Tensor, ndarray]]] | None:
    arrays, holders = [], []
    for state, size in zip(states, sizes, strict=True):
        t = state.get(name)
        if not isinstance(t, Tensor):
            return None
        a = t._array
        if a.dtype != np.float32 or not a.flags.c_contiguous or a.size != size:
            return None
        arrays.append(a)
        holders.append((t, a))
    return arrays, holders


def _adam(group: dict[str, Any], params: list[Value], grads: list[Value], states: list[dict[str, Any]]) -> Update | str:
    sizes = [v.size for v in params]
    names = ["exp_avg", "exp_avg_sq"] + (["max_exp_avg_sq"] if group["amsgrad"] else [])
    found = [_held(states, name, sizes) for name in names]
    counters = [state.get("step") for state in states]
    if any(f is None for f in found) or not all(isinstance(c, Tensor) for c in counters):
        return "optimizer state that is not there yet, or not float32"
    arrays = [c._array for c in counters]  # type: ignore[union-attr]
    amsgrad = group["amsgrad"] is True
    heavy = optim.is_heavy(group["betas"][0])
    if any(a.dtype != np.float32 for a in arrays):
        return "counters of steps that are not float32"
    first, others = arrays[0], arrays[1:]
    if any(a.item() != first.item() for a in others):
        return "counters of steps that differ"

    def numbers() -> tuple[float, ...] | None:
        beta1, beta2 = group["betas"]
        before = first.item()
        if [a.item() for a in others].count(before) != len(others):
            return None  # somebody else counted, and they do not agree
        if (group["amsgrad"] is True) != amsgrad or (1.0 - beta1 >= 0.5) != heavy and optim.is_heavy(beta1) != heavy:
            return None
        now = before + 1.0
        lr = group["lr"]
        made = optim.adam_numbers(
            int(now), lr if type(lr) is float else to_number(lr), beta1, beta2, group["eps"], group["weight_decay"],
            group["decoupled_weight_decay"], group["maximize"],
        )  # fmt: skip
        return (*made, now)

    rule = ("amsgrad" if amsgrad else "adam") + "_heavy" * heavy
    holders = [h for f in found for h in f[1]] + [(c, a) for c, a in zip(counters, arrays, strict=True)]  # type: ignore[index]
    return Update(rule, params, grads, [f[0] for f in found], holders, numbers, arrays)  # type: ignore[index, arg-type]


def _sgd(group: dict[str, Any], params: list[Value], grads: list[Value], states: list[dict[str, Any]]) -> Update | str:
    momentum = group["momentum"] != 0
    nesterov = bool(group["nesterov"])
    found = [_held(states, "momentum_buffer", [v.size for v in params])] if momentum else []
    if any(f is None for f in found):
        return "optimizer state that is not there yet, or not float32"

    def numbers() -> tuple[float, ...] | None:
        if (group["momentum"] != 0) != momentum or bool(group["nesterov"]) != nesterov:
            return None
        return optim.sgd_numbers(
            to_number(group["lr"]), group["momentum"], group["dampening"], to_number(group["weight_decay"]), group["maximize"]
        )

    rule = "sgd" + "_nesterov" * (nesterov and momentum) + "_momentum" * momentum
    holders = [h for f in found for h in f[1]]  # type: ignore[index]
    return Update(rule, params, grads, [f[0] for f in found], holders, numbers, [])  # type: ignore[index]
