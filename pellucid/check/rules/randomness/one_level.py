"""One random number for all rows of a batch, where each row should have its own."""

from __future__ import annotations

from ...events import Op, Value, made_by
from ...rule import Rule
from ..losses.origin import Repeated

_ROWS = 8


class OneLevel:
    """`t = torch.randint(0, T, (1,)).expand(len(x))`: one noise level of a schedule for a batch."""

    def __init__(self, rule: Rule) -> None:
        self._rule = rule
        self._repeated = Repeated(looks=12, times=3)

    def see(self, op: Op) -> None:
        """A row of a table is taken for each row of a batch."""
        table, index = op.args.get("input"), op.args.get("index")
        if (
            not op.grad_enabled
            or not isinstance(table, Value)
            or not isinstance(index, Value)
            or table.ndim != 1
            or table.requires_grad
            or not table.is_floating_point
            or table.shape[0] < _ROWS
            or index.ndim != 1
            or index.shape[0] < _ROWS
            or not self._repeated.due(op.site)
        ):
            return
        made = made_by(index)
        drawn = made.output if made is not None and made.name == "randint" else None
        if made is None or drawn is None or drawn.numel != 1 or not self._repeated.again(op.site):
            return
        self._rule.report(
            made.site,
            f"one random number is drawn for all {index.shape[0]} rows of a batch: each step trains only one of the {table.shape[0]} levels in this "
            "table.",
            evidence={"rows": index.shape[0], "used_at": op.site},
            fix="draw one for each row: `torch.randint(0, T, (len(x),))`",
            severity="warning",
        )
