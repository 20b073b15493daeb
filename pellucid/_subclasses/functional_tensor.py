"""`torch._subclasses.functional_tensor`, for `isinstance`."""

from __future__ import annotations

from typing import Any, NoReturn

from ..core.tensor import Tensor
from ..errors import UnsupportedError


class FunctionalTensor(Tensor):
    """Exists to be asked for with `isinstance`: tensors without writes are made by
    `torch.func.functionalize`.
    """

    def __new__(cls, *args: Any, **kwargs: Any) -> NoReturn:
        raise UnsupportedError(
            "torch._subclasses.FunctionalTensor is not supported",
            hint="use torch.func.functionalize",
        )


def mb_unwrap_functional_tensor(tensor: Tensor) -> Tensor:
    """The tensor: there are no functional ones."""
    return tensor
