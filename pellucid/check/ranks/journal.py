"""The journal of a rank: one line of JSON per event, written at once, so that it survives however
the rank ends.

Times are from the system's monotonic clock, which all processes of a machine share.
"""

from __future__ import annotations

import json
import os
import threading
import time
import zlib
from pathlib import Path
from typing import Any

import numpy as np

FOLDER = "PELLUCID_CHECK_RANKS"
"""Environment variable: the folder in which ranks write."""

_MOST = 200_000  # events of a rank; what comes later is left out, but for errors and ends


class Journal:
    """The file of one process.

    Args:
        folder: where it is written, as `<pid>.jsonl`.
    """

    def __init__(self, folder: str) -> None:
        self.path = Path(folder) / f"{os.getpid()}.jsonl"
        self._file: Any = open(self.path, "w", buffering=1, encoding="utf-8")
        self._lock = threading.RLock()
        self._sites: dict[tuple[str, int, str], int] = {}
        self._chains: dict[tuple[int, ...], int] = {}
        self._pid = os.getpid()
        self._count = 0

    def say(self, kind: str, /, always: bool = False, **facts: Any) -> None:
        """Write an event; in a process that was forked from this one, nothing."""
        if os.getpid() != self._pid:
            return
        facts = {"e": kind, "t": round(time.monotonic(), 6), **facts}
        with self._lock:
            if self._file.closed:
                return
            self._count += 1
            if self._count > _MOST and not always:
                if self._count == _MOST + 1:
                    self._file.write('{"e": "full"}\n')
                return
            self._file.write(json.dumps(facts) + "\n")

    def site(self, site: Any) -> int | None:
        """The number of a place (a `Site`, or (code, line)); the place itself is written once."""
        if site is None:
            return None
        if isinstance(site, tuple):
            code, line = site
            file, function = code.co_filename, code.co_qualname
        else:
            file, line, function = site.file, site.line, site.function
        key = (file, line, function)
        with self._lock:  # nobody refers to a number before its place is written
            number = self._sites.get(key)
            if number is None:
                number = self._sites[key] = len(self._sites)
                self.say("site", always=True, n=number, file=file, line=line, function=function)
            return number

    def chain(self, sites: list[Any]) -> int:
        """The number of a chain of places, the innermost first."""
        key = tuple(n for s in sites if (n := self.site(s)) is not None)
        with self._lock:
            number = self._chains.get(key)
            if number is None:
                number = self._chains[key] = len(self._chains)
                self.say("chain", always=True, n=number, sites=list(key))
            return number

    def close(self) -> None:
        """Write no more."""
        if os.getpid() == self._pid:
            with self._lock:
                self._file.close()


def digest(arrays: list[Any]) -> int:
    """A number for the bits of arrays and their shapes; of large ones a part of the rows."""
    crc = 0
    for array in arrays:
        if array is None:
            continue
        if array.nbytes > 16 << 20:
            array = array.reshape(-1)[:: max(1, array.nbytes >> 24)]
        crc = zlib.crc32(
            np.ascontiguousarray(array).view(np.uint8).reshape(-1),
            zlib.crc32(str((array.shape, array.dtype)).encode(), crc),
        )
    return crc
