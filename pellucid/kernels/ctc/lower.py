"""Lowerings of `ctc_loss` and its gradient."""

from __future__ import annotations

from typing import Any

from ...ir import Instruction, Value
from ..indexing.lower import refusal
from ..lowered import OTHER, Lowering, LoweringContext, Native, compact, served, value_of
from ..schedule import Schedule
from . import call as ctc


def _whole(*values: Any) -> bool:
    return served(*values) and all(v.dtype == "int64" for v in values)


def _parts(i: Instruction) -> list[Any]:
    return [value_of(i.params[name]) for name in ("targets", "used", "lengths")]


def check(i: Instruction, ex: LoweringContext) -> Native | str:
    """Lower the check of lengths and labels."""
    *given, steps, classes = map(value_of, i.params["args"])
    function = ctc.native("fits")
    if function is None or not _whole(*given) or not given[1].size:
        return OTHER
    targets, used, _ = given
    numbers = (
        steps,
        used.size,
        classes,
        targets.shape[1] if len(targets.shape) == 2 else -1,
        targets.size,
    )

    def emit(schedule: Schedule) -> None:
        places = [compact(ex, schedule, v) for v in given]
        schedule.require(
            function, [*places, *numbers], refusal(i, ex), "check of lengths and labels"
        )

    return Native(emit, "check of lengths and labels", sum(v.nbytes for v in given), targets.size)


def _native(
    i: Instruction, ex: LoweringContext, kind: str, values: list[Value], outputs: list[Value]
) -> Native | str:
    x, parts = values[-1] if kind == "losses" else values[1], _parts(i)
    function = ctc.native(kind, x.dtype)
    if function is None or not served(*values, *outputs) or not _whole(*parts) or not x.size:
        return OTHER
    if any(v.dtype != x.dtype for v in (*values, *outputs)) or not all(
        v.contiguous for v in outputs
    ):
        return OTHER
    targets, batch = parts[0], x.shape[1]
    title = f"{i.op} of {batch} sequences of {x.shape[0]}"

    def emit(schedule: Schedule) -> None:
        places = [
            *(compact(ex, schedule, v) for v in (*values, *parts)),
            *(ex.place(v, schedule) for v in outputs),
        ]
        room = schedule.room(ctc.room(targets.size, batch, x.dtype))
        schedule.native(
            function,
            ["team", *places, room, *ctc.numbers(x.shape, targets.shape, i.params["blank"])],
            title,
        )

    moved = sum(v.nbytes for v in (*values, *parts, *outputs))
    return Native(emit, title, moved, 40 * x.shape[0] * ctc.cells(targets.size, batch))


def losses(i: Instruction, ex: LoweringContext) -> Native | str:
    """Lower the losses; the forward variables are saved for the gradient."""
    if len(i.extras) != 1:
        return OTHER
    return _native(i, ex, "losses", [i.inputs[0]], [i.outputs[0], i.extras[0]])


def gradient(i: Instruction, ex: LoweringContext) -> Native | str:
    """Lower the gradient of log_probs."""
    return _native(i, ex, "gradient", list(i.inputs), [i.outputs[0]])


LOWERINGS: dict[str, Lowering] = {
    "_check_alignments": check,
    "ctc_loss": losses,
    "ctc_grad": gradient,
}
