"""Fusion: gather element-wise operations, and reductions of their results, into loops.

The schedule is a list of items: a loop, a matrix product, an optimizer update, or one instruction
that runs eagerly. An operation joins the loop that produces its latest operand if both visit the
same elements and nothing in between prevents it. Values that only the loop reads are never stored.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...ir import Buffer, Instruction, Program, Value, ValueRef
from ...ir.program import ITEMSIZE
from ...kernels.lowered import Native
from ...kernels.matmul import pairs
from ...kernels.matmul.product import Product
from ...kernels.pointwise.loop import Access, Loop, PointwiseOp, Reduce, Write, supports
from ...llvm.emit import types_of
from .context import Context

LARGEST_LOOP = 48  # steps per loop; more would not fit the registers
MOST_ACCESSES = 20


@dataclass(eq=False)
class Item:
    """Instructions that run as a unit.

    `kind` is "loop", "product" (of matrices), "native" (a kernel call), "update" (of an optimizer)
    or "eager" (a Python call, for a `reason`). `product` is what is called: (Product, a, b, bias),
    a Native or a GroupUpdate.
    """

    kind: str
    instructions: list[Instruction]
    shape: tuple[int, ...] = ()
    reason: str = ""
    product: Any = None
    nodes: list[Member] = field(default_factory=list)
    # the results of a loop that are stored to memory
    stored: list[Value] = field(default_factory=list)

    @property
    def op(self) -> str:
        """The item's name in the text of a program."""
        return (
            f"loop {'x'.join(map(str, self.shape)) or 'scalar'}"
            if self.kind == "loop"
            else self.kind
        )

    def reads(self) -> Iterator[Value]:
        """The values that the item reads from memory."""
        if self.kind != "loop":
            for i in self.instructions:
                yield from i.reads()
            return
        inside = {n.result.buffer for n in self.nodes}
        for n in self.nodes:
            yield from (x for x in n.args if isinstance(x, Value) and x.buffer not in inside)

    @property
    def outputs(self) -> tuple[Value, ...]:
        """The new values that the item leaves in memory."""
        made = tuple([v for i in self.instructions for v in i.outputs])
        return (
            made
            if self.kind != "loop"
            else tuple([v for v in self.stored if any(v is o for o in made)])
        )

    @property
    def writes(self) -> tuple[Value, ...]:
        """The values that the item overwrites."""
        return tuple([v for i in self.instructions for v in i.writes])


@dataclass(eq=False)
class Member:
    """An instruction in a loop over `shape`: a step, a reduction or a move."""

    instruction: Instruction
    shape: tuple[int, ...]
    args: tuple[Any, ...]  # Values, or ("const", number)
    result: Value
    params: tuple[tuple[str, Any], ...] = ()
    axes: tuple[int, ...] | None = None  # of a reduction
    reduction: str = ""
    move: bool = False


# ---- what an instruction can be ---------------------------------------------------------------------
def member_of(i: Instruction, number_of: Callable[[Value], Any]) -> Member | str:
    """The instruction as a member of a loop, or the reason why it cannot be one."""
    if i.kind in ("copy", "constant"):
        target = i.made()[0]
        if i.inputs[0].overlaps(target) and not i.inputs[0].same_place(target):
            return "it is written over what it reads"
        return _checked(Member(i, target.shape, (i.inputs[0],), target, move=True), number_of)
    if i.kind != "op":
        return "a call of Python code" if i.kind == "call" else "a gradient rule without operations"
    if i.extras or i.hands_on or len(i.outputs) != 1:
        return "it has several results"
    if i.record.reduces:
        return _reduction(i, number_of)
    if "copies" in i.record.traits:
        return _checked(
            Member(i, i.outputs[0].shape, i.inputs[:1], i.outputs[0], move=True), number_of
        )
    params = []
    args = list(i.inputs)
    for name, value in i.params.items():
        if isinstance(value, ValueRef):
            args.append(value.value)  # such as the mask of dropout
        elif isinstance(value, (bool, int, float, str, type(None))):
            params.append((name, value))
        elif isinstance(value, np.generic):
            params.append((name, value.item()))
        else:
            return f"its parameter {name} is not a number"
    return _checked(
        Member(i, i.outputs[0].shape, tuple(args), i.outputs[0], tuple(params)), number_of
    )


def _reduction(i: Instruction, number_of: Callable[[Value], Any]) -> Member | str:
    x, out = i.inputs[0], i.outputs[0]
    kinds = ("bool",) if i.op in ("all", "any") else ("float32", "float64", "int64")
    if not isinstance(x, Value) or x.dtype != out.dtype or x.dtype not in kinds or x.size == 0:
        return f"sums of {getattr(x, 'dtype', 'numbers')} are not generated"
    ndim = len(x.shape)
    if i.op == "sum_to":
        extra = ndim - len(out.shape)
        axes = (
            *range(extra),
            *(k + extra for k, n in enumerate(out.shape) if n == 1 and x.shape[k + extra] != 1),
        )
    else:
        dim = i.params.get("dim")
        axes = tuple(range(ndim)) if dim is None else (dim,) if isinstance(dim, int) else tuple(dim)
        axes = tuple(sorted(a % ndim for a in axes)) if ndim else ()
    if math.prod(n for k, n in enumerate(x.shape) if k not in axes) != out.size:
        return "its shape is not that of such a reduction"
    if not axes:
        move = Member(i, out.shape, (x,), out, move=True)
        return _checked(move, number_of) if x.shape == out.shape else "it reduces nothing"
    return _checked(Member(i, x.shape, (x,), out, (), axes, i.record.reduces), number_of)


def _checked(node: Member, number_of: Callable[[Value], Any]) -> Member | str:
    args: list[Any] = []
    kinds: list[Any] = []
    for x in node.args:
        if isinstance(x, Value):
            # the rule distinguishes a number from a tensor, so do not replace the tensor
            apart = getattr(node.instruction.record, "numbers", "") == "given"
            number = None if apart else number_of(x)
            if number is not None:
                args.append(("const", number))
                kinds.append(number)
                continue
            if any(s % ITEMSIZE[x.dtype] for s in x.strides) or x.dtype.startswith(
                ("complex", "float8")
            ):
                return f"a {x.dtype} operand that loops do not read"
            if len(x.shape) > len(node.shape):
                return "an operand with more dimensions than the result"
            args.append(x)
            kinds.append(x.dtype)
        elif isinstance(x, (bool, int, float)) or x is None:
            args.append(("const", x))
            kinds.append(x)
        else:
            return f"an operand of type {type(x).__name__}"
    out = node.result
    if any(s % ITEMSIZE[out.dtype] for s in out.strides) or out.dtype.startswith(
        ("complex", "float8")
    ):
        return f"results of {out.dtype} are not generated"
    node.args = tuple(args)
    if node.move:
        if not isinstance(node.args[0], Value):
            node.args = (("const", node.args[0][1]),)
        known = supports("cast", (kinds[0],), out.dtype, ())
    elif node.reduction:
        return node
    else:
        known = supports(node.instruction.op, tuple(kinds), out.dtype, node.params)
    return node if known else "no loop is generated for it"


def product_of(i: Instruction) -> Any:
    """(Product, a, b, bias) for a matrix product, or the reason why native code does not compute
    it.
    """
    a, b = i.inputs[0], i.inputs[1]
    out = i.outputs[0]
    bias = i.inputs[2] if len(i.inputs) > 2 else None
    ctype = (
        "bfloat"
        if out.dtype == "bfloat16" and pairs.available()
        else types_of("float32 float64").get(out.dtype)
    )
    if ctype is None or not all(isinstance(x, Value) and x.dtype == out.dtype for x in (a, b)):
        return "a product of other than float32 and float64, or bfloat16 where the processor multiplies it"
    a_shape, b_shape, size = a.shape, b.shape, ITEMSIZE[out.dtype]
    a_strides, b_strides = [s // size for s in a.strides], [s // size for s in b.strides]
    if any(s % size for s in (*a.strides, *b.strides)):
        return "unaligned operands"
    if i.op == "linear":
        b_shape, b_strides = b_shape[::-1], b_strides[::-1]
        if len(a_shape) > 2:
            if not a.contiguous:
                return "an input that is not contiguous"
            rows = a.size // a_shape[-1] if a_shape[-1] else 0
            a_shape, a_strides = (rows, a_shape[-1]), [a_shape[-1], 1]
    if len(a_shape) < 2 or len(b_shape) < 2:
        return "a product with a vector"
    if bias is not None and not (
        isinstance(bias, Value) and bias.contiguous and bias.dtype == out.dtype
    ):
        return "a bias that is not contiguous"
    if not out.contiguous:
        return "a result that is not contiguous"
    m, k = a_shape[-2:]
    n = b_shape[-1]
    lead = out.shape[:-2] if i.op == "matmul" else ()
    pitch = n
    batch: list[tuple[int, int, int, int]] = []
    step = m * n
    for d in range(len(lead) - 1, -1, -1):
        sa = _batch_stride(a_shape[:-2], a_strides[:-2], len(lead), d)
        sb = _batch_stride(b_shape[:-2], b_strides[:-2], len(lead), d)
        if lead[d] != 1:  # an empty batch is a loop without iterations
            inner = batch[-1] if batch else None
            # Merge adjacent batch dimensions with matching strides.
            if inner and all(
                outer == inner[0] * s for outer, s in zip((sa, sb, step), inner[1:], strict=True)
            ):
                batch[-1] = (inner[0] * lead[d], *inner[1:])
            else:
                batch.append((lead[d], sa, sb, step))
        step *= lead[d]
    row, column = a_strides[-2:]
    if batch and batch[0][2] == 0 and (m == 1 or batch[0][1] == m * row):
        # Stacked matrices that are all multiplied by the same one form a single tall matrix.
        row = row if m > 1 else batch[0][1]
        m *= batch.pop(0)[0]
    made = Product(
        m,
        n,
        k,
        _matrix((row, column), (m, k)),
        _matrix(b_strides[-2:], (k, n)),
        pitch,
        tuple(reversed(batch)),
        ctype=ctype,
    )
    if made.served() is None:
        return "a product of a layout that no kernel reads"
    return made, a, b, bias


def _matrix(strides: Sequence[int], shape: tuple[int, int]) -> tuple[int, int]:
    """Strides of a matrix. A dimension of size 1 may have any stride, so choose one that a kernel
    can read.
    """
    row, column = strides
    if shape[1] == 1 and row != 1:
        column = 1
    elif shape[0] == 1 and column != 1:
        row = 1
    elif shape[0] == 1:
        row = max(row, shape[1])
    elif shape[1] == 1:
        column = max(column, shape[0])
    return row, column


def _batch_stride(shape: Sequence[int], strides: Sequence[int], ndim: int, d: int) -> int:
    k = d - (ndim - len(shape))
    return 0 if k < 0 or shape[k] == 1 else strides[k]


# ---- numbers ----------------------------------------------------------------------------------------
def uniform(
    instructions: Sequence[Instruction], number_of: Callable[[Value], Any]
) -> dict[Buffer, Any]:
    """Temporaries whose elements all equal one known number, because they are computed element-wise
    from constants.
    """
    found: dict[Buffer, Any] = {}
    written = {v.buffer for i in instructions for v in i.writes}

    def known(v: Value) -> Any:
        number = number_of(v)
        return found.get(v.buffer) if number is None else number

    for i in instructions:
        if (
            i.kind != "op"
            or len(i.outputs) != 1
            or i.writes
            or i.outputs[0].buffer in written
            or not i.outputs[0].whole
        ):
            continue
        if any(isinstance(x, Value) and known(x) is None for x in i.inputs):
            continue
        node = member_of(i, known)
        if (
            not isinstance(node, Member)
            or node.reduction
            or any(isinstance(x, Value) for x in node.args)
        ):
            continue
        out = i.outputs[0]
        if (
            not out.size
            or out.dtype not in _PLAIN
            or any(isinstance(x, Value) and x.dtype not in _PLAIN for x in i.inputs)
        ):
            continue
        with np.errstate(all="ignore"):
            if node.move:
                made = np.asarray(node.args[0][1])
            else:
                numbers = [
                    np.asarray(known(x), x.dtype) if isinstance(x, Value) else x for x in i.inputs
                ]
                made = i.record.numpy_forward(*numbers, **i.params)
            found[out.buffer] = np.asarray(made).astype(out.dtype).item()
    return found


_PLAIN = ("float32", "float64", "int64", "int32", "bool")


# ---- grouping ---------------------------------------------------------------------------------------
def call_each(program: Program, context: Context) -> Program:
    """Make each instruction an item of its own, which runs eagerly."""
    return program.but(
        items=[Item("eager", [i], reason="there is no compiler") for i in program.instructions]
    )


def fuse_loops(program: Program, context: Context) -> Program:
    """Group the instructions into items: loops, products, kernel calls, updates and Python calls."""
    instructions, number_of, lower = program.instructions, context.number_of, context.lower
    # buffers that are used after the last instruction
    needed = {v.buffer for v in program.outputs}
    items: list[Item] = []
    made_at: dict[Buffer, int] = {}
    written_at: dict[Buffer, int] = {}
    read_at: dict[Buffer, int] = {}
    makers: dict[Buffer, Member] = {}
    constants = uniform(instructions, number_of)

    def known(v: Value) -> Any:
        number = number_of(v)
        return constants.get(v.buffer) if number is None else number

    def available(v: Value) -> int:
        return max(made_at.get(v.buffer, -1), written_at.get(v.buffer, -1))

    def note(i: Instruction, k: int) -> None:
        for v in i.reads():
            read_at[v.buffer] = max(read_at.get(v.buffer, -1), k)
        for v in i.outputs:
            made_at[v.buffer] = k
        for v in i.writes:
            written_at[v.buffer] = k

    for i in instructions:
        node = member_of(i, known)
        if i.outputs and i.outputs[0].buffer in constants:
            out = i.outputs[0]
            node = Member(i, out.shape, (("const", constants[out.buffer]),), out, move=True)
        if isinstance(node, Member):
            k = _place(node, items, makers, available, read_at)
            if k is None:
                k = len(items)
                items.append(Item("loop", [], node.shape))
            items[k].instructions.append(i)
            items[k].nodes.append(node)
            if not i.writes:
                makers[node.result.buffer] = node
            note(i, k)
            continue
        reason = node
        item = None
        if i.kind == "op" and i.op in ("matmul", "linear"):
            made = product_of(i)
            if isinstance(made, tuple):
                item = Item("product", [i], product=made)
            else:
                reason = made
        else:
            made = lower(i)
            if isinstance(made, str):
                reason = made
            else:
                item = Item("native" if isinstance(made, Native) else "update", [i], product=made)
        if item is None:
            item = Item("eager", [i], reason=reason)
        items.append(item)
        note(i, len(items) - 1)
    _find_stored(items, needed)
    # A loop that stores nothing only computed constants, which its readers contain.
    return program.but(
        items=[
            item
            for item in items
            if item.kind != "loop" or item.stored or any(n.instruction.writes for n in item.nodes)
        ]
    )


def _place(
    node: Member,
    items: list[Item],
    makers: dict[Buffer, Member],
    available: Callable[[Value], int],
    read_at: dict[Buffer, int],
) -> int | None:
    """The index of the loop that the node joins; None if it needs a new one."""
    values = [x for x in node.args if isinstance(x, Value)]
    latest = max((available(v) for v in values), default=-1)
    for k in (latest, len(items) - 1):
        if (
            k < 0
            or k >= len(items)
            or items[k].kind != "loop"
            or items[k].shape != node.shape
            or latest > k
        ):
            continue
        item = items[k]
        if len(item.nodes) >= LARGEST_LOOP or _accesses(item) + len(values) + 1 > MOST_ACCESSES:
            continue
        if k == len(items) - 1 and latest < k and not _alike(node, item):
            continue
        inside = {n.result.buffer: n for n in item.nodes if n.result in n.instruction.outputs}
        good = True
        for v in values:
            n = inside.get(v.buffer)
            if n is not None and not (
                _spread(v, n, node, item) if n.reduction else v.same_place(n.result)
            ):
                good = False
            if any(v.buffer is w.buffer for n in item.nodes for w in n.instruction.writes):
                good = False
        for w in node.instruction.writes:
            # A write must not move before a reader, nor share a loop with a read of other elements.
            if k != len(items) - 1 or read_at.get(w.buffer, -1) >= k or available(w) >= k:
                good = False
        if good:
            return k
    return None


# longest row that a loop may pass over twice; such rows are not split among threads
LONGEST_ROW = 1 << 14


def _spread(v: Value, n: Member, node: Member, item: Item) -> bool:
    """Whether `v` is the reduction `n` of the same loop, broadcast over the reduced dimensions, so
    that it can be taken from a register.
    """
    axes, shape = n.axes or (), item.shape
    first = len(shape) - len(axes)
    if (
        axes != tuple(range(first, len(shape)))
        or math.prod(shape[first:]) > LONGEST_ROW
        or node.reduction
        and node.axes != axes
    ):
        return False
    if v.dtype != n.result.dtype or v.offset != n.result.offset:
        return False
    kept = [d for d in range(first) if shape[d] != 1]
    there, here = (
        _kept_strides(n.result, shape, axes, list(range(first))),
        _access(v, shape).strides,
    )
    if any(there[d] != here[d] for d in kept) or any(
        here[d] for d in range(first, len(shape)) if shape[d] != 1
    ):
        return False
    # All reductions whose results the loop uses must have the same axes.
    inside = {m.result.buffer: m for m in item.nodes if m.reduction}
    used = [
        inside[x.buffer]
        for m in item.nodes
        for x in m.args
        if isinstance(x, Value) and x.buffer in inside
    ]
    return all(m.axes == axes for m in used)


def _alike(node: Member, item: Item) -> bool:
    """Whether two unrelated computations are worth merging into one loop: small ones, and those
    that read the same memory.
    """
    size = int(np.prod(node.shape)) if node.shape else 1
    if size <= 4096:
        return True
    mine = {x.buffer for x in node.args if isinstance(x, Value)}
    return any(isinstance(x, Value) and x.buffer in mine for n in item.nodes for x in n.args)


def _accesses(item: Item) -> int:
    """An estimate of the number of pointers in a loop: its inputs, and a part of its results."""
    inside = {id(n.result.buffer) for n in item.nodes if not n.instruction.writes}
    return (
        len({id(x.buffer) for n in item.nodes for x in n.args if isinstance(x, Value)} - inside)
        + len(item.nodes) // 4
    )


def _find_stored(items: list[Item], needed: set[Buffer]) -> None:
    """Determine which results of each loop are read elsewhere and must be stored."""
    readers: dict[Buffer, set[int]] = {}
    for k, item in enumerate(items):
        for n in item.nodes:
            for v in n.args:
                if isinstance(v, Value):
                    readers.setdefault(v.buffer, set()).add(k)
        for i in item.instructions if not item.nodes else ():
            for v in i.reads():
                readers.setdefault(v.buffer, set()).add(k)
            if item.kind == "eager":
                # Its parameters may also be arrays.
                for v in i.extras:
                    readers.setdefault(v.buffer, set()).add(k)
    for k, item in enumerate(items):
        for n in item.nodes:
            used = n.reduction and any(
                isinstance(x, Value) and x.buffer is n.result.buffer
                for m in item.nodes
                for x in m.args
            )
            if (
                n.instruction.writes
                or n.result.buffer in needed
                or readers.get(n.result.buffer, set()) - {k}
                or n.reduction
                and not used
            ):
                item.stored.append(n.result)


# ---- a loop's description ------------------------------------------------------------------------------
def loop_of(item: Item) -> tuple[Loop, list[Value]]:
    """The Loop of an item, and the values behind its pointers, in order."""
    reads: list[tuple[Access, Value]] = []
    steps: list[PointwiseOp] = []
    writes: list[tuple[Write, Value]] = []
    reduces: list[tuple[Reduce, Value]] = []
    where: dict[Buffer, Any] = {}

    def argument(x: Any) -> Any:
        if not isinstance(x, Value):
            return x
        if x.buffer in where:
            return where[x.buffer]
        access = _access(x, item.shape)
        for k, (known, value) in enumerate(reads):
            if known == access and value.buffer is x.buffer and value.offset == x.offset:
                return ("in", k)
        reads.append((access, x))
        return ("in", len(reads) - 1)

    for n in item.nodes:
        out = n.result
        if n.reduction:
            axes = n.axes or ()
            kept = [d for d in range(len(item.shape)) if d not in axes]
            strides = _kept_strides(out, item.shape, axes, kept)
            value = argument(n.args[0])
            access = Access(out.dtype, strides) if out in item.stored else None
            reduces.append((Reduce(n.reduction, value, n.axes or (), access, out.dtype), out))
            where[out.buffer] = ("reduce", len(reduces) - 1)
            continue
        args = tuple(argument(x) for x in n.args)
        if n.move:
            source = n.args[0]
            if isinstance(source, Value) and source.dtype == out.dtype:
                made = args[0]
            else:
                steps.append(PointwiseOp("cast", args, out.dtype))
                made = ("step", len(steps) - 1)
        else:
            steps.append(PointwiseOp(n.instruction.op, args, out.dtype, n.params))
            made = ("step", len(steps) - 1)
        if not n.instruction.writes:
            where[out.buffer] = made
        if out in item.stored:
            writes.append((Write(made, _access(out, item.shape)), out))
    loop = Loop(
        item.shape,
        tuple(a for a, _ in reads),
        (),
        tuple(steps),
        tuple(w for w, _ in writes),
        tuple(r for r, _ in reduces),
    )
    return loop, [v for _, v in reads] + [v for _, v in writes] + [
        v for r, v in reduces if r.access is not None
    ]


def _access(v: Value, shape: tuple[int, ...]) -> Access:
    """How a loop over `shape` accesses a value that is broadcast to it."""
    size = ITEMSIZE[v.dtype]
    extra = len(shape) - len(v.shape)
    strides = [0] * extra + [
        0 if n == 1 else s // size for n, s in zip(v.shape, v.strides, strict=True)
    ]
    return Access(v.dtype, tuple(strides))


def _kept_strides(
    out: Value, shape: tuple[int, ...], axes: tuple[int, ...], kept: list[int]
) -> tuple[int, ...]:
    size = ITEMSIZE[out.dtype]
    strides = [0] * len(shape)
    if len(out.shape) == len(shape):  # keepdim
        for d in kept:
            strides[d] = out.strides[d] // size
        return tuple(strides)
    if len(out.shape) == len(kept):
        for d, s in zip(kept, out.strides, strict=True):
            strides[d] = s // size
        return tuple(strides)
    # sum_to: leading dimensions were removed, others became 1.
    extra = len(shape) - len(out.shape)
    for d in kept:
        strides[d] = out.strides[d - extra] // size
    return tuple(strides)
