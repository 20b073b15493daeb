"""Write files completely or not at all, and read compressed files in bounded memory."""

from __future__ import annotations

import contextlib
import os
import stat
import struct
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING, Any

if TYPE_CHECKING:
    import zipfile

if sys.platform == "win32":
    fcntl: Any = None
else:
    import fcntl

_MARK, _END = ".pellucid-", ".part"


@contextmanager
def replacing(path: str | os.PathLike[str], sync: bool = False) -> Iterator[IO[bytes]]:
    """A new binary file beside `path`, which takes its place in one step when the block ends
    without an exception.

    A reader sees the old file or the new one, and of several writers at once the last one's. The
    mode of an older file is kept, and links are followed. A place that is no regular file (a pipe,
    a device) is written to directly. What writers that were killed have left beside `path` is
    removed.

    The file knows its path (`name`), for libraries that open it by themselves.

    Args:
        sync: wait until the disk has it all, so that a crash of the machine leaves no half file
            either.
    """
    path = os.path.realpath(path)
    mode = None
    with contextlib.suppress(FileNotFoundError):
        mode = os.stat(path).st_mode
    if mode is not None and not stat.S_ISREG(mode):
        with open(path, "wb") as file:
            yield file
        return
    folder, name = os.path.split(path)
    stem = os.fsdecode(os.fsencode(name)[:200]) + _MARK  # names have at most 255 bytes
    _clean(folder, stem)
    part, handle = _created(folder, stem, 0o666 if mode is None else mode & 0o666)
    try:
        with open(part, "wb", opener=lambda *_: handle) as file:
            yield file
            file.flush()
            if sync:
                os.fsync(file.fileno())
            if mode is not None:
                os.chmod(part, mode & 0o777)
            if fcntl is not None:  # the lock is held until the file has its name
                os.replace(part, path)
        if fcntl is None:
            os.replace(part, path)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(part)
        raise
    if sync and fcntl is not None:
        directory = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(directory)
        finally:
            os.close(directory)


def _created(folder: str, stem: str, mode: int) -> tuple[str, int]:
    """A new file that this process has locked: the lock says that its writer lives, and ends with
    it however it ends.
    """
    while True:
        part = os.path.join(folder, stem + os.urandom(4).hex() + _END)
        try:
            handle = os.open(
                part, os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), mode
            )
        except FileExistsError:
            continue
        if fcntl is None:
            return part, handle
        with contextlib.suppress(OSError):  # a file system without locks: nobody cleans up there
            fcntl.flock(handle, fcntl.LOCK_EX)
        if os.fstat(handle).st_nlink:
            return part, handle
        os.close(handle)  # somebody cleaned up between its creation and the lock


def _clean(folder: str, stem: str) -> None:
    """Remove what writers of this file left that live no more."""
    try:
        names = os.listdir(folder)
    except OSError:
        return
    for name in names:
        if not (
            name.startswith(stem) and name.endswith(_END) and len(name) == len(stem) + 8 + len(_END)
        ):
            continue
        part = os.path.join(folder, name)
        # it is locked by a writer, gone meanwhile, or somebody else's
        with contextlib.suppress(OSError):
            if fcntl is None:
                os.unlink(part)  # Windows refuses while it is open
                continue
            handle = os.open(part, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK)
            try:
                if stat.S_ISREG(os.fstat(handle).st_mode):
                    fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    os.unlink(part)
            finally:
                os.close(handle)


# ---- what is compressed --------------------------------------------------------------------------
# What the standard library raises for archives that lie about themselves, beside zipfile.BadZipFile.
LIES = (
    EOFError,
    OSError,
    NotImplementedError,
    RuntimeError,
    ValueError,
    OverflowError,
    IndexError,
    struct.error,
    zlib.error,
)
_FREE, _RATIO = 64 << 20, 100


def bound(packed: int, free: int = _FREE) -> int:
    """How many bytes this many compressed bytes may stand for: `free`, and beyond that a hundred
    times as many.

    A kilobyte can be made to stand for a megabyte, and what is unpacked from it for a gigabyte.
    What is stored in earnest expands less.
    """
    return free + _RATIO * packed


def record_size(archive: zipfile.ZipFile, info: zipfile.ZipInfo, free: int = _FREE) -> int:
    """The bytes of an archive's record, where the record can have them.

    Raises:
        ValueError: it cannot, or is compressed in another way than with deflate.
    """
    if info.compress_type not in (0, 8):  # stored, deflated
        raise ValueError(f"compression of kind {info.compress_type}")
    # no record is larger than what precedes the directory
    size, packed = (
        info.file_size,
        min(info.compress_size, archive.start_dir),
    )
    if size > (packed if info.compress_type == 0 else bound(packed, free)):
        raise ValueError(
            f"{packed} bytes of the file are said to hold {size}: it is damaged, or made to fill the memory"
        )
    return size


def unpack(archive: zipfile.ZipFile, info: zipfile.ZipInfo, target: memoryview) -> None:
    """Fill a buffer of `record_size` bytes with a record.

    Raises:
        zipfile.BadZipFile, or one of `LIES`: it has other bytes than the directory says.
    """
    with archive.open(info) as record:
        filled = 0
        # never more at once than the record is to have: what is compressed may expand to anything
        while filled < len(target):
            count = record.readinto(target[filled : filled + (1 << 24)])  # type: ignore[attr-defined]
            if not count:
                raise EOFError("the record ends early")
            filled += count
        record.read(1)  # the checksum is compared at the end
