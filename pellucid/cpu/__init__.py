"""`torch.cpu`: the processor asked in the words of accelerators. There is one device, and its work
is done when a call returns.

>>> import pellucid as torch
>>> torch.cpu.device_count(), torch.cpu.current_device()
(1, 'cpu')
"""

from __future__ import annotations

import functools
import os
import platform
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import MappingProxyType
from typing import Any

from . import amp as amp

__all__ = [
    "Event",
    "Stream",
    "StreamContext",
    "current_device",
    "current_stream",
    "device_count",
    "get_capabilities",
    "is_available",
    "is_initialized",
    "set_device",
    "stream",
    "synchronize",
]


class Stream:
    """The order of calls; nothing runs beside it."""

    def __init__(self, priority: int = -1) -> None:
        self.priority = priority

    def wait_stream(self, stream: Any) -> None:
        """Returns at once."""

    def record_event(self) -> Event:
        """An event that has happened."""
        return Event()

    def wait_event(self, event: Any) -> None:
        """Returns at once."""


class Event:
    """A point in the order of calls, which has always been reached."""

    def __init__(self, enable_timing: bool = False) -> None:
        self.enable_timing = enable_timing

    def query(self) -> bool:
        """True."""
        return True

    def record(self, stream: Any = None) -> None:
        """Returns at once."""

    def synchronize(self) -> None:
        """Returns at once."""

    def wait(self, stream: Any = None) -> None:
        """Returns at once."""


_default = Stream()


def is_available() -> bool:
    """True."""
    return True


def is_initialized() -> bool:
    """True."""
    return True


def device_count() -> int:
    """1."""
    return 1


def current_device() -> str:
    """ "cpu"."""
    return "cpu"


def set_device(device: Any) -> None:
    """Nothing: there is one device."""


def synchronize(device: Any = None) -> None:
    """Returns at once: nothing is pending."""


def current_stream(device: Any = None) -> Stream:
    """The stream that every call runs on."""
    return _default


@contextmanager
def stream(stream: Any) -> Iterator[None]:
    """A context in which calls run as they always do."""
    yield


StreamContext = stream

# PyTorch's names of what x86 processors can do where they are not Linux's names.
_FLAGS = {
    "clflush": "clflush",
    "sha": "sha_ni",
    "lzcnt": "abm",
    "bmi": "bmi1",
    "fma3": "fma",
    "sse3": "pni",
    "avx512_f": "avx512f",
    "avx512_bw": "avx512bw",
    "avx512_cd": "avx512cd",
    "avx512_dq": "avx512dq",
    "avx512_vl": "avx512vl",
    "avx512_vbmi": "avx512vbmi",
    "avx512_ifma": "avx512ifma",
}
_SAME = (
    "aes bmi2 fma4 amx_fp16 amx_tile amx_int8 amx_bf16 avx avx2 avx_vnni avx_vnni_int8 avx_vnni_int16 "
    "avx_ne_convert avx10_1 avx10_2 avx512_4vnniw avx512_4fmaps avx512_vp2intersect avx512_fp16 "
    "avx512_bf16 avx512_vbmi2 avx512_vnni avx512_bitalg avx512_vpopcntdq clflushopt clwb f16c popcnt "
    "sse sse2 sse4_1 sse4_2 sse4a ssse3"
).split()


@functools.cache
def get_capabilities() -> Mapping[str, Any]:
    """What the processor can do, by PyTorch's names: on Linux from the kernel's list, elsewhere the
    architecture and the number of processors alone.
    """
    told: dict[str, str] = {}
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
            for line in file:
                name, _, value = line.partition(":")
                told.setdefault(name.strip(), value.strip())
    except OSError:
        pass
    found: dict[str, Any] = {
        "architecture": platform.machine(),
        "num_logical_cores": os.cpu_count() or 1,
    }
    if "flags" in told:
        flags = set(told["flags"].split())
        found |= {"cpu_name": told.get("model name", "")}
        found |= {name: name in flags for name in _SAME}
        found |= {name: flag in flags for name, flag in _FLAGS.items()}
    return MappingProxyType(found)


def _can(name: str) -> bool:
    return bool(get_capabilities().get(name, False))


def _is_avx2_supported() -> bool:
    return _can("avx2")


def _is_avx512_supported() -> bool:
    return all(map(_can, ("avx512_f", "avx512_vl", "avx512_bw", "avx512_dq")))


def _is_avx512_bf16_supported() -> bool:
    return _is_avx512_supported() and _can("avx512_bf16")


def _is_vnni_supported() -> bool:
    return _can("avx512_vnni")


def _is_amx_tile_supported() -> bool:
    return _can("amx_tile")


def _is_amx_fp16_supported() -> bool:
    return _can("amx_fp16")


def _init_amx() -> bool:
    return _can("amx_tile")
