"""Places in the graph that stand for tensors in `autograd.grad` and `backward`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from ..core.display.nodes import AccumulateGrad
from ..core.tensor import OutputSlot, Tensor, make_tensor


class GradientEdge(NamedTuple):
    """A place in the graph: result number `output_nr` of `node`."""

    node: Any
    output_nr: int
    ownership_token: Any = None


def _at(edge: GradientEdge) -> Tensor:
    """A tensor at a place in the graph: the leaf itself, or one of no memory with the shape and
    dtype of what was computed there.
    """
    node = edge.node
    if isinstance(node, AccumulateGrad):
        return node.variable
    shape, dtype, place = node.shape, node.dtype, node
    if isinstance(dtype, (tuple, list)):
        shape, dtype, place = (
            shape[edge.output_nr],
            dtype[edge.output_nr],
            OutputSlot(node, edge.output_nr),
        )
    result: Tensor = make_tensor(np.broadcast_to(np.zeros((), dtype), shape))
    result._node = place
    result._rg = True
    return result


def seeds(given: Any, count: int) -> tuple[Any, ...]:
    """The gradients that backward of `count` tensors starts with; PyTorch ignores those beyond.

    Raises:
        RuntimeError: there are fewer. TypeError: neither a tensor nor several.
    """
    if given is None:
        return (None,) * count
    made = (given,) if isinstance(given, Tensor) else tuple(given)
    if len(made) < count:
        raise RuntimeError(f"got {count} tensors and {len(made)} gradients")
    return made[:count]


def listed(given: Any, taker: str = "") -> tuple[Any, ...]:
    """One tensor, place in the graph or object like a tensor, or several, as a tuple.

    Args:
        taker: the function whose `inputs` these are; they may be the values of a dict.

    Raises:
        TypeError: another mapping.
    """
    if given is None or isinstance(given, (Tensor, GradientEdge)):
        return (given,)
    if hasattr(given, "__torch_function__"):
        return (given,)
    if taker and type(given) is dict:
        return tuple(given.values())
    if taker and isinstance(given, Mapping):
        raise TypeError(
            f"`inputs` argument to `{taker}()` must be a dict, not {type(given).__name__}. Other Mapping types are not supported."
        )
    return tuple(given)


def at_edges(given: Any) -> tuple[Any, ...]:
    """One tensor or place in the graph, or several, as a tuple of tensors."""
    return tuple([_at(x) if isinstance(x, GradientEdge) else x for x in listed(given)])
