"""The interface of lowerings, which place a family's kernels in a compiled program, and helpers
that they share.

The `lower` module of a family declares

- `LOWERINGS`: a dictionary from the names of operations, gradient rules (`name_vjp`) and calls to
  functions that take an instruction and its `LoweringContext`. They return a `Native`, or a text
  that says why the instruction remains a Python call;
- `HANDED`, if an operation saves arrays for its gradient rule: a dictionary from its name to a
  function that converts the arrays that the kernel left in memory (`Instruction.extras`, in order)
  to what the array function would have saved.

`compiler/lower/table.py` merges them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, overload

import numpy as np

from ..ir import Buffer, Instruction, Value, ValueRef
from ..ir.program import ITEMSIZE, row_major
from ..llvm import threads
from .pointwise.loop import Access, Loop, PointwiseOp, Write
from .schedule import Address, Schedule


@dataclass(eq=False)
class Native:
    """The native form of an instruction. `emit(schedule)` adds its calls to a schedule; `bytes` and
    `flops` are for the roofline.
    """

    emit: Callable[[Any], None]
    title: str
    bytes: int = 0
    flops: int = 0


class LoweringContext(Protocol):
    """What a lowering may ask of the program that its instruction is part of."""

    contents: dict[Buffer, np.ndarray]  # the arrays of constants
    # called before each call of the program; if one returns False, the program is compiled again
    before: list[Callable[[], bool]]
    refused: list[Any]  # the memory of a call that a kernel has refused
    apart: bool  # whether each item is measured separately, on copies
    # copies of random streams to draw from instead, by the id of the stream
    own: dict[int, Any]

    def place(self, v: Value, schedule: Schedule) -> Address:
        """Return the address of a value, for a schedule."""

    def ends(self, v: Value, schedule: Schedule) -> bool:
        """Return whether nothing reads a temporary after the current item, so that the item may
        overwrite it with its results.
        """

    def eager(self, i: Instruction) -> Callable[[list[Any]], None]:
        """Return a function that runs the instruction in Python, given the memory of a call."""

    def tree(self, params: Any) -> Callable[[list[Any]], Any]:
        """Return a function that takes the memory of a call and returns the parameters with
        references replaced by arrays.
        """


Lowering = Callable[[Instruction, Any], Native | str]
Handed = Callable[[list[np.ndarray]], Any]


@dataclass(frozen=True)
class InFloat32:
    """A lowering for float32 that also serves two-byte floats, with conversions around it. It is
    for operations that eager execution computes in float32 and rounds once.

    Other operations cannot use it because they round in between (sums by index), draw random
    numbers in their own way, or leave most of their values in place.
    """

    rule: Lowering

    def __call__(self, i: Instruction, ex: Any) -> Native | str:
        return self.rule(i, ex)


OTHER = "a layout or dtype that only the eager kernel serves"
FLOAT = Access("float32", (1,))


def dense(*values: Any, dtype: str = "float32") -> bool:
    """Return whether these are contiguous values of a dtype; None counts as one."""
    return all(
        v is None or (isinstance(v, Value) and v.dtype == dtype and v.contiguous) for v in values
    )


def strided(*values: Any, dtype: str = "float32") -> bool:
    """Return whether these are values of a dtype that loops can read, possibly with gaps."""
    return all(
        isinstance(v, Value)
        and v.dtype == dtype
        and not any(s % ITEMSIZE[dtype] for s in v.strides)
        for v in values
    )


def value_of(x: Any) -> Any:
    """Return the value of a reference in an instruction's parameters; anything else is returned as
    it is.
    """
    return x.value if isinstance(x, ValueRef) else x


def steps(v: Value) -> tuple[int, ...]:
    """Return the strides in elements, with 0 for dimensions of size one."""
    return tuple(
        0 if n == 1 else s // ITEMSIZE[v.dtype] for n, s in zip(v.shape, v.strides, strict=True)
    )


def room(schedule: Schedule, numbers: int, dtype: str = "float32") -> Address:
    """Return working memory of an item, for that many numbers."""
    return schedule.room(ITEMSIZE[dtype] * max(numbers, 1))


def team(ex: LoweringContext) -> int:
    """Return the number of threads for which working memory is allocated. If there are more threads
    at a later call, the step is compiled again.
    """
    count = threads.get_num_threads()
    ex.before.append(lambda: threads.get_num_threads() <= count)
    return count


def copied(
    schedule: Schedule,
    shape: tuple[int, ...],
    source: Address,
    read: Access,
    target: Address,
    write: Access,
) -> None:
    """Schedule a copy of all elements of a shape, converted if the dtypes differ."""
    cast = () if read.dtype == write.dtype else (PointwiseOp("cast", (("in", 0),), write.dtype),)
    loop = Loop(shape, (read,), (), cast, (Write(("step" if cast else "in", 0), write),))
    schedule.loop(loop, [source, target], title=f"copy of {math.prod(shape)} values")


def compact(ex: LoweringContext, schedule: Schedule, v: Value, dtype: str = "") -> Address:
    """Return the address of a contiguous value: the value itself, or a copy if it has gaps or
    another dtype is requested.
    """
    kind = dtype or v.dtype
    if v.contiguous and v.dtype == kind:
        return ex.place(v, schedule)
    copy = schedule.room(max(v.size, 1) * ITEMSIZE[kind])
    copied(
        schedule,
        v.shape,
        ex.place(v, schedule),
        Access(v.dtype, steps(v)),
        copy,
        Access(kind, row_major(v.shape, 1)),
    )
    return copy


@overload
def places(ex: LoweringContext, schedule: Schedule, *values: Value) -> list[Address]: ...
@overload
def places(
    ex: LoweringContext, schedule: Schedule, *values: Value | None
) -> list[Address | None]: ...
def places(
    ex: LoweringContext, schedule: Schedule, *values: Value | None
) -> list[Address] | list[Address | None]:
    """Return the addresses of values; None for None."""
    return [None if v is None else ex.place(v, schedule) for v in values]


def gradients(i: Instruction) -> list[Value | None]:
    """Return the value that receives a rule's result for each input of the operation, None for
    results that are not needed.
    """
    return [v if v in i.outputs else None for v in i.record[1]]


def served(*values: Any) -> bool:
    """Return whether loops can read and write these values."""
    return all(
        isinstance(v, Value)
        and not v.dtype.startswith(("complex", "float8"))
        and not any(s % ITEMSIZE[v.dtype] for s in v.strides)
        for v in values
    )
