"""Start reductions across processes as soon as their input is ready, and compute the rest of
backward in the meantime.
"""

from __future__ import annotations

from dataclasses import replace

from ...ir import Buffer, Instruction, Program
from ..trace.communication import PHASE
from .context import Context


def start_early(program: Program, context: Context) -> Program:
    """Move the filling and reduction of each bucket of gradients to right after its last gradient
    is computed.

    Calls that communicate with other processes keep their order, which is the same on all ranks.
    """
    made = list(program.instructions)
    for start in [i for i in made if i.op == "all_reduce_start" and i.phase == PHASE]:
        end = made.index(start) + 1
        bucket = start.writes[0].buffer
        begin = end - 1
        while (
            begin
            and made[begin - 1].kind == "copy"
            and any(v.buffer is bucket for v in made[begin - 1].writes)
        ):
            begin -= 1
        group = made[begin:end]
        filled = {v.buffer for i in group[:-1] for v in i.reads()} | {bucket}
        at = begin
        while at and not _before(made[at - 1], filled):
            at -= 1
        made[begin:end] = []
        made[at:at] = group
    return program if made == program.instructions else program.but(made)


def _before(i: Instruction, filled: set[Buffer]) -> bool:
    """Whether a bucket must not be filled before an instruction."""
    return i.phase == PHASE or i.kind == "decide" or any(v.buffer in filled for v in i.made())


def update_by_bucket(program: Program, context: Context) -> Program:
    """Split each optimizer's update by buckets, so that one bucket is updated while the next ones
    are still being reduced.

    This applies if only the update follows the reductions. Gradient clipping, for example, needs
    all of them first.
    """
    made = list(program.instructions)
    first = next((k for k, i in enumerate(made) if _waits(i)), None)
    if first is None:
        return program
    # per bucket: the wait for it, and the copies of reduced values
    groups: dict[Buffer, list[Instruction]] = {}
    end = first
    while end < len(made) and (_waits(made[end]) or _copied_from(made[end]) in groups):
        bucket = made[end].writes[0].buffer if _waits(made[end]) else _copied_from(made[end])
        assert bucket is not None
        groups.setdefault(bucket, []).append(made[end])
        end += 1
    last = end
    while (
        last < len(made)
        and made[last].op == "_update_group"
        and made[last].kind == "call"
        and not made[last].record[1]
    ):
        last += 1
    updates = made[end:last]
    if len(groups) < 2 or not updates:
        return program
    parted: list[Instruction] = []
    done: set[Buffer] = set()
    for group in groups.values():
        reduced = {v.buffer for i in group for v in i.made()}
        done |= reduced
        parted += group
        parted += [part for u in updates if (part := _part(u, reduced, True)) is not None]
    parted += [part for u in updates if (part := _part(u, done, False)) is not None]
    return program.but([*made[:first], *parted, *made[last:]])


def _waits(i: Instruction) -> bool:
    return i.op == "all_reduce_wait" and i.phase == PHASE


def _copied_from(i: Instruction) -> Buffer | None:
    """The buffer whose values an instruction copies, or None if it does anything else."""
    return i.inputs[0].buffer if i.kind == "copy" and len(i.writes) == 1 and not i.outputs else None


def _part(update: Instruction, gradients: set[Buffer], among: bool) -> Instruction | None:
    """The update of those parameters whose gradients lie in these buffers (with `among` False, of
    all others). None if there are none.
    """
    group, *lists = update.params["args"]
    chosen = [k for k, g in enumerate(lists[1]) if (g.value.buffer in gradients) is among]
    if not chosen:
        return None
    parts = [[each[k] for k in chosen] for each in lists]
    buffers = {p.value.buffer for p in parts[0]}
    writes = tuple(v for v in update.writes if v.buffer in buffers)
    return replace(update, params=update.params | {"args": (group, *parts)}, writes=writes)
