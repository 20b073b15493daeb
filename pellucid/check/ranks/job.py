"""Combine the records of all ranks: calls by group and number, their lines, and what they waited
for.
"""

from __future__ import annotations

import bisect
import json
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .conditions import condition

_TENSOR = re.compile(r"(float|bfloat|int|uint|complex|bool)(\d*)\[([\d, ]*)\]")


@dataclass(frozen=True, slots=True)
class RankLine:
    """A line of the program; `key` as findings want it."""

    file: str
    line: int
    function: str = ""

    @property
    def key(self) -> tuple[str, int]:
        """(file, line)."""
        return self.file, self.line

    def __str__(self) -> str:
        return f"{Path(self.file).name}:{self.line}"


@dataclass(slots=True)
class RankCall:
    """A collective or message of a rank. Times in seconds of the machine's monotonic clock."""

    rank: int
    key: int
    name: str
    group: str
    ranks: list[int]
    number: int | None
    words: str
    place: RankLine | None
    chain: list[RankLine]
    why: str
    begin: float
    end: float | None = None
    error: str | None = None
    # in which the rank waited for it
    waits: list[tuple[float, float]] = field(default_factory=list)

    @property
    def bytes(self) -> int:
        """Of the first tensor that is named."""
        found = _TENSOR.search(self.words)
        if found is None:
            return 0
        size = int(found[2] or 8) // 8
        for n in found[3].split(","):
            size *= int(n) if n.strip() else 1
        return size


class Rank:
    """What one rank wrote."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.events: dict[str, list[dict[str, Any]]] = {}
        self.places: dict[int, RankLine] = {}
        self.chains: dict[int, list[RankLine]] = {}
        self.calls: list[RankCall] = []
        by_key: dict[int, RankCall] = {}
        self.rank, self.size, self.pid, self.engine = -1, 0, int(path.stem), ""
        self.begin = self.end = 0.0
        for line in path.read_text(encoding="utf-8").splitlines():
            try:
                event = json.loads(line)
            except ValueError:
                continue  # the process ended while it wrote
            kind = event["e"]
            self.end = max(self.end, event.get("t", 0.0))
            if kind == "site":
                self.places[event["n"]] = RankLine(event["file"], event["line"], event["function"])
            elif kind == "chain":
                self.chains[event["n"]] = [
                    self.places[n] for n in event["sites"] if n in self.places
                ]
            elif kind == "init":
                self.rank, self.size, self.pid, self.engine = (
                    event["rank"],
                    event["size"],
                    event["pid"],
                    event["engine"],
                )
                self.begin = event["t"]
            elif kind == "call":
                call = RankCall(
                    self.rank,
                    event["c"],
                    event["name"],
                    event["group"],
                    event["ranks"],
                    event["n"],
                    event["words"],
                    self.place(event["s"]),
                    self.chains.get(event["chain"], []),
                    event["why"],
                    event["t"],
                )
                by_key[call.key] = call
                self.calls.append(call)
            elif kind in ("done", "wait") and event["c"] in by_key:
                call = by_key[event["c"]]
                if kind == "wait":
                    call.waits.append((event["b"], event["t"]))
                else:
                    call.end, call.error = event["t"], event["error"]
            self.events.setdefault(kind, []).append(event)
        self._at = [event["t"] for event in self.all("at")]

    def all(self, kind: str) -> list[dict[str, Any]]:
        """Its events of a kind, in their order."""
        return self.events.get(kind, [])

    def place(self, number: int | None) -> RankLine | None:
        """A place by its number in the journal."""
        return None if number is None else self.places.get(number)

    def line_at(self, when: float) -> RankLine | None:
        """Where the rank was at a time."""
        k = bisect.bisect_right(self._at, when) - 1
        return self.place(self.all("at")[k]["s"]) if k >= 0 else None

    def lines(self, begin: float, end: float) -> dict[RankLine, float]:
        """Seconds by line of an interval."""
        found: dict[RankLine, float] = {}
        events = self.all("at")
        k = max(0, bisect.bisect_right(self._at, begin) - 1)
        while k < len(events) and events[k]["t"] < end:
            until = events[k + 1]["t"] if k + 1 < len(events) else end
            place = self.place(events[k]["s"])
            seconds = min(end, until) - max(begin, events[k]["t"])
            if place is not None and seconds > 0:
                found[place] = found.get(place, 0.0) + seconds
            k += 1
        return found

    @property
    def error(self) -> dict[str, Any] | None:
        """The exception that ended it."""
        return self.all("error")[-1] if self.all("error") else None

    @property
    def ended(self) -> bool:
        """Whether it came to its end in good order."""
        return any(not event["failed"] for event in self.all("end"))


class Job:
    """All ranks of a run, in their order.

    Args:
        folder: where their journals are.
    """

    def __init__(self, folder: str | Path) -> None:
        found = [Rank(path) for path in sorted(Path(folder).glob("*.jsonl"))]
        last: dict[int, Rank] = {}
        for rank in found:
            if rank.rank >= 0 and (rank.rank not in last or rank.begin > last[rank.rank].begin):
                last[rank.rank] = rank  # with restarts: the last try
        self.ranks = [last[k] for k in sorted(last)]
        stalled = Path(folder) / "stalled.json"
        self.stalled: dict[str, Any] | None = (
            json.loads(stalled.read_text()) if stalled.exists() else None
        )

    @property
    def size(self) -> int:
        """How many ranks there should be."""
        return max((rank.size for rank in self.ranks), default=0)

    def rank(self, number: int) -> Rank | None:
        """A rank by its number."""
        return next((rank for rank in self.ranks if rank.rank == number), None)

    def groups(self) -> dict[str, dict[int, list[RankCall]]]:
        """By group and rank: its collectives in their order (messages left out)."""
        found: dict[str, dict[int, list[RankCall]]] = {}
        for rank in self.ranks:
            for call in rank.calls:
                if call.number is not None:
                    found.setdefault(
                        call.group, {k: [] for k in call.ranks if self.rank(k)}
                    ).setdefault(rank.rank, []).append(call)
        return found

    def together(self) -> list[list[RankCall]]:
        """Collectives that all ranks of their group have called, in the order of their times."""
        found = []
        for by_rank in self.groups().values():
            found += [
                list(calls)
                for calls in zip(*by_rank.values(), strict=False)
                if len({c.number for c in calls}) == 1
            ]
        return sorted(found, key=lambda calls: min(c.begin for c in calls))

    @staticmethod
    def condition(call: RankCall) -> tuple[RankLine, str] | None:
        """The condition on the rank under which a call was made, in whichever of the functions that
        led to it.
        """
        for place in call.chain:
            found = condition(place.file, place.line)
            if found is not None:
                return RankLine(place.file, found[0], place.function), found[1]
        return None


def listed(ranks: Any) -> str:
    """ "rank 2", "ranks 0, 1 and 3"."""
    names = [str(r) for r in sorted(ranks)]
    if len(names) == 1:
        return f"rank {names[0]}"
    return f"ranks {', '.join(names[:-1])} and {names[-1]}"
