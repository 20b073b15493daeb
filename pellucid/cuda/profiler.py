"""`torch.cuda.profiler`: the switch of NVIDIA's profiler, which is not here."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


def start() -> None:
    """Refused: there is no device."""
    raise AssertionError("Torch not compiled with CUDA enabled")


def stop() -> None:
    """Refused: there is no device."""
    raise AssertionError("Torch not compiled with CUDA enabled")


@contextmanager
def profile() -> Iterator[None]:
    """Refused: there is no device."""
    start()
    yield
