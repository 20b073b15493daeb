"""Positions that are counted over the samples of a batch instead of the tokens of a sequence."""

from __future__ import annotations

import ast
import weakref
from typing import Any

import numpy as np

from ...events import VIEWS, Op, Value, made_by
from ...rule import Rule
from ..losses.origin import Repeated
from ..source.places import Place, tree, walk

LOSSES = ("cross_entropy", "nll_loss", "mse_loss", "binary_cross_entropy_with_logits")
TIMES = 2
_CONSTANT = frozenset("zeros zeros_like ones ones_like full full_like new_zeros new_full".split())


class PositionsOfTheBatch(Rule):
    """A table of positions is cut to the number of rows of a batch, and spread over the tokens."""

    slug = "positions-of-the-batch"
    id = "PL114"
    severity = "error"
    summary = (
        "positional encodings follow the batch instead of the sequence, or are the same everywhere"
    )
    ops = ("add", "embedding", *LOSSES)

    def __init__(self) -> None:
        # sums of this step: the operation, the batch's size and the number of tokens, and whether batches come first
        self._sums: list[tuple[Op, int, int, Any]] = []
        self._places = Repeated(looks=8, times=4)
        # by model: whether its batches come first
        self._first: Any = weakref.WeakKeyDictionary()

    def finish(self) -> None:
        """`10000 ** (2 * i // d)`: whole numbers, so that all columns have one frequency."""
        for file in self.session.recorder.files(self.session.script) if self.step else ():
            root = tree(file)
            for n in walk(root) if root is not None else ():
                if not isinstance(n, ast.BinOp) or not isinstance(n.op, ast.Pow):
                    continue
                base = n.left.value if isinstance(n.left, ast.Constant) else None
                floor = n.right.operand if isinstance(n.right, ast.UnaryOp) else n.right
                if (
                    isinstance(base, (int, float))
                    and base >= 100
                    and isinstance(floor, ast.BinOp)
                    and isinstance(floor.op, ast.FloorDiv)
                    and not isinstance(floor.right, ast.Constant)
                ):
                    self.report(
                        Place(file, n.lineno),
                        f"`{ast.unparse(floor)}` is an integer division, which gives 0 for the first columns of the table, so they all have the "
                        "same frequency.",
                        fix=f"`{ast.unparse(floor).replace('//', '/')}`",
                    )

    def on_op(self, op: Op) -> None:
        """Positions are added, or a loss says which axis is the batch."""
        if op.name in LOSSES:
            self._judge(op)
        elif op.name == "embedding":
            self._looked_up(op)
        elif op.grad_enabled and len(op.inputs) == 2:
            for x, p in (op.inputs, op.inputs[::-1]):
                if (
                    x.ndim == 3
                    and p.ndim == 3
                    and p.shape[1] == 1 < x.shape[1]
                    and p.shape[0] == x.shape[0] > 1
                    and p.shape[2] == x.shape[2]
                    and _is_of_a_table(p)
                ):
                    root = op.module.root.module if op.module is not None else None
                    self._sums = [
                        *self._sums[-7:],
                        (op, x.shape[0], x.shape[1], self._batches_first(root)),
                    ]

    def _looked_up(self, op: Op) -> None:
        """A table with a row for each place of a sequence, of which only one is ever read."""
        table, ids = op.args.get("weight"), op.args.get("input")
        if (
            not op.grad_enabled
            or not isinstance(table, Value)
            or not isinstance(ids, Value)
            or ids.ndim not in (1, 2)
            or not 4 <= ids.shape[-1] <= table.shape[0]
            or not table.requires_grad
        ):
            return
        made = made_by(ids)
        if made is None or made.name not in _CONSTANT or not self._places.due(op.site):
            return
        rows = ids.numpy()
        if rows is None or np.ptp(rows) or not self._places.again(op.site):
            return
        self.report(
            made.site,
            f"all positions are {int(rows.flat[0])}: only one of the {table.shape[0]} rows of this table is used, so the model cannot distinguish "
            "positions.",
            evidence={"shape": list(ids.shape), "looked_up_at": op.site},
            fix="torch.arange(ids.shape[1])",
        )

    def _judge(self, op: Op) -> None:
        target, sums = op.args.get("target"), self._sums
        self._sums = []
        for added, rows, length, first in sums:
            per_sample = isinstance(target, Value) and target.ndim == 1 and target.numel == rows
            if not first and not (per_sample and rows != length):
                continue
            if self.count("seen", added.site) == TIMES:
                self.report(
                    added.site,
                    f"the encodings that are added here differ from sample to sample ({rows} "
                    f"rows of the batch) and are the same for all {length} tokens of a "
                    "sequence: the model cannot tell where a token is.",
                    evidence={"batch": rows, "tokens": length, "loss_at": op.site},
                    fix=(
                        "slice the table to the sequence length, `pe[: x.size(1)]`, and let it "
                        "broadcast over the batch"
                    ),
                )

    def _batches_first(self, root: Any) -> bool:
        """Whether all layers over sequences in a model take batches first."""
        if root is None:
            return False
        known = self._first.get(root)
        if known is None:
            kinds = [
                bool(m.batch_first)
                for m in root.modules()
                if isinstance(getattr(m, "batch_first", None), bool)
            ]
            known = self._first[root] = bool(kinds) and all(kinds)
        return known


def _is_of_a_table(value: Value) -> bool:
    """Whether a value is cut from a table, or looked up in one for numbers in order."""
    for _ in range(8):
        made = value.producer
        if made is None or not made.inputs:
            return False
        if made.name == "embedding":
            index = made.args.get("input")
            while (
                isinstance(index, Value)
                and index.producer is not None
                and index.producer.name in VIEWS
            ):
                index = index.producer.inputs[0]
            return (
                isinstance(index, Value)
                and index.producer is not None
                and index.producer.name == "arange"
            )
        if made.name in ("getitem", "narrow") and (
            made.inputs[0].producer is None or made.inputs[0].is_leaf
        ):
            index = made.args.get("index")
            first = index[0] if isinstance(index, tuple) and index else index
            return isinstance(first, slice) or made.name == "narrow"
        if made.name not in VIEWS and made.name not in ("mul", "dropout"):
            return False
        value = made.inputs[0]
    return False
