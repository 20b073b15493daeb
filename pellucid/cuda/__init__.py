"""`torch.cuda` on a machine without it: questions are answered (there is no device), everything
that needs one refuses.
"""

from __future__ import annotations

from typing import Any

from .._absent import refusing as _refusing
from ..dtypes import device as _device
from ..errors import CUDA_HINT as _CUDA_HINT
from ..errors import ArgumentTypeError as _ArgumentTypeError
from ..errors import ArgumentValueError as _ArgumentValueError
from ..errors import MissingAttributeError as _MissingAttributeError
from ..errors import OperationError as _OperationError
from ..errors import OutOfMemoryError as OutOfMemoryError
from ..errors import hinted as _hinted
from ..errors import no_cuda as _no_cuda
from . import amp as amp
from . import graphs as graphs
from . import jiterator as jiterator
from . import memory as memory
from . import nccl as nccl
from . import nvtx as nvtx
from . import profiler as profiler
from . import random as random
from . import sparse as sparse
from . import streams as streams
from . import tunable as tunable
from .graphs import is_current_stream_capturing as is_current_stream_capturing
from .sparse import on_device as _on_device

__all__ = [
    "BFloat16Storage",
    "BFloat16Tensor",
    "BoolStorage",
    "BoolTensor",
    "ByteStorage",
    "ByteTensor",
    "CUDAGraph",
    "CUDAPluggableAllocator",
    "CharStorage",
    "CharTensor",
    "ComplexDoubleStorage",
    "ComplexFloatStorage",
    "CudaError",
    "DeferredCudaCallError",
    "DoubleStorage",
    "DoubleTensor",
    "Event",
    "ExternalStream",
    "FloatStorage",
    "FloatTensor",
    "GreenContext",
    "HalfStorage",
    "HalfTensor",
    "IntStorage",
    "IntTensor",
    "LongStorage",
    "LongTensor",
    "MemPool",
    "ShortStorage",
    "ShortTensor",
    "Stream",
    "StreamContext",
    "amp",
    "caching_allocator_alloc",
    "caching_allocator_delete",
    "caching_allocator_disabled",
    "caching_allocator_enable",
    "can_device_access_peer",
    "change_current_allocator",
    "check_error",
    "clock_rate",
    "cudaStatus",
    "cudart",
    "current_blas_handle",
    "current_device",
    "current_solver_handle",
    "current_stream",
    "default_generators",
    "default_stream",
    "device",
    "device_count",
    "device_memory_used",
    "device_of",
    "empty_cache",
    "get_allocator_backend",
    "get_arch_list",
    "get_device_capability",
    "get_device_name",
    "get_device_properties",
    "get_gencode_flags",
    "get_per_process_memory_fraction",
    "get_rng_state",
    "get_rng_state_all",
    "get_stream_from_external",
    "get_sync_debug_mode",
    "graph",
    "graph_pool_handle",
    "graphs",
    "has_half",
    "has_magma",
    "host_memory_stats",
    "host_memory_stats_as_nested_dict",
    "init",
    "initial_seed",
    "ipc_collect",
    "is_available",
    "is_bf16_supported",
    "is_current_stream_capturing",
    "is_initialized",
    "is_tf32_supported",
    "jiterator",
    "list_gpu_processes",
    "make_graphed_callables",
    "manual_seed",
    "manual_seed_all",
    "max_memory_allocated",
    "max_memory_cached",
    "max_memory_reserved",
    "mem_get_info",
    "memory",
    "memory_allocated",
    "memory_cached",
    "memory_reserved",
    "memory_snapshot",
    "memory_stats",
    "memory_stats_as_nested_dict",
    "memory_summary",
    "memory_usage",
    "nccl",
    "nvtx",
    "power_draw",
    "profiler",
    "random",
    "reset_accumulated_host_memory_stats",
    "reset_accumulated_memory_stats",
    "reset_max_memory_allocated",
    "reset_max_memory_cached",
    "reset_peak_host_memory_stats",
    "reset_peak_memory_stats",
    "seed",
    "seed_all",
    "set_device",
    "set_per_process_memory_fraction",
    "set_rng_state",
    "set_rng_state_all",
    "set_stream",
    "set_sync_debug_mode",
    "sparse",
    "stream",
    "streams",
    "synchronize",
    "temperature",
    "tunable",
    "use_mem_pool",
    "utilization",
]

_initialized = False
for _module in (graphs, memory, random, streams):
    globals().update({name: each for name, each in vars(_module).items() if name in __all__})


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


def ipc_collect() -> None:
    """Nothing: no memory is shared with another process."""


def get_arch_list() -> list[str]:
    """No architecture."""
    return []


def _index(device: Any) -> int | None:
    """The index of a device of this kind; None of what has none."""
    if isinstance(device, str):
        device = _device(device)
    if isinstance(device, _device):
        if device.type != "cuda":
            raise _ArgumentValueError(f"Expected a cuda device, but got: {device}")
        return device.index
    return device if isinstance(device, int) else None


class device:
    """A context that changes nothing for negative numbers, and is refused for a device."""

    def __init__(self, device: Any) -> None:
        self.idx = _index(device)

    def __enter__(self) -> None:
        if self.idx is None:
            raise _ArgumentTypeError("'<' not supported between instances of 'NoneType' and 'int'")
        if self.idx >= 0:
            raise _hinted(_OperationError("PyTorch was compiled without CUDA support"), _CUDA_HINT)

    def __exit__(self, *raised: object) -> None:
        pass


def set_device(device: Any) -> None:
    """Not supported, since there is no such device: always raises an error."""
    index = _index(device)
    if index is None:
        raise _ArgumentValueError(
            f"Expected a torch.device with a specified index or an integer, but got:{device}"
        )
    if index >= 0:
        raise _hinted(
            _MissingAttributeError("module 'torch._C' has no attribute '_cuda_setDevice'"),
            _CUDA_HINT,
        )


def get_gencode_flags() -> str:
    """No flags, as there is no architecture."""
    return ""


def is_tf32_supported() -> bool:
    """False."""
    return False


def check_error(res: int) -> None:
    """Nothing for 0, the code of success; refused otherwise."""
    if res:
        raise CudaError(res)


class CudaError(RuntimeError):
    """An error of CUDA's runtime: never raised by the library itself."""

    def __init__(self, code: int) -> None:
        super().__init__(f"CUDA error {code} ({code})")


class DeferredCudaCallError(Exception):
    """An error of a call that waited for CUDA: never raised."""


class cudaStatus:  # noqa: N801 (PyTorch's name)
    """Codes of CUDA's runtime."""

    SUCCESS: int = 0
    ERROR_NOT_READY: int = 34


class GreenContext:
    """A part of a device's processors: there is no device."""


class device_of(device):  # noqa: N801 (PyTorch's name)
    """Context manager that changes nothing for a tensor: none is on such a device."""

    def __init__(self, obj: Any) -> None:
        self.idx = obj.get_device() if obj.is_cuda else -1


class StreamContext:
    """Context manager that changes nothing for None; a stream of a device cannot be made."""

    def __init__(self, stream: Any) -> None:
        self.stream = stream

    def __enter__(self) -> None:
        return None

    def __exit__(self, *exc: object) -> None:
        return None


def stream(stream: Any) -> StreamContext:
    """A context that changes nothing for None."""
    return StreamContext(stream)


def set_stream(stream: Any) -> None:
    """Nothing for None; there are no other streams."""
    if stream is not None:
        raise _no_cuda()


def _no_monitor() -> Exception:
    return ModuleNotFoundError(
        "nvidia-ml-py does not seem to be installed or it can't be imported."
    )


for _name in (
    "can_device_access_peer",
    "cudart",
    "current_blas_handle",
    "current_device",
    "current_solver_handle",
    "current_stream",
    "default_stream",
    "get_device_capability",
    "get_device_name",
    "get_device_properties",
    "get_stream_from_external",
    "get_sync_debug_mode",
    "set_sync_debug_mode",
    "synchronize",
):
    globals()[_name] = _refusing(_name, _no_cuda)
for _name in (
    "clock_rate",
    "device_memory_used",
    "memory_usage",
    "power_draw",
    "temperature",
    "utilization",
):
    globals()[_name] = _refusing(_name, _no_monitor)


for _name in "Bool Byte Char Double Float Half BFloat16 Int Long Short".split():
    for _kind in ("Tensor", "Storage"):
        globals()[_name + _kind] = _on_device(_name + _kind, __name__)
for _name in ("ComplexDoubleStorage", "ComplexFloatStorage"):
    globals()[_name] = _on_device(_name, __name__)
default_generators: tuple[Any, ...] = ()
has_half = True
has_magma = False
