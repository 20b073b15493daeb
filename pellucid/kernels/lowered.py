"""What a lowering is: the place of a family's kernels in a compiled program; and what lowerings
share.

A family's `lower` module declares

- `LOWERINGS`: for operations, gradient rules (`name_vjp`) and calls by name, a function from an
  instruction and its `LoweringContext` to a `Native`, or to a text that says why the instruction
  stays a call of Python;
- `HANDED`, where an operation hands arrays to its gradient rule: for its name, a function from the
  arrays that the kernel left in memory (`Instruction.extras`, in order) to what the array function
  would have handed on.

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
    """`emit(schedule)` adds the calls; bytes and operations are for the roofline."""

    emit: Callable[[Any], None]
    title: str
    bytes: int = 0
    flops: int = 0


class LoweringContext(Protocol):
    """What a lowering may ask of the program that an instruction is part of."""

    contents: dict[Buffer, np.ndarray]  # of constants
    # called before each call of the program; False: it is to be made anew
    before: list[Callable[[], bool]]
    refused: list[Any]  # the memory of a call that a kernel ended early
    apart: bool  # each item is measured by itself, on copies
    # the copies of random streams that are drawn from then, by the identities of the streams
    own: dict[int, Any]

    def place(self, v: Value, schedule: Schedule) -> Address:
        """Where a value lies, for a schedule."""

    def ends(self, v: Value, schedule: Schedule) -> bool:
        """Whether nobody reads a temporary after the present item, which may so write its results
        there.
        """

    def eager(self, i: Instruction) -> Callable[[list[Any]], None]:
        """A function from the memory of a call that runs the instruction in Python."""

    def tree(self, params: Any) -> Callable[[list[Any]], Any]:
        """A function from the memory of a call to parameters with arrays in the place of
        references.
        """


Lowering = Callable[[Instruction, Any], Native | str]
Handed = Callable[[list[np.ndarray]], Any]


@dataclass(frozen=True)
class InFloat32:
    """A lowering for float32 of what eager execution computes in float32 on two-byte floats, and
    rounds once: it serves those, too, with conversions around it.

    Other operations round in between (sums by index), draw in their own way, or move values of
    which most stay where they are.
    """

    rule: Lowering

    def __call__(self, i: Instruction, ex: Any) -> Native | str:
        return self.rule(i, ex)


OTHER = "a layout or dtype that only the eager kernel serves"
FLOAT = Access("float32", (1,))


def dense(*values: Any, dtype: str = "float32") -> bool:
    """Whether these are contiguous values of a dtype (or left out)."""
    return all(
        v is None or (isinstance(v, Value) and v.dtype == dtype and v.contiguous) for v in values
    )


def strided(*values: Any, dtype: str = "float32") -> bool:
    """Whether these are values of a dtype that loops can read, with gaps perhaps."""
    return all(
        isinstance(v, Value)
        and v.dtype == dtype
        and not any(s % ITEMSIZE[dtype] for s in v.strides)
        for v in values
    )


def value_of(x: Any) -> Any:
    """The value that a reference in an instruction's parameters stands for."""
    return x.value if isinstance(x, ValueRef) else x


def steps(v: Value) -> tuple[int, ...]:
    """Strides in elements; 0 in dimensions of size one."""
    return tuple(
        0 if n == 1 else s // ITEMSIZE[v.dtype] for n, s in zip(v.shape, v.strides, strict=True)
    )


def room(schedule: Schedule, numbers: int, dtype: str = "float32") -> Address:
    """Working memory of an item, for so many numbers."""
    return schedule.room(ITEMSIZE[dtype] * max(numbers, 1))


def team(ex: LoweringContext) -> int:
    """The threads that working memory is made for, each with room of its own; with more of them the
    step is compiled anew.
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
    """Every element of a shape from one place to another, as another dtype where the two differ."""
    cast = () if read.dtype == write.dtype else (PointwiseOp("cast", (("in", 0),), write.dtype),)
    loop = Loop(shape, (read,), (), cast, (Write(("step" if cast else "in", 0), write),))
    schedule.loop(loop, [source, target], title=f"copy of {math.prod(shape)} values")


def compact(ex: LoweringContext, schedule: Schedule, v: Value, dtype: str = "") -> Address:
    """Where a value that loops can read lies without gaps: a copy, if it is a view with gaps, or of
    another dtype than the one that is asked for.
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
    """Where values lie."""
    return [None if v is None else ex.place(v, schedule) for v in values]


def gradients(i: Instruction) -> list[Value | None]:
    """Where a rule's results go, for each of the operation's inputs."""
    return [v if v in i.outputs else None for v in i.record[1]]


def served(*values: Any) -> bool:
    """Whether loops read and write these values."""
    return all(
        isinstance(v, Value)
        and not v.dtype.startswith(("complex", "float8"))
        and not any(s % ITEMSIZE[v.dtype] for s in v.strides)
        for v in values
    )
