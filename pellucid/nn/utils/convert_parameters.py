"""Parameters as one vector, and back."""

from __future__ import annotations

from collections.abc import Iterable

from ...core.tensor import Tensor
from ...errors import ArgumentTypeError
from .._functions import T


def parameters_to_vector(parameters: Iterable[Tensor]) -> Tensor:
    """All elements of all parameters in one 1-d tensor, part of the graph.

    Example:
        >>> import pellucid as torch
        >>> torch.nn.utils.parameters_to_vector([torch.ones(1, 2), torch.zeros(1)])
        tensor([1., 1., 0.])
    """
    return T.cat([p.reshape(-1) for p in parameters])


def vector_to_parameters(vec: Tensor, parameters: Iterable[Tensor]) -> None:
    """Replace the data of each parameter by its part of `vec`, with which it shares memory.

    Example:
        >>> import pellucid as torch
        >>> w = torch.nn.Parameter(torch.zeros(2))
        >>> torch.nn.utils.vector_to_parameters(torch.tensor([1.0, 2.0]), [w])
        >>> w.tolist()
        [1.0, 2.0]
    """
    if not isinstance(vec, Tensor):
        raise ArgumentTypeError(f"expected torch.Tensor, but got: {type(vec).__name__}")
    at = 0
    for p in parameters:
        count = p.numel()
        p.data = vec[at : at + count].view_as(p).data
        at += count
