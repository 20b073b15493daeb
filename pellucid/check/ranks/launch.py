"""Start the ranks of a check, follow processes that a script starts itself, and end a run that
makes no progress.
"""

from __future__ import annotations

import json
import multiprocessing.process
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ..recording.recorder import StopRun
from .journal import FOLDER
from .merge import write

STALL = 60.0  # seconds
# whose processes call a function that is their first argument
_STARTERS = (
    "torch.multiprocessing.spawn",
    "pellucid.multiprocessing.spawn",
    "pellucid.distributed.launching",
)


class Watched:
    """A function that runs in a process of its own, with a check around it.

    Args:
        function: what the process runs.
        options: of `Session`: engine, settings, script, max_steps.
    """

    def __init__(self, function: Callable[..., Any], options: dict[str, Any]) -> None:
        self.function, self.options = function, options

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        from ..session import Session

        while _following:  # a process that was forked has the checks of its parent in place
            _following.pop().stop()
        session = Session(**self.options)
        failure: BaseException | None = None
        session.start()
        try:
            return self.function(*args, **kwargs)
        except StopRun:
            return None
        except BaseException as error:
            failure = (
                error if not isinstance(error, SystemExit) or error.code not in (None, 0) else None
            )
            raise
        finally:
            result = session.finish(failure)
            if session.ranks is not None and session.ranks.rank >= 0:
                write(os.environ[FOLDER], result)


_following: list[Any] = []  # sessions of this process


def follow(session: Any, options: dict[str, Any]) -> None:
    """Have the processes that the script starts be checked, too.

    Args:
        session: the check of this process, which has been started.
        options: of `Session`, for theirs.
    """
    hooks, recorder = session.hooks, session.recorder
    _following.append(session)

    def starting(old: Any) -> Any:
        def start(process: Any) -> Any:
            target = getattr(process, "_target", None)
            if target is not None and not recorder.idle and not isinstance(target, Watched):
                if target.__module__ in _STARTERS and process._args:
                    process._args = (Watched(process._args[0], options), *process._args[1:])
                elif not recorder.is_library(
                    getattr(getattr(target, "__code__", None), "co_filename", "<unknown>")
                ):
                    process._target = Watched(target, options)
            return old(process)

        return start

    hooks.replace(multiprocessing.process.BaseProcess, "start", starting)


def run(arguments: list[str], nproc: str, settings_of_ranks: list[str], seconds: float) -> int:
    """Start a script as ranks, each with a check of its own; returns the launcher's exit status.

    Args:
        arguments: the script, or `-m` and a module, and its arguments.
        nproc: how many.
        settings_of_ranks: options of `pellucid check` that each rank gets.
        seconds: without progress after which the ranks are ended.
    """
    from ...distributed.run import LocalRanks, get_args_parser

    class Ranks(LocalRanks):
        """Ranks that are checked."""

        def command(self) -> list[str]:
            return [sys.executable, "-m", "pellucid", "check", *settings_of_ranks, *arguments]

    name = arguments[1] if arguments[0] in ("-m", "-c") else arguments[0]
    job = Ranks(get_args_parser().parse_args(["--nproc_per_node", nproc, name]))
    with Stalls(os.environ[FOLDER], seconds):
        return job.run()


class _Seen:
    """How far a journal has been read."""

    def __init__(self, path: Path) -> None:
        self.path, self.pid, self.at = path, int(path.stem), 0
        self.open: dict[int, float] = {}
        self.last = 0.0
        self.ended = False
        self.busy, self.busy_since = -1.0, 0.0

    def read(self) -> None:
        """Take in what is new."""
        with open(self.path, encoding="utf-8") as file:
            file.seek(self.at)
            text = file.read()
        whole = text.rpartition("\n")[0]
        if not whole:
            return
        self.at += len(whole.encode()) + 1
        for line in whole.splitlines():
            event = json.loads(line)
            self.last = max(self.last, event.get("t", 0.0))
            if event["e"] == "call":
                self.open[event["c"]] = event["t"]
            elif event["e"] in ("done", "wait"):
                self.open.pop(event["c"], None)
            elif event["e"] == "end":
                self.ended = True

    def alive(self) -> bool:
        """Whether the process is there."""
        return os.path.exists(f"/proc/{self.pid}") if os.path.isdir("/proc/self") else True

    def works(self) -> bool:
        """Whether it has used its processor since the last look."""
        try:
            parts = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            return False
        busy, before = float(parts[11]) + float(parts[12]), self.busy
        self.busy = busy
        return before < 0 or busy - before > 20  # hundredths of a second


class Stalls:
    """A block in which ranks are watched: when none makes progress for so many seconds, and one
    waits for others, all are ended.
    """

    def __init__(self, folder: str, seconds: float) -> None:
        self.folder, self.seconds = folder, seconds
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="stalls", daemon=True)
        self._seen: dict[Path, _Seen] = {}

    def __enter__(self) -> Stalls:
        self._thread.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._over.set()
        self._thread.join(5.0)

    def _run(self) -> None:
        while not self._over.wait(min(1.0, self.seconds / 4)):
            try:
                if self._stalled():
                    self._end()
                    return
            except (OSError, ValueError):
                continue  # a file that is just being made

    def _stalled(self) -> bool:
        for path in Path(self.folder).glob("*.jsonl"):
            self._seen.setdefault(path, _Seen(path)).read()
        now = time.monotonic()
        running = [seen for seen in self._seen.values() if not seen.ended and seen.alive()]
        waiting = [
            seen for seen in running if seen.open and now - max(seen.open.values()) > self.seconds
        ]
        if not waiting:
            return False
        others = [seen for seen in running if seen not in waiting]
        return all(now - seen.last > self.seconds * (10 if seen.works() else 1) for seen in others)

    def _end(self) -> None:
        running = [seen for seen in self._seen.values() if not seen.ended and seen.alive()]
        facts = {
            "seconds": self.seconds,
            "when": time.monotonic(),
            "pids": [seen.pid for seen in running],
        }
        (Path(self.folder) / "stalled.json").write_text(json.dumps(facts))
        print(
            f"pellucid check: no rank has made progress for {self.seconds:g} seconds; the ranks are ended",
            file=sys.stderr,
            flush=True,
        )
        for number in (signal.SIGTERM, signal.SIGKILL):
            for seen in running:
                try:
                    os.kill(seen.pid, number)
                except ProcessLookupError:
                    pass
            end = time.monotonic() + 3
            while any(seen.alive() for seen in running) and time.monotonic() < end:
                time.sleep(0.05)
