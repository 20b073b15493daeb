"""Merge the findings of all ranks into one result."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from ..config import Settings
from ..result import CheckResult
from ..rule import Finding, Located, Rule, all_rules
from ..session import hides, plain
from .job import Job, listed
from .rule import RankRule


class RanksFailed(Exception):
    """Ranks ended with errors; the message has the first one's."""


def write(folder: str, result: CheckResult) -> None:
    """Leave a process's own result for `merged`."""
    failure = result.failure
    data = {
        "findings": [_stored(f) for f in result.findings],
        "steps": result.steps,
        "notes": result.notes,
        "seconds": result.seconds,
        "failure": None
        if failure is None
        else f"{type(failure).__name__}: {str(failure).splitlines()[0] if str(failure) else ''}",
    }
    path = Path(folder) / f"{os.getpid()}.result.json"
    path.write_text(json.dumps(data), encoding="utf-8")


def _stored(f: Finding) -> dict[str, Any]:
    return {
        name: getattr(f, name)
        for name in ("rule", "name", "severity", "file", "line", "message", "evidence", "fix")
    } | {"covers": sorted(f.covers)}


class Comparison:
    """The rules that compare ranks, on one job.

    Args:
        job: what the ranks wrote.
        settings: which rules, with which severities.
        script: the file that is checked, where a finding has no line.
    """

    def __init__(self, job: Job, settings: Settings, script: str) -> None:
        self.settings, self.script = settings, script
        self.found: dict[tuple[str, str, int], Finding] = {}
        self.notes: list[str] = []
        for kind in all_rules():
            if not issubclass(kind, RankRule) or not settings.selected(kind.slug, kind.id):
                continue
            rule = kind()
            rule.session = self
            try:
                rule.compare(job)
            except Exception as error:
                if os.environ.get("PELLUCID_CHECK_RAISE"):
                    raise
                self.notes.append(
                    f"rule {kind.slug} was switched off: it failed ({type(error).__name__}: {error}). Other rules are not affected."
                )

    def report(
        self,
        rule: Rule,
        site: Located | None,
        message: str,
        evidence: dict[str, Any],
        fix: str,
        covers: Iterable[Located | None],
        severity: str | None,
    ) -> None:
        """Take in a finding of a rule; only the first one of a rule at a line counts."""
        file, line = site.key if site is not None else (self.script, 1)
        shown = self.settings.severity(rule.slug, rule.id) or severity or rule.severity
        covered = frozenset(s.key for s in covers if s is not None)
        finding = Finding(
            rule.id, rule.slug, shown, file, line, message, plain(evidence), fix, covered
        )
        self.found.setdefault((rule.slug, file, line), finding)


def merged(
    folder: str | Path, settings: Settings, script: str, engine: str, own: CheckResult | None = None
) -> CheckResult:
    """The result of a run of several ranks.

    Args:
        folder: where they wrote.
        settings: which rules, with which severities.
        script: the file that is checked.
        engine: "pellucid" or "torch".
        own: of the process that started the ranks, where that was the script itself.
    """
    job = Job(folder)
    parts = [
        json.loads(path.read_text(encoding="utf-8"))
        for path in sorted(Path(folder).glob("*.result.json"))
    ]
    whose = {rank.pid: rank.rank for rank in job.ranks}
    numbers = [
        whose.get(int(path.name.split(".")[0]))
        for path in sorted(Path(folder).glob("*.result.json"))
    ]
    result = CheckResult(
        engine=engine, script=script, records=job, ranks=max(len(job.ranks), len(parts))
    )
    found: dict[tuple[str, str, int], tuple[Finding, list[int]]] = {}
    for part, number in zip(parts, numbers, strict=True):
        for stored in part["findings"]:
            finding = Finding(**{**stored, "covers": frozenset(map(tuple, stored["covers"]))})
            held = found.setdefault((finding.name, finding.file, finding.line), (finding, []))
            if number is not None:
                held[1].append(number)
        result.steps = max(result.steps, part["steps"])
        result.notes += [note for note in part["notes"] if note not in result.notes]
        result.seconds = max(result.seconds, part["seconds"])
    for finding, ranks in found.values():
        if ranks and len(ranks) < len(job.ranks):
            finding.evidence = {**finding.evidence, "ranks": sorted(ranks)}
    comparison = Comparison(job, settings, script)
    everything = [
        *(finding for finding, _ in found.values()),
        *comparison.found.values(),
        *(own.findings if own is not None else []),
    ]
    kinds = {rule.slug: rule for rule in all_rules()}
    kept: dict[tuple[str, str, int], Finding] = {}
    for finding in everything:
        if not settings.silenced(finding) and not any(
            other is not finding and hides(other, finding, kinds) for other in everything
        ):
            kept.setdefault((finding.name, finding.file, finding.line), finding)
    result.findings = sorted(
        kept.values(), key=lambda f: (f.file != script, f.file, f.line, f.rule)
    )
    result.notes += comparison.notes
    if own is not None:
        result.notes += [note for note in own.notes if note not in result.notes]
        result.steps, result.failure, result.measures = (
            max(result.steps, own.steps),
            own.failure,
            own.measures,
        )
    if result.failure is None:
        result.failure = _failure(job, parts)
    return result


def _failure(job: Job, parts: list[dict[str, Any]]) -> BaseException | None:
    """The first error of a rank that is no echo of another rank's end."""
    errors = [(rank, rank.error) for rank in job.ranks if rank.error is not None]
    errors.sort(key=lambda pair: pair[1]["t"])
    own = [pair for pair in errors if pair[1]["kind"] != "DistBackendError"]
    for rank, error in own or errors:
        return RanksFailed(f"rank {rank.rank}: {error['kind']}: {error['text']}")
    lost = [rank.rank for rank in job.ranks if not rank.all("end")]
    if job.stalled is not None:
        return RanksFailed(f"no progress for {job.stalled['seconds']:g} seconds")
    if lost:
        return RanksFailed(f"{listed(lost)} ended without an error message")
    failed = next((part["failure"] for part in parts if part["failure"] is not None), None)
    return None if failed is None else RanksFailed(failed)
