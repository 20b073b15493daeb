"""Collectives that differ between ranks, come late, are missing, or are not waited for."""

from __future__ import annotations

import re
from typing import Any

from ...ranks.job import Job, Rank, RankCall, RankLine, listed
from ...ranks.rule import RankRule

_ECHO = ("DistBackendError", "DistStoreError")


def mismatch(job: Job) -> dict[int, RankCall] | None:
    """By rank: the first collectives of one number of a group that are not the same call."""
    found: list[dict[int, RankCall]] = []
    for by_rank in job.groups().values():
        for calls in zip(*by_rank.values(), strict=False):
            if len({c.words for c in calls}) > 1:
                found.append({c.rank: c for c in calls})
                break
    return min(found, key=lambda calls: min(c.begin for c in calls.values())) if found else None


def missing(job: Job) -> tuple[list[RankCall], list[Rank]] | None:
    """(calls that were begun and never ended, the ranks that did not come to them); None where
    there are none.
    """
    found: list[tuple[list[RankCall], list[Rank]]] = []
    for by_rank in job.groups().values():
        counts = {
            rank: max((c.number or 0 for c in calls), default=0) for rank, calls in by_rank.items()
        }
        most = max(counts.values(), default=0)
        late = [
            held for rank, n in counts.items() if n < most and (held := job.rank(rank)) is not None
        ]
        first = min((counts[rank.rank] for rank in late), default=most) + 1
        waiting = [
            c
            for calls in by_rank.values()
            for c in calls
            if c.number == first and (c.end is None or c.error)
        ]
        if late and waiting:
            found.append((waiting, late))
    return min(found, key=lambda each: each[0][0].begin) if found else None


def alone(calls: dict[int, RankCall]) -> tuple[list[int], RankCall]:
    """(the ranks of the rarest call, one of them)."""
    by: dict[Any, list[int]] = {}
    for rank, call in calls.items():
        by.setdefault((call.words, call.place), []).append(rank)
    fewest = min(by.values(), key=lambda ranks: (len(ranks), job_order(ranks)))
    return fewest, calls[fewest[0]]


def job_order(ranks: list[int]) -> int:
    """Of two parts of one size the one with the higher ranks is the odd one: rank 0 is what people
    look at.
    """
    return -min(ranks)


def _conditional(calls: list[RankCall]) -> tuple[RankCall, RankLine, str] | None:
    for call in calls:
        found = Job.condition(call)
        if found is not None:
            return call, *found
    return None


class CollectivesDiffer(RankRule):
    """Ranks call different collectives where they should call one together."""

    slug = "collectives-differ"
    id = "D001"
    severity = "error"
    summary = "ranks call different collectives where they should make one call together"

    def compare(self, job: Job) -> None:
        calls = mismatch(job)
        if calls is None:
            return
        odd, call = alone(calls)
        by: dict[str, list[int]] = {}
        for rank, c in sorted(calls.items()):
            by.setdefault(f"{c.words} at {c.place}", []).append(rank)
        lines = "\n".join(f"{listed(ranks)}: {words}" for words, ranks in by.items())
        self.report(
            call.place,
            f"collective number {call.number} of {call.group} is not the same call on all ranks.\n{lines}",
            evidence={"number": call.number, "group": call.group, "odd": listed(odd)},
            fix=(
                "make all ranks call the same collectives in the same order, with the same "
                "shape, dtype, operation and root"
            ),
            covers=[c.place for c in calls.values()],
        )


class RankMissing(RankRule):
    """Ranks wait in a collective that another rank never calls."""

    slug = "rank-missing"
    id = "D002"
    severity = "error"
    summary = "ranks wait in a collective that another rank does not call"
    symptom_of = (
        "collectives-differ",
        "collective-under-rank-condition",
        "rank-failed",
        "unequal-batches",
    )

    def compare(self, job: Job) -> None:
        found = missing(job)
        if found is None or mismatch(job) is not None:
            return
        waiting, late = found
        begun, call = min(c.begin for c in waiting), waiting[0]
        # what a rank does after the others have given up explains nothing
        end = min((c.end for c in waiting if c.end), default=max(rank.end for rank in job.ranks))
        for rank in late:
            if rank.error is not None and rank.error["kind"] not in _ECHO:
                continue  # D003 tells of it
            place = rank.line_at(end) or rank.place(rank.all("init")[0]["s"])
            last = max(
                (c for c in rank.calls if c.group == call.group),
                key=lambda c: c.begin,
                default=None,
            )
            before = (
                f"its last call was {last.words} number {last.number} at {last.place}"
                if last
                else "it has called none so far"
            )
            has = "had ended" if rank.ended and rank.end <= end else f"was at {place}"
            self.report(
                place,
                f"{listed({c.rank for c in waiting})} waited {end - begun:.1f} s in {call.words} number {call.number} of {call.group} at "
                f"{call.place} for rank {rank.rank}, which {has}; {before}.",
                evidence={
                    "waiting": sorted({c.rank for c in waiting}),
                    "missing": rank.rank,
                    "number": call.number,
                },
                fix="make the call on every rank of the group, or on none",
            )


class RankFailed(RankRule):
    """A rank raised or died, and the others were ended by it."""

    slug = "rank-failed"
    id = "D003"
    severity = "error"
    summary = "a rank raised an exception or died while others waited for it"

    def compare(self, job: Job) -> None:
        own = {
            r.rank: r.error
            for r in job.ranks
            if r.error is not None and r.error["kind"] not in _ECHO and not _echo(r)
        }
        places = {
            (own[r.rank]["kind"], r.place(own[r.rank]["s"])) for r in job.ranks if r.rank in own
        }
        if len(own) == len(job.ranks) and len(places) == 1:
            return  # the script's own failure, the same on all ranks
        told = [r for r in job.ranks if r.error is not None and r.rank not in own]
        # of ranks that lost their patience, not of one that died: they are ended with the others
        late = all(re.search("[Tt]imed out", r.error["text"]) for r in told if r.error is not None)
        for rank in job.ranks:
            if rank.rank in own:
                error = own[rank.rank]
                place, what = (
                    rank.place(error["s"]),
                    f"raised {error['kind']}: {error['text'].rstrip('.')}",
                )
            elif (
                told
                and not late
                and not rank.all("end")
                and rank.error is None
                and job.stalled is None
            ):
                place, what = (
                    rank.line_at(rank.end),
                    "ended without an error message (killed, or out of memory)",
                )
            else:
                continue
            others = [r.rank for r in job.ranks if r is not rank]
            waited = next((c for r in told for c in r.calls[-1:] if c.end is None or c.error), None)
            where = (
                f" while {listed({r.rank for r in told})} waited in {waited.name} at {waited.place}"
                if waited is not None
                else ""
            )
            self.report(
                place,
                f"rank {rank.rank} (pid {rank.pid}) {what}{where}.",
                evidence={"rank": rank.rank, "others": others},
                fix="fix the error on this rank: the errors on the other ranks follow from it",
            )


def _echo(rank: Rank) -> bool:
    """Whether a rank's error says that another one is gone, or that calls differ."""
    text = rank.error["text"] if rank.error is not None else ""
    return bool(
        re.search(
            r"is gone|has left|closed by peer|reset by peer|Broken pipe|Detected mismatch|Timed out|timed out|in which an earlier collective failed",
            text,
        )
    )


class CollectiveUnderRankCondition(RankRule):
    """A collective stands where only some ranks come."""

    slug = "collective-under-rank-condition"
    id = "D004"
    severity = "error"
    summary = "a collective runs under a condition on the rank, so some ranks never call it"
    supersedes = ("collectives-differ", "rank-missing", "rank-failed")

    def compare(self, job: Job) -> None:
        calls = mismatch(job)
        waiting: list[RankCall]
        if calls is not None:
            odd, first = alone(calls)
            waiting = [first, *(c for r, c in calls.items() if r not in odd)]
        else:
            found = missing(job)
            if found is None or any(
                r.error is not None and not _echo(r) and r.error["kind"] not in _ECHO
                for r in found[1]
            ):
                return
            waiting = found[0]
        told = _conditional(waiting)
        if told is None:
            return
        call, place, text = told
        self.report(
            place,
            f"`{call.name}` at {call.place} is called by rank {call.rank} under the condition `{text}`, which other ranks do not meet: "
            "they never make this call, and the calls after it no longer match.",
            evidence={
                "collective": call.words,
                "called at": str(call.place),
                "rank": call.rank,
                "condition": text,
            },
            fix="call the collective on all ranks, outside of the condition, and keep only printing and saving inside",
            covers=[c.place for c in waiting],
        )


class WorkNotWaitedFor(RankRule):
    """A tensor of an asynchronous collective is read before the wait."""

    slug = "work-not-waited-for"
    id = "D018"
    severity = "error"
    summary = (
        "the tensor of an asynchronous collective is read before wait(), or wait() is never called"
    )

    def compare(self, job: Job) -> None:
        for rank in job.ranks:
            for event in rank.all("unwaited"):
                place, at = rank.place(event["s"]), rank.place(event["at"])
                if at is None:
                    self.report(
                        place,
                        f"`wait()` is never called for this {event['name']}: its result may never arrive, and its errors go unnoticed.",
                        evidence={"rank": rank.rank},
                        fix="keep the `Work` that the call returns, and call `wait()` on it",
                        severity="warning",
                    )
                else:
                    self.report(
                        at,
                        f"the tensor of the {event['name']} started at {place} is read here before `wait()`: it may still hold old values.",
                        evidence={
                            "rank": rank.rank,
                            "begun at": str(place),
                            "read by": event["reads"],
                        },
                        fix="call `wait()` on the `Work` that the collective returns before you read the tensor",
                    )
