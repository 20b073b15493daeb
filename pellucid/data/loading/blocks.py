"""Blocks of memory that a DataLoader's worker fills and the main process reads: no copy between the
two, and no new memory for each batch.

A worker puts a batch's large arrays into blocks of its pool and sends where they lie. The main
process maps a block once; the arrays that it makes there hold a lease, and when the last one is
gone the block goes back to the worker's pool with the next task. Blocks are nameless
(`memfd_create`, opened by the other process through /proc), else files that lose their name as soon
as they are mapped: no process leaves anything behind, however it ends.
"""

from __future__ import annotations

import contextlib
import itertools
import mmap
import os
from collections import deque
from typing import Any

import numpy as np

SHARED_FROM = 1 << 15  # bytes of an array that is worth a block
KEPT = 8  # free blocks that a worker keeps for later batches
_ALIGNED = mmap.ALLOCATIONGRANULARITY
_FLAGS = {"flags": mmap.MAP_SHARED | mmap.MAP_POPULATE} if hasattr(mmap, "MAP_POPULATE") else {}
_forks = 0  # a forked child sees the blocks that are lent at that moment: those are not used again


def _count_fork() -> None:
    global _forks
    _forks += 1


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_count_fork)

# block, offset, dtype, shape, strides
Place = tuple[int, int, Any, tuple[int, ...], tuple[int, ...]]


class MappedBlock:
    """Mapped memory of one block."""

    def __init__(self, number: int, fd: int, size: int) -> None:
        self.number = number
        self.memory = np.frombuffer(mmap.mmap(fd, size, **_FLAGS), np.uint8)
        self.address = self.memory.ctypes.data
        self.held = False  # this process has arrays on it
        self.lent = False  # the other process has arrays on it


class Lease:
    """What arrays on a block hold, one at a time: `returned(block, forks at the beginning)` is
    called when the last array is gone.
    """

    def __init__(self, block: MappedBlock, returned: Any) -> None:
        self.block, self.returned, self.forks = block, returned, _forks
        block.held = True
        self.__array_interface__ = {
            "version": 3,
            "data": (block.address, False),
            "shape": (block.memory.size,),
            "typestr": "|u1",
        }

    def array(
        self,
        offset: int,
        dtype: Any,
        shape: tuple[int, ...],
        strides: tuple[int, ...] | None = None,
    ) -> np.ndarray:
        """An array on the block."""
        return np.ndarray(shape, dtype, np.asarray(self), offset, strides)

    def __del__(self) -> None:
        self.block.held = False
        self.returned(self.block, self.forks)


def lease_of(array: np.ndarray) -> Lease | None:
    """The lease that an array holds."""
    base = array.base
    while isinstance(base, np.ndarray):
        base = base.base
    return base if isinstance(base, Lease) else None


class Pool:
    """A worker's blocks."""

    def __init__(self, folder: str | None) -> None:
        self.folder = folder
        self.numbers = itertools.count()
        self.blocks: dict[int, MappedBlock] = {}
        self.names: dict[int, str] = {}
        self.files: dict[int, int] = {}  # descriptors of nameless blocks
        self.dropped: list[int] = []  # what the main process can forget

    def new_array(self, shape: tuple[int, ...], dtype: Any) -> np.ndarray:
        """An array for a batch: on a block when it is large and there is room."""
        kind = np.dtype(dtype)
        size = int(np.prod(shape)) * kind.itemsize
        if size < SHARED_FROM or kind.hasobject:
            return np.empty(shape, kind)
        block = self._free(size)
        if block is None:
            return np.empty(shape, kind)
        return Lease(block, self._left).array(0, kind, shape)

    def _free(self, size: int) -> MappedBlock | None:
        """The smallest free block that is not much too large, else a new one; None where there is
        no room.
        """
        fitting = [
            b
            for b in self.blocks.values()
            if not b.lent and not b.held and size <= b.memory.size <= 2 * size
        ]
        if fitting:
            return min(fitting, key=lambda b: b.memory.size)
        number = next(self.numbers)
        size = -(-size // _ALIGNED) * _ALIGNED
        try:
            if self.folder is None:
                fd = os.memfd_create("pellucid-batch")
                name = f"/proc/{os.getpid()}/fd/{fd}"
            else:
                name = os.path.join(self.folder, f"{os.getpid()}-{number}")
                fd = os.open(name, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
        except OSError:
            return None
        try:
            # a full file system says so here; later it would kill the process
            if hasattr(os, "posix_fallocate"):
                os.posix_fallocate(fd, 0, size)
            else:
                os.ftruncate(fd, size)
            block = MappedBlock(number, fd, size)
        except (OSError, ValueError):
            os.close(fd)
            if self.folder is not None:
                os.unlink(name)
            return None
        if self.folder is None:
            self.files[number] = fd
        else:
            os.close(fd)
        self.blocks[number], self.names[number] = block, name
        return block

    def _left(self, block: MappedBlock, forks: int) -> None:
        if forks != _forks:  # a process that the worker started may look at it
            self.drop(block)

    def drop(self, block: MappedBlock) -> None:
        """Forget a block; its memory goes when nobody uses it any more."""
        if self.blocks.pop(block.number, None) is None:
            return
        self.dropped.append(block.number)
        self.names.pop(block.number, None)
        fd = self.files.pop(block.number, None)
        if fd is not None:
            os.close(fd)

    def take_back(self, returned: list[tuple[int, bool]]) -> None:
        """Blocks that the main process no longer uses, and whether they may be used again."""
        for number, reusable in returned:
            block = self.blocks.get(number)
            if block is not None:
                block.lent = False
                if not reusable:
                    self.drop(block)
        free = [b for b in self.blocks.values() if not b.lent and not b.held]
        for block in free[:-KEPT]:
            self.drop(block)

    def place(self, array: np.ndarray, sent: dict[int, MappedBlock]) -> Place | None:
        """Where an array lies, after copying it to a block unless it is on one; None when it should
        travel by value.

        `sent` collects the blocks of one message.
        """
        if type(array) is not np.ndarray or array.nbytes < SHARED_FROM or array.dtype.hasobject:
            return None
        lease = lease_of(array)
        if (
            lease is None
            or lease.block.number not in self.blocks
            or lease.block.lent
            and lease.block.number not in sent
        ):
            contiguous = "F" if array.flags.f_contiguous and not array.flags.c_contiguous else "C"
            turned = array.T if contiguous == "F" else array
            copy = self.new_array(turned.shape, array.dtype)
            lease = lease_of(copy)
            if lease is None:
                return None
            copy[...] = turned
            array = copy.T if contiguous == "F" else copy
        block = lease.block
        block.lent = True
        sent[block.number] = block
        return (
            block.number,
            array.__array_interface__["data"][0] - block.address,
            array.dtype,
            array.shape,
            array.strides,
        )

    def facts(
        self, sent: dict[int, MappedBlock]
    ) -> tuple[dict[int, tuple[str | None, int]], list[int]]:
        """What the main process must know about the blocks of a message: their names the first
        time, and their sizes.
        """
        dropped, self.dropped = self.dropped, []
        return {
            number: (self.names.pop(number, None), block.memory.size)
            for number, block in sent.items()
        }, dropped


class Mapped:
    """A worker's blocks, as the main process sees them."""

    def __init__(self) -> None:
        self.blocks: dict[int, MappedBlock] = {}
        self.returned: deque[tuple[int, bool]] = deque()

    def leases(
        self, facts: tuple[dict[int, tuple[str | None, int]], list[int]]
    ) -> dict[int, Lease]:
        """Leases on a message's blocks, by number. Raises OSError when the worker is gone and its
        blocks with it.
        """
        blocks, dropped = facts
        for number in dropped:
            self.blocks.pop(number, None)
        made = {}
        for number, (name, size) in blocks.items():
            if name is not None:
                fd = os.open(name, os.O_RDWR)
                try:
                    self.blocks[number] = MappedBlock(number, fd, size)
                finally:
                    os.close(fd)
                    if not name.startswith("/proc/"):
                        with contextlib.suppress(OSError):
                            os.unlink(name)
            made[number] = Lease(self.blocks[number], self._gone)
        return made

    def _gone(self, block: MappedBlock, forks: int) -> None:
        self.returned.append((block.number, forks == _forks))

    def take_returned(self) -> list[tuple[int, bool]]:
        """The blocks that came free since the last call."""
        out = []
        with contextlib.suppress(IndexError):
            while True:
                out.append(self.returned.popleft())
        return out
