"""The default device as a mode, under the names of `torch.utils._device`."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any

from ..core.modes import local as _local
from ..devices import device as _device
from ..overrides import TorchFunctionMode

_CONSTRUCTORS = """
arange as_tensor asarray bartlett_window blackman_window empty empty_permuted empty_quantized empty_strided eye
fft.fftfreq fft.rfftfreq full hamming_window hann_window kaiser_window linspace logspace nested.nested_tensor ones
rand randint randn randperm range scalar_tensor sparse_bsc_tensor sparse_bsr_tensor sparse_compressed_tensor
sparse_coo_tensor sparse_csc_tensor sparse_csr_tensor tensor tril_indices triu_indices zeros
"""


def __getattr__(name: str) -> Any:
    if name == "CURRENT_DEVICE":  # which changes
        return _local.device
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


@functools.cache
def _device_constructors() -> set[Callable[..., Any]]:
    """The functions that make tensors without being given one.

    >>> import pellucid as torch
    >>> torch.zeros in _device_constructors(), torch.zeros_like in _device_constructors()
    (True, False)
    """
    found = set()
    for path in _CONSTRUCTORS.split():
        value: Any = sys.modules[__name__.partition(".")[0]]
        for part in path.split("."):
            value = getattr(value, part, None)
        if value is not None:
            found.add(value)
    return found


class DeviceContext(TorchFunctionMode):
    """Inside it, tensors are made on `device` unless a call names another.

    >>> import pellucid as torch
    >>> with DeviceContext("meta"):
    ...     torch.ones(2).device
    device(type='meta')
    """

    def __init__(self, device: Any) -> None:
        self.device = _device(device)

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if func in _device_constructors() and kwargs.get("device") is None:
            kwargs["device"] = self.device
        return func(*args, **kwargs)


def device_decorator(device: Any, func: Callable[..., Any]) -> Callable[..., Any]:
    """The function, with a context around each call that `device()` makes."""

    @functools.wraps(func)
    def inner(*args: Any, **kwargs: Any) -> Any:
        with device():
            return func(*args, **kwargs)

    return inner


def set_device(device: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A decorator: the function makes its tensors on `device`.

    >>> import pellucid as torch
    >>> @set_device("meta")
    ... def make():
    ...     return torch.empty(2)
    >>> make().device
    device(type='meta')
    """
    return lambda func: device_decorator(lambda: DeviceContext(device), func)
