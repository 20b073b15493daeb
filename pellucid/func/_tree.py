"""Nested containers (tuples, lists, dicts, named tuples) taken apart into leaves and put together again."""

from __future__ import annotations

from collections import OrderedDict, defaultdict
from collections.abc import Callable
from typing import Any


class Spec:
    """The structure of a container: what kind it is, its keys, and the structures inside. A leaf has no kind."""

    __slots__ = ("children", "count", "keys", "kind")
    count: int

    def __init__(self, kind: Any = None, keys: Any = None, children: tuple[Spec, ...] = ()) -> None:
        self.kind = kind
        self.keys = keys
        self.children = children
        self.count = 1 if kind is None else sum(child.count for child in children)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Spec) and (self.kind, self.keys, self.children) == (other.kind, other.keys, other.children)

    def __hash__(self) -> int:
        return hash((self.kind, self.children))

    def __repr__(self) -> str:
        if self.kind is None:
            return "*"
        inside = ", ".join(map(repr, self.children))
        return f"TreeSpec({getattr(self.kind, '__name__', self.kind)}, {self.keys}, [{inside}])"


LEAF = Spec()
_DICTS = (dict, OrderedDict, defaultdict)


def _parts(tree: Any) -> tuple[Any, Any, list[Any]] | None:
    kind = type(tree)
    if kind in (tuple, list):
        return kind, None, list(tree)
    if kind in _DICTS:
        return kind, (getattr(tree, "default_factory", None), tuple(tree)), list(tree.values())
    if isinstance(tree, tuple) and hasattr(kind, "_fields"):
        return kind, None, list(tree)
    return None


def flatten(tree: Any) -> tuple[list[Any], Spec]:
    """The leaves in order, and the structure."""
    parts = _parts(tree)
    if parts is None:
        return [tree], LEAF
    kind, keys, values = parts
    leaves: list[Any] = []
    children = []
    for value in values:
        inner, spec = flatten(value)
        leaves += inner
        children.append(spec)
    return leaves, Spec(kind, keys, tuple(children))


def unflatten(leaves: Any, spec: Spec) -> Any:
    """The container of a structure with these leaves."""
    stream = iter(leaves)

    def build(node: Spec) -> Any:
        if node.kind is None:
            return next(stream)
        values = [build(child) for child in node.children]
        if node.kind in _DICTS:
            factory, keys = node.keys
            pairs = zip(keys, values, strict=True)
            return defaultdict(factory, pairs) if node.kind is defaultdict else node.kind(pairs)
        return node.kind(*values) if hasattr(node.kind, "_fields") else node.kind(values)

    return build(spec)


def tree_map(function: Callable[[Any], Any], tree: Any) -> Any:
    """The same container with the function applied to each leaf."""
    leaves, spec = flatten(tree)
    return unflatten([function(leaf) for leaf in leaves], spec)


def broadcast_prefix(tree: Any, spec: Spec) -> list[Any] | None:
    """A leaf of `tree` for each leaf of `spec`, where `tree` may stop earlier; None when they do not fit."""
    if spec.kind is None:
        return None if _parts(tree) is not None else [tree]
    parts = _parts(tree)
    if parts is None:
        return [tree] * spec.count
    kind, keys, values = parts
    same_keys = spec.kind not in _DICTS or (kind in _DICTS and set(keys[1]) == set(spec.keys[1]))
    if (kind is not spec.kind and not {kind, spec.kind} <= {tuple, list}) or len(values) != len(spec.children) or not same_keys:
        return None
    if spec.kind in _DICTS:
        values = [tree[key] for key in spec.keys[1]]
    found = []
    for value, child in zip(values, spec.children, strict=True):
        inner = broadcast_prefix(value, child)
        if inner is None:
            return None
        found += inner
    return found
