"""What a check gives back."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from .output import as_text
from .rule import Finding


@dataclass(slots=True)
class CheckResult:
    """Findings of one watched run, in the order of their lines, and what else was seen of it.

    `notes` are remarks on the check itself (a rule that was switched off), `failure` the exception that ended the program, `measures`
    what the report page shows (None unless it was asked for).
    """

    findings: list[Finding] = field(default_factory=list)
    engine: str = "pellucid"
    script: str = ""
    steps: int = 0
    seconds: float = 0.0
    notes: list[str] = field(default_factory=list)
    failure: BaseException | None = None
    measures: Any = None

    @property
    def errors(self) -> list[Finding]:
        """The findings of severity "error"."""
        return [f for f in self.findings if f.severity == "error"]

    def as_dict(self) -> dict[str, Any]:
        """{"findings": [...]}, as `--format json` prints it."""
        return {"findings": [f.as_dict() for f in self.findings]}

    def __str__(self) -> str:
        return as_text(self)

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text(str(self))
