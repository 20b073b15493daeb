"""Memory shared between processes: unnamed files in RAM, mapped as shared (`memfd_create`, or a
deleted temporary file).
"""

from __future__ import annotations

import mmap
import os
import tempfile
from collections.abc import Callable
from typing import Any

import numpy as np

Layout = tuple[Any, tuple[int, ...], tuple[int, ...], int]  # dtype, shape, strides, offset in bytes


class SharedMap(mmap.mmap):
    """A mapping that keeps its file descriptor and closes it when it is deleted."""

    fd: int

    # `os.close` is bound as a default, because the module may be empty when the process ends
    def __del__(self, close: Callable[[int], None] = os.close) -> None:
        close(self.fd)


def open_map(fd: int, size: int) -> SharedMap:
    """Map a file whose descriptor now belongs to the mapping."""
    made = SharedMap(fd, size)
    made.fd = fd
    return made


def new_map(size: int) -> SharedMap:
    """A mapping of new memory, all zero."""
    size = max(size, 1)
    if hasattr(os, "memfd_create"):
        fd = os.memfd_create("pellucid")
    else:
        with tempfile.TemporaryFile() as file:
            fd = os.dup(file.fileno())
    os.ftruncate(fd, size)
    return open_map(fd, size)


def map_of(array: Any) -> SharedMap | None:
    """The shared mapping that holds an array's memory; None if it is not shared."""
    while isinstance(array, np.ndarray):
        array = array.base
        if isinstance(array, memoryview):
            array = array.obj
    return array if isinstance(array, SharedMap) else None


def layout(array: np.ndarray, within: SharedMap) -> Layout:
    start = np.frombuffer(within, np.uint8).__array_interface__["data"][0]
    return array.dtype, array.shape, array.strides, array.__array_interface__["data"][0] - start
