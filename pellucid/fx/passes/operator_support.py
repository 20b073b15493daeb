"""Which nodes a backend supports (`torch.fx.passes.operator_support`)."""

from __future__ import annotations

import abc
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ...nn import Module
from .._compatibility import compatibility
from ..node import Node
from .shape_prop import TensorMetadata
from .tools_common import CALLABLE_NODE_OPS, get_node_target

__all__ = [
    "FunctionalOperatorSupport",
    "OpSupports",
    "OperatorSupport",
    "OperatorSupportBase",
    "any_chain",
    "chain",
    "create_op_support",
]

TargetTypeName = str
SupportedArgumentDTypes = tuple[Sequence[Sequence[Any]], dict[str, Sequence[Any]]] | None
SupportDict = Mapping[TargetTypeName, SupportedArgumentDTypes]
IsNodeSupported = Callable[[Mapping[str, Module], Node], bool]


@compatibility(is_backward_compatible=False)
class OperatorSupportBase(abc.ABC):
    """Says of each node whether it is supported."""

    @abc.abstractmethod
    def is_node_supported(self, submodules: Mapping[str, Module], node: Node) -> bool:
        """Whether a node is supported; `submodules` are those of the module, by their dotted names."""
        raise NotImplementedError


@compatibility(is_backward_compatible=False)
class OperatorSupport(OperatorSupportBase):
    """Supports the calls that a dictionary lists: names of targets, with the element types of
    arguments or None for any.
    """

    _support_dict: SupportDict

    def __init__(self, support_dict: SupportDict | None = None) -> None:
        self._support_dict = support_dict or {}

    def is_node_supported(self, submodules: Mapping[str, Module], node: Node) -> bool:
        """Whether a node's target is listed and its arguments have the listed element types."""
        if node.op not in CALLABLE_NODE_OPS:
            return True
        target = get_node_target(submodules, node)
        if target not in self._support_dict:
            return False
        wanted = self._support_dict[target]
        if wanted is None:
            return True
        positional, named = wanted
        pairs = [
            *zip(node.args, positional),
            *((node.kwargs.get(name), kinds) for name, kinds in named.items()),
        ]
        return all(_dtype_of(arg) in kinds for arg, kinds in pairs if isinstance(arg, Node))


def _dtype_of(node: Node) -> Any:
    meta = node.meta.get("tensor_meta")
    return meta.dtype if isinstance(meta, TensorMetadata) else None


@compatibility(is_backward_compatible=False)
class FunctionalOperatorSupport(OperatorSupportBase):
    """Supports what a function says."""

    def __init__(self, is_node_supported: IsNodeSupported) -> None:
        self._is_node_supported = is_node_supported

    def is_node_supported(self, submodules: Mapping[str, Module], node: Node) -> bool:
        """What the function says of a node."""
        return self._is_node_supported(submodules, node)


@compatibility(is_backward_compatible=False)
def create_op_support(is_node_supported: IsNodeSupported) -> OperatorSupportBase:
    """Operator support from a function of (submodules, node)."""
    return FunctionalOperatorSupport(is_node_supported)


@compatibility(is_backward_compatible=False)
def chain(*op_support: OperatorSupportBase) -> OperatorSupportBase:
    """What all of several support."""
    return create_op_support(
        lambda mods, node: all(part.is_node_supported(mods, node) for part in op_support)
    )


@compatibility(is_backward_compatible=False)
def any_chain(*op_support: OperatorSupportBase) -> OperatorSupportBase:
    """What one of several supports."""
    return create_op_support(
        lambda mods, node: any(part.is_node_supported(mods, node) for part in op_support)
    )


@compatibility(is_backward_compatible=False)
class OpSupports:
    """Makers of common operator supports."""

    @classmethod
    def decline_if_input_dtype(cls, dtype: Any) -> OperatorSupportBase:
        """Supports nodes none of whose inputs has an element type."""
        return create_op_support(
            lambda mods, node: all(_dtype_of(arg) != dtype for arg in node.all_input_nodes)
        )

    @classmethod
    def decline_if_node_in_names(cls, disallow_set: set[str]) -> OperatorSupportBase:
        """Supports nodes whose names are not in a set."""
        return create_op_support(lambda mods, node: node.name not in disallow_set)
