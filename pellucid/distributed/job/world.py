"""This process as a rank of MPI's world: join it, leave it, and report why it left."""

from __future__ import annotations

import atexit
import importlib.util
import multiprocessing.util
import os
import re
import socket
import subprocess
import sys
import time
from collections.abc import Iterable
from datetime import timedelta
from typing import Any

import numpy as np

from ... import errors
from ...core import source
from ...errors import ArgumentValueError, OperationError, UnsupportedError
from .. import rendezvous
from ..transport.engine import Channel, CollectiveCall, Engine, Steps
from ..transport.shared import STAGE, Board, Window, free_memory
from . import server
from .stores import DistBackendError, DistNetworkError, DistStoreError, connect, listen
from .watch import Watch

# bytes of /dev/shm: MPICH 5 takes 1.01 MiB a rank, shared windows more where there is room
_MEMORY_OF_RANK = 5 << 18
_EXIT_PATIENCE = 10.0  # seconds in which ranks that end together wait for each other


def installed() -> bool:
    """Whether mpi4py is there; it is not imported."""
    return importlib.util.find_spec("mpi4py") is not None


class World:
    """All ranks of the job, which this process joins once.

    Attributes:
        rank, size: of MPI's world.
        engine: moves the data.
        channel: the whole world's, for joining and leaving.
    """

    def __init__(self, meeting: rendezvous.Meeting | None, timeout: timedelta) -> None:
        seconds = timeout.total_seconds()
        self.here = os.getpid()
        mpi: Any = None
        comm: Any = None
        self.launched = meeting is None
        if meeting is None:  # mpiexec started us: MPI knows everybody
            mpi = _library()
            comm = mpi.COMM_WORLD
            meeting = self._announced(comm)
        self.rank, self.size, self.host, self.port = (
            meeting.rank,
            meeting.size,
            meeting.host,
            meeting.port,
        )
        if self.rank == 0:
            _start_server(meeting.listener or listen(self.host, self.port), self.size, seconds)
        hello = {
            "token": rendezvous.token(),
            "rank": self.rank,
            "size": self.size,
            "pid": self.here,
        }
        sock, _ = connect(self.host, self.port, {"service": "watch", **hello}, seconds)
        self.watch = Watch(sock, self.rank, self.size, lambda: self.engine.position())
        missing = self.watch.wait_for_all(seconds)
        if missing:
            raise DistStoreError(
                f"Timed out after {round(seconds)} seconds waiting for clients. {missing}"
            )
        if comm is None:
            _check_memory(self.size)
            pmi, _ = connect(self.host, self.port, {"service": "pmi", **hello}, seconds)
            mpi = _library(pmi, self.rank, self.size)
            comm = mpi.COMM_WORLD
            if comm.size != self.size:
                raise DistBackendError(
                    f"MPI was initialised in this process before (a world of {comm.size}), so it cannot join one of {self.size}: "
                    "import mpi4py.MPI after init_process_group, or start the ranks with `pellucid torchrun` where a library imports it"
                )
        self.mpi = mpi
        self.engine = Engine(mpi, self.watch)
        self.channel = Channel(self.engine, comm, comm, list(range(self.size)), "the world")
        self.engine.channels.append(self.channel)
        self.finished = False
        _forget_memory(self)
        self._at_end()

    def _announced(self, comm: Any) -> rendezvous.Meeting:
        listener, place = None, None
        if comm.rank == 0:
            host = "127.0.0.1" if comm.size == 1 else socket.gethostname()
            try:
                listener = listen(host, 0)
            except DistNetworkError:
                host = "127.0.0.1"
                listener = listen(host, 0)
            place = (host, listener.getsockname()[1])
        host, port = comm.bcast(place, 0)
        return rendezvous.Meeting(host, port, comm.rank, comm.size, listener)

    # ---- communicators -----------------------------------------------------------------------
    def channel_of(self, ranks: list[int], title: str, timeout: float) -> Channel | None:
        """A channel of its own for some ranks, which all ranks of the world ask for together; None
        where this rank is not in it.
        """
        self.together(f"new group {title}", tuple(ranks), timeout)
        return self.channel_among(ranks, title) if self.rank in ranks else None

    def channel_among(self, ranks: list[int], title: str) -> Channel:
        """A channel for ranks that are all in this call, or will be in a moment."""
        group = self.channel.comm.Get_group().Incl(ranks)
        # They are here, so these blocking calls end at once; a rank that is killed inside them
        # ends the others through `Watch`.
        comm = self.channel.comm.Create_group(group, 0)
        side = comm.Dup()
        channel = Channel(self.engine, comm, side, ranks, title)
        channel.board = self._board(comm)
        with self.engine.lock:
            self.engine.channels.append(channel)
        return channel

    def _board(self, comm: Any) -> Board | None:
        """Shared memory of the ranks of a communicator, where all are on this machine and there is
        room for it.
        """
        if comm.size == 1 or not self._all_have(comm, 4 * STAGE):
            return None
        near = comm.Split_type(self.mpi.COMM_TYPE_SHARED)
        together = comm.allreduce(near.size == comm.size, self.mpi.LAND)
        board = Board(self.mpi, near) if together else None
        comm.Barrier()
        _forget_names()
        return board

    def _all_have(self, comm: Any, size: int) -> bool:
        """Whether there is so much shared memory for each rank."""
        return bool(comm.allreduce(free_memory() > 2 * comm.size * size, self.mpi.LAND))

    def region(self, channel: Channel, size: int) -> np.ndarray | None:
        """Bytes of this rank in memory that all ranks of a channel see, which call this together;
        None where there is none.

        Memory that no rank uses any more is used again.
        """
        board = channel.board
        if board is None:
            return None
        self.together("shared memory", (size,), 60.0) if channel.size == self.size else None
        mine = sum(
            1 << k for k, region in enumerate(board.regions) if region.free and region.size >= size
        )
        free = channel.comm.allreduce(mine, self.mpi.BAND)
        fitting = [region for k, region in enumerate(board.regions) if free >> k & 1]
        if fitting:
            return min(fitting, key=lambda region: region.size).lent(channel.rank)
        if not self._all_have(channel.comm, size):
            return None
        window = Window(self.mpi, channel.comm, size)
        channel.comm.Barrier()
        _forget_names()
        board.regions.append(window)
        return window.lent(channel.rank)

    def together(self, what: str, facts: tuple[Any, ...], timeout: float) -> None:
        """Return when all ranks are here, with the same facts."""

        def nothing() -> Steps:
            return
            yield

        call = CollectiveCall(what, facts, source.capture(2))
        self.engine.wait(self.engine.collective(self.channel, call, nothing(), timeout))

    # ---- the end -----------------------------------------------------------------------------
    def _at_end(self) -> None:
        hook = sys.excepthook

        def failed(kind: Any, error: BaseException, trace: Any) -> None:
            self.failed(error)
            hook(kind, error, trace)

        sys.excepthook = failed
        errors.ending.append(self.failed)
        # In a process of `multiprocessing` these run as well, and atexit's do not where it was
        # forked.
        multiprocessing.util.Finalize(self, World._leave_at_exit, args=(self,), exitpriority=0)
        atexit.register(self._leave_at_exit)

    def failed(self, error: BaseException) -> None:
        """This rank ends with an error: the others hear of it, and nobody waits for it."""
        if os.getpid() == self.here and not self.finished:
            self.finished = True
            self.watch.failed(error)

    def _leave_at_exit(self) -> None:
        if os.getpid() != self.here or self.finished:
            return
        self.finished = True
        # MPI's own launcher takes a process for failed that ends without MPI_Finalize, which waits
        # for all the others.
        together = self.leave(
            "the process has ended", float("inf") if self.launched else _EXIT_PATIENCE, final=True
        )
        self.engine.closed = True
        if together and self.launched and not self.mpi.Is_finalized():
            self.mpi.Finalize()
        self.watch.close()

    def leave(self, why: str, patience: float, final: bool = False) -> bool:
        """Tell the others that this rank takes part no more, and go on moving data until all say
        so; True when all did.

        MPI is not finalized: that call waits for all ranks, in the library, where nothing can end
        it.
        """
        self.watch.left(why, final)
        self.watch.departures[self.rank] += 1
        turn = self.watch.departures[self.rank]
        busy = any(channel.queue or channel.messages for channel in self.engine.channels)
        end, pause = time.monotonic() + patience, 0.0
        while not busy and not self.watch.broken and time.monotonic() < end:
            losses = list(self.watch.losses.values())
            if any(not loss.ended for loss in losses):
                return False
            if (
                sum(loss.final for loss in losses) == self.size - 1
                if final
                else min(self.watch.departures) >= turn
            ):
                return True
            with self.engine.lock:
                self.channel.comm.Iprobe(self.mpi.ANY_SOURCE, self.mpi.ANY_TAG)
            time.sleep(pause)
            pause = min(0.001, pause + 0.00002)
        return False


def _start_server(listener: socket.socket, size: int, seconds: float) -> None:
    """The job's server as a process of its own; it ends when the ranks have."""
    started = subprocess.Popen(
        [
            sys.executable,
            "-I",
            "-S",
            server.__file__,
            str(listener.fileno()),
            str(size),
            str(seconds + 5),
        ],
        pass_fds=(listener.fileno(),),
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
    )
    assert started.stdin is not None
    started.stdin.write((rendezvous.token() + "\n").encode())
    started.stdin.close()
    listener.close()
    started.returncode = 0  # it outlives us: nobody waits for it, and Python does not warn of it


def _check_memory(size: int) -> None:
    """Raise where MPI's shared memory has no room: the library would end the process by a bus
    error, without a word.
    """
    here = int(os.environ.get("LOCAL_WORLD_SIZE") or size)
    left = free_memory()
    if left < _MEMORY_OF_RANK * here:
        raise OperationError(
            f"torch.distributed: /dev/shm has {left / 2**20:.1f} MiB left, and MPI needs about {_MEMORY_OF_RANK * here / 2**20:.1f} MiB for "
            f"{here} ranks on this machine",
            hint="remove files of jobs that are gone from /dev/shm, or make it larger (docker run --shm-size=1g)",
        )


def _library(pmi: socket.socket | None = None, rank: int = 0, size: int = 1) -> Any:
    """mpi4py's MPI, initialized with our process manager at the end of a socket, or by mpiexec."""
    if not installed():
        raise UnsupportedError(
            "torch.distributed: processes work together by MPI, and mpi4py is not installed: pip install 'pellucid[mpi]' "
            "(mpi4py and, where the machine has no MPI of its own, mpich)"
        )
    import mpi4py

    mpi4py.rc.finalize = False  # it would wait for ranks that ended otherwise: see `World.leave`
    given = {}
    if pmi is not None:
        # MPI closes the descriptor. It is not inherited by programs that this process starts.
        given = {
            "PMI_FD": str(pmi.detach()),
            "PMI_RANK": str(rank),
            "PMI_SIZE": str(size),
            "PMI_SPAWNED": "0",
        }
    # Many ranks may share few processors: a wait must not burn its time slice.
    os.environ.update(given)
    try:
        from mpi4py import MPI
    except (ImportError, RuntimeError) as error:
        raise UnsupportedError(
            f"torch.distributed: no MPI library was found ({error}): pip install mpich, or load the machine's MPI"
        ) from None
    finally:
        for name in given:
            os.environ.pop(name, None)
    if pmi is not None and MPI.COMM_WORLD.size != size and "Open MPI" in MPI.Get_library_version():
        raise UnsupportedError(
            "torch.distributed: Open MPI starts ranks by mpiexec alone: start the script with mpiexec, or pip install mpich"
        )
    if MPI.Query_thread() < MPI.THREAD_MULTIPLE:
        raise UnsupportedError(
            "torch.distributed: this MPI does not serve several threads (MPI_THREAD_MULTIPLE)"
        )
    return MPI


def _memory_names() -> Iterable[str]:
    try:
        with open("/proc/self/maps", encoding="utf-8", errors="replace") as file:
            return set(re.findall(r"(/dev/shm/mpich_shm_\w+)", file.read()))
    except OSError:
        return ()


def _forget_memory(world: World) -> None:
    """Remove the names of MPI's shared memory once all ranks have it open, so that nothing stays
    when ranks are killed.
    """
    world.together("init_process_group", (), 60.0)
    _forget_names()


def _forget_names() -> None:
    """Remove the names of the shared memory that this process has open."""
    for name in _memory_names():
        try:
            os.unlink(name)
        except OSError:
            pass


_world: World | None = None


def enter(meeting: rendezvous.Meeting | None, timeout: timedelta) -> World:
    """The world, joined now or before.

    Raises:
        ValueError: MPI was entered with another rank or size before.
    """
    global _world
    if _world is not None and _world.here != os.getpid():
        raise UnsupportedError(
            "torch.distributed: this process was forked from a rank; MPI cannot be used in it"
        )
    if _world is None:
        _world = World(meeting, timeout)
        return _world
    if meeting is not None and (meeting.rank, meeting.size) != (_world.rank, _world.size):
        raise ArgumentValueError(
            f"this process was rank {_world.rank} of {_world.size} before and cannot become rank {meeting.rank} of {meeting.size}: MPI is "
            "entered once per process; start new processes, or use new_group"
        )
    if meeting is not None and meeting.listener is not None:
        meeting.listener.close()
    if _world.channel.error is not None:
        raise DistBackendError(
            "the ranks left the world one by one; start new processes"
        ) from _world.channel.error
    _world.watch.say(do="back")
    _world.together("init_process_group", (), timeout.total_seconds())
    return _world


def current() -> World | None:
    """The world, if this process is in one."""
    return _world if _world is not None and _world.here == os.getpid() else None
