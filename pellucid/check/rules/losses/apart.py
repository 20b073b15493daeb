"""Terms of one loss that are reduced in different ways: one is a mean over the batch, the other a
sum over it.
"""

from __future__ import annotations

from ...events import VIEWS, Backward, Op, Value
from ...rule import Rule
from ..data.batches import MEAN_LOSSES

_TIMES = 3  # backward calls at which both terms were seen
_MOST = 60


class TermsReducedApart(Rule):
    """A mean over rows and elements is added to a sum over all rows, without a weight."""

    slug = "terms-reduced-apart"
    id = "PL216"
    severity = "warning"
    summary = "one loss term is a mean over the batch, another a sum"
    ops = ("add", "sub")

    def __init__(self) -> None:
        self._seen: dict[tuple[object, object], int] = {}

    def on_backward(self, event: Backward) -> None:
        """A loss: which terms it has."""
        if event.how != "backward" or len(event.roots) != 1 or len(self._seen) > 64:
            return
        means: list[tuple[Op, int, Op]] = []
        sums: list[tuple[Op, int, Op]] = []
        for term in _terms(event.roots[0]):
            op = term[-1]
            rows = op.inputs[0].shape[0] if op.inputs and op.inputs[0].ndim else 0
            if rows < 2 or not _is_of_a_batch(op):
                continue
            (means if _is_mean(op) else sums).append((op, rows, term[0]))
        for mean, rows, _ in means:
            for total, other, added in sums:
                if rows != other:
                    continue
                key = mean.site, total.site
                times = self._seen[key] = self._seen.get(key, 0) + 1
                if times == _TIMES:
                    self.report(
                        mean.site,
                        f"this term is a mean over the {rows} rows of a batch, and a sum over "
                        "all of them is added to it. The sum outweighs the mean, and more so "
                        "for larger batches.",
                        evidence={
                            "summed_at": total.site,
                            "added_at": added.site,
                            "mean_of": list(mean.inputs[0].shape),
                            "sum_of": list(total.inputs[0].shape),
                        },
                        fix=(
                            "reduce both in the same way: sum over the elements of a row, then "
                            "average over the rows"
                        ),
                    )


def _terms(root: Value) -> list[list[Op]]:
    """What is added up to a loss, without a weight: of each term the last sum, and the operation
    that reduces it over rows.
    """
    found: list[list[Op]] = []
    waiting: list[tuple[Value, Op | None]] = [(root, None)]
    for _ in range(_MOST):
        if not waiting:
            break
        value, added = waiting.pop()
        op = value.producer
        if op is None or not value.requires_grad:
            continue
        if added is not None and (_is_mean(op) or _is_sum(op)):
            found.append([added, op])
        elif op.name in ("add", "sub") and value.numel == 1:
            waiting.extend((v, op) for v in op.inputs if v.numel == 1)
        elif op.name in VIEWS or op.name == "neg":
            waiting.extend((v, added) for v in op.inputs[:1])
        elif op.name == "mul" and len(op.inputs) == 1 and value.numel == 1:
            factor = op.args.get("other")
            factor = op.args.get("input") if isinstance(factor, Value) else factor
            if isinstance(factor, (int, float)) and abs(factor) in (0.5, 1.0):
                waiting.append((op.inputs[0], added))
    return found


def _is_mean(op: Op) -> bool:
    if op.name == "mean":
        return _whole(op)
    return op.name in MEAN_LOSSES and op.args.get("reduction") == "mean"


def _is_sum(op: Op) -> bool:
    if op.name == "sum":
        return _whole(op)
    return op.name in MEAN_LOSSES and op.args.get("reduction") == "sum"


def _whole(op: Op) -> bool:
    """Whether an operation reduces all elements."""
    out = op.output
    return out is not None and out.numel == 1 and op.arg("dim") in (None, ())


def _is_of_a_batch(op: Op) -> bool:
    """Whether what is reduced was made of a batch, and not of parameters alone."""
    waiting, left = list(op.inputs), 400
    seen: set[int] = set()
    while waiting and left:
        left -= 1
        value = waiting.pop()
        made = value.producer
        if value.is_leaf or made is None or not made.inputs:
            if not (value.is_leaf and value.requires_grad):
                return True
            continue
        if made.number not in seen:
            seen.add(made.number)
            waiting.extend(made.inputs)
    return False
