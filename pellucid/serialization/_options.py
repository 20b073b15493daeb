"""What holds for all files that are written or read: options of `torch.serialization`."""

from __future__ import annotations

import mmap
from collections.abc import Iterator
from contextlib import contextmanager
from enum import Enum
from typing import Any


class LoadEndianness(Enum):
    """The order of bytes of files that do not say it."""

    NATIVE = 1
    LITTLE = 2
    BIG = 3


class SourceChangeWarning(Warning):
    """The source of a class is another than when a module was saved; only PyTorch before 1.0 wrote it down."""


class _Options:
    endianness: LoadEndianness | None = None
    crc32 = True
    mmap_flags = mmap.MAP_PRIVATE
    skipping = False  # whether tensors are written without their bytes


OPTIONS = _Options()


def get_default_load_endianness() -> LoadEndianness | None:
    """The order of bytes that `load` takes for files that do not say it; None is the machine's."""
    return OPTIONS.endianness


def set_default_load_endianness(endianness: LoadEndianness | None) -> None:
    """Set the order of bytes of files that do not say it.

    Raises:
        TypeError: not a `LoadEndianness`.
    """
    if endianness is not None and not isinstance(endianness, LoadEndianness):
        raise TypeError("Invalid argument type in function set_default_load_endianness")
    OPTIONS.endianness = endianness


def get_crc32_options() -> bool:
    """Whether `save` is asked for checksums."""
    return OPTIONS.crc32


def set_crc32_options(compute_crc32: bool) -> None:
    """Ask `save` for checksums or not; files have them in any case, so that others can read them."""
    OPTIONS.crc32 = compute_crc32


def get_default_mmap_options() -> int:
    """The flags with which `load(mmap=True)` maps a file."""
    return OPTIONS.mmap_flags


class set_default_mmap_options:  # noqa: N801 (PyTorch's name)
    """Set how `load(mmap=True)` maps files: `mmap.MAP_PRIVATE` (the default), or `mmap.MAP_SHARED`,
    where what is written to a tensor goes to the file. Also a context manager.

    Raises:
        ValueError: other flags.

    >>> import pellucid as torch
    >>> import mmap
    >>> with torch.serialization.set_default_mmap_options(mmap.MAP_SHARED):
    ...     torch.serialization.get_default_mmap_options() == mmap.MAP_SHARED
    True
    """

    def __init__(self, flags: int) -> None:
        if flags not in (mmap.MAP_PRIVATE, mmap.MAP_SHARED):
            raise ValueError(
                "Invalid argument in function set_default_mmap_options, expected mmap.MAP_PRIVATE or mmap.MAP_SHARED, but got "
                f"{flags}"
            )
        self.before, OPTIONS.mmap_flags = OPTIONS.mmap_flags, flags

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exc: Any) -> None:
        OPTIONS.mmap_flags = self.before


@contextmanager
def skip_data(materialize_fake_tensors: bool = False) -> Iterator[None]:
    """Inside, `save` leaves room for the bytes of tensors without writing them: the file has zeros.

    >>> import pellucid as torch
    >>> import io
    >>> file = io.BytesIO()
    >>> with torch.serialization.skip_data():
    ...     torch.save(torch.ones(2), file)
    >>> _ = file.seek(0)
    >>> torch.load(file)
    tensor([0., 0.])
    """
    before, OPTIONS.skipping = OPTIONS.skipping, True
    try:
        yield
    finally:
        OPTIONS.skipping = before
