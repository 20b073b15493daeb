"""Types of values while tracing (`torch.fx.annotate`)."""

from __future__ import annotations

from typing import Any

from ._compatibility import compatibility
from .proxy import Proxy

__all__ = ["annotate"]


@compatibility(is_backward_compatible=False)
def annotate(val: Any, type: type) -> Any:
    """Give the node of a proxy a type, which the code shows; another value comes back as it is.

    Raises:
        RuntimeError: the node has a type already.
    """
    if not isinstance(val, Proxy):
        return val
    if val.node.type:
        raise RuntimeError(
            f"Tried to annotate a value that already had a type on it! Existing type is {val.node.type} and new type is {type}. "
            "This could happen if you tried to annotate a function parameter value (in which case you should use the type slot on the "
            "function signature) or you called annotate on the same value twice"
        )
    val.node.type = type
    return val
