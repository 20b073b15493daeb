"""A group of element-wise operations, and reductions of their results, as one native function: a
single pass over memory.

Shapes and strides are fixed when the code is generated. Operations have the names and meanings of
the records in `ops`; two-byte floats are rounded after each. A result may overwrite an operand with
the same access. Sums are computed in float32 over at most 512 terms, then in double, in an order
that depends on the shape alone.

    >>> x, y = Access("float32", (3, 1)), Access("float32", (0, 1))
    >>> loop = Loop((2, 3), (x, y), (), (PointwiseOp("add", (("in", 0), ("in", 1)), "float32"),), (Write(("step", 0), x),), ())
    >>> out = np.empty((2, 3), np.float32)
    >>> run = compile(loop)
    >>> if run:
    ...     run(np.ones((2, 3), np.float32), np.arange(3, dtype=np.float32), out)
    >>> out.tolist() if run else [[1.0, 2.0, 3.0]] * 2
    [[1.0, 2.0, 3.0], [1.0, 2.0, 3.0]]
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...llvm import jit, target, threads
from ...llvm.emit import Function, Module, SSAValue
from .nest import Nest
from .passes import Passes
from .plan import LoopPlan, Operand, bytes_of, make_plan
from .reduction import Gather, combine_slots, fill, gather_of, write_empty
from .steps import costly, supports
from .values import MEMORY, itemsize

__all__ = [
    "Access",
    "Kernel",
    "Loop",
    "Reduce",
    "PointwiseOp",
    "Write",
    "compile",
    "emit",
    "module_text",
    "supports",
]

# ("in", k), ("step", k), ("scalar", k), ("reduce", k), ("const", number), or ("const", None) for an
# argument that is left out.
Arg = tuple[str, Any]


@dataclass(frozen=True)
class Access:
    """How a loop accesses an array: its dtype (NumPy's name), and a stride in elements for each
    dimension of the loop (0 if elements are repeated).
    """

    dtype: str
    strides: tuple[int, ...]


@dataclass(frozen=True)
class PointwiseOp:
    """One element-wise operation: the record's name, arguments, the result's dtype, and (name,
    value) parameters.
    """

    op: str
    args: tuple[Arg, ...]
    dtype: str
    params: tuple[tuple[str, Any], ...] = ()


@dataclass(frozen=True)
class Write:
    """A value that is stored for each element."""

    value: Arg
    access: Access


@dataclass(frozen=True)
class Reduce:
    """A reduction "sum", "mean", "max", "min", "prod", "any" or "all" of a value over dimensions of
    the loop.

    `access` has the result's strides over all dimensions, 0 for those that are reduced; `dtype` is
    the result's. Steps may use the result for their own row as `("reduce", k)`, as softmax and
    layer norm do. All reductions that are used in this way have the same axes, and depend on
    earlier steps only. If `access` is None, the result is used but not written.
    """

    kind: str
    value: Arg
    axes: tuple[int, ...]
    access: Access | None
    dtype: str


@dataclass(frozen=True, eq=False)
class Loop:
    """A group of operations. `scalars` are the dtypes (float64 or int64) of numbers that are passed
    at each call.

    Loops are compared by their text: -0.0 equals 0.0 and True equals 1 in Python, but loops with
    them differ.
    """

    shape: tuple[int, ...]
    reads: tuple[Access, ...]
    scalars: tuple[str, ...]
    steps: tuple[PointwiseOp, ...]
    writes: tuple[Write, ...]
    reduces: tuple[Reduce, ...] = ()

    @functools.cached_property
    def _text(self) -> str:
        return repr(self)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Loop) and self._text == other._text

    def __hash__(self) -> int:
        return hash(self._text)


@dataclass(frozen=True)
class Kernel:
    """A generated function, `void symbol(...)`.

    Its arguments are a pointer for each read, each write and each reduction that is written, the
    scalars (double or i64), the threads' team (null to run on the caller), and, unless
    `scratch_bytes` is 0, a pointer to that much memory, aligned to 8 bytes, whose content does not
    matter.

    Attributes:
        text: the functions, as LLVM IR. `module_text` makes a module of several kernels.
        declarations: the functions that they call.
        signature: LLVM types of the arguments.
        bytes, flops: memory that is touched once, and operations.
        parallel: whether the loop is cut into tasks; otherwise the team is not used.
    """

    text: str
    declarations: frozenset[str]
    symbol: str
    signature: tuple[str, ...]
    bytes: int
    flops: int
    parallel: bool
    scratch_bytes: int


def module_text(kernels: Sequence[Kernel]) -> str:
    """Return a module of LLVM IR with these kernels, whose names must differ."""
    module = Module()
    for kernel in kernels:
        module.declarations |= kernel.declarations
    return "\n".join(kernel.text for kernel in kernels) + "\n" + module.text()


@functools.lru_cache(512)
def emit(loop: Loop, name: str) -> Kernel:
    """Generate a loop. `name` is the function's name, and the beginning of all its symbols.

    Raises:
        NotImplementedError: a step that `supports` refuses.
        ValueError: a maximum or minimum of nothing.
    """
    _check(loop)
    module = Module()
    numbers = {
        f"s{k}": "i64" if kind == "int64" else "double" for k, kind in enumerate(loop.scalars)
    }
    stored = [k for k, r in enumerate(loop.reduces) if r.access is not None]
    arrays = [
        *(f"r{k}" for k in range(len(loop.reads))),
        *(f"w{k}" for k in range(len(loop.writes))),
        *(f"a{k}" for k in stored),
    ]
    count = [math.prod(loop.shape[a] for a in r.axes) for r in loop.reduces]
    gathers = [gather_of(r.kind, r.dtype, n) for r, n in zip(loop.reduces, count, strict=True)]
    params = {**dict.fromkeys(arrays, "ptr"), **numbers, "team": "ptr"}
    accesses = [*loop.reads, *(w.access for w in loop.writes), *(r.access for r in loop.reduces)]
    size = bytes_of(loop.shape, [(a.dtype, a.strides) for a in accesses if a is not None])
    flops = (len(loop.steps) + len(loop.reduces)) * math.prod(loop.shape)
    if 0 in loop.shape:
        f = module.function(name, **params)
        for k, r in enumerate(loop.reduces):
            if r.access is None:
                continue
            kept = [
                (n, s)
                for d, (n, s) in enumerate(zip(loop.shape, r.access.strides))
                if d not in r.axes
            ]
            if math.prod(n for n, _ in kept):
                write_empty(f, kept, gathers[k], getattr(f, f"a{k}"))
        f.ret()
        return _kernel(module, f, size, flops, False, 0)
    width = _width(loop)
    plan = make_plan(
        loop.shape,
        [Operand(a.dtype, list(a.strides)) for a in loop.reads],
        [Operand(w.access.dtype, list(w.access.strides)) for w in loop.writes],
        [_operand(loop, r) for r in loop.reduces],
        _work(loop),
        width,
        min(Passes(loop).used, default=None),
    )
    width = min(width, 1 << (plan.sizes[-1] - 1).bit_length())
    # The offsets of partial results in the scratch memory.
    places, scratch = {}, 0
    for k, g in enumerate(gathers):
        if plan.gathered[k]:
            places[k] = scratch
            scratch += -(-plan.slots[k] * plan.slot_size(k) * itemsize(g.total) // 64) * 64
    if scratch:
        params["scratch"] = "ptr"
    f = module.function(name, **params)
    for k, at in places.items():
        fill(
            f,
            f.at(f.scratch, at, "i8"),
            plan.slots[k] * plan.slot_size(k),
            gathers[k],
            _wide(gathers[k].total),
        )
    if plan.tasks > 1:
        names = [*arrays, *numbers, *(["scratch"] if scratch else [])]
        block = f.buffer("i64", len(names), align=8)
        for i, param in enumerate(names):
            f.store(getattr(f, param), f.at(block, i, "i64"))
        threads.start_team(
            f, f.team, f"@{name}.range", block, f.const(plan.tasks, "i64"), f.const(1, "i64")
        )
        body = module.function(
            f"{name}.range", internal=True, args="ptr", begin="i64", end="i64", thread="i64"
        )
        for i, param in enumerate(names):
            setattr(body, param, body.load(params[param], body.at(body.args, i, "i64")))
        nest = Nest(body, loop, plan, gathers, [getattr(body, s) for s in numbers], width)
        with body.loop(body.begin, body.end) as task:
            nest.task(_pointers(body, plan, gathers, places, task), task)
        body.ret()
    else:
        Nest(f, loop, plan, gathers, [getattr(f, s) for s in numbers], width).task(
            _pointers(f, plan, gathers, places, None), None
        )
    for k, at in places.items():
        out = f.at(getattr(f, f"a{k}"), plan.reduces[k].start, MEMORY[gathers[k].dtype])
        combine_slots(
            f, plan, k, gathers[k], f.at(f.scratch, at, "i8"), out, _wide(gathers[k].total)
        )
    f.ret()
    return _kernel(module, f, size, flops, plan.tasks > 1, scratch)


def _operand(loop: Loop, r: Reduce) -> Operand:
    strides = list(r.access.strides) if r.access else [0] * len(loop.shape)
    return Operand(r.dtype, strides, [d in r.axes for d in range(len(loop.shape))])


def _pointers(
    f: Function,
    plan: LoopPlan,
    gathers: list[Gather],
    places: dict[int, int],
    task: SSAValue | None,
) -> dict[tuple[str, int], SSAValue]:
    """Return the address where each operand begins; for partial results, that of the task's slot."""
    pointers: dict[tuple[str, int], SSAValue] = {}
    for letter, operands in (("r", plan.reads), ("w", plan.writes), ("a", plan.reduces)):
        for k, o in enumerate(operands):
            pointer = getattr(f, f"{letter}{k}", None)
            if pointer is None:
                continue
            if letter == "a" and k in places:
                pointer = f.at(f.scratch, places[k], "i8")
                if task is not None and plan.slots[k] > 1:
                    pointer = f.at(pointer, task * plan.slot_size(k), MEMORY[gathers[k].total])
            elif o.start:
                pointer = f.at(pointer, o.start, MEMORY[o.kind])
            pointers[letter, k] = pointer
    return pointers


def _kernel(
    module: Module, f: Function, size: int, flops: int, parallel: bool, scratch: int
) -> Kernel:
    text = "\n".join(function.text() for function in module.functions)
    return Kernel(
        text,
        frozenset(module.declarations),
        f.name,
        tuple(f.params.values()),
        size,
        flops,
        parallel,
        scratch,
    )


def _wide(kind: str) -> int:
    return target.host().lanes("double" if itemsize(kind) == 8 else "float")


def _width(loop: Loop) -> int:
    """Return the number of lanes of a vector: as many four-byte elements as a register holds, or
    eight-byte ones if all elements have eight bytes.
    """
    kinds = (
        {a.dtype for a in loop.reads}
        | {s.dtype for s in loop.steps}
        | {w.access.dtype for w in loop.writes}
    )
    return target.host().lanes(
        "double" if kinds and all(itemsize(k) == 8 or k == "bool" for k in kinds) else "float"
    )


def _work(loop: Loop) -> int:
    """Return the approximate cost of an element, in plain operations."""
    accesses = len(loop.reads) + len(loop.writes)
    return 2 * accesses + sum(12 if costly(s.op) else 1 for s in loop.steps) + len(loop.reduces)


def _check(loop: Loop) -> None:
    for step in loop.steps:
        kinds = tuple(_kind(loop, arg) for arg in step.args)
        if not supports(step.op, kinds, step.dtype, step.params):
            raise NotImplementedError(
                f"no loop can be generated for {step.op} of {kinds} as {step.dtype}"
            )
    used = Passes(loop).used
    if len({frozenset(loop.reduces[k].axes) for k in used}) > 1:
        raise NotImplementedError("the reductions that steps use have different axes")
    for k, r in enumerate(loop.reduces):
        if r.access is None:
            if k not in used:
                raise ValueError(f"the result of reduction {k} is neither written nor used")
            continue
        if (
            r.kind in ("max", "min")
            and math.prod(loop.shape[a] for a in r.axes) == 0
            and 0 in loop.shape
        ):
            raise ValueError(f"{r.kind} over no element")


def _kind(loop: Loop, arg: Arg) -> Any:
    what, which = arg
    if what == "in":
        return loop.reads[which].dtype
    if what == "reduce":
        return loop.reduces[which].dtype
    if what == "scalar":
        return 0.5 if loop.scalars[which] == "float64" else None  # stands for any float
    return loop.steps[which].dtype if what == "step" else which


@functools.lru_cache(512)
def compile(loop: Loop) -> Callable[..., None] | None:
    """Compile the loop to a Python function, or return None if that is not possible.

    Its arguments are arrays (whose first element and strides must be those of the loop) and
    numbers, in the order of `Kernel`'s arguments without team and scratch memory.
    """
    if not target.available():
        return None
    kernel = emit(loop, "loop")
    letters = {"ptr": "a", "double": "d", "i64": "i"}
    given = len(kernel.signature) - 1 - (kernel.scratch_bytes > 0)
    signature = (
        "".join(letters[kind] for kind in kernel.signature[:given])
        + "p"
        + "a" * (kernel.scratch_bytes > 0)
    )
    natives = jit.compile_ir(
        module_text([kernel]),
        {kernel.symbol: signature},
        "loop of " + "+".join(s.op for s in loop.steps),
    )
    if natives is None:
        return None
    native = natives[kernel.symbol]
    if not kernel.scratch_bytes:
        return lambda *arguments: native(*arguments, threads.team())
    return lambda *arguments: native(
        *arguments, threads.team(), np.empty(kernel.scratch_bytes // 8)
    )
