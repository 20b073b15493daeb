"""Checks of values in compiled programs: a loop determines whether all elements meet a condition;
if not, the check's Python code runs and raises its error.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ..ir import Instruction, Value
from ..llvm.emit import Module
from .indexing.lower import refusal
from .lowered import OTHER, Lowering, LoweringContext, Native, row_major, steps, value_of
from .pointwise.loop import Access, Loop, PointwiseOp, Reduce
from .schedule import Address, Schedule

_SERVED = ("float32", "float64", "float16", "bfloat16", "int64", "int32", "bool")


class Condition:
    """Builds a condition on each element of a value as the steps of a loop; `x` is the element."""

    x = ("in", 0)

    def __init__(self, dtype: str) -> None:
        self.dtype = dtype
        self.steps: list[PointwiseOp] = []

    def __call__(self, op: str, *args: Any, dtype: str = "bool") -> Any:
        """Add a step and return it. Arguments are earlier steps, or numbers."""
        given = tuple(a if isinstance(a, tuple) else ("const", a) for a in args)
        self.steps.append(PointwiseOp(op, given, dtype))
        return ("step", len(self.steps) - 1)

    def both(self, *conditions: Any) -> Any:
        """Return the conjunction of the conditions."""
        made = conditions[0]
        for other in conditions[1:]:
            made = self("logical_and", made, other)
        return made

    def whole(self) -> list[Any]:
        """Return the condition that the element is a whole number, as a list that is empty for
        integers.
        """
        return (
            [self("eq", self("floor", self.x, dtype=self.dtype), self.x)]
            if self.dtype.startswith("float")
            else []
        )

    def between(self, low: Any, high: Any) -> list[Any]:
        """Return the conditions that `x` is at least `low` and at most `high`."""
        return [self("ge", self.x, low), self("le", self.x, high)]


Rule = Callable[[Condition, Any], Any]


def _constraint(c: Condition, region: Any) -> Any:
    """Return the condition for a region of `distributions.constraints`, or None if only Python
    checks it.
    """
    region = _of_one(region)
    kind, bounds = type(region).__name__, vars(region)
    if any(not isinstance(v, (int, float)) for v in bounds.values()):
        return None
    parts = c.whole() if kind.startswith("_Integer") else []
    if kind == "_Real":
        return c("eq", c.x, c.x)
    if kind == "_Boolean":
        return c("logical_or", c("eq", c.x, 0), c("eq", c.x, 1))
    if kind in ("_GreaterThan", "_GreaterThanEq", "_IntegerGreaterThan"):
        return c.both(
            *parts, c("gt" if kind == "_GreaterThan" else "ge", c.x, bounds["lower_bound"])
        )
    if kind == "_LessThan":
        return c("lt", c.x, bounds["upper_bound"])
    if kind in ("_Interval", "_IntegerInterval"):
        return c.both(*parts, *c.between(bounds["lower_bound"], bounds["upper_bound"]))
    return None


def _of_one(region: Any) -> Any:
    """Return the region of a single event, given one of several independent events."""
    while type(region).__name__ == "_IndependentConstraint":
        region = region.base_constraint
    return region


def _labels(c: Condition, args: Any) -> Any:
    _, classes, ignored = args
    return c("logical_or", c("eq", c.x, ignored), c.both(c("ge", c.x, 0), c("lt", c.x, classes)))


# For each check: which of its arguments is the value, and a function that builds the condition.
_CHECKS: dict[str, tuple[int, Rule]] = {
    "_out_of_range": (0, _labels),
    "_check_classes": (
        0,
        lambda c, args: None if args[1] < 1 else c.both(c("ge", c.x, 0), c("lt", c.x, args[1])),
    ),
    "_check_places": (0, lambda c, args: c.both(c("ge", c.x, 0), c("lt", c.x, math.prod(args[1])))),
    "_check_probabilities": (0, lambda c, args: c.both(*c.between(0.0, 1.0))),
    "_check_targets": (0, lambda c, args: c.both(*c.between(0.0, 1.0))),
    "_check_variance": (0, lambda c, args: c("logical_not", c("lt", c.x, 0))),
    "_check_not_negative": (0, lambda c, args: c("logical_not", c("lt", c.x, 0))),
    "_check_flat": (0, lambda c, args: c.both(c("ge", c.x, -args[1]), c("lt", c.x, args[1]))),
    "bounded": (0, lambda c, args: c.both(c("ge", c.x, 0), c("lt", c.x, args[1]))),
    "_require": (1, lambda c, args: _constraint(c, args[0])),
}


def check(i: Instruction, ex: LoweringContext) -> Native | str:
    """Lower a check that all elements of a value meet a condition."""
    place, rule = _CHECKS[i.op]
    args = i.params["args"]
    value = value_of(args[place])
    if (
        i.outputs
        or i.writes
        or not isinstance(value, Value)
        or value.dtype not in _SERVED
        or not value.size
    ):
        return OTHER
    if i.op == "_require" and type(_of_one(args[0])).__name__ == "_Simplex":
        return _simplex(i, ex, value)
    condition = Condition(value.dtype)
    good = rule(condition, args)
    if good is None:
        return "a condition that only Python checks"

    def emit(schedule: Schedule) -> None:
        flag = all_of(
            schedule,
            [ex.place(value, schedule)],
            value.shape,
            (Access(value.dtype, steps(value)),),
            condition.steps,
            good,
        )
        require(schedule, flag, i, ex)

    return Native(
        emit, f"check of {value.size} values", value.nbytes, len(condition.steps) * value.size
    )


def all_of(
    schedule: Schedule, places: list[Address], shape: Any, reads: Any, made: Any, good: Any
) -> Address:
    """Add a loop to the schedule that evaluates a condition on all elements, and return the address
    of a byte that is 1 if it holds everywhere.
    """
    flag = schedule.room(8)
    shape = shape or (1,)
    reads = tuple(Access(r.dtype, r.strides or (0,)) for r in reads)
    every = Reduce("all", good, tuple(range(len(shape))), Access("bool", (0,) * len(shape)), "bool")
    schedule.loop(
        Loop(shape, reads, (), tuple(made), (), (every,)), [*places, flag], title="check of values"
    )
    return flag


def require(schedule: Schedule, flag: Address, i: Instruction, ex: LoweringContext) -> None:
    """Leave the schedule if the byte is 0."""
    schedule.require(schedule.function("flag", None, _flag), [flag], refusal(i, ex), "their answer")


def _flag(module: Module, name: str) -> None:
    f = module.function(name, "i64", internal=True, flag="ptr")
    f.ret(f.emit(f"zext i8 {f.load('i8', f.flag).name} to i64", "i64"))


def _simplex(i: Instruction, ex: LoweringContext, value: Value) -> Native | str:
    """Lower a check that rows have no negative elements and sum to 1 within 1e-6."""
    if value.dtype != "float32" or not value.shape:
        return OTHER
    rows = value.shape[:-1] or (1,)
    own = steps(value) if len(value.shape) > 1 else (0, *steps(value))
    shape, access = (*rows, value.shape[-1]), Access("float32", own)
    dense = row_major(rows, 1)

    def emit(schedule: Schedule) -> None:
        at, sums = ex.place(value, schedule), schedule.room(4 * value.size)
        total = Reduce(
            "sum", ("in", 0), (len(shape) - 1,), Access("float32", (*dense, 0)), "float32"
        )
        schedule.loop(
            Loop(shape, (access,), (), (), (), (total,)), [at, sums], title="sums of rows"
        )
        c = Condition("float32")
        require(schedule, all_of(schedule, [at], shape, (access,), c.steps, c("ge", c.x, 0)), i, ex)
        c = Condition("float32")
        away = c("abs", c("sub", c.x, 1.0, dtype="float32"), dtype="float32")
        good = c("lt", away, 1e-6)
        require(
            schedule,
            all_of(schedule, [sums], rows, (Access("float32", dense),), c.steps, good),
            i,
            ex,
        )

    return Native(emit, f"check of {value.size} probabilities", 2 * value.nbytes, 3 * value.size)


LOWERINGS: dict[str, Lowering] = dict.fromkeys(_CHECKS, check)
