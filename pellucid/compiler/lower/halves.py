"""Native float32 code for instructions on two-byte floats. The operands are converted to float32 in
separate memory, and the results are rounded once, as the eager array functions do
(`arrays.halves`).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ...ir import Buffer, Extra, Instruction, Value, ValueRef
from ...ir.program import row_major
from ...kernels.lowered import Access, InFloat32, Lowering, Native, copied, steps
from ...kernels.pointwise.values import available, is_half
from ...kernels.schedule import Address, Schedule

__all__ = ["widened"]


class _Wide:
    """The context of a lowering in which two-byte floats appear as float32. Everything else is
    delegated to the program's own context.
    """

    def __init__(self, ex: Any) -> None:
        self._ex = ex
        self.values: dict[Value, Value] = {}
        self.rooms: dict[Buffer, Address] = {}

    def __getattr__(self, name: str) -> Any:
        return getattr(self._ex, name)

    def of(self, x: Any) -> Any:
        """A contiguous float32 value in place of a two-byte value, also inside structures.
        Everything else is returned unchanged.
        """
        if isinstance(x, Value):
            if not is_half(x.dtype):
                return x
            if x not in self.values:
                memory = Buffer("temp", 4 * max(x.size, 1), -1)
                self.values[x] = Value(memory, "float32", x.shape, row_major(x.shape, 4))
            return self.values[x]
        if isinstance(x, ValueRef):
            return ValueRef(self.of(x.value))
        if isinstance(x, Extra):
            return (
                Extra(self.instruction(x.instruction))
                if any(is_half(v.dtype) for v in x.instruction.extras)
                else x
            )
        if isinstance(x, dict):
            return {key: self.of(value) for key, value in x.items()}
        return type(x)([self.of(v) for v in x]) if type(x) in (tuple, list) else x

    def instruction(self, i: Instruction) -> Instruction:
        record = (
            (i.record[0], self.of(i.record[1]), *i.record[2:]) if i.kind == "rule" else i.record
        )
        parts = {
            name: self.of(getattr(i, name))
            for name in ("inputs", "outputs", "writes", "params", "extras")
        }
        return replace(i, record=record, **parts)

    def ends(self, v: Value, schedule: Schedule) -> bool:
        return v.buffer not in self.rooms and self._ex.ends(v, schedule)

    def place(self, v: Value, schedule: Schedule) -> Address:
        room = self.rooms.get(v.buffer)
        return self._ex.place(v, schedule) if room is None else room.at(v.offset)


def widened(rule: Lowering, i: Instruction, ex: Any) -> Native | str:
    """The native code of an instruction in float32, with conversions around it, or the reason why
    there is none.
    """
    read = list(dict.fromkeys(v for v in (*i.reads(), *i.writes) if is_half(v.dtype)))
    made = list(dict.fromkeys(v for v in (*i.made(), *i.outputs, *i.writes) if is_half(v.dtype)))
    if (
        not isinstance(rule, InFloat32)
        or not read
        or any(not available(v.dtype) or any(s % 2 for s in v.strides) for v in (*read, *made))
    ):
        return "no native code for two-byte floats"
    wide = _Wide(ex)
    native = rule(wide.instruction(i), wide)
    if isinstance(native, str):
        return native

    def emit(schedule: Schedule) -> None:
        for value in wide.values.values():
            wide.rooms[value.buffer] = schedule.room(value.buffer.size)
        around = {
            v: (Access(v.dtype, steps(v)), Access("float32", steps(wide.of(v))))
            for v in (*read, *made)
        }
        for v in filter(lambda v: v.size, read):
            two, four = around[v]
            copied(
                schedule,
                v.shape,
                ex.place(v, schedule),
                two,
                wide.place(wide.of(v), schedule),
                four,
            )
        native.emit(schedule)
        for v in filter(lambda v: v.size, made):
            two, four = around[v]
            copied(
                schedule,
                v.shape,
                wide.place(wide.of(v), schedule),
                four,
                ex.place(v, schedule),
                two,
            )

    return Native(emit, f"{native.title}, in float32", native.bytes, native.flops)
