"""Errors of ranks that a launcher reports (`torch.distributed.elastic.multiprocessing.errors`), and
launching a function from a program (`torch.distributed.launcher`).
"""

from __future__ import annotations

import functools
import json
import os
import socket
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from ..errors import UnsupportedError

ERROR_FILE = "TORCHELASTIC_ERROR_FILE"


def record(fn: Callable[..., Any], error_handler: Any = None) -> Callable[..., Any]:
    """Decorator of a rank's main function: an exception that leaves it is written to the file that
    the launcher named, and raised again.

    >>> from pellucid.distributed.elastic.multiprocessing.errors import record
    >>> @record
    ... def main():
    ...     return 3
    >>> main()
    3
    """
    if error_handler is not None:
        raise UnsupportedError("torch.distributed: record(error_handler=...) is not supported")

    @functools.wraps(fn)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        try:
            return fn(*args, **kwargs)
        except SystemExit:
            raise
        except ChildFailedError as error:
            _, failure = error.get_first_failure()
            if os.path.isfile(failure.error_file):
                with open(failure.error_file, encoding="utf-8") as file:
                    _write(json.load(file))
            raise
        except Exception as error:
            details = {
                "py_callstack": traceback.format_exc(),
                "timestamp": str(int(time.time())),
            }
            _write(
                {"message": {"message": f"{type(error).__name__}: {error}", "extraInfo": details}}
            )
            raise

    return wrapped


def _write(said: Any) -> None:
    path = os.environ.get(ERROR_FILE)
    if path:
        with open(path, "w", encoding="utf-8") as file:
            json.dump(said, file)


@dataclass
class ProcessFailure:
    """A rank that failed: its number on this machine, process and exit status, and what it wrote
    into its error file.
    """

    local_rank: int
    pid: int
    exitcode: int
    error_file: str
    error_file_data: Any = field(init=False)
    message: str = field(init=False)
    timestamp: int = field(init=False)

    def __post_init__(self) -> None:
        self.error_file_data = None
        if os.path.isfile(self.error_file):
            with open(self.error_file, encoding="utf-8") as file:
                self.error_file_data = json.load(file)
            said = self.error_file_data["message"]
            self.message = said if isinstance(said, str) else said["extraInfo"]["py_callstack"]
            self.timestamp = 0 if isinstance(said, str) else int(said["extraInfo"]["timestamp"])
            return
        self.error_file = "<N/A>"
        self.timestamp = int(time.time())
        self.message = (
            f"Signal {-self.exitcode} ({self.signal_name()}) received by PID {self.pid}"
            if self.exitcode < 0
            else "To enable traceback see: https://pytorch.org/docs/stable/elastic/errors.html"
        )

    def signal_name(self) -> str:
        """The signal that ended the process; `<N/A>` if none did."""
        import signal

        return signal.Signals(-self.exitcode).name if self.exitcode < 0 else "<N/A>"

    def timestamp_isoformat(self) -> str:
        """When it failed."""
        return time.strftime("%Y-%m-%d_%H:%M:%S", time.localtime(self.timestamp))


class ChildFailedError(Exception):
    """Ranks that a launcher started have failed.

    Args:
        name: the script or function.
        failures: by rank.
    """

    def __init__(self, name: str, failures: dict[int, ProcessFailure]) -> None:
        self.name, self.failures = name, failures
        first, failure = self.get_first_failure()
        numbers = {k: i for i, k in enumerate(failures)}
        others = [_described(numbers[k], k, f) for k, f in failures.items() if k != first]
        lines = [
            "",
            "=" * 60,
            f"{name} FAILED",
            "-" * 60,
            "Failures:",
            *(others or ["  <NO_OTHER_FAILURES>"]),
            "-" * 60,
            "Root Cause (first observed failure):",
            _described(numbers[first], first, failure),
            "=" * 60,
        ]
        super().__init__("\n".join(lines))

    def format_msg(self) -> str:
        """The text of the error."""
        return str(self)

    def get_first_failure(self) -> tuple[int, ProcessFailure]:
        """(rank, failure) of the one that failed first."""
        rank = min(self.failures, key=lambda k: self.failures[k].timestamp)
        return rank, self.failures[rank]


def _described(number: int, rank: int, failure: ProcessFailure) -> str:
    ended = f" ({failure.signal_name()})" if failure.exitcode < 0 else ""
    rows = {
        "time": failure.timestamp_isoformat(),
        "host": socket.gethostname(),
        "rank": f"{rank} (local_rank: {failure.local_rank})",
        "exitcode": f"{failure.exitcode} (pid: {failure.pid}) {ended}",
        "error_file": failure.error_file,
        "traceback": failure.message,
    }
    return "\n".join([f"[{number}]:", *(f"  {name:<10}: {value}" for name, value in rows.items())])
