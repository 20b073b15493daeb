"""`torch.cuda` on a machine without it: questions are answered (there is no device), everything
that needs one refuses.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ..dtypes import device as _device
from ..errors import CUDA_HINT as _CUDA_HINT
from ..errors import OutOfMemoryError as OutOfMemoryError
from ..errors import hinted as _hinted
from ..errors import no_cuda as _no_cuda
from . import amp as amp
from . import nvtx as nvtx
from . import profiler as profiler
from . import random as random

__all__ = [
    "BFloat16Tensor",
    "BoolTensor",
    "ByteTensor",
    "CUDAGraph",
    "CharTensor",
    "DoubleTensor",
    "Event",
    "ExternalStream",
    "FloatTensor",
    "HalfTensor",
    "IntTensor",
    "LongTensor",
    "ShortTensor",
    "Stream",
    "StreamContext",
    "amp",
    "cudart",
    "current_device",
    "current_stream",
    "default_generators",
    "default_stream",
    "device",
    "device_count",
    "empty_cache",
    "get_arch_list",
    "get_device_capability",
    "get_device_name",
    "get_device_properties",
    "get_rng_state",
    "get_rng_state_all",
    "graph",
    "init",
    "initial_seed",
    "ipc_collect",
    "is_available",
    "is_bf16_supported",
    "is_current_stream_capturing",
    "is_initialized",
    "manual_seed",
    "manual_seed_all",
    "max_memory_allocated",
    "max_memory_reserved",
    "mem_get_info",
    "memory_allocated",
    "memory_reserved",
    "memory_stats",
    "memory_summary",
    "nvtx",
    "profiler",
    "random",
    "reset_max_memory_allocated",
    "reset_max_memory_cached",
    "reset_peak_memory_stats",
    "seed",
    "seed_all",
    "set_device",
    "set_per_process_memory_fraction",
    "set_rng_state",
    "set_rng_state_all",
    "set_stream",
    "stream",
    "synchronize",
    "utilization",
]

_initialized = False


def is_available() -> bool:
    """False.

    >>> import pellucid as torch
    >>> torch.cuda.is_available()
    False
    """
    return False


def device_count() -> int:
    """0.

    >>> import pellucid as torch
    >>> torch.cuda.device_count()
    0
    """
    return 0


def is_initialized() -> bool:
    """False.

    >>> import pellucid as torch
    >>> torch.cuda.is_initialized()
    False
    """
    return False


def is_bf16_supported(including_emulation: bool = True) -> bool:
    """False.

    >>> import pellucid as torch
    >>> torch.cuda.is_bf16_supported()
    False
    """
    return False


def is_built() -> bool:
    """False."""
    return False


def init() -> None:
    """Not supported, since there is no such device: always raises an error."""
    raise _no_cuda()


def manual_seed(seed: int) -> None:
    """Nothing: there is no generator of a device to seed."""


def manual_seed_all(seed: int) -> None:
    """Nothing: there is no generator of a device to seed."""


def empty_cache() -> None:
    """Nothing: there is no memory of a device."""


def ipc_collect() -> None:
    """Nothing: there is no memory of a device."""


def memory_allocated(device: Any = None) -> int:
    """0.

    >>> import pellucid as torch
    >>> torch.cuda.memory_allocated()
    0
    """
    return 0


def max_memory_allocated(device: Any = None) -> int:
    """0."""
    return 0


def memory_reserved(device: Any = None) -> int:
    """0."""
    return 0


def max_memory_reserved(device: Any = None) -> int:
    """0."""
    return 0


def reset_peak_memory_stats(device: Any = None) -> None:
    """Nothing: there is no memory of a device."""


def reset_max_memory_allocated(device: Any = None) -> None:
    """Nothing: there is no memory of a device."""


def reset_max_memory_cached(device: Any = None) -> None:
    """Nothing: there is no memory of a device."""


def is_current_stream_capturing() -> bool:
    """False."""
    return False


def get_arch_list() -> list[str]:
    """No architecture."""
    return []


def get_rng_state_all() -> list[Any]:
    """No state."""
    return []


def set_rng_state_all(new_states: Any) -> None:
    """Nothing when there are no states; refused otherwise."""
    if new_states:
        raise _no_cuda()


@contextmanager
def device(device: Any) -> Iterator[None]:
    """A context that changes nothing for None and negative numbers, and is refused for a device."""
    if (
        device is not None
        and not (isinstance(device, int) and device < 0)
        and not isinstance(device, _device | str)
    ):
        raise _no_cuda()
    if isinstance(device, (_device, str)):
        raise _no_cuda()
    yield


def _refusing(name: str) -> Any:
    def refuse(*args: Any, **kwargs: Any) -> Any:
        raise _no_cuda()

    refuse.__name__ = refuse.__qualname__ = name
    refuse.__doc__ = "Not supported, since there is no such device: always raises an error."
    return refuse


def _refusing_class(name: str) -> Any:
    return type(
        name,
        (),
        {
            "__init__": _refusing("__init__"),
            "__doc__": f"""Not supported, since there is no such device: always raises an error.

    >>> import pellucid as torch
    >>> torch.cuda.{name}()
    Traceback (most recent call last):
        ...
    AssertionError: Torch not compiled with CUDA enabled...
    """,
            "__module__": __name__,
        },
    )


for _name in (
    "current_device",
    "current_stream",
    "default_stream",
    "get_device_capability",
    "get_device_name",
    "get_device_properties",
    "get_rng_state",
    "mem_get_info",
    "memory_stats",
    "memory_summary",
    "seed",
    "seed_all",
    "set_device",
    "set_rng_state",
    "set_stream",
    "stream",
    "synchronize",
    "utilization",
    "initial_seed",
    "set_per_process_memory_fraction",
    "graph",
    "cudart",
):
    globals()[_name] = _refusing(_name)
for _name in ("CUDAGraph", "Event", "ExternalStream", "Stream", "StreamContext"):
    globals()[_name] = _refusing_class(_name)


def _unavailable(name: str) -> Any:
    def refuse(cls: Any, *args: Any, **kwargs: Any) -> Any:
        raise _hinted(
            TypeError(
                f"type torch.cuda.{name} not available. Torch not compiled with CUDA enabled."
            ),
            _CUDA_HINT,
        )

    return refuse


class _NoTensor(type):
    def __instancecheck__(cls, obj: object) -> bool:
        return False


for _name in (
    "Bool",
    "Byte",
    "Char",
    "Double",
    "Float",
    "Half",
    "BFloat16",
    "Int",
    "Long",
    "Short",
):
    _body = {
        "__new__": _unavailable(f"{_name}Tensor"),
        "__doc__": "Tensors of a device: there are none.",
        "__module__": __name__,
    }
    globals()[f"{_name}Tensor"] = _NoTensor(f"{_name}Tensor", (), _body)
default_generators: tuple[Any, ...] = ()
