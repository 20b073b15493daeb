"""`torch.cuda.nvtx`: marks for NVIDIA's profiler, which is not here."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NoReturn


def _refuse() -> NoReturn:
    raise RuntimeError("NVTX functions not installed. Are you sure you have a CUDA build?")


def range_push(msg: str) -> int:
    """Refused: there is no device."""
    _refuse()


def range_pop() -> int:
    """Refused: there is no device."""
    _refuse()


def mark(msg: str) -> None:
    """Refused: there is no device."""
    _refuse()


@contextmanager
def range(msg: str, *args: Any, **kwargs: Any) -> Iterator[None]:
    """Refused: there is no device."""
    _refuse()
    yield
