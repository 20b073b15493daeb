"""Numbers that are scaled twice, or columns of very different size with one factor."""

from __future__ import annotations

from typing import Any

from ...events import VIEWS, Op, Value, ancestors, lineage
from ...recording.signatures import RANDOM
from ...rule import Rule, distinct
from ..losses.origin import Repeated

LARGEST = 1 << 22
APART = 1000.0  # how many times the smallest deviation the largest one is
COLUMNS = 64
_AFTER = VIEWS | {"add", "clamp", "clamp_min", "maximum", "sqrt"}


class ScaledTwice(Rule):
    """Pixels between 0 and 1 are divided by 255 once more."""

    slug = "scaled-twice"
    id = "PL921"
    severity = "error"
    summary = "pixels between 0 and 1 are scaled as if they were between 0 and 255"
    ops = ("div", "mul", "sub")

    def __init__(self) -> None:
        self._repeated = Repeated(looks=16, times=2)

    def on_op(self, op: Op) -> None:
        """Something is divided by 255."""
        factor = op.args.get("other")
        if isinstance(factor, Value) and op.name == "sub" and factor.numel <= 4:
            levels = factor.numpy()
            factor = float(levels.min()) if levels is not None and levels.size else None
        if not isinstance(factor, (int, float)) or not _is_byte(op.name, float(factor)):
            return
        due = self._repeated.due(op.site)
        x = op.args.get("input")
        if (
            not due
            or not isinstance(x, Value)
            or not x.is_floating_point
            or x.requires_grad
            or x.ndim < 2
            or not 64 <= x.numel <= LARGEST
        ):
            return
        array = x.numpy()
        if array is None:
            return
        if op.inplace:  # what it was
            array = array + factor if op.name == "sub" else array * 255
        if not 0.02 < array.max() <= 1.0 + 1e-3 or array.min() < 0 or (array % 1 == 0).mean() > 0.9:
            return
        if any(
            o.name in RANDOM and o.output is not None and o.output.is_floating_point
            for o in ancestors([x], limit=40)
        ):
            return  # noise of a fraction of a level
        if not self._repeated.again(op.site):
            return
        if op.name == "sub":
            message = (
                f"these values are between 0 and {array.max():.3g}, and {factor:g} is subtracted from them, "
                "a mean of pixels up to 255: the result is nearly the same number everywhere."
            )
            fix = "use a mean and deviation for values between 0 and 1: 0.5 instead of 127.5"
        else:
            message = f"these values are already between 0 and {array.max():.3g} and are divided by 255 once more: all inputs are nearly zero."
            fix = "scale once: in the data set, or here"
        evidence = {"largest": float(array.max()), "shape": list(x.shape)}
        self.report(op.site, message, evidence=evidence, fix=fix)


def _is_byte(name: str, factor: float) -> bool:
    if name == "sub":
        return 50 <= factor <= 256
    return 254.5 <= factor <= 256.5 if name == "div" else 1 / 256.5 <= factor <= 1 / 254.5


class ColumnsTogether(Rule):
    """Columns of very different size are standardized with one mean and one deviation."""

    slug = "columns-scaled-together"
    id = "PL922"
    severity = "warning"
    summary = "one mean and deviation for columns of very different scales"
    ops = ("div",)

    def __init__(self) -> None:
        self._told = False

    def on_op(self, op: Op) -> None:
        """`(x - x.mean()) / x.std()` of a table."""
        parts = None if self._told or op.inplace else standardized(op)
        if parts is None:
            return
        table, center, bottom = parts
        if table.ndim != 2 or table.requires_grad or not 2 <= table.shape[1] <= COLUMNS:
            return
        if table.shape[0] < 16 or table.numel > LARGEST or center.numel != 1 or bottom.numel != 1:
            return
        mean, deviation = _statistic(center, "mean"), _statistic(bottom, "std")
        rows = table.numpy() if mean is not None and deviation is not None else None
        if rows is None or mean is None:
            return
        spread = [float(c.std(dtype=float)) for c in rows.T if len(distinct(c)) > 0.5 * len(c)]
        spread = [s for s in spread if s > 0]
        if len(spread) > 1 and max(spread) > APART * min(spread):
            self._told = True
            self.report(
                mean.site,
                f"one mean and one deviation scale {rows.shape[1]} columns together, and the deviations of these are between {min(spread):.3g} "
                f"and {max(spread):.3g}: the small columns are constant afterwards.",
                evidence={"deviations": [min(spread), max(spread)], "scaled_at": str(op.site)},
                fix="use one mean and deviation for each column: `x.mean(0)` and `x.std(0)`",
            )


def standardized(op: Op) -> tuple[Value, Value, Value] | None:
    """What `(x - center) / scale` is made of, as (x, center, scale), outside of any module."""
    if op.module is not None or len(op.inputs) != 2 or op.output is None:
        return None
    top, scale = op.inputs
    made = top.producer
    if made is None or made.name != "sub" or len(made.inputs) != 2:
        return None
    x, center = made.inputs
    return x, center, scale


def _statistic(value: Value, name: str) -> Any:
    """The operation that took a statistic of all elements."""
    made = value.producer
    if made is not None and made.name == name:
        found: Op | None = made
    else:
        found = next((o for o in lineage(value, _AFTER, 6) if o.name == name), None)
    return found if found is not None and found.args.get("dim") is None else None
