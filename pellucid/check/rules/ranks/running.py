"""Ranks at run time: files that several of them write, and ranks that are always late."""

from __future__ import annotations

from statistics import median
from typing import Any

from ...ranks.job import Job, Rank, RankLine, listed
from ...ranks.rule import RankRule


class CheckpointRace(RankRule):
    """Several ranks write one file, or one reads what another may still be writing."""

    slug = "checkpoint-race"
    id = "D017"
    severity = "error"
    summary = "several ranks write one file, or read it while another writes it"

    def compare(self, job: Job) -> None:
        by: dict[str, list[tuple[Rank, dict[str, Any]]]] = {}
        for rank in job.ranks:
            for event in rank.all("file"):
                by.setdefault(event["path"], []).append((rank, event))
        for path, events in by.items():
            writes = [(r, e) for r, e in events if e["k"] == "w"]
            for rank, event in writes:
                writers = sorted({r.rank for r, e in writes if e["clock"] == event["clock"]})
                if len(writers) > 1:
                    self.report(
                        rank.place(event["s"]),
                        f"{listed(writers)} write {path} at the same time: its contents are unpredictable.",
                        evidence={"path": path, "ranks": writers},
                        fix="save on rank 0 only (`if rank == 0:`), or to a separate file for each rank",
                    )
                    break
                readers = [
                    (r, e)
                    for r, e in events
                    if e["k"] == "r" and r is not rank and e["clock"] == event["clock"]
                ]
                if readers:
                    other, read = readers[0]
                    self.report(
                        other.place(read["s"]),
                        f"rank {other.rank} reads {path}, which rank {rank.rank} writes at {rank.place(event['s'])}; "
                        "nothing makes one wait for the other.",
                        evidence={
                            "path": path,
                            "writer": rank.rank,
                            "readers": sorted({r.rank for r, _ in readers}),
                        },
                        fix="call `dist.barrier()` on all ranks after the file is written and before it is read",
                    )
                    break


class Straggler(RankRule):
    """One rank arrives last at most collectives."""

    slug = "straggler"
    id = "D020"
    severity = "warning"
    summary = "one rank arrives last at most collectives, and the others wait for it"
    _often, _part, _least, _steps = 0.8, 0.1, 0.002, 10

    def compare(self, job: Job) -> None:
        if len(job.ranks) < 2:
            return
        starts = [e["t"] for e in job.ranks[0].all("step")]
        if len(starts) < self._steps:
            return
        gaps = [b - a for a, b in zip(starts[1:], starts[2:], strict=False)]
        step = median(gaps)
        together = [
            calls
            for calls in job.together()
            if len(calls) == len(job.ranks) and calls[0].why != "wrapper"
        ]
        rows = [[(c.begin, c.rank) for c in calls] for calls in together]
        # PyTorch's reductions cannot be seen: backward is where ranks meet
        if not any(calls[0].why == "gradients" for calls in together):
            spans = [
                [e["b"] for e in rank.all("span") if e["k"] == "backward"] for rank in job.ranks
            ]
            rows = [
                [(b, rank.rank) for b, rank in zip(row, job.ranks, strict=True)]
                for row in zip(*spans, strict=False)
            ]
        # the first steps make what is made once
        rows = [row for row in rows if min(row)[0] > starts[1]]
        last: dict[int, list[float]] = {}
        for row in rows:
            when, late = max(row)
            last.setdefault(late, []).append(when - max(t for t, rank in row if rank != late))
        for number, lateness in last.items():
            rank = job.rank(number)
            by = median(lateness) - (0.0 if rank is None else self._queued(rank))
            if (
                rank is None
                or len(lateness) < self._often * len(rows)
                or by < max(self._part * step, self._least)
                or len(rows) < self._steps
            ):
                continue
            place, slow, others = self._line(job, rank, starts[0])
            self.report(
                place,
                f"rank {number} arrives last at {len(lateness)} of {len(rows)} collectives, with a median delay of {1000 * by:.1f} ms in a step of "
                f"{1000 * step:.1f} ms; the others wait for it."
                + (
                    f" It spends {1000 * slow:.1f} ms a step at this line, the others {1000 * others:.1f} ms."
                    if place is not None
                    else ""
                ),
                evidence={
                    "rank": number,
                    "last in": f"{len(lateness)} of {len(rows)}",
                    "milliseconds": round(1000 * by, 1),
                },
                fix="give this rank less to do, or share the work among all ranks; `--timeline` shows what it does while the others wait",
            )

    @staticmethod
    def _queued(rank: Rank) -> float:
        """Seconds a step in which the rank waited for a processor that another process had: that is
        the machine's doing.
        """
        waited = [e.get("queued", 0.0) for e in rank.all("step")]
        return max(0.0, median(b - a for a, b in zip(waited[1:], waited[2:], strict=False)))

    @staticmethod
    def _line(job: Job, rank: Rank, begin: float) -> tuple[RankLine | None, float, float]:
        """(the line at which the rank spends more time than the others, seconds a step there,
        seconds of the others).
        """
        waited = {r.rank: sorted(w for c in r.calls for w in c.waits) for r in job.ranks}
        spent: dict[int, dict[RankLine, float]] = {}
        for r in job.ranks:
            found = r.lines(begin, r.end)
            for a, b in waited[r.rank]:
                for place, seconds in r.lines(max(a, begin), b).items():
                    found[place] = found.get(place, 0.0) - seconds
            spent[r.rank] = found
        steps = max(1, len(rank.all("step")) - 1)
        others = [r.rank for r in job.ranks if r is not rank]
        extra = {
            p: s - sum(spent[o].get(p, 0.0) for o in others) / len(others)
            for p, s in spent[rank.rank].items()
        }
        if not extra:
            return None, 0.0, 0.0
        place = max(extra, key=lambda p: extra[p])
        return (
            place,
            spent[rank.rank][place] / steps,
            (spent[rank.rank][place] - extra[place]) / steps,
        )
