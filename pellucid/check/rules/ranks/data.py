"""Data of ranks: the same batches everywhere, the same order each epoch, uneven shares, random
numbers, metrics.
"""

from __future__ import annotations

import ast
from typing import Any

from ...ranks.job import Job, Rank, RankLine, listed
from ...ranks.rule import RankRule
from ..source.places import tree, walk


def _batches(rank: Rank) -> dict[tuple[int, int], list[dict[str, Any]]]:
    """By (loader, pass): the batches."""
    found: dict[tuple[int, int], list[dict[str, Any]]] = {}
    for event in rank.all("batch"):
        found.setdefault((event["loader"], event["p"]), []).append(event)
    return found


def _trains(batches: list[dict[str, Any]]) -> bool:
    """Whether optimizer steps were made between the batches of a pass."""
    return len(batches) > 1 and batches[-1]["step"] > batches[0]["step"]


def _sampler_made(loader: RankLine | None) -> RankLine | None:
    """Where the file that makes a loader makes its only DistributedSampler."""
    root = tree(loader.file) if loader is not None else None
    lines = [
        node.lineno
        for node in (walk(root) if root is not None else ())
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("DistributedSampler")
    ]
    return RankLine(loader.file, lines[0]) if loader is not None and len(lines) == 1 else None


class SameData(RankRule):
    """Ranks train on the same batches."""

    slug = "same-data-on-all-ranks"
    id = "D006"
    severity = "error"
    summary = "ranks train on the same batches"
    _enough = 3

    def compare(self, job: Job) -> None:
        forwards = {
            r.rank: [e for e in r.all("forward") if e["training"] and e["rows"]] for r in job.ranks
        }
        for a in job.ranks:
            for b in job.ranks[a.rank + 1 :]:
                pairs = list(zip(forwards[a.rank], forwards[b.rank], strict=False))
                same = sum(x["crc"] == y["crc"] for x, y in pairs)
                if (
                    same < self._enough
                    or same < len(pairs)
                    or len({x["crc"] for x, _ in pairs}) < 2
                ):
                    continue
                first = pairs[0][0]
                loader = first["batch"]
                made = next(
                    (p for p in a.all("pass") if loader is not None and p["loader"] == loader[0]),
                    None,
                )
                place = a.place(made["s"]) if made is not None else a.place(first["s"])
                fix = "give the DataLoader sampler=DistributedSampler(dataset) instead of shuffle=True"
                if made is None:
                    has = "Each rank draws the same ones."
                    fix = "give each rank another part of the data, or seed its generator with the rank"
                elif "of" in made:
                    place = _sampler_made(place) or place
                    has = f"On each of them, the DistributedSampler takes the part of rank {made['of']} of {made['replicas']}."
                    fix = (
                        "leave out the sampler's num_replicas= and rank=: it asks the process group"
                    )
                else:
                    has = f"The loader has a {made['sampler']} and no DistributedSampler."
                ranks = [
                    r.rank
                    for r in job.ranks
                    if all(
                        x["crc"] == y["crc"]
                        for x, y in zip(forwards[a.rank], forwards[r.rank], strict=False)
                    )
                ]
                self.report(
                    place,
                    f"{listed(ranks)} train on the same batches ({same} of {len(pairs)} are equal bit for bit). {has}",
                    evidence={
                        "ranks": ranks,
                        "equal batches": same,
                        "first used at": str(a.place(first["s"])),
                    },
                    fix=fix,
                )
                return


class SetEpochForgotten(RankRule):
    """A DistributedSampler shuffles in the same order in each epoch."""

    slug = "set-epoch-forgotten"
    id = "D007"
    severity = "error"
    summary = "DistributedSampler.set_epoch is not called, so every epoch has the same order"

    def compare(self, job: Job) -> None:
        for rank in job.ranks:
            batches = _batches(rank)
            before: dict[int, dict[str, Any]] = {}
            for event in rank.all("pass"):
                if not event.get("shuffled") or not _trains(
                    batches.get((event["loader"], event["p"]), [])
                ):
                    continue
                held = before.get(event["loader"])
                before[event["loader"]] = event
                if held is None or held["epoch"] != event["epoch"]:
                    continue
                self.report(
                    rank.place(event["at"]),
                    f"pass {event['p'] + 1} over the loader made at {rank.place(event['s'])} has the order of pass {held['p'] + 1}: its "
                    f"DistributedSampler is still at epoch {event['epoch']}.",
                    evidence={"rank": rank.rank, "epoch": event["epoch"], "passes": event["p"] + 1},
                    fix="call `sampler.set_epoch(epoch)` before each pass",
                )


class SamplesOverlap(RankRule):
    """Several ranks get the same samples, or some samples go to no rank."""

    slug = "samples-overlap"
    id = "D008"
    severity = "warning"
    summary = "several ranks get the same samples in an epoch"
    symptom_of = ("same-data-on-all-ranks",)

    def compare(self, job: Job) -> None:
        if len(job.ranks) < 2:
            return
        passes = [{(e["loader"], e["p"]): e for e in rank.all("pass")} for rank in job.ranks]
        batches = [_batches(rank) for rank in job.ranks]
        for key in sorted(set(passes[0]).intersection(*passes[1:])):
            events = [p[key] for p in passes]
            first = events[0]
            alike = len({(e["samples"], e["sampler"]) for e in events}) == 1 and (
                first["data"] is not None
                and len({e["data"] for e in events}) == 1
                or "epoch" in first
            )
            lists = [[i for e in b.get(key, []) for i in e["taken"] or ()] for b in batches]
            if (
                not alike
                or not all(lists)
                or not _trains(batches[0][key])
                or any(len(set(x)) < len(x) for x in lists)
            ):
                continue
            sets = [set(x) for x in lists]
            union = set().union(*sets)
            double = sum(len(s) for s in sets) - len(union)
            padding = max(0, -(-first["samples"] // len(sets)) * len(sets) - first["samples"])
            if double <= max(padding, len(sets)):
                continue
            whole = all(
                any(e["loader"] == key[0] and e["p"] == key[1] for e in r.all("passend"))
                for r in job.ranks
            )
            left = (
                f" {first['samples'] - len(union)} of {first['samples']} samples go to no rank."
                if whole and len(union) < first["samples"]
                else ""
            )
            self.report(
                job.ranks[0].place(first["s"]),
                f"{double} of the {sum(map(len, sets))} samples of pass {key[1] + 1} go to more than one rank.{left}",
                evidence={
                    "double": double,
                    "different": len(union),
                    "samples": first["samples"],
                    "padding": padding,
                    "sampler": first["sampler"],
                },
                fix="give each rank its own part: DistributedSampler(dataset) with the same seed on all ranks",
            )
            return


class UnequalBatches(RankRule):
    """Ranks have different numbers of batches in a pass with collectives."""

    slug = "unequal-batches"
    id = "D009"
    severity = "error"
    summary = "ranks have different numbers of batches, so some wait for a rank that has left"
    supersedes = ("rank-missing", "rank-failed", "collectives-differ")

    def compare(self, job: Job) -> None:
        if len(job.ranks) < 2 or any(rank.all("join") for rank in job.ranks):
            return
        passes = [{(e["loader"], e["p"]): e for e in rank.all("pass")} for rank in job.ranks]
        batches = [_batches(rank) for rank in job.ranks]
        for key in sorted(set(passes[0]).intersection(*passes[1:])):
            counts = [
                self._count(rank, p[key], b.get(key, []), key)
                for rank, p, b in zip(job.ranks, passes, batches, strict=True)
            ]
            if None in counts or len(set(counts)) < 2 or not self._communicates(job, key, batches):
                continue
            ranks = {listed([r.rank]): c for r, c in zip(job.ranks, counts, strict=True)}
            fewest = job.ranks[counts.index(min(c for c in counts if c is not None))]
            event = passes[job.ranks.index(fewest)][key]
            self.report(
                fewest.place(event["s"]),
                f"{'; '.join(f'{name} has {c} batches' for name, c in ranks.items())} in pass {key[1] + 1}. The ranks reduce after each batch, so "
                f"those with more wait for rank {fewest.rank}, which has left the loop.",
                evidence={"batches": ranks, "loop": str(fewest.place(event["at"]))},
                fix="give all ranks the same number of samples (DistributedSampler pads, drop_last=True cuts), or train inside `with model.join():`",
            )
            return

    @staticmethod
    def _count(
        rank: Rank, event: dict[str, Any], batches: list[dict[str, Any]], key: tuple[int, int]
    ) -> int | None:
        """How many batches a pass has: as many as there were, or as the loader says."""
        if any(e["loader"] == key[0] and e["p"] == key[1] for e in rank.all("passend")):
            return len(batches)
        return event["batches"]

    @staticmethod
    def _communicates(job: Job, key: tuple[int, int], batches: list[Any]) -> bool:
        """Whether the ranks communicate between batches."""
        for rank, held in zip(job.ranks, batches, strict=True):
            times = [e["t"] for e in held.get(key, [])]
            calls = [c.begin for c in rank.calls] + [e["t"] for e in rank.all("reduced")]
            between = sum(
                any(a < t < b for t in calls) for a, b in zip(times, times[1:], strict=False)
            )
            if len(times) > 1 and between >= max(1, (len(times) - 1) // 2):
                return True
            if len(times) == 1 and any(t > times[0] for t in calls) and rank.all("reduced"):
                return True
        return False


class SameRandomNumbers(RankRule):
    """Random numbers that the program draws while it trains are the same on all ranks."""

    slug = "same-random-numbers"
    id = "D015"
    severity = "warning"
    summary = "ranks draw the same random numbers for different data"
    symptom_of = ("same-data-on-all-ranks",)
    _enough = 3

    def compare(self, job: Job) -> None:
        by = [self._draws(rank) for rank in job.ranks]
        if len(by) < 2:
            return
        for place in set(by[0]).intersection(*by[1:]):
            rows = list(zip(*(d[place] for d in by), strict=False))
            if len(rows) < self._enough or len({r[0]["crc"] for r in rows}) < 2:
                continue
            if all(len({e["crc"] for e in row}) == 1 for row in rows):
                self.report(
                    place,
                    f"{listed(r.rank for r in job.ranks)} draw the same numbers here ({len(rows)} times out of {len(rows)}), each for its own data.",
                    evidence={
                        "operation": rows[0][0]["name"],
                        "shape": rows[0][0]["shape"],
                        "draws": len(rows),
                    },
                    fix="seed with the rank, `torch.manual_seed(seed + rank)`, after the model is created",
                )

    @staticmethod
    def _draws(rank: Rank) -> dict[Any, list[dict[str, Any]]]:
        found: dict[Any, list[dict[str, Any]]] = {}
        for event in rank.all("draw"):
            place = rank.place(event["s"])
            if place is not None:
                found.setdefault(place, []).append(event)
        return found


class MetricOfOneRank(RankRule):
    """A number of one rank's part of the data is printed as if it were that of all."""

    slug = "metric-of-one-rank"
    id = "D016"
    severity = "warning"
    summary = "a rank prints a metric of its own part of the data as if it were the whole"

    def compare(self, job: Job) -> None:
        if len(job.ranks) < 2:
            return
        printed = {rank.rank: rank.all("metric") for rank in job.ranks}
        sayers = [rank for rank in job.ranks if any(not e["reduced"] for e in printed[rank.rank])]
        if len(sayers) != 1:
            return  # each rank prints its own, or none does
        rank = sayers[0]
        for event in printed[rank.rank]:
            if event["reduced"]:
                continue
            seen = {
                r.rank: [e["crc"] for e in r.all("eval") if e["step"] == event["step"]]
                for r in job.ranks
            }
            mine, others = (
                seen[rank.rank],
                [crcs for number, crcs in seen.items() if number != rank.rank],
            )
            if mine and others and all(o and o != mine for o in others):
                self.report(
                    rank.place(event["s"]),
                    f"rank {rank.rank} prints {event['value']:g}, which it computed from its own part of the data (read at "
                    f"{rank.place(event['read'])}); the other ranks' parts are not in it.",
                    evidence={"rank": rank.rank, "printed": event["text"]},
                    fix="sum the counts over the ranks before the division: `dist.all_reduce(counts)`",
                )
                return
