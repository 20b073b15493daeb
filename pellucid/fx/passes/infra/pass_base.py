"""The base class of passes (`torch.fx.passes.infra.pass_base`)."""

from __future__ import annotations

import abc
from typing import NamedTuple

from ..._compatibility import compatibility
from ...graph_module import GraphModule

__all__ = ["PassBase", "PassResult"]


@compatibility(is_backward_compatible=False)
class PassResult(NamedTuple):
    """The module that a pass was run on, or another, and whether it was changed."""

    graph_module: GraphModule
    modified: bool


@compatibility(is_backward_compatible=False)
class PassBase(abc.ABC):
    """A pass: a change of a graph module, with checks before and after it.

    >>> import pellucid as torch
    >>> from pellucid.fx.passes.infra.pass_base import PassBase, PassResult
    >>> class Tidy(PassBase):
    ...     def call(self, graph_module):
    ...         changed = graph_module.graph.eliminate_dead_code()
    ...         return PassResult(graph_module, changed)
    >>> Tidy()(torch.fx.symbolic_trace(lambda x: [x + 1, x][1])).modified
    True
    """

    def __call__(self, graph_module: GraphModule) -> PassResult | None:
        self.requires(graph_module)
        result = self.call(graph_module)
        self.ensures(graph_module)
        return result

    @abc.abstractmethod
    def call(self, graph_module: GraphModule) -> PassResult | None:
        """The change."""

    def requires(self, graph_module: GraphModule) -> None:  # noqa: B027 (nothing, unless overridden)
        """What must be so before: raises when it is not."""

    def ensures(self, graph_module: GraphModule) -> None:  # noqa: B027 (nothing, unless overridden)
        """What must be so after: raises when it is not."""
