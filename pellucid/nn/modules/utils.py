"""Arguments given as one number or as a tuple, and sizes that follow from them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import repeat
from typing import Any

from ...core.tensor import Tensor
from ...errors import ArgumentValueError

__all__ = ["consume_prefix_in_state_dict_if_present"]


def _ntuple(n: int) -> Callable[[Any], tuple[Any, ...]]:
    def parse(x: Any) -> tuple[Any, ...]:
        return tuple(x) if isinstance(x, Iterable) else tuple(repeat(x, n))

    return parse


_single, _pair, _triple, _quadruple = _ntuple(1), _ntuple(2), _ntuple(3), _ntuple(4)


def _reverse_repeat_tuple(t: tuple[Any, ...], n: int) -> tuple[Any, ...]:
    """Each element `n` times, the last element first."""
    return tuple(x for x in reversed(t) for _ in range(n))


def consume_prefix_in_state_dict_if_present(state_dict: dict[str, Any], prefix: str) -> None:
    """Strip a prefix from the names of a state_dict, in place."""
    for key in list(state_dict):
        if key.startswith(prefix):
            state_dict[key[len(prefix) :]] = state_dict.pop(key)
    metadata = getattr(state_dict, "_metadata", None)
    for key in list(metadata or ()):
        if key and metadata is not None:
            name = key.replace(".", "") if key in prefix else key
            if name == prefix.replace(".", ""):
                metadata[""] = metadata.pop(key)
            elif key.startswith(prefix):
                metadata[key[len(prefix) :]] = metadata.pop(key)


def _missing_padding(
    input: Tensor,
    output_size: Any,
    stride: Any,
    padding: Any,
    kernel_size: Any,
    n: int,
    dilation: Any,
) -> list[int]:
    """What a transposed convolution over `n` dimensions has to add at the end of its output for
    this size.
    """
    lead = 2 if input.ndim == n + 2 else 1
    wanted = list(output_size)
    if len(wanted) == lead + n:
        wanted = wanted[lead:]
    if len(wanted) != n:
        raise ArgumentValueError(
            f"ConvTranspose{n}D: for {input.ndim}D input, output_size must have {n} or {lead + n} elements (got {len(wanted)})"
        )
    low = [
        (input.shape[lead + d] - 1) * stride[d]
        - 2 * padding[d]
        + (1 if dilation is None else dilation[d]) * (kernel_size[d] - 1)
        + 1
        for d in range(n)
    ]
    high = [low[d] + stride[d] - 1 for d in range(n)]
    if any(not a <= w <= b for a, w, b in zip(low, wanted, high)):
        raise ArgumentValueError(
            f"requested an output size of {output_size}, but valid sizes range from {low} to {high} (for an input of "
            f"{input.shape[2:]})"
        )
    return [w - a for w, a in zip(wanted, low)]
