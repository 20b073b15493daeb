"""Tensors that are attributes of a module and no parameters of it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ...events import Value, ancestors
from .places import attribute_place


def unregistered(recorder: Any, value: Value, inputs: set[int]) -> Any:
    """(group, place, why) of a leaf that no module has as a parameter; None where it need not be
    one.
    """
    if value.id in inputs:
        return None
    tensor = value.tensor
    for module, name, held in _attributes(recorder):
        inside = (
            held.values()
            if isinstance(held, dict)
            else held
            if isinstance(held, (list, tuple))
            else ()
        )
        if held is tensor or any(x is tensor for x in inside):
            place = attribute_place(recorder, module, name)
            return (
                ("attribute", str(place), name),
                place,
                f"`self.{name}` is not an nn.Parameter, so the module does not know it",
            )
        if leads_to(recorder, held, value):
            place = attribute_place(recorder, module, name)
            return ("attribute", str(place), name), place, made_of_one(name)
    return (("tensor", value.id), None, "") if value.name is not None else None


def made_of_one(name: str) -> str:
    """What is wrong with an attribute that was computed of a parameter."""
    return f"`self.{name}` was computed from an nn.Parameter and is not a parameter itself, so the module does not know it"


def computed(recorder: Any) -> tuple[Any, str] | None:
    """(place, name) of an attribute of a module with a graph to a leaf that belongs to no module:
    `self.scale = nn.Parameter(ones) * 0.1`.
    """
    known = {id(p) for root in recorder.names.roots() for p in root.parameters()}
    for module, name, held in _attributes(recorder):
        for leaf in _leaves(recorder, held):
            if leaf.tensor is not None and id(leaf.tensor) not in known:
                place = attribute_place(recorder, module, name)
                if place is not None:
                    return place, name
    return None


def leads_to(recorder: Any, held: Any, value: Value) -> bool:
    """Whether an attribute was computed of a leaf."""
    return any(leaf.id == value.id for leaf in _leaves(recorder, held))


def _attributes(recorder: Any) -> Iterator[tuple[Any, str, Any]]:
    for module in recorder.names.alive():
        for name, held in vars(module).items():
            if not name.startswith("_"):
                yield module, name, held


def _leaves(recorder: Any, held: Any) -> Iterator[Value]:
    """The leaves with a gradient that a tensor was computed of, if it is none itself."""
    if not isinstance(held, recorder.engine.Tensor) or not held.requires_grad or held.is_leaf:
        return
    for op in ancestors([recorder.value(held)], limit=20):
        yield from (v for v in op.inputs if v.is_leaf and v.requires_grad)
