"""Memory shared by all ranks of one machine, and reductions in it, in the order of the ranks, so
that results are bit for bit the same in every run.

Each rank has a staging area in a window (`MPI_Win_allocate_shared`). A reduction goes through it
piece by piece: every rank copies a piece into its area and signals, each adds up its share of
all areas, and all collect the shares. Arrays that are in a window already (the buckets of
DistributedDataParallel) are reduced in place, without copies. A waiting rank polls for a moment
and then sleeps until another one wakes it. Yielding instead would cost the time slices of all
other programs on a busy machine.
"""

from __future__ import annotations

import ctypes
import os
import platform
import sys
import weakref
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from ...arrays.numpy_cpu import address

# bytes of each of a rank's two stages: a piece of a large array, while it is in a processor's cache
STAGE = 1 << 20
WHOLE = 1 << 13  # bytes up to which every rank adds up everything: one meeting less
STRIP = 1 << 16  # bytes that are added up, and written to all ranks, at a time
# eight-byte words of a rank's row of the board: two cache lines, so that nobody else writes there
_ROW = 16
# Meetings come to, shares added up, whether the rank sleeps, and two digests.
_HERE, _DONE, _ASLEEP, _WORD = 0, 1, 2, 3
# the number of the system call
_FUTEX = {"x86_64": 202, "aarch64": 98}.get(platform.machine()) if sys.platform == "linux" else None
_WAIT, _WAKE = 0, 1


class Window:
    """A piece of memory for each rank of a communicator, all of which this process sees.

    Args:
        mpi, comm: all of its ranks are on this machine, and call this together.
        size: bytes for each rank.
    """

    def __init__(self, mpi: Any, comm: Any, size: int) -> None:
        self.size = -(-size // 4096) * 4096
        self._window = mpi.Win.Allocate_shared(self.size, 1, mpi.INFO_NULL, comm)
        self._window.Lock_all()
        self.parts: list[np.ndarray] = []
        for rank in range(comm.size):
            memory, _ = self._window.Shared_query(rank)
            self.parts.append(np.frombuffer(memory, np.uint8, self.size))
        self.start = address(self.parts[comm.rank])
        self._views: dict[tuple[int, int, Any], list[np.ndarray]] = {}
        self._user: weakref.ref[np.ndarray] | None = None
        # what was written before is there for all ranks that sync after they know of it
        self.sync = self._window.Sync

    @property
    def free(self) -> bool:
        """Whether nobody here has the array that was lent out, or a view of it."""
        return self._user is None or self._user() is None

    def lent(self, rank: int) -> np.ndarray:
        """This rank's bytes, as an array by which it is known whether they are in use."""
        self._views.clear()
        made = np.frombuffer(self._window.Shared_query(rank)[0], np.uint8, self.size)
        self._user = weakref.ref(made)
        return made

    def views(self, offset: int, array: np.ndarray) -> list[np.ndarray]:
        """The arrays like this one that lie as far from the start of each rank's bytes."""
        key = offset, array.nbytes, array.dtype
        found = self._views.get(key)
        if found is None:
            found = self._views[key] = [
                part[offset : offset + array.nbytes].view(array.dtype) for part in self.parts
            ]
        return found


class Meeting:
    """A request that is over when all ranks have come as far as this one."""

    __slots__ = ("board", "count", "places")

    def __init__(self, board: Board, place: int, count: int) -> None:
        self.board, self.count = board, count
        self.places = [rank * _ROW + place for rank in range(board.ranks)]

    def Test(self) -> bool:  # noqa: N802 (as MPI's requests)
        """Whether all are there."""
        words, count = self.board.words, self.count
        for place in self.places:
            if words[place] < count:
                return False
        self.board.sync()
        return True

    def sleep(self, seconds: float) -> None:
        """Sleep until the first of those who are missing comes, or for some time."""
        board, words, count = self.board, self.board.words, self.count
        asleep = board._mine + _ASLEEP
        words[asleep] = 1
        board.sync()
        for place in self.places:
            found = words[place]
            if found < count:
                board.futex(place, _WAIT, found, seconds)
                break
        words[asleep] = 0


class _Time(ctypes.Structure):
    """A time for a system call: seconds and nanoseconds."""

    _fields_ = (("seconds", ctypes.c_long), ("nanoseconds", ctypes.c_long))


class Board:
    """Where the ranks of a group say how far they are; and their stages."""

    def __init__(self, mpi: Any, comm: Any) -> None:
        self.ranks, self.rank = comm.size, comm.rank
        head = 8 * _ROW * self.ranks
        window = Window(mpi, comm, head + 2 * STAGE)
        self.sync = window.sync
        self.words = memoryview(window.parts[0][:head]).cast("B").cast("q")
        self.stages = [
            [part[head + k * STAGE : head + (k + 1) * STAGE] for part in window.parts]
            for k in (0, 1)
        ]
        self.count = 0
        self.regions: list[Window] = []
        self._mine = self.rank * _ROW
        self._asleep = [rank * _ROW + _ASLEEP for rank in range(self.ranks) if rank != self.rank]
        self._kept = window
        self._start = address(window.parts[0])
        self._syscall = None if _FUTEX is None else ctypes.CDLL(None).syscall

    def futex(self, place: int, what: int, value: int, seconds: float = 0.0) -> None:
        """Sleep while a word has a value, or wake who sleeps because of it; elsewhere than on
        Linux, give the processor away.
        """
        if self._syscall is None or _FUTEX is None:
            if what == _WAIT:
                os.sched_yield()
            return
        word = ctypes.c_void_p(self._start + 8 * place + 4 * (sys.byteorder == "big"))
        time = _Time(int(seconds), int(seconds % 1 * 1e9)) if what == _WAIT else None
        self._syscall(
            ctypes.c_long(_FUTEX),
            word,
            ctypes.c_int(what),
            ctypes.c_uint32(value & 0xFFFFFFFF),
            None if time is None else ctypes.byref(time),
            None,
            ctypes.c_int(0),
        )

    def _tell(self, place: int) -> None:
        """A word of this rank's has changed: wake those who wait for it."""
        self.sync()
        for asleep in self._asleep:
            if self.words[asleep]:
                self.futex(place, _WAKE, 0x7FFFFFFF)
                break

    def here(self, digest: int = 0) -> Meeting:
        """Say that this rank has come, with what others may read of it, to the next meeting."""
        self.count += 1
        self.words[self._mine + _WORD + (self.count & 1)] = digest
        self.sync()
        self.words[self._mine + _HERE] = self.count
        self._tell(self._mine + _HERE)
        return Meeting(self, _HERE, self.count)

    def done(self) -> Meeting:
        """Say that this rank has added up its share."""
        self.sync()
        self.words[self._mine + _DONE] = self.count
        self._tell(self._mine + _DONE)
        return Meeting(self, _DONE, self.count)

    def agreed(self) -> bool:
        """Whether all came to the last meeting with the same digest.

        Nobody comes to the next but one, and overwrites its digest, before this rank has come to
        the next.
        """
        place = _WORD + (self.count & 1)
        return len({self.words[rank * _ROW + place] for rank in range(self.ranks)}) == 1

    def stage(self, rank: int, dtype: np.dtype[Any], count: int) -> np.ndarray:
        """A rank's stage of the next meeting (before `here`) or of the last one (after it) as so
        many values.
        """
        return self.stages[self.count & 1][rank][: count * dtype.itemsize].view(dtype)

    def peers(self, array: np.ndarray) -> list[np.ndarray] | None:
        """The arrays of all ranks at the place of one that lies in a window; None for others."""
        start = address(array)
        for region in self.regions:
            offset = start - region.start
            if 0 <= offset and offset + array.nbytes <= region.size:
                return region.views(offset, array)
        return None


def share(size: int, ranks: int, rank: int) -> slice:
    """The values that a rank adds up, of so many."""
    return slice(size * rank // ranks, size * (rank + 1) // ranks)


def added_up(parts: list[np.ndarray], ufunc: Any, out: np.ndarray) -> None:
    """Combine arrays in their order; `out` may be one of them."""
    if len(parts) == 2:
        ufunc(parts[0], parts[1], out=out)
        return
    total = ufunc(parts[0], parts[1])
    for part in parts[2:-1]:
        ufunc(total, part, out=total)
    ufunc(total, parts[-1], out=out)


class Reduce:
    """An all-reduce through the stages, or in place: steps for the engine, after `fill`.

    Args:
        values: contiguous; replaced by the result.
        ufunc: combines two arrays.
        finish: what is done to sums (division by the number of ranks), on parts of the result in
            place.
        cuts: in place, no strip crosses one of these places.

    Attributes:
        strips: in place, the parts of this rank's share that are added up at a time.
        own: what stands for this rank's `values` in each strip, and takes the result in their
            place; None, as a whole or of a strip: they do themselves.
    """

    def __init__(
        self,
        board: Board,
        values: np.ndarray,
        ufunc: Any,
        finish: Callable[[np.ndarray], Any] | None,
        cuts: Sequence[int] = (),
    ) -> None:
        self.board, self.values, self.ufunc, self.finish = board, values, ufunc, finish
        places = board.peers(values) if values.size else None
        self.step = max(1, STAGE // values.itemsize)
        self.in_place = places is not None
        self.own: Sequence[np.ndarray | None] | None = None
        if places is not None:
            mine = share(values.size, board.ranks, board.rank)
            step = max(1, STRIP // values.itemsize)
            ends = [mine.start, *sorted(c for c in cuts if mine.start < c < mine.stop), mine.stop]
            self.strips = [
                slice(start, min(start + step, b))
                for a, b in pairwise(ends)
                for start in range(a, b, step)
            ]
            self._parts = [[place[at] for place in places] for at in self.strips]

    def fill(self) -> None:
        """Put the first piece where the others find it, before the first meeting."""
        if not self.in_place:
            piece = self.values[: self.step]
            # The stage of the meeting to come, which `here` will count.
            self.board.stages[(self.board.count + 1) & 1][self.board.rank][: piece.nbytes].view(
                piece.dtype
            )[...] = piece

    def __iter__(self) -> Any:
        if not self.values.size:
            return
        if self.in_place:
            yield from self._in_place()
            return
        board, values = self.board, self.values
        for start in range(0, values.size, self.step):
            piece = values[start : start + self.step]
            if start:
                self.values, whole = piece, self.values
                self.fill()
                self.values = whole
                yield board.here()
            stages = [board.stage(rank, values.dtype, piece.size) for rank in range(board.ranks)]
            if piece.nbytes <= WHOLE:
                added_up(stages, self.ufunc, piece)
                if self.finish is not None:
                    self.finish(piece)
                continue
            mine = share(piece.size, board.ranks, board.rank)
            part = stages[board.rank][mine]
            added_up([stage[mine] for stage in stages], self.ufunc, part)
            if self.finish is not None:
                self.finish(part)
            yield board.done()
            for rank in range(board.ranks):
                at = share(piece.size, board.ranks, rank)
                piece[at] = stages[rank][at]

    def _in_place(self) -> Any:
        board, rank = self.board, self.board.rank
        own = self.own or [None] * len(self._parts)
        for parts, apart in zip(self._parts, own, strict=True):
            mine = parts[rank] if apart is None else apart
            added_up([*parts[:rank], mine, *parts[rank + 1 :]], self.ufunc, mine)
            if self.finish is not None:
                self.finish(mine)
            for part in parts[:rank]:
                part[...] = mine
            for part in parts[rank + 1 :]:
                part[...] = mine
        yield board.done()


def free_memory() -> int:
    """Bytes that are left for shared memory; a large number where nobody can say."""
    try:
        found = os.statvfs("/dev/shm")  # where MPI makes its shared memory
    except (OSError, AttributeError):
        return 1 << 62
    return found.f_bavail * found.f_frsize
