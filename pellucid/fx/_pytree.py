"""Flatten containers along a known structure, as generated code does with its arguments."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from typing import Any

from .._pytree import TreeSpec

__all__ = ["TreeSpec", "register_pytree_flatten_spec", "tree_flatten_spec"]

FlattenFuncSpec = Callable[[Any, TreeSpec], list[Any]]
SUPPORTED_NODES: dict[type, FlattenFuncSpec] = {}


def register_pytree_flatten_spec(
    cls: type,
    flatten_fn_spec: FlattenFuncSpec,
    flatten_fn_exact_match_spec: Callable[[Any, TreeSpec], bool] | None = None,
) -> None:
    """Let `tree_flatten_spec` take a class of containers apart with a function of (container,
    structure).
    """
    SUPPORTED_NODES[cls] = flatten_fn_spec


def tree_flatten_spec(pytree: Any, spec: TreeSpec) -> list[Any]:
    """The leaves of a tree along a structure: what the structure has as a leaf stays whole,
    whatever it is.

    Raises:
        RuntimeError: a class of containers that is not known.

    >>> from pellucid.fx._pytree import tree_flatten_spec
    >>> from pellucid.utils._pytree import tree_flatten
    >>> tree_flatten_spec([1, {"a": [2, 3]}], tree_flatten([0, {"a": 0}])[1])
    [1, [2, 3]]
    """
    if spec.is_leaf():
        return [pytree]
    if spec.type in SUPPORTED_NODES:
        parts = SUPPORTED_NODES[spec.type](pytree, spec)
    elif isinstance(spec.type, type) and issubclass(spec.type, dict):
        keys = spec.context[1] if spec.type is defaultdict else spec.context
        parts = [pytree[key] for key in keys]
    elif isinstance(spec.type, type) and issubclass(spec.type, (list, tuple)):
        parts = [pytree[at] for at in range(spec.num_children)]
    else:
        raise RuntimeError(
            f"{spec.type} does not have a flatten_fn_spec associated with it. Please register one with "
            "torch.fx._pytree.register_pytree_flatten_spec.  If you have serialized your model, make sure that any "
            "custom pytrees have been registered before loading it."
        )
    leaves: list[Any] = []
    for part, child in zip(parts, spec.children_specs, strict=True):
        leaves += tree_flatten_spec(part, child)
    return leaves
