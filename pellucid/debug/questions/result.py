"""The result of `explain`."""

from __future__ import annotations

from typing import Any

from ...core.display.notebook import cell_of, place
from ...core.source import Line


class Explanation:
    """The answer of `explain`.

    Attributes:
        text: the answer in plain sentences.
        cause: a stable name of the cause; "none" if nothing is wrong, "unknown" if it can no longer be determined.
        file, line: where to look, or None.
        fix: what to change, or what to switch on.
        evidence: the facts as a list of texts.
        details: the facts as data, a list of dicts, for questions about numbers.

    >>> import pellucid as torch
    >>> w = torch.ones(2, requires_grad=True)
    >>> answer = torch.explain(w * 2)
    >>> answer.cause, answer.fix
    ('non-leaf', 'call retain_grad() on it before backward(), or use torch.autograd.grad(loss, tensor)')
    """

    def __init__(
        self,
        cause: str,
        text: str,
        fix: str = "",
        where: Line | None = None,
        evidence: list[str] | None = None,
        details: list[dict[str, Any]] | None = None,
    ) -> None:
        self.cause, self.text, self.fix = cause, text, fix
        self.file: str | None = where.file if where else None
        self.line: int | None = where.line if where else None
        self.evidence: list[str] = evidence or []
        self.details: list[dict[str, Any]] = details or []

    @property
    def where(self) -> Line | None:
        """The place to look at."""
        return None if self.file is None else Line(self.file, self.line or 0, "", "")

    def as_dict(self) -> dict[str, Any]:
        """The facts for JSON."""
        names = ("cause", "file", "line", "text", "fix", "evidence", "details")
        found = {name: getattr(self, name) for name in names}
        cell, line = cell_of(self.file or "", self.line or 0)
        return found if cell is None else {**found, "line": line, "cell": cell}

    def __str__(self) -> str:
        lines = [self.text, *(f"  - {fact}" for fact in self.evidence)]
        if self.file is not None:
            lines.append(f"  see {place(self.file, self.line or 0)}")
        return "\n".join([*lines, f"  fix: {self.fix}"] if self.fix else lines)

    def __repr__(self) -> str:
        return f"<{self.cause}> {self}"
