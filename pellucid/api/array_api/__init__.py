"""The methods of tensors that the array API standard asks for, and its namespace, which is loaded
when first asked for.
"""

from __future__ import annotations

from typing import Any

from ...core.public import METHODS
from ...core.tensor import Tensor


def array_namespace(self: Tensor, *, api_version: str | None = None) -> Any:
    """The namespace of the array API standard, with functions that take tensors.

    Raises:
        ValueError: the standard has no such version, or it is not there.

    Example:
        >>> import pellucid as torch
        >>> xp = torch.ones(2, 3).__array_namespace__()
        >>> xp.sum(xp.ones((2, 3)), axis=0)
        tensor([2., 2., 2.])
    """
    from . import namespace

    if api_version not in (None, "2021.12", "2022.12", "2023.12", "2024.12"):
        raise ValueError(f"array API version {api_version!r} is not there; 2024.12 is")
    return namespace


def to_device(self: Tensor, device: Any, /, *, stream: Any = None) -> Tensor:
    """This tensor on a device, under the standard's name; `stream` is for devices that have
    streams, which the CPU has not.

    Raises:
        ValueError: a stream is given.

    Example:
        >>> import pellucid as torch
        >>> torch.ones(2).to_device("cpu")
        tensor([1., 1.])
    """
    if stream is not None:
        raise ValueError("the CPU has no streams")
    result: Tensor = METHODS["to"](self, device)
    return result


METHODS["__array_namespace__"] = array_namespace
METHODS["to_device"] = to_device
