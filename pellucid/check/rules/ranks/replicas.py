"""Replicas: parameters that diverge, gradients that are not reduced, statistics of a few rows."""

from __future__ import annotations

import math
from typing import Any

from ...ranks.job import Job, Rank, RankLine, listed
from ...ranks.rule import RankRule
from ..schedules.units import rates_set


def _weights(rank: Rank) -> dict[tuple[int, int], dict[str, Any]]:
    """By (step, 0 before or 1 after it): what was digested. After step n - 1 is before step n, and
    told apart.
    """
    return {(e["step"], 0 if e["when"] == "before" else -1): e for e in rank.all("weights")}


def _apart(job: Job) -> float:
    """The step from which on equal numbers of steps mean different ones: ranks that leave `join()`
    after different numbers of batches have made different numbers of steps.
    """
    for left in zip(*(rank.all("joined") for rank in job.ranks), strict=False):
        steps = [event["step"] for event in left]
        if len(set(steps)) > 1:
            return min(steps)
    return math.inf


class ReplicasDiverged(RankRule):
    """Parameters that should be equal on all ranks are not."""

    slug = "replicas-diverged"
    id = "D005"
    severity = "error"
    summary = "parameters that should be equal on all ranks differ"
    symptom_of = (
        "forward-past-wrapper",
        "learning-rates-differ",
        "gradients-never-reduced",
        "work-not-waited-for",
    )

    def compare(self, job: Job) -> None:
        if len(job.ranks) < 2 or any(
            r.all("ddp")
            and any(d["ranks"] is not None and len(d["ranks"]) < job.size for d in r.all("ddp"))
            for r in job.ranks
        ):
            return
        by = [_weights(r) for r in job.ranks]
        common = sorted(set(by[0]).intersection(*by[1:]))
        last = _apart(job), -1
        previous: tuple[int, int] | None = None
        for key in common:
            if key > last:
                return
            crcs = [w[key]["crc"] for w in by]
            names = [n for n in crcs[0] if all(n in c for c in crcs)]
            differ = [n for n in names if len({c[n] for c in crcs}) > 1]
            if differ:
                self._tell(job, key, previous, differ, len(names), by)
                return
            previous = key

    def _tell(
        self,
        job: Job,
        key: tuple[int, int],
        previous: tuple[int, int] | None,
        differ: list[str],
        total: int,
        by: list[Any],
    ) -> None:
        name, step = differ[0], key[0]
        values: dict[int, list[int]] = {}
        for rank, weights in zip(job.ranks, by, strict=True):
            values.setdefault(weights[key]["crc"][name], []).append(rank.rank)
        odd = min(values.values(), key=lambda ranks: (len(ranks), -min(ranks)))
        rank = job.rank(odd[0])
        assert rank is not None
        place, how = None, ""
        before = [w.get((step - 1, 0)) for w in by]
        steps = [e for e in rank.all("step") if e["n"] == step - 1]
        written = next((w[key]["written"][name] for r, w in zip(job.ranks, by, strict=True)
                        if r is rank and name in (w[key].get("written") or {})), None)  # fmt: skip
        if key[1] == 0 and written is not None:
            how = (
                "they were created with different values"
                if step == 0
                else "they were written to outside of the optimizer"
            )
            place = rank.place(written)
        elif key[1] == -1 and steps and all(before):
            place = rank.place(steps[0]["s"])
            grads = [b["grads"] for b in before if b is not None]
            different = [
                n for n in grads[0] if all(n in g for g in grads) and len({g[n] for g in grads}) > 1
            ]
            how = (
                f"the gradients of this step differed ({', '.join(different[:3])})"
                if different
                else "the optimizers' states differ"
            )
        elif previous is None:
            how = "they differed from the beginning"
            first = next((e for e in rank.all("step")), None)
            place = rank.place(first["s"] if first else rank.all("init")[0]["s"])
        else:
            last = [e for e in rank.all("step") if e["n"] < step]
            place = rank.place(last[-1]["s"]) if last else None
        since = (
            "since before the first step"
            if step == 0 or previous is None
            else f"since step {step}"
            if previous[0] >= step - 1
            else f"since one of the steps {previous[0] + 1} to {step}"
        )
        self.report(
            place,
            f"the replicas are no longer equal {since}: {len(differ)} of {total} parameters differ, the first is {name}; "
            f"{listed(odd)} differ{'s' if len(odd) == 1 else ''} from the others{': ' + how if how else ''}.",
            evidence={
                "parameter": name,
                "step": step,
                "ranks": sorted(odd),
                "differ": len(differ),
                "of": total,
            },
            fix="change parameters only through gradients that all ranks have reduced, with the same optimizer on all ranks; start with "
            "the same values (DistributedDataParallel gives all ranks those of rank 0)",
        )


class UnusedParameters(RankRule):
    """Parameters of a DistributedDataParallel that get no gradient."""

    slug = "unused-parameters"
    id = "D010"
    severity = "error"
    summary = "parameters of a DistributedDataParallel get no gradient on some rank"
    supersedes = ("rank-failed", "replicas-diverged")
    covered = ("param-unused",)

    def compare(self, job: Job) -> None:
        for rank in job.ranks:
            wrappers = {d["n"]: d for d in rank.all("ddp")}
            for event in rank.all("unused"):
                wrapper = wrappers[event["ddp"]]
                if wrapper["unused"] or wrapper["static"]:
                    continue
                why = {
                    True: "its module was called, but the loss does not depend on its result",
                    False: "its module was not called",
                }
                named = [f"{name}: {why[called]}" for name, called in event["names"].items()]
                homes = {
                    home: wrapper["made"].get(home)
                    for home in (name.rpartition(".")[0] for name in event["names"])
                }
                made = {home: str(rank.place(n)) for home, n in homes.items() if n is not None}
                self.report(
                    rank.place(wrapper["s"]),
                    f"{len(named)} of {len(wrapper['names'])} parameters had no gradient after the backward at {rank.place(event['s'])} "
                    f"(step {event['step']}, rank {rank.rank}), so their bucket is never reduced and the next forward raises.\n"
                    + "\n".join(named[:5]),
                    evidence={
                        "rank": rank.rank,
                        "parameters": list(event["names"])[:20],
                        "made at": made,
                    },
                    fix="remove these modules, use their results in the loss, or pass find_unused_parameters=True",
                    covers=[rank.place(n) for n in homes.values()],
                )


class LocalBatchNorm(RankRule):
    """BatchNorm over a few rows of one rank."""

    slug = "small-local-batchnorm"
    id = "D011"
    severity = "warning"
    summary = "BatchNorm is not synchronized, and each rank has a small batch"
    _few = 16

    def compare(self, job: Job) -> None:
        for rank in job.ranks[:1]:
            for wrapper in rank.all("ddp"):
                norms = [e for e in rank.all("norm") if e["ddp"] == wrapper["n"]]
                steps = [e for e in rank.all("forward") if e["ddp"] == wrapper["n"]]
                usual = sorted(e["rows"] for e in steps if e["rows"] is not None)
                if not norms or not usual or usual[len(usual) // 2] >= self._few:
                    continue
                rows = usual[len(usual) // 2]
                self.report(
                    rank.place(wrapper["s"]),
                    f"{len(wrapper['norms'])} BatchNorm module{'s' if len(wrapper['norms']) > 1 else ''} ({', '.join(wrapper['norms'][:3])}) "
                    f"compute mean and variance over the {rows} rows of one rank, not over the {rows * job.size} of all.",
                    evidence={
                        "rows of a rank": rows,
                        "ranks": job.size,
                        "modules": wrapper["norms"][:10],
                    },
                    fix="model = torch.nn.SyncBatchNorm.convert_sync_batchnorm(model) before it is wrapped, or larger batches",
                    severity="warning" if rows < self._few // 2 else "info",
                )


class LearningRatesDiffer(RankRule):
    """Optimizers of one job step with different learning rates."""

    slug = "learning-rates-differ"
    id = "D012"
    severity = "error"
    summary = "the learning rates of the ranks differ"

    def compare(self, job: Job) -> None:
        by = [{(e["n"], e["opt"]): e for e in rank.all("step")} for rank in job.ranks]
        if len(by) < 2 or not any(rank.all("ddp") for rank in job.ranks):
            return
        for key in sorted(set(by[0]).intersection(*by[1:])):
            rates = [tuple(steps[key]["lrs"]) for steps in by]
            if len(set(rates)) > 1:
                values: dict[Any, list[int]] = {}
                for rank, rate in zip(job.ranks, rates, strict=True):
                    values.setdefault(rate, []).append(rank.rank)
                odd = job.rank(min(values.values(), key=lambda ranks: (len(ranks), -min(ranks)))[0])
                assert odd is not None
                made = by[job.ranks.index(odd)][key]
                place = odd.place(made["made"]) if key[0] == 0 else odd.place(made["s"])
                stepped = odd.place(made["s"])
                lines = rates_set(stepped.file) if stepped is not None else []
                if stepped is not None and len(lines) == 1:
                    place = RankLine(stepped.file, lines[0][0])
                self.report(
                    place,
                    "at step {} the ranks step with different learning rates: {}. Their replicas drift apart.".format(
                        key[0],
                        "; ".join(
                            f"{listed(ranks)} {', '.join(f'{r:g}' for r in rate)}"
                            for rate, ranks in sorted(values.items())
                        ),
                    ),
                    evidence={
                        "step": key[0],
                        "rates": {listed(r): list(rate) for rate, r in values.items()},
                    },
                    fix="compute the learning rate from what is the same on all ranks (steps, a reduced metric), not from this rank's numbers",
                )
                return


class ForwardPastWrapper(RankRule):
    """The model is called past its DistributedDataParallel, so nothing reduces its gradients."""

    slug = "forward-past-wrapper"
    id = "D013"
    severity = "error"
    summary = "the forward bypasses DistributedDataParallel, so its gradients are not reduced"

    def compare(self, job: Job) -> None:
        for rank in job.ranks:
            for event in rank.all("unreduced"):
                if event["past"]:
                    self.report(
                        rank.place(event["s"]),
                        f"the model inside DistributedDataParallel is called directly here; the backward at {rank.place(event['at'])} leaves "
                        "each rank its own gradients, and the optimizer steps with them.",
                        evidence={"rank": rank.rank, "step": event["step"]},
                        fix="call the wrapper (`model(x)`), not `model.module(x)` or the model that was wrapped",
                    )


class GradientsNeverReduced(RankRule):
    """Every backward of a step was inside `no_sync`."""

    slug = "gradients-never-reduced"
    id = "D014"
    severity = "error"
    summary = "gradients are never reduced, or more often than the optimizer steps"

    def compare(self, job: Job) -> None:
        for rank in job.ranks:
            for event in rank.all("unreduced"):
                if not event["past"]:
                    self.report(
                        rank.place(event["at"]),
                        "all backward calls before this optimizer step were inside `no_sync()`, so the step uses this rank's gradients alone.",
                        evidence={"rank": rank.rank, "step": event["step"]},
                        fix="run the last forward and backward before the step outside of `no_sync()`",
                    )
            for event in rank.all("late_no_sync"):
                self.report(
                    rank.place(event["s"]),
                    "this backward runs inside `no_sync()`, but its forward ran outside: the gradients are reduced anyway.",
                    evidence={"rank": rank.rank},
                    fix="put the forward into the `with model.no_sync():` block, too",
                    severity="warning",
                )
            again = [e for e in rank.all("reduced") if e["n"] > 1 and e["onto"]]
            if len(again) >= 2:
                most = max(e["n"] for e in again)
                self.report(
                    rank.place(again[0]["s"]),
                    f"gradients are reduced {most} times for one optimizer step: only the last reduction is needed.",
                    evidence={"reductions per step": most},
                    severity="info",
                    fix="accumulate inside `with model.no_sync():` and let only the last backward before the step reduce",
                )
            if any(True for _ in again):
                break


class ClippedBeforeReduction(RankRule):
    """The norm of gradients that are not reduced yet is clipped."""

    slug = "clipped-before-reduction"
    id = "D019"
    severity = "error"
    summary = "gradients are clipped by their norm before the ranks have reduced them"

    def compare(self, job: Job) -> None:
        for rank in job.ranks:
            for event in rank.all("clip"):
                by_hand = event.get("by_hand")
                if by_hand is not None and (not by_hand or event.get("averaged")):
                    continue
                at = rank.place(event["local"])
                where = (
                    f"the backward at {at} has not reduced them"
                    if at is not None
                    else "they are reduced after this line"
                )
                self.report(
                    rank.place(event["s"]),
                    f"the gradients that are clipped here are only this rank's ({where}): each rank scales by a different norm.",
                    evidence={"rank": rank.rank, "step": event["step"]},
                    fix="clip after the gradients are reduced: once before the step, outside of `no_sync()`",
                )
