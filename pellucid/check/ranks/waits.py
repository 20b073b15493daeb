"""Where the ranks' time goes: computing, communicating, waiting, and for whom. Also explains why a
rank waits.
"""

from __future__ import annotations

import linecache
from dataclasses import dataclass
from statistics import median
from typing import Any

from .job import Job, Rank, RankCall, RankLine

KINDS = ("compute", "forward", "backward", "optimizer", "data", "communicate", "wait")
_WORK = ("forward", "backward", "optimizer", "data")


@dataclass(slots=True)
class Wait:
    """A time in which a rank waited for another one, and moved no data."""

    rank: int
    call: RankCall
    begin: float
    end: float
    whom: int  # who came last
    there: dict[RankLine, float]  # the lines that rank was at meanwhile, with seconds
    came: bool  # whether it came at all

    @property
    def seconds(self) -> float:
        """How long."""
        return self.end - self.begin


@dataclass(slots=True)
class Segment:
    """A part of a rank's time; `place` is the line it was spent at."""

    kind: str
    begin: float
    end: float
    place: RankLine | None
    text: str = ""


class Times:
    """The times of a job.

    Args:
        job: what the ranks wrote.

    Attributes:
        waits: all waits of all ranks, by their beginning.
        begin, end: of the whole, in seconds.
    """

    def __init__(self, job: Job) -> None:
        self.job = job
        self.begin = min((rank.begin for rank in job.ranks), default=0.0)
        self.end = max((rank.end for rank in job.ranks), default=0.0)
        self._arrivals: dict[tuple[str, int], dict[int, RankCall]] = {}
        for rank in job.ranks:
            for call in rank.calls:
                if call.number is not None:
                    self._arrivals.setdefault((call.group, call.number), {})[rank.rank] = call
        self.waits = sorted(
            (w for rank in job.ranks for w in self._waits(rank)), key=lambda w: w.begin
        )

    def together(self, call: RankCall) -> dict[int, RankCall]:
        """By rank: the calls that this one is made together with."""
        return (
            self._arrivals.get((call.group, call.number), {})
            if call.number is not None
            else {call.rank: call}
        )

    def last(self, call: RankCall) -> tuple[int, float]:
        """(the rank that came last, when); a rank that did not come is later than all, at the end
        of what it wrote.
        """
        arrived = self.together(call)
        absent = [r for r in call.ranks if r not in arrived and self.job.rank(r) is not None]
        if absent and call.number is not None:
            return absent[0], self.end
        late = max(arrived.values(), key=lambda c: c.begin)
        return late.rank, late.begin

    @staticmethod
    def intervals(rank: Rank) -> list[tuple[float, float, RankCall]]:
        """Times in which the rank's own thread did nothing but wait for a collective, also where
        the run ended within.
        """
        found = []
        for call in rank.calls:
            found += [(a, b, call) for a, b in call.waits]
            if not call.waits and call.end is None and call is rank.calls[-1]:
                found.append((call.begin, rank.end, call))
        return sorted(found, key=lambda each: each[0])

    def _waits(self, rank: Rank) -> list[Wait]:
        found = []
        for begin, end, call in self.intervals(rank):
            whom, when = self.last(call)
            until = min(end, when)
            other = self.job.rank(whom)
            if whom != rank.rank and until > begin and other is not None:
                found.append(
                    Wait(
                        rank.rank,
                        call,
                        begin,
                        until,
                        whom,
                        other.lines(begin, until),
                        whom in self.together(call),
                    )
                )
        return found

    # ---- one rank ----------------------------------------------------------------------------
    def segments(self, rank: Rank) -> list[Segment]:
        """The rank's time in parts that do not overlap, in their order."""
        marks: list[Segment] = []
        for begin, end, call in self.intervals(rank):
            whom, when = self.last(call)
            until = min(max(begin, when), end) if whom != rank.rank else begin
            what = f"{call.name} number {call.number}" if call.number is not None else call.name
            if until > begin:
                marks.append(
                    Segment("wait", begin, until, call.place, f"{what} waits for rank {whom}")
                )
            if end > until:
                marks.append(
                    Segment("communicate", until, end, call.place, f"{what}: {call.words}")
                )
        spans = [
            Segment(e["k"], e["b"], e["t"], rank.place(e["s"]))
            for e in sorted(rank.all("span"), key=lambda e: e["b"])
            if e["k"] in _WORK
        ]
        cut: list[Segment] = []
        for span in spans:
            at = span.begin
            for mark in (m for m in marks if m.end > span.begin and m.begin < span.end):
                if mark.begin > at:
                    cut.append(Segment(span.kind, at, mark.begin, span.place))
                at = max(at, mark.end)
            if span.end > at:
                cut.append(Segment(span.kind, at, span.end, span.place))
        whole = sorted([*marks, *cut], key=lambda s: s.begin)
        filled: list[Segment] = []
        at = rank.begin
        for segment in whole:
            if segment.begin > at:
                filled.append(
                    Segment("compute", at, segment.begin, self._main(rank, at, segment.begin))
                )
            if segment.end > at:
                filled.append(
                    Segment(
                        segment.kind,
                        max(at, segment.begin),
                        segment.end,
                        segment.place,
                        segment.text,
                    )
                )
                at = segment.end
        if rank.end > at:
            filled.append(Segment("compute", at, rank.end, self._main(rank, at, rank.end)))
        return filled

    @staticmethod
    def _main(rank: Rank, begin: float, end: float) -> RankLine | None:
        lines = rank.lines(begin, end)
        return max(lines, key=lambda p: lines[p]) if lines else None

    def totals(self, rank: Rank) -> dict[str, float]:
        """Seconds by kind; "hidden" are those in which data moved while the rank computed."""
        found = dict.fromkeys(KINDS, 0.0)
        segments = self.segments(rank)
        for s in segments:
            found[s.kind] += s.end - s.begin
        flying = sum(
            (c.end if c.end is not None else rank.end) - max(c.begin, self.last(c)[1])
            for c in rank.calls
            if c.number is not None and (c.end or rank.end) > max(c.begin, self.last(c)[1])
        )
        found["hidden"] = max(0.0, flying - found["communicate"])
        return found

    # ---- collectives -------------------------------------------------------------------------
    def by_line(self) -> list[dict[str, Any]]:
        """Collectives by line and call: how often, bytes, time, spread of the arrivals, who comes
        last.
        """
        rows: dict[tuple[Any, ...], list[list[RankCall]]] = {}
        for calls in self.job.together():
            rows.setdefault((calls[0].place, calls[0].name, calls[0].why), []).append(calls)
        found = []
        for (place, name, why), each in rows.items():
            spreads = [max(c.begin for c in calls) - min(c.begin for c in calls) for calls in each]
            moved = [
                max(
                    0.0,
                    min(c.end for c in calls if c.end is not None) - max(c.begin for c in calls),
                )
                for calls in each
                if any(c.end is not None for c in calls)
            ]
            last = [max(calls, key=lambda c: c.begin).rank for calls in each]
            usual = max(set(last), key=lambda r: (last.count(r), -r))
            found.append(
                {
                    "place": place,
                    "name": name,
                    "why": why,
                    "calls": len(each),
                    "bytes": sum(calls[0].bytes for calls in each),
                    "seconds": median(moved) if moved else 0.0,
                    "spread": median(spreads),
                    "worst": max(spreads),
                    "last": usual,
                    "share": last.count(usual) / len(last),
                }
            )
        return sorted(found, key=lambda row: -row["spread"] * row["calls"])


def told(job: Job, number: int | None = None, most: int = 5) -> str:
    """Why ranks wait, in words.

    Args:
        job: what the ranks wrote.
        number: one rank; None: all.
        most: how many waits are told one by one.
    """
    times = Times(job)
    parts = []
    for rank in job.ranks:
        if number is not None and rank.rank != number:
            continue
        waits = [w for w in times.waits if w.rank == rank.rank]
        totals, whole = times.totals(rank), max(rank.end - rank.begin, 1e-9)
        waited = sum(w.seconds for w in waits)
        lines = [
            (
                f"rank {rank.rank} ran {whole:.2f} s: it waited for other ranks {waited:.2f} s ({100 * waited / whole:.0f} %), communicated "
                f"{totals['communicate']:.2f} s while it did nothing else, and {totals['hidden']:.2f} s while it computed."
            )
        ]
        by: dict[int, float] = {}
        for w in waits:
            by[w.whom] = by.get(w.whom, 0.0) + w.seconds
        lines += [
            f"  for rank {whom}: {seconds:.2f} s"
            for whom, seconds in sorted(by.items(), key=lambda kv: -kv[1])
        ]
        for w in sorted(waits, key=lambda w: (-round(w.seconds, 6), w.begin))[:most]:
            lines += _one(job, w)
        parts.append("\n".join(lines))
    return "\n\n".join(parts)


def listing(job: Job, number: int | None = None) -> list[dict[str, Any]]:
    """All waits as plain data, the longest first."""
    found = [w for w in Times(job).waits if number is None or w.rank == number]
    return [
        {
            "rank": w.rank,
            "seconds": w.seconds,
            "collective": w.call.words,
            "number": w.call.number,
            "group": w.call.group,
            "at": str(w.call.place),
            "for": w.whom,
            "came": w.came,
            "lines": [
                {"at": str(p), "seconds": s}
                for p, s in sorted(w.there.items(), key=lambda kv: -kv[1])
            ],
        }
        for w in sorted(found, key=lambda w: (-round(w.seconds, 6), w.begin))
    ]


def _one(job: Job, w: Wait) -> list[str]:
    """A wait in words."""
    call = w.call
    what = (
        f"{call.name} number {call.number} of {call.group}"
        if call.number is not None
        else f"{call.name} in {call.group}"
    )
    purpose = {"gradients": " (gradients of a bucket)", "wrapper": " (buffers of the model)"}.get(
        call.why, ""
    )
    lines = [
        f"  {1000 * w.seconds:.1f} ms at {call.place} in {what}{purpose}, for rank {w.whom}"
        + ("" if w.came else ", which never came")
    ]
    there = sorted(w.there.items(), key=lambda kv: -kv[1])[:2]
    for place, seconds in there:
        text = linecache.getline(place.file, place.line).strip()
        lines.append(
            f"      rank {w.whom} was at {place} for {1000 * seconds:.1f} ms"
            + (f": {text}" if text else "")
        )
    error = job.rank(w.whom)
    if not w.came and error is not None and error.error is not None:
        lines.append(f"      it had raised {error.error['kind']}: {error.error['text']}")
    return lines


def page_data(job: Job, most: int = 20_000) -> dict[str, Any]:
    """The timeline as plain data: ranks with their segments and flights, lines, and collectives.
    Times in microseconds from the beginning.
    """
    times = Times(job)
    lines: dict[RankLine, int] = {}
    left_out = 0

    def line(place: RankLine | None) -> int:
        return -1 if place is None else lines.setdefault(place, len(lines))

    def since(t: float) -> int:
        return round(1e6 * (t - times.begin))

    ranks = []
    for rank in job.ranks:
        segments = times.segments(rank)
        left_out += max(0, len(segments) - most)
        rows = [
            [KINDS.index(s.kind), since(s.begin), since(s.end), line(s.place), s.text]
            for s in segments[:most]
        ]
        moving = []
        for c in rank.calls[:most]:
            group = times.together(c)
            spread = max(x.begin for x in group.values()) - min(x.begin for x in group.values())
            end = c.end if c.end is not None else rank.end
            number = c.number if c.number is not None else -1
            moving.append(
                [
                    since(c.begin),
                    since(end),
                    line(c.place),
                    f"{c.name} number {number}" if number >= 0 else c.name,
                    c.words,
                    c.why,
                    round(1e6 * spread),
                    times.last(c)[0],
                    since(max(c.begin, min(times.last(c)[1], end))),
                ]
            )
        totals = times.totals(rank)
        ranks.append(
            {
                "rank": rank.rank,
                "pid": rank.pid,
                "segments": rows,
                "calls": moving,
                "totals": totals,
                "seconds": rank.end - rank.begin,
                "steps": [since(e["t"]) for e in rank.all("step")],
            }
        )
    collectives = [{**row, "place": line(row["place"])} for row in times.by_line()]
    texts = [[str(p), linecache.getline(p.file, p.line).strip()] for p in lines]
    return {
        "kinds": list(KINDS),
        "ranks": ranks,
        "lines": texts,
        "collectives": collectives,
        "end": since(times.end),
        "leftOut": left_out,
    }
