"""`torch.cuda.nvtx`: marks for NVIDIA's profiler, which is not here."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NoReturn


def _refuse() -> NoReturn:
    raise RuntimeError("NVTX functions not installed. Are you sure you have a CUDA build?")


def range_push(msg: str) -> int:
    """Not supported, since there is no such device: always raises an error."""
    _refuse()


def range_pop() -> int:
    """Not supported, since there is no such device: always raises an error."""
    _refuse()


def mark(msg: str) -> None:
    """Not supported, since there is no such device: always raises an error."""
    _refuse()


@contextmanager
def range(msg: str, *args: Any, **kwargs: Any) -> Iterator[None]:
    """Not supported, since there is no such device: always raises an error."""
    _refuse()
    yield


def range_start(msg: str) -> int:
    """Not supported, since there is no such device: always raises an error."""
    _refuse()


def range_end(range_id: int) -> None:
    """Not supported, since there is no such device: always raises an error."""
    _refuse()
