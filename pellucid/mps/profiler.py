"""`torch.mps.profiler`: there is no device to trace."""

from __future__ import annotations

from collections.abc import Iterator as _Iterator
from contextlib import contextmanager as _contextmanager
from typing import NoReturn as _NoReturn


def start(mode: str = "interval", wait_until_completed: bool = False) -> _NoReturn:
    """Not supported, since there is no such device: always raises an error."""
    raise RuntimeError("Cannot execute profilerStartTrace() without MPS backend.")


def stop() -> _NoReturn:
    """Not supported, since there is no such device: always raises an error."""
    raise RuntimeError("Cannot execute profilerStopTrace() without MPS backend.")


@_contextmanager
def profile(mode: str = "interval", wait_until_completed: bool = False) -> _Iterator[None]:
    """Not supported, since there is no such device: entering it raises an error."""
    start(mode, wait_until_completed)
    yield


@_contextmanager
def metal_capture(fname: str) -> _Iterator[None]:
    """Not supported, since there is no such device: entering it raises an error."""
    raise RuntimeError("Cannot execute startCapture() without MPS backend.")
    yield


def is_metal_capture_enabled() -> bool:
    """False."""
    return False


def is_capturing_metal() -> bool:
    """False."""
    return False
