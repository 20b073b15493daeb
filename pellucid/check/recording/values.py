"""Which Value stands for a tensor as it is now."""

from __future__ import annotations

import weakref
from typing import Any

import numpy as np

from ..events import Foreign, Op, Value

PLAIN = frozenset({int, float, bool, str, complex, bytes, type(None)})


class Values:
    """Keeps the Values of the tensors that are alive, and numbers what happens to them."""

    def __init__(self, engine: Any) -> None:
        self.engine = engine
        self.step = 0
        self.count = 0
        self.values: dict[int, Value] = {}
        self.leaves: dict[int, Any] = {}  # weak references to leaves that want a gradient, by id

    def number(self) -> int:
        """A number that grows with every event."""
        self.count += 1
        return self.count

    def value(self, tensor: Any) -> Value:
        """The Value of a tensor as it is now."""
        held = self.values.get(id(tensor))
        if held is not None and held._ref() is tensor:
            if held.version == self.engine.version(tensor):
                if held.is_leaf and held.producer is None:
                    held.requires_grad = self.engine.requires_grad(tensor)
                    if held.requires_grad and id(tensor) not in self.leaves:
                        self.leaves[id(tensor)] = held._ref
                return held
            # written by something that was not recorded, as optimizers do
            return self._made(tensor, None, 0)
        return self._made(tensor, None, 0)

    def _made(self, tensor: Any, producer: Op | None, index: int) -> Value:
        key, values, leaves = id(tensor), self.values, self.leaves
        held = values.get(key)
        if held is not None and held._ref() is tensor:
            ref, own = held._ref, held.id
        else:
            own = self.number()

            def forget(ref: Any) -> None:
                held = values.get(key)
                if held is not None and held._ref is ref:
                    del values[key]
                if leaves.get(key) is ref:
                    del leaves[key]

            ref = weakref.ref(tensor, forget)
        value = Value(self.engine, tensor, self.number(), own, producer, index, self.step, ref)
        values[key] = value
        if value.is_leaf and value.requires_grad:
            leaves[key] = ref
        return value

    def values_in(self, thing: Any, depth: int = 3) -> list[Value]:
        """The Values of all tensors in nested lists, tuples and dicts."""
        if isinstance(thing, self.engine.Tensor):
            return [self.value(thing)]
        if depth and isinstance(thing, (list, tuple)):
            return [v for x in thing for v in self.values_in(x, depth - 1)]
        if depth and isinstance(thing, dict):
            return [v for x in thing.values() for v in self.values_in(x, depth - 1)]
        return []

    def _argument(self, x: Any, inputs: list[Value]) -> Any:
        if type(x) in PLAIN:  # first: whether something is a tensor is a slow question in PyTorch
            return x
        if isinstance(x, self.engine.Tensor):
            value = self.value(x)
            inputs.append(value)
            return value
        if isinstance(x, (list, tuple)):
            if len(x) > 4096:
                return Foreign(x)
            return (
                [self._argument(v, inputs) for v in x]
                if isinstance(x, list)
                else tuple([self._argument(v, inputs) for v in x])
            )
        if isinstance(x, slice):
            return slice(
                self._argument(x.start, inputs),
                self._argument(x.stop, inputs),
                self._argument(x.step, inputs),
            )
        if isinstance(x, dict):
            return {k: self._argument(v, inputs) for k, v in x.items()}
        if (
            isinstance(x, (int, float, str))
            or x is Ellipsis
            or type(x).__name__ in ("dtype", "device", "layout", "memory_format")
        ):
            return x
        if isinstance(x, np.generic):
            return x.item()
        return Foreign(x)

    def renew(self, optimizer: Any) -> None:
        """After a step: the parameters' Values are of the new version."""
        engine = self.engine
        for group in optimizer.param_groups:
            for p in group["params"]:
                held = self.values.get(id(p))
                if held is not None and held._ref() is p and held.producer is None:
                    held.version = engine.version(p)
                else:
                    self._made(p, None, 0)


def size(array: Any) -> float:
    """Root of the mean square."""
    if np.iscomplexobj(array):
        array = np.abs(array)
    with np.errstate(all="ignore"):
        return float(np.sqrt(np.mean(np.square(array, dtype=np.float64))))
