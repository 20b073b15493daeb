"""`torch._subclasses.functional_tensor`, for `isinstance`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

from ..aten.modes import TorchDispatchMode
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


class FunctionalTensorMode(TorchDispatchMode):
    """Exists to be asked for with `isinstance`: see `torch.func.functionalize`."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise UnsupportedError(
            "torch._subclasses.FunctionalTensorMode is not supported",
            hint="use torch.func.functionalize",
        )


@contextmanager
def disable_functional_mode() -> Iterator[None]:
    """A block without such a mode: there is none."""
    yield
