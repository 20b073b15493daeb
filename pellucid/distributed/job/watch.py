"""A rank's connection to the server: which ranks are gone and why, where the others are, and
what they are doing.

One thread reads messages, and reports where this rank is when another one waits for it.
"""

from __future__ import annotations

import json
import os
import socket
import sys
import threading
import time
import traceback
from collections.abc import Callable
from typing import Any, NamedTuple

from ...core import source

SLOW = 10.0  # seconds of waiting after which a warning says whom for


class Loss(NamedTuple):
    """A rank that takes part no more."""

    rank: int
    pid: int
    why: str
    ended: bool  # in good order
    final: bool  # the process ends: it does not come back
    when: float

    def __str__(self) -> str:
        return f"rank {self.rank} (pid {self.pid}) {'has left' if self.ended else 'is gone'}: {self.why}"


def place(file: str, line: int) -> str:
    """A line of the user's program, short."""
    return f"{os.path.basename(file)}:{line}"


class Watch:
    """The connection of one rank.

    Args:
        sock, rest: the connection after its hello, which the server has answered.
        rank, size: of the world.
        position: gives this rank's last collective in words.
    """

    def __init__(
        self, sock: socket.socket, rank: int, size: int, position: Callable[[], str]
    ) -> None:
        self._socket, self.rank, self.size, self._position = sock, rank, size, position
        self._sending = threading.Lock()
        self._news = threading.Condition()
        self.losses: dict[int, Loss] = {}
        self.departures = [0] * size  # how often each rank has left; it may be back
        self._places: dict[int, str] = {}
        self._records: dict[str, list[Any]] = {}
        self._missing: list[int] | None = None
        self._strangers = 0  # connections to the server that speak another protocol
        self.all_here = False
        self.pids: list[int] = []
        self.broken = False  # no server any more
        self._main = threading.main_thread().ident
        threading.Thread(target=self._listen, name="distributed watch", daemon=True).start()

    # ---- what arrives ------------------------------------------------------------------------
    def _listen(self) -> None:
        buffer = b""
        while True:
            try:
                more = self._socket.recv(1 << 16)
            except OSError:
                more = b""
            if not more:
                with self._news:
                    self.broken = True
                    self._news.notify_all()
                return
            buffer += more
            while b"\n" in buffer:
                line, buffer = buffer.split(b"\n", 1)
                self._hear(json.loads(line))

    def _hear(self, said: dict[str, Any]) -> None:
        if "where" in said:
            self.say(do="at", to=said["where"], text=self._where())
            return
        with self._news:
            if "lost" in said:
                rank = said["lost"]
                self.departures[rank] += 1
                self.losses[rank] = Loss(
                    rank, said["pid"], said["why"], said["ended"], said["final"], time.monotonic()
                )
            elif "back" in said:
                self.losses.pop(said["back"], None)
            elif "at" in said:
                self._places[said["at"]] = said["text"]
            elif "records" in said:
                self._records[said["records"]] = said["found"]
            elif "missing" in said:
                self._missing, self._strangers = said["missing"], said["strangers"]
            elif "all" in said:
                self.all_here, self.pids = True, said["all"]
            self._news.notify_all()

    def _where(self) -> str:
        """Where the main thread of this rank is, and its last collective."""
        frame: Any = sys._current_frames().get(self._main or 0)
        inner = frame
        while frame is not None and source.is_library(frame.f_code.co_filename):
            frame = frame.f_back
        frame = frame or inner
        at = (
            place(frame.f_code.co_filename, frame.f_lineno)
            if frame is not None
            else "an unknown line"
        )
        return f"at {at}, {self._position()}"

    # ---- what is said ------------------------------------------------------------------------
    def say(self, **message: Any) -> None:
        """Send a line; without a server there is nobody to hear it."""
        try:
            with self._sending:
                self._socket.sendall((json.dumps(message) + "\n").encode())
        except OSError:
            pass

    def failed(self, error: BaseException) -> None:
        """Tell the others that this rank ends with an error, and where it was raised."""
        at = ""
        for frame in reversed(traceback.extract_tb(error.__traceback__)):
            if not source.is_library(frame.filename):
                at = f" at {place(frame.filename, frame.lineno or 0)}"
                break
        lines = str(error).strip().splitlines() or [""]
        self.say(
            do="failed", why=f"{type(error).__name__}: {lines[0][:400]}{at}".replace(": at", " at")
        )

    def left(self, why: str, final: bool) -> None:
        """Tell the others that this rank takes part no more, in good order."""
        self.say(do="left", why=why, final=final)

    # ---- questions ---------------------------------------------------------------------------
    def wait_for_all(self, seconds: float) -> str:
        """Wait for all ranks to come; returns what to say of those that have not: how many came,
        and who is missing; "" if all came. After ten seconds it is said on standard error, too.
        """
        if seconds <= 2 * SLOW:
            return self._wait_for_all(seconds)
        missing = self._wait_for_all(SLOW)
        if missing and not (self.losses or self.broken):
            print(
                f"[rank {self.rank}] init_process_group waits for {SLOW:.0f} s. {missing}",
                file=sys.stderr,
                flush=True,
            )
            missing = self._wait_for_all(seconds - SLOW)
        return missing

    def _wait_for_all(self, seconds: float) -> str:
        with self._news:
            self._news.wait_for(lambda: self.all_here or self.losses or self.broken, seconds)
            if self.all_here:
                return ""
            self._missing = None
            self.say(do="missing")
            self._news.wait_for(
                lambda: self._missing is not None or self.all_here or self.broken, 5.0
            )
            if self.all_here:
                return ""
            missing = self._missing or [r for r in range(self.size) if r != self.rank]
            strangers = self._strangers
        said = (
            f"{self.size - len(missing)}/{self.size} clients joined. "
            f"Missing: rank{'s' if len(missing) > 1 else ''} {', '.join(map(str, missing))}"
        )
        if strangers:
            said += (
                ". A program that speaks another protocol tried to join: does a rank run on PyTorch? Start it with `pellucid run`, "
                "or let `pellucid stand-in install` put Pellucid in PyTorch's place"
            )
        return said

    def ask_where(self, ranks: list[int], seconds: float = 2.0) -> dict[int, str]:
        """Where ranks are, of those that answer in time."""
        others = [rank for rank in ranks if rank != self.rank]
        with self._news:
            for rank in others:
                self._places.pop(rank, None)
            self.say(do="where", ranks=others)
            self._news.wait_for(
                lambda: all(r in self._places or r in self.losses for r in others) or self.broken,
                seconds,
            )
            return {rank: self._places[rank] for rank in others if rank in self._places}

    def exchange(self, key: str, me: Any, ranks: list[int], seconds: float = 5.0) -> dict[int, Any]:
        """What each of the ranks gave under this key; only this rank's where they do not come."""
        with self._news:
            self.say(do="record", key=key, me=me, ranks=ranks)
            self._news.wait_for(lambda: key in self._records or self.broken, seconds)
            return dict(self._records.pop(key, [[self.rank, me]]))

    def forget(self) -> None:
        """Close this process's copy of the connection: the server must see when the rank itself
        ends.
        """
        self._socket.close()

    def close(self) -> None:
        """End the connection."""
        try:
            self._socket.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        self._socket.close()
