"""Helpers of PyTorch's own code that libraries use (`torch._utils`)."""

from __future__ import annotations

import sys
import traceback
from collections import defaultdict
from collections.abc import Iterable, Sequence
from types import ModuleType
from typing import Any

from . import cpu as _cpu
from .core.public import FUNCTIONS
from .core.tensor import Tensor
from .dtypes import device as _device
from .serialization._rebuild import REBUILD as _REBUILD

for (_module, _name), _function in _REBUILD.items():
    if _module == "torch._utils":
        globals()[_name] = _function


def _flatten_dense_tensors(tensors: Sequence[Tensor]) -> Tensor:
    """All elements of the tensors, one after the other.

    >>> import pellucid as torch
    >>> _flatten_dense_tensors([torch.ones(2), torch.zeros(1, 1)])
    tensor([1., 1., 0.])
    """
    return FUNCTIONS["torch"]["cat"]([tensor.reshape(-1) for tensor in tensors])


def _unflatten_dense_tensors(flat: Tensor, tensors: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """Views of a flat tensor in the shapes of others: the reverse of `_flatten_dense_tensors`."""
    parts, start = [], 0
    for tensor in tensors:
        size = tensor.numel()
        parts.append(flat[start : start + size].view(tensor.shape))
        start += size
    return tuple(parts)


def _take_tensors(tensors: Iterable[Tensor], size_limit: int) -> Iterable[list[Tensor]]:
    """The tensors in groups of one dtype, each of at most so many bytes."""
    waiting: dict[Any, tuple[list[Tensor], int]] = defaultdict(lambda: ([], 0))
    for tensor in tensors:
        size = tensor.numel() * tensor.element_size()
        group, total = waiting[tensor.dtype]
        if group and total + size > size_limit:
            yield group
            group, total = [], 0
        waiting[tensor.dtype] = ([*group, tensor], total + size)
    for group, _ in waiting.values():
        if group:
            yield group


def _reorder_tensors_as(
    tensors: Sequence[Tensor], ordered_tensors: Sequence[Tensor]
) -> tuple[Tensor, ...]:
    """The tensors in the order of the dtypes of others."""
    by_dtype: dict[Any, list[Tensor]] = defaultdict(list)
    for tensor in tensors:
        by_dtype[tensor.type()].append(tensor)
    rest = {kind: iter(group) for kind, group in by_dtype.items()}
    return tuple([next(rest[tensor.type()]) for tensor in ordered_tensors])


def _element_size(dtype: Any) -> int:
    """Bytes of one element."""
    return int(dtype.itemsize)


class KeyErrorMessage(str):
    """The text of a KeyError, whose lines stay lines in a traceback."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


class ExceptionWrapper:
    """An exception on its way from another thread or process, with its traceback as text."""

    def __init__(self, exc_info: Any = None, where: str = "in background") -> None:
        if exc_info is None:
            exc_info = sys.exc_info()
        self.exc_type = exc_info[0]
        self.exc_msg = "".join(traceback.format_exception(*exc_info))
        self.where = where

    def reraise(self) -> None:
        """Raise it here.

        Raises:
            an exception of the same class, with the original traceback in its text.
        """
        text = f"Caught {self.exc_type.__name__} {self.where}.\nOriginal {self.exc_msg}"
        if self.exc_type is KeyError:
            raise KeyError(KeyErrorMessage(text))
        if getattr(self.exc_type, "message", None):
            raise self.exc_type(message=text)
        try:
            error = self.exc_type(text)
        except Exception:
            raise RuntimeError(text) from None
        raise error


# ---- devices: there is the CPU -------------------------------------------------------------------
def _get_available_device_type() -> str | None:
    """The kind of accelerator: None."""
    return None


def _get_all_device_indices() -> list[int] | None:
    """The accelerators' numbers: None."""
    return None


def _get_device_index(device: Any, optional: bool = False, allow_cpu: bool = False) -> int:
    """The number of a device; -1 for the CPU where that is allowed."""
    if isinstance(device, str):
        device = _device(device)
    if isinstance(device, _device):
        if device.type == "cpu":
            if not allow_cpu:
                raise ValueError(f"Expected a non cpu device, but got: {device}")
            return -1 if device.index is None else device.index
        if device.index is not None:
            return device.index
    elif isinstance(device, int):
        return device
    if optional:
        return -1
    raise ValueError(
        f"Expected a torch.device with a specified index or an integer, but got:{device}"
    )


def _get_device_module(device_type: str) -> ModuleType:
    """The module of a kind of device: `torch.cpu`."""
    if device_type != "cpu":
        raise RuntimeError(
            f"Device '{device_type}' does not have a corresponding module registered as 'torch.{device_type}'."
        )
    return _cpu
