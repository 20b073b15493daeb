"""The result of a check."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from .output import as_html, as_text
from .rule import Finding


@dataclass(slots=True)
class CheckResult:
    """The findings of one checked run, ordered by line.

    Attributes:
        findings: a list of `Finding`.
        engine, script: what ran.
        steps, seconds: optimizer steps, and the duration.
        notes: remarks on the check itself, such as a rule that was switched off.
        failure: the exception that ended the program, or None.
        measures: the data of the report page, if they were requested, or None.
        ranks, records: of a program with several processes: how many there were, and what they wrote.

    >>> import pellucid as torch
    >>> from pellucid.check import watching
    >>> with watching() as result:
    ...     loss = ((torch.zeros(4, 1) - torch.zeros(4)) ** 2).mean()
    >>> [(found.rule, found.name, found.severity) for found in result.findings]
    [('PL101', 'mutual-broadcast', 'error')]
    """

    findings: list[Finding] = field(default_factory=list)
    engine: str = "pellucid"
    script: str = ""
    steps: int = 0
    seconds: float = 0.0
    notes: list[str] = field(default_factory=list)
    failure: BaseException | None = None
    measures: Any = None
    ranks: int = 0  # processes that were checked together; 0: one alone
    records: Any = None  # what they wrote (`ranks.job.Job`)

    @property
    def errors(self) -> list[Finding]:
        """The findings of severity "error"."""
        return [f for f in self.findings if f.severity == "error"]

    def as_dict(self) -> dict[str, Any]:
        """{"findings": [...]}, as `--format json` prints it; with "failure" when an exception ended
        the program.
        """
        ended = (
            {}
            if self.failure is None
            else {"failure": f"{type(self.failure).__name__}: {self.failure}"}
        )
        return {"findings": [f.as_dict() for f in self.findings], **ended}

    def __str__(self) -> str:
        return as_text(self)

    def _repr_html_(self) -> str:
        return as_html(self)

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text(str(self))
