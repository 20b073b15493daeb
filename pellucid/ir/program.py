"""Programs: straight-line lists of instructions on typed, strided values of fixed shape in buffers.

A `Buffer` is a piece of memory. A `Value` is a view of it, with dtype, shape, strides and offset,
so taking a view costs no instruction. Most buffers are written once, by the instruction that makes
them; the text then reads as single static assignment. What is mutated (a parameter, a running mean)
is written again by a later instruction, in the order of the list.

    >>> p = Program()
    >>> x = p.value(p.buffer("input", 8, "x"), "float32", (2,))
    >>> y = p.value(p.buffer("temp", 8), "float32", (2,))
    >>> _ = p.add("neg", (x,), (y,))
    >>> p.outputs.append(y)
    >>> p.verify()
    >>> print(p)
    program(x: float32[2])
      %1: float32[2] = neg(x)
      return %1
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any, Protocol

ITEMSIZE = {
    "bool": 1,
    "uint8": 1,
    "int8": 1,
    "int16": 2,
    "uint16": 2,
    "float16": 2,
    "bfloat16": 2,
    "int32": 4,
    "uint32": 4,
    "float32": 4,
    "int64": 8,
    "uint64": 8,
    "float64": 8,
    "complex64": 8,
    "complex128": 16,
    "float8_e4m3fn": 1,
    "float8_e5m2": 1,
    "float8_e4m3fnuz": 1,
    "float8_e5m2fnuz": 1,
    "float8_e8m0fnu": 1,
    "complex32": 4,
}


class VerificationError(ValueError):
    """A program is malformed. It indicates a bug in a pass of the compiler."""


@dataclass(slots=True, eq=False)
class Buffer:
    """A piece of memory of `size` bytes: an `input` of the call, `state` that outlives it
    (parameters, running statistics), a `constant`, or a `temp` that the program itself fills.
    """

    kind: str
    size: int
    number: int
    name: str = ""


@dataclass(slots=True, eq=False)
class Value:
    """A view of a buffer; strides and offset are in bytes."""

    buffer: Buffer
    dtype: str
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int = 0

    @property
    def size(self) -> int:
        """The number of elements."""
        return prod(self.shape)

    @property
    def nbytes(self) -> int:
        """The size of its elements in bytes, without gaps between them."""
        return self.size * ITEMSIZE[self.dtype]

    @property
    def contiguous(self) -> bool:
        """Whether the elements are in C order without gaps."""
        return self.strides == row_major(self.shape, ITEMSIZE[self.dtype]) or self.size == 0

    @property
    def whole(self) -> bool:
        """Whether the value covers its whole buffer, in order."""
        return self.offset == 0 and self.contiguous and self.nbytes == self.buffer.size

    def extent(self) -> tuple[int, int]:
        """Return the first and one-past-last byte of the buffer that the value can touch."""
        if self.size == 0:
            return self.offset, self.offset
        low = self.offset + sum(
            s * (n - 1) for s, n in zip(self.strides, self.shape, strict=True) if s < 0
        )
        high = self.offset + sum(
            s * (n - 1) for s, n in zip(self.strides, self.shape, strict=True) if s > 0
        )
        return low, high + ITEMSIZE[self.dtype]

    def same_place(self, other: Value) -> bool:
        """Return whether both are the same view of the same buffer."""
        return (
            self.buffer is other.buffer
            and self.offset == other.offset
            and self.shape == other.shape
            and self.strides == other.strides
            and self.dtype == other.dtype
        )

    def overlaps(self, other: Value) -> bool:
        """Return whether the two may share bytes."""
        if self.buffer is not other.buffer:
            return False
        (low, high), (first, last) = self.extent(), other.extent()
        return low < last and first < high


def _bytes_of(buffer: Buffer) -> Value:
    """Return a view of a whole buffer as bytes."""
    return Value(buffer, "uint8", (buffer.size,), (1,))


def row_major(shape: tuple[int, ...], itemsize: int) -> tuple[int, ...]:
    """Return the strides in bytes of a contiguous array."""
    strides, step = [], itemsize
    for n in reversed(shape):
        strides.append(step)
        step *= max(n, 1)
    return tuple(reversed(strides))


@dataclass(slots=True, frozen=True)
class ValueRef:
    """A reference to a value inside an instruction's parameters (for example the positions that a
    pooling gradient uses).
    """

    value: Value


@dataclass(slots=True, frozen=True)
class Extra:
    """A reference to what an instruction saves for its gradient rule besides its results
    (statistics, a mask, in any structure).
    """

    instruction: Instruction


@dataclass(slots=True, eq=False)
class Instruction:
    """One operation: what it reads, what it makes (in new buffers) and what it writes (to existing
    ones).

    `kind` is one of:

    - "op": an operation of the operation table, which is in `record`;
    - "copy": `writes[0]` gets the values of `inputs[0]`;
    - "call": a Python function, in `record`, that computes on arrays (a random draw, an optimizer's
      update);
    - "rule": a whole gradient rule;
    - "decide": `record` decides from the numbers in `inputs` whether the program goes on;
    - "constant": `outputs[0]` gets a fresh copy of the constant in `inputs[0]`.

    Inputs are values, numbers or None.
    """

    kind: str
    op: str
    inputs: tuple[Any, ...]
    outputs: tuple[Value, ...]
    writes: tuple[Value, ...] = ()
    params: dict[str, Any] = field(default_factory=dict)
    record: Any = None
    phase: str = "forward"
    site: Any = None
    # the arrays saved for its gradient rule; they are among the outputs
    extras: tuple[Value, ...] = ()
    noted: Any = None  # the call that it checks, for error messages
    hands_on: bool = False  # whether it saves anything for its gradient rule
    again: bool = False  # whether it recomputes what another instruction has computed

    def reads(self) -> Iterator[Value]:
        """Yield all values whose contents it uses, including those among its parameters."""
        for x in self.inputs:
            if isinstance(x, Value):
                yield x
        own = {v.buffer for v in self.outputs}  # memory that a call gets as a parameter to fill
        for v in refs(self.params):
            if v.buffer not in own:
                yield v

    def made(self) -> tuple[Value, ...]:
        """Return all values that it stores to."""
        return (*self.outputs, *self.writes)


def refs(tree: Any) -> Iterator[Value]:
    """Yield the values inside nested parameters."""
    if isinstance(tree, ValueRef):
        yield tree.value
    elif isinstance(tree, Extra):
        yield from tree.instruction.extras
    elif isinstance(tree, dict):
        for v in tree.values():
            yield from refs(v)
    elif isinstance(tree, (tuple, list)):
        for v in tree:
            yield from refs(v)


def substitute(tree: Any, get: Callable[[Any], Any]) -> Any:
    """Return nested parameters with each ValueRef replaced by `get(value)` and each Extra by
    `get(extra)`.

    A structure without references is returned as it is: an optimizer's options and state must stay
    the optimizer's own objects, not copies of them.
    """
    if isinstance(tree, ValueRef):
        return get(tree.value)
    if isinstance(tree, Extra):
        return get(tree)
    if not isinstance(tree, (dict, tuple, list)):
        return tree
    parts = list(tree.values()) if isinstance(tree, dict) else tree
    made = [substitute(v, get) for v in parts]
    if all(a is b for a, b in zip(made, parts, strict=True)):
        return tree
    if isinstance(tree, dict):
        return dict(zip(tree, made, strict=True))
    if isinstance(tree, list):
        return made
    return type(tree)(*made) if hasattr(tree, "_fields") else tuple(made)


class Unit(Protocol):
    """What the text form and the verifier need of an instruction, or of several that run as one."""

    outputs: tuple[Value, ...]
    writes: tuple[Value, ...]

    @property
    def op(self) -> str:
        """Its name."""

    def reads(self) -> Iterable[Value]:
        """Return the values whose contents it uses."""


class Program:
    """Buffers, instructions, and the values that the caller gets back.

    `items` is None until a pass has grouped instructions that run as one; then it holds the groups,
    in order.
    """

    def __init__(self) -> None:
        self.buffers: list[Buffer] = []
        self.instructions: list[Instruction] = []
        self.inputs: list[Value] = []
        self.outputs: list[Value] = []
        self.items: list[Any] | None = None

    # ---- building --------------------------------------------------------------------------------
    def buffer(self, kind: str, size: int, name: str = "") -> Buffer:
        """Add a new buffer of `size` bytes."""
        made = Buffer(kind, size, len(self.buffers), name)
        self.buffers.append(made)
        return made

    def value(
        self,
        buffer: Buffer,
        dtype: str,
        shape: tuple[int, ...],
        strides: tuple[int, ...] | None = None,
        offset: int = 0,
    ) -> Value:
        """Return a view of a buffer, contiguous unless `strides` (in bytes) are given. The first
        view of an input buffer becomes an input of the program.
        """
        made = Value(
            buffer,
            dtype,
            tuple(shape),
            row_major(shape, ITEMSIZE[dtype]) if strides is None else strides,
            offset,
        )
        if buffer.kind == "input" and all(v.buffer is not buffer for v in self.inputs):
            self.inputs.append(made)
        return made

    def add(
        self,
        op: str,
        inputs: tuple[Any, ...],
        outputs: tuple[Value, ...],
        kind: str = "op",
        **fields: Any,
    ) -> Instruction:
        """Append an instruction."""
        made = Instruction(kind, op, inputs, outputs, **fields)
        self.instructions.append(made)
        return made

    # ---- parts and other forms ---------------------------------------------------------------------
    def part(
        self,
        instructions: Iterable[Instruction],
        given: Iterable[Buffer],
        wanted: Iterable[Buffer],
        results: Iterable[Value] = (),
    ) -> Program:
        """Return a program of some of the instructions, which takes the contents of the buffers
        `given` and returns those of `wanted`.

        Each wanted buffer is returned as one of `results`, or as the value that an instruction
        makes in it, if that covers the whole buffer; else as bytes.
        """
        inputs = {v.buffer: v for v in self.inputs}
        made = Program()
        made.buffers = [*self.buffers]
        made.instructions = [*instructions]
        values = [v for i in made.instructions for v in i.made()]
        whole = {v.buffer: v for v in (*values, *results) if v.whole}
        made.inputs = [inputs.get(b) or _bytes_of(b) for b in given]
        made.outputs = [whole.get(b) or _bytes_of(b) for b in wanted]
        return made

    def but(
        self, instructions: Iterable[Instruction] = (), items: list[Any] | None = None
    ) -> Program:
        """Return a copy of the program with other instructions, or with `items` and the
        instructions in them.
        """
        made = Program()
        made.buffers, made.inputs, made.outputs, made.items = (
            self.buffers,
            self.inputs,
            self.outputs,
            items,
        )
        made.instructions = (
            [*instructions] if items is None else [i for item in items for i in item.instructions]
        )
        return made

    # ---- reading ---------------------------------------------------------------------------------
    def verify(self) -> None:
        """Raise VerificationError if something is read before it is made, or lies outside its
        buffer.

        If instructions run as items, an item is one unit: others may read only what it stores.
        """
        known = {id(b) for b in self.buffers}
        filled = {id(b) for b in self.buffers if b.kind != "temp"} | {
            id(v.buffer) for v in self.inputs
        }
        units: Sequence[Unit] = self.instructions if self.items is None else self.items

        def check(v: Value, what: str) -> None:
            low, high = v.extent()
            if id(v.buffer) not in known:
                raise VerificationError(f"{what} lies in a buffer of another program")
            if low < 0 or high > v.buffer.size:
                raise VerificationError(
                    f"{what} reaches over bytes {low} to {high} of a buffer of {v.buffer.size}"
                )

        for k, instruction in enumerate(units):
            what = f"{'instruction' if self.items is None else 'item'} {k} ({instruction.op})"
            for v in instruction.reads():
                check(v, f"what {what} reads")
                if id(v.buffer) not in filled:
                    raise VerificationError(
                        f"{what} reads {self.name(v)}, which nothing has made yet"
                    )
            for v in instruction.outputs:
                check(v, f"what {what} makes")
                if v.buffer.kind != "temp":
                    raise VerificationError(
                        f"{what} makes a value in a buffer of kind {v.buffer.kind}: that is a write"
                    )
                filled.add(id(v.buffer))
            for v in instruction.writes:
                check(v, f"what {what} writes")
                if v.buffer.kind == "constant":
                    raise VerificationError(f"{what} writes to a constant")
        for v in self.outputs:
            check(v, "an output")
            if id(v.buffer) not in filled:
                raise VerificationError(f"the output {self.name(v)} is never made")

    def name(self, v: Value) -> str:
        """Return a value as the text form writes it: its buffer, followed by its place in it unless
        it covers the whole buffer.
        """
        b = v.buffer
        base = b.name if b.name and b.kind != "temp" else f"%{b.number}"
        if v.whole:
            return base
        if v.contiguous:
            return f"{base}[{v.offset}:{v.offset + v.nbytes}]"
        return f"{base}[{v.offset}; strides {','.join(map(str, v.strides))}]"

    def typed(self, v: Value) -> str:
        """Return a value's name, dtype and shape as text."""
        return f"{self.name(v)}: {v.dtype}[{', '.join(map(str, v.shape))}]"

    def line(self, i: Instruction, sites: bool = False) -> str:
        """Return one instruction as text."""
        arguments = [self._shown(x) for x in i.inputs]
        arguments += [f"{k}={self._shown(v)}" for k, v in i.params.items()]
        call = f"{i.op}({', '.join(arguments)})"
        left = [self.typed(v) for v in i.outputs] + [f"{self.name(v)} <-" for v in i.writes]
        if i.outputs:
            text = f"{', '.join(left)} = {call}"
        elif i.writes:
            text = f"{', '.join(self.name(v) for v in i.writes)} <- {call}"
        else:
            text = call
        notes = ["again"] * i.again + [str(i.site)] * (sites and i.site is not None)
        return f"{text}    # {', '.join(notes)}" if notes else text

    def _shown(self, x: Any) -> str:
        if isinstance(x, Value):
            return self.name(x)
        if isinstance(x, ValueRef):
            return self.name(x.value)
        if isinstance(x, Extra):
            return f"extra of {', '.join(self.name(v) for v in x.instruction.outputs[:1])}"
        if isinstance(x, (list, tuple)):
            inner = ", ".join(self._shown(v) for v in x)
            return f"[{inner}]" if isinstance(x, list) else f"({inner})"
        if isinstance(x, (bool, int, float, complex, str, type(None), slice)):
            return repr(x)
        if hasattr(x, "dtype") and hasattr(x, "shape") and not isinstance(x, type):
            return f"<{x.dtype}{list(x.shape)}>"
        return getattr(x, "__name__", None) or type(x).__name__

    def text(self, sites: bool = False) -> str:
        """Return the whole program as text, one instruction per line, grouped by items if there are
        any. With `sites` each line ends with the user's file and line.
        """
        lines = [f"program({', '.join(self.typed(v) for v in self.inputs)})"]
        phase = "forward"
        for item in self.items or [None]:
            if item is not None:
                stored = ", ".join(self.name(v) for v in (*item.outputs, *item.writes))
                lines.append(
                    f"  {item.op}"
                    + (f" -> {stored}" if stored else "")
                    + (f"  [{item.reason}]" if item.reason else "")
                )
            for i in self.instructions if item is None else item.instructions:
                if item is None and i.phase != phase:
                    phase = i.phase
                    lines.append(f"  -- {phase}")
                lines.append(("  " if item is None else "    ") + self.line(i, sites))
        lines.append(f"  return {', '.join(self.name(v) for v in self.outputs)}")
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.text()
