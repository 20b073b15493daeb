"""What a rule is, what it reports, and the list of all rules."""

from __future__ import annotations

import functools
import importlib
import math
import pkgutil
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol

import numpy as np

from ..core.display.notebook import cell_of
from . import rules
from .events import Op, Site

SEVERITIES = ("error", "warning", "info")

EVENTS = (
    "on_op",
    "on_error",
    "on_module_enter",
    "on_module_exit",
    "on_backward_begin",
    "on_backward",
    "on_glimpse",
    "on_optimizer",
    "on_step_begin",
    "on_step",
    "on_update",
    "on_clear",
    "on_scheduler_step",
    "on_switch",
    "on_read",
    "on_seed",
    "on_loader",
    "on_pass",
    "on_batch",
    "on_convert",
    "on_arranged",
    "on_clipped",
    "on_exception",
    "on_call",
    "on_write",
    "on_joined",
    "on_computed",
    "on_saved",
    "on_loaded",
    "on_hook",
    "on_applied",
)
"""The methods that a rule may define, each called with one record of `check.events`."""


@dataclass(slots=True)
class Finding:
    """One bug that `check` found; `CheckResult` has an example.

    Attributes:
        rule, name: the rule's identifier and its name, such as "PL101" and "mutual-broadcast".
        severity: "error", "warning" or "info".
        file, line: where to look.
        message, fix: what is wrong, and what to change.
        evidence: the numbers and shapes behind the message.

    >>> from pellucid.check import Finding
    >>> found = Finding("PL301", "missing-zero-grad", "error", "train.py", 12, "gradients add up", {}, "")
    >>> found.as_dict()["line"]
    12
    """

    rule: str  # the stable identifier, "PL101"
    name: str  # the slug, "mutual-broadcast"
    severity: str
    file: str
    line: int
    message: str
    evidence: dict[str, Any]
    fix: str
    # (file, line) of symptoms told here
    covers: frozenset[tuple[str, int]] = field(default=frozenset(), repr=False)

    def as_dict(self) -> dict[str, Any]:
        """The finding as plain data; in a notebook the line is that of a code cell, and "cell" its
        number.
        """
        cell, line = cell_of(self.file, self.line)
        return {
            "rule": self.rule,
            "name": self.name,
            "severity": self.severity,
            "file": self.file,
            "line": line,
            "message": self.message,
            "evidence": self.evidence,
            "fix": self.fix,
            **({} if cell is None else {"cell": cell}),
        }


class CheckError(AssertionError):
    """A finding of severity "error", raised where it happens with `watching(raising=True)`:

    with pytest.raises(CheckError) as caught, watching(raising=True):
        train_one_step()
    caught.value.finding.name  # "mutual-broadcast"

    >>> import pellucid as torch
    >>> from pellucid.check import CheckError, watching
    >>> model = torch.nn.Linear(2, 1)
    >>> x, y = torch.ones(4, 2), torch.ones(4)
    >>> try:
    ...     with watching(raising=True):
    ...         ((model(x) - y) ** 2).mean().backward()
    ... except CheckError as error:
    ...     print(error.finding.rule, error.finding.name)
    PL101 mutual-broadcast
    """

    def __init__(self, finding: Finding) -> None:
        fix = f"\n  fix: {finding.fix}" if finding.fix else ""
        super().__init__(
            f"{finding.message}\n  {finding.rule} [{finding.name}] at {finding.file}:{finding.line}{fix}"
        )
        self.finding = finding


class Located(Protocol):
    """What has a file and a line, as a `Site` has."""

    @property
    def key(self) -> tuple[str, int]: ...


class Rule:
    """Base class of the rules of `check`. Each subclass with a `slug` is a rule; its handlers are called while the program runs.

    See docs/check-rules-guide.md for a complete rule and all handlers.

    Attributes:
        slug, id, severity, summary: the name, the identifier, and what `--list-rules` shows.
        ops: the operations that `on_op` sees. Default: all.

    >>> from pellucid.check import Rule, all_rules
    >>> rule = next(rule for rule in all_rules() if rule.id == "PL101")
    >>> issubclass(rule, Rule), rule.slug, rule.severity
    (True, 'mutual-broadcast', 'error')
    """

    slug: ClassVar[str] = ""
    id: ClassVar[str] = ""
    severity: ClassVar[str] = "warning"
    summary: ClassVar[str] = ""
    ops: ClassVar[tuple[str, ...]] = ()
    # slugs whose findings are symptoms of this one, wherever they are
    supersedes: ClassVar[tuple[str, ...]] = ()
    covered: ClassVar[
        tuple[str, ...]
        # slugs whose findings are symptoms of this one at the places that `report` gets as `covers`
    ] = ()
    # slugs: when one of them has found something, this one is its symptom
    symptom_of: ClassVar[tuple[str, ...]] = ()
    wants_updates: ClassVar[bool] = False  # Step.before is kept for some steps

    session: Any  # the run that the rule takes part in

    def finish(self) -> None:
        """Called when the program has ended."""

    def report(
        self,
        site: Located | None,
        message: str,
        *,
        evidence: dict[str, Any] | None = None,
        fix: str = "",
        covers: Iterable[Located | None] = (),
        severity: str | None = None,
    ) -> None:
        """Report a finding at a place; a second one of this rule at the same line only raises its
        count.

        Args:
            site: the line that a person would change, or where the wrong thing happens.
            message: one plain sentence first: what was seen. More lines may follow.
            evidence: numbers, shapes and names that were seen, as plain data.
            fix: what to do, one cause, one fix.
            covers: places of symptoms; findings of the rules in `covered` are left out there.
            severity: other than the rule's own.
        """
        self.session.report(self, site, message, evidence or {}, fix, covers, severity)

    def count(self, *key: Any) -> int:
        """Count something, most often at a place: how often the rule has done so, this time included.

        `if self.count("masked", op.site) == TIMES: self.report(op.site, ...)` reports what was seen
        several times there, and only once.

        >>> from pellucid.check import Rule
        >>> rule = Rule()
        >>> [rule.count("looked", 7), rule.count("looked", 7), rule.count("looked", 8)]
        [1, 2, 1]
        """
        times = self._how_often[key] = self._how_often.get(key, 0) + 1
        return times

    @functools.cached_property
    def _how_often(self) -> dict[tuple[Any, ...], int]:
        return {}

    @property
    def step(self) -> int:
        """The number of optimizer steps so far."""
        return self.session.recorder.step


def cause_site(op: Op) -> Site | None:
    """The line to change when an operation should not be there: the user's own call of it, or where
    the library's module that makes it was made (the line with `nn.Softmax()`)."""
    if op.direct or op.module is None:
        return op.site
    return op.module.made or op.site


def median(values: Any) -> float:
    """The median of numbers, flat; NaN if there is one.

    `np.median` loads `numpy.ma` at its first call, which takes longer than checking a short script.

    >>> median([3.0, 1.0, 2.0, 10.0])
    2.5
    """
    ordered = np.sort(values, axis=None)
    middle = ordered.size // 2
    if np.isnan(ordered[-1]):  # NaN is sorted to the end
        return math.nan
    return (float(ordered[middle]) + float(ordered[~middle])) / 2


def distinct(values: Any) -> Any:
    """The different numbers of an array, in order.

    `np.unique` loads `numpy.ma`, as `np.median` does.

    >>> distinct([3, 1, 3]).tolist()
    [1, 3]
    """
    return tally(values)[0]


def tally(values: Any) -> tuple[Any, Any]:
    """The different numbers of an array, in order, and how often each is there.

    >>> tally([3, 1, 3])[1].tolist()
    [1, 2]
    """
    ordered = np.sort(values, axis=None)
    first = np.ones(len(ordered), dtype=bool)
    first[1:] = ordered[1:] != ordered[:-1]
    places = np.flatnonzero(first)
    return ordered[first], np.diff(np.append(places, len(ordered)))


@functools.cache
def _load_rules() -> None:
    for module in pkgutil.walk_packages(rules.__path__, f"{rules.__name__}."):
        importlib.import_module(module.name)


def all_rules() -> list[type[Rule]]:
    """Return all rules by identifier; those that compare ranks (D001, ...) come last.

    >>> from pellucid.check import all_rules
    >>> [rule.id for rule in all_rules()][:3]
    ['PL101', 'PL102', 'PL110']
    """
    _load_rules()
    found: list[type[Rule]] = []
    waiting: list[type[Rule]] = [Rule]
    while waiting:
        kind = waiting.pop()
        waiting.extend(kind.__subclasses__())
        if kind.slug and kind.__module__.startswith(rules.__name__):
            found.append(kind)
    return sorted(found, key=lambda rule: (rule.id.startswith("D"), rule.id))
