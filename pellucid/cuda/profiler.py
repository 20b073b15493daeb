"""`torch.cuda.profiler`: the switch of NVIDIA's profiler, which is not here."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


def start() -> None:
    """Not supported, since there is no such device: always raises an error."""
    raise AssertionError("Torch not compiled with CUDA enabled")


def stop() -> None:
    """Not supported, since there is no such device: always raises an error."""
    raise AssertionError("Torch not compiled with CUDA enabled")


@contextmanager
def profile() -> Iterator[None]:
    """Not supported, since there is no such device: always raises an error."""
    start()
    yield
