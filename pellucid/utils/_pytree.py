"""Nested containers as lists of their leaves (the part of PyTorch's `torch.utils._pytree` that projects import).

>>> from pellucid.utils._pytree import tree_flatten, tree_map, tree_unflatten
>>> leaves, spec = tree_flatten({"a": 1, "b": (2, 3)})
>>> leaves, tree_unflatten([x * 10 for x in leaves], spec)
([1, 2, 3], {'a': 10, 'b': (20, 30)})
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..func._tree import Spec as TreeSpec
from ..func._tree import flatten as _flatten
from ..func._tree import unflatten as tree_unflatten

__all__ = ["TreeSpec", "tree_flatten", "tree_leaves", "tree_map", "tree_map_only", "tree_unflatten"]


def tree_flatten(tree: Any) -> tuple[list[Any], TreeSpec]:
    """(leaves from left to right, structure): tuples, lists, dictionaries and named tuples are containers."""
    return _flatten(tree)


def tree_leaves(tree: Any) -> list[Any]:
    """The leaves from left to right."""
    return _flatten(tree)[0]


def tree_map(func: Callable[..., Any], tree: Any, *rests: Any) -> Any:
    """The tree with `func` applied to each leaf, and to the leaves in the same places of further trees.

    Raises:
        ValueError: trees of another structure.
    """
    leaves, spec = _flatten(tree)
    others = []
    for rest in rests:
        found, own = _flatten(rest)
        if len(found) != len(leaves) or repr(own) != repr(spec):
            raise ValueError(f"tree_map: expected trees of one structure, got {spec} and {own}")
        others.append(found)
    return tree_unflatten([func(*row) for row in zip(leaves, *others, strict=True)], spec)


def tree_map_only(kind: Any, func: Callable[[Any], Any], tree: Any) -> Any:
    """The tree with `func` applied to the leaves of a type; the others stay."""
    return tree_map(lambda leaf: func(leaf) if isinstance(leaf, kind) else leaf, tree)
