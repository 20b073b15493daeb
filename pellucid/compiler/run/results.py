"""What a call returns: results, gradients, and what becomes of the tensors that existed before."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from sys import getrefcount
from typing import Any

import numpy as np
from numpy import empty, ndarray

from ...arrays.numpy_cpu import address
from ...core.bind import wrap
from ...core.inplace import replay_tensor
from ...core.modes import enable_grad, inference_mode, local, no_grad
from ...core.primitive import TENSORS
from ...core.tensor import OutputSlot, Tensor, VersionCounter, count_write, make_tensor, version_of
from ...ir import Buffer, Value
from ...ops.shape.storage import as_strided, storage_offset_of
from ..trace.arrays import numpy_dtype
from .admission import the_tensor
from .memory import Memory
from .node import spent_slot
from .python_calls import plain


# ---- one result ---------------------------------------------------------------------------------------
@dataclass(slots=True, frozen=True, eq=False)
class New:
    """A tensor of its own, with the memory of a value.

    `joins`: it requires grad, and is a result of the version's node. `spent`: its graph is one
    through which backward has gone inside the function (True), or one that raises this error;
    `ends`: the leaves of such a graph. `inference`: it is made in inference mode, or out of it,
    unlike what the call is made in.
    """

    value: Value
    requires_grad: bool
    spent: bool | Exception = False
    writes: int = 0  # to it, by the call
    ends: tuple[Any, ...] = ()
    inference: bool | None = None

    @property
    def joins(self) -> bool:
        """Whether it is a result of the version's node, which the caller may differentiate."""
        return self.requires_grad and not self.spent

    @property
    def values(self) -> list[Value]:
        """What of the program is in it."""
        return [self.value]


@dataclass(slots=True, frozen=True, eq=False)
class Number:
    """A Python number made of terms: numbers that the call is given, by their positions, and values
    of the program.
    """

    terms: list[int | Value]
    compute: Callable[[list[Any]], Any]

    @property
    def values(self) -> list[Value]:
        """What of the program is in it."""
        return [v for v in self.terms if type(v) is Value]

    def made(self, numbers: list[Any], memory: Callable[[Value], ndarray]) -> Any:
        """The number, of the numbers of a call and what is in its memory."""
        return self.compute(
            [numbers[v] if isinstance(v, int) else plain(memory(v)) for v in self.terms]
        )


@dataclass(slots=True, frozen=True, eq=False)
class Given:
    """A tensor that was there: an argument, by its position, or a tensor of the state."""

    who: int | Tensor


@dataclass(slots=True, frozen=True, eq=False)
class GradientOf:
    """The gradient that an argument or a tensor of the state had before: another tensor at each
    call.
    """

    who: int | Tensor


@dataclass(slots=True, frozen=True, eq=False)
class ViewOf:
    """A view of a tensor that was there, with that one's graph: a write to one counts in the
    other's gradient.
    """

    who: int | Tensor
    chain: tuple[Any, ...]  # of operations, from there


@dataclass(slots=True, frozen=True, eq=False)
class Beside:
    """A tensor in the memory of another output, which counts the writes of both: a view, or, where
    there is no chain, what `detach` made.
    """

    of: int
    value: Value
    chain: tuple[Any, ...] | None
    kind: str

    @property
    def values(self) -> list[Value]:
        """What of the program is in it."""
        return [self.value]

    def made(self, base: Tensor, array: ndarray, parts: dict[Any, Any]) -> Tensor:
        """The tensor, beside `base`. `parts` holds what operations with several results made."""
        if self.chain is None:
            alone = base.detach()
            return alone if array is alone._array else _view(alone, array)
        with enable_grad() if self.kind in ("grad", "multi") else no_grad():
            for op, params, index in self.chain:
                if index is None:
                    base = getattr(TENSORS, op.name)(base, **params)
                    continue
                key = id(base), op.name, id(params)
                if key not in parts:
                    parts[key] = base, getattr(TENSORS, op.name)(base, **params)
                base = parts[key][1][index]
        return base


Output = New | Number | Given | GradientOf | ViewOf | Beside


# ---- all of them ---------------------------------------------------------------------------------------
@dataclass(slots=True, eq=False)
class Results:
    """What leaves a call: `outputs`, which `skeleton` puts into the structure of the function's
    result, and gradients.

    The outputs include what side effects store and the function does not return.
    """

    outputs: list[Output]
    skeleton: Any  # with a Slot for each output
    single: bool  # whether the first output is the function's result
    gradients: list[tuple[Any, Value | None]]  # of whom; None: it has none after the call
    grad_writes: list[int]  # how often the call has written to each of them
    moved: list[tuple[Any, Value]]  # who lies in other memory after the call
    asked: list[int]  # arguments for whose gradients the function asks
    # outputs that may be written to, also where they look into a tensor that requires grad
    detached: set[int]
    based: dict[Buffer, Any]  # in whose memory outputs may lie
    memory: Memory
    readers: dict[Value, Callable[[list[Any]], Any]]  # made when they are needed

    def read(self, value: Value, env: list[Any]) -> ndarray:
        """The array of a value in the memory of a call."""
        read = self.readers.get(value)
        if read is None:
            read = self.readers[value] = self.memory.getter(value)
        return read(env)

    def take_gradients(self, made: list[Any], tensors: list[Tensor]) -> None:
        """Fill `made` with the gradients that were there, before they are replaced."""
        for k, o in enumerate(self.outputs):
            if type(o) is GradientOf:
                made[k] = the_tensor(o.who, tensors)._grad

    def leave_gradients(self, tensors: list[Tensor], env: list[Any]) -> None:
        """Give tensors their gradients, and arguments requires_grad, as the traced call did."""
        for k in self.asked:
            tensors[k]._rg = True
        for (who, value), n in zip(self.gradients, self.grad_writes, strict=True):
            t = the_tensor(who, tensors)
            t._grad = None if value is None else make_tensor(self.read(value, env))
            if n and t._grad is not None:
                version_of(t._grad).count = n

    def move(self, tensors: list[Tensor], env: list[Any]) -> None:
        """Give tensors other memory, as `.data = ` did in the traced call."""
        for who, value in self.moved:
            the_tensor(who, tensors)._array = self.read(value, env)

    def make(
        self,
        made: list[Any],
        tensors: list[Tensor],
        env: list[Any],
        numbers: list[Any],
        late: list[int],
    ) -> None:
        """Fill `made` with the outputs, but for numbers that are known (not None), and those of the
        positions `late`.
        """
        for k, o in enumerate(self.outputs):
            if type(o) is New:
                base = self.based.get(o.value.buffer) if not o.requires_grad else None
                array = self.read(o.value, env)
                if o.inference is not None:
                    with inference_mode(o.inference):
                        made[k] = make_tensor(array)
                elif base is None:
                    made[k] = make_tensor(array)
                else:
                    base = the_tensor(base, tensors)
                    made[k] = _view(
                        base.detach() if base._rg and k in self.detached else base, array
                    )
                if base is None and o.writes:
                    version_of(made[k]).count = o.writes
            elif type(o) is Number:
                if k not in late and made[k] is None:
                    made[k] = o.made(numbers, lambda v: self.read(v, env))
            elif isinstance(o, (Given, ViewOf)):
                t = the_tensor(o.who, tensors)
                made[k] = replay_tensor(TENSORS, t, o.chain) if isinstance(o, ViewOf) else t

    def make_beside(self, made: list[Any], env: list[Any], slots: dict[int, OutputSlot]) -> None:
        """Fill `made` with the outputs that lie beside others, which have their places in the graph
        by now. `slots` are places of outputs that others are made of.
        """
        parts: dict[Any, Any] = {}
        waiting = [k for k, o in enumerate(self.outputs) if type(o) is Beside]
        while waiting:
            k = waiting.pop(0)
            o: Any = self.outputs[k]
            if made[o.of] is None:
                waiting.append(k)  # which lies beside another one itself
            else:
                made[k] = o.made(made[o.of], self.read(o.value, env), parts)
                made[k]._node = slots.get(k, made[k]._node)


def _view(base: Tensor, array: ndarray) -> Tensor:
    """A result that looks into an argument's or a parameter's memory, as a view of it: a write to
    one counts for the other.
    """
    size = array.itemsize
    if array.dtype != base._array.dtype or any(step % size or step < 0 for step in array.strides):
        return wrap(array)
    start = storage_offset_of(base)
    if array.size:  # memory without elements lies anywhere
        start += (address(array) - address(base._array)) // size
    with no_grad():
        return as_strided(base, array.shape, [step // size for step in array.strides], start)


# ---- everyday calls ------------------------------------------------------------------------------------
@dataclass(slots=True, eq=False)
class Direct:
    """What leaves a call whose outputs are plain, straight from the blocks of memory that the
    program fills, in their order.

    Outputs are tensors of their own and numbers; no gradient that was there is read, and no graph
    begins.
    """

    # of each block: shape, dtype, whose gradient it is
    layout: list[tuple[tuple[int, ...], Any, Tensor | None]]
    position: dict[Buffer, int]  # of blocks in the memory of a call
    # gradients, with their arrays, that are filled again if nobody else has them
    reused: list[tuple[Tensor, ndarray] | None]
    removed: list[Tensor]  # whose gradients are cleared
    # whose new gradients the call has written to, and how often
    grad_writes: list[tuple[Tensor, int]]
    counters: list[tuple[VersionCounter, int]]  # of writes, and how many there are
    # block or terms, spent graph, number
    leaving: list[tuple[Any, OutputSlot | None, Callable[[list[Any]], Any] | None]]
    written: list[tuple[int, int]]  # outputs that the call has written to, and how often

    def memory(self, arrays: list[Any]) -> list[Any]:
        """Add memory for what leaves to that of a call; returns the gradients that are new: block,
        whose, gradient, array.
        """
        reused = self.reused
        fresh = []
        for k, (shape, kind, t) in enumerate(self.layout):
            if t is not None:
                held = reused[k]
                # A gradient's memory is used again when nobody but the parameter and this version
                # knows it.
                if (
                    held is not None
                    and t._grad is held[0]
                    and getrefcount(held[0]) == 3
                    and getrefcount(held[1]) == 3
                ):
                    arrays.append(held[1])
                    held[0]._ver = None
                    continue
                made = empty(shape, kind)
                fresh.append((k, t, (make_tensor if local.inference else wrap)(made), made))
            else:
                made = empty(shape, kind)
            arrays.append(made)
        return fresh

    def made(
        self,
        arrays: list[Any],
        fresh: list[Any],
        numbers: Any = (),
        known: Any = None,
        late: Any = (),
    ) -> list[Any]:
        """The outputs, after gradients and counters are what they are to be. `known` are numbers
        that were made before the program.
        """
        for t in self.removed:
            t._grad = None
        for k, t, grad, made in fresh:
            t._grad = grad
            self.reused[k] = (grad, made)
        for t, n in self.grad_writes:
            if t._grad is not None:
                version_of(t._grad).count = n
        for version, n in self.counters:
            count_write(version, n)
        out: list[Any] = []
        for k, spent, number in self.leaving:
            if number is not None:
                now = None if known is None else known[len(out)]
                if now is None and len(out) not in late:
                    now = number([numbers[-1 - i] if i < 0 else plain(arrays[i]) for i in k])
                out.append(now)
                continue
            t = wrap(arrays[k])
            if spent is not None:
                t._node = spent
                t._rg = True
            out.append(t)
        for k, n in self.written:
            version_of(out[k]).count = n
        return out


def direct(results: Results, given: int, written: list[tuple[Tensor, int]]) -> Direct | None:
    """How outputs leave everyday calls; None where they cannot leave so. `given` arrays come before
    the blocks in the memory of a call.
    """
    outputs = [o for o in results.outputs if isinstance(o, (New, Number))]  # all, of these calls
    gradient_of = {v.buffer: (v, t) for t, v in results.gradients if v is not None}
    layout: list[tuple[tuple[int, ...], Any, Tensor | None]] = []
    position: dict[Buffer, int] = {}
    for b in results.memory.fresh:
        value, t = gradient_of.get(b, (None, None))
        if value is None:
            value = next((v for o in outputs for v in o.values if v.buffer is b and v.whole), None)
        if value is None or not value.whole:
            return None
        position[b] = given + len(layout)
        layout.append((value.shape, numpy_dtype(value.dtype), t))
    if any(not v.whole or v.buffer not in position for o in outputs for v in o.values):
        return None
    if any(
        type(o) is New and any(type(t) is int or not t.is_leaf for t in o.ends) for o in outputs
    ):
        return None  # a graph of this call's arguments
    if any(
        type(o) is New and layout[position[o.value.buffer] - given][0] != o.value.shape
        for o in outputs
    ):
        return None  # a result that is another result's memory in another shape
    if any(
        layout[position[v.buffer] - given][1] != numpy_dtype(v.dtype)
        for o in outputs
        for v in o.values
    ):
        return None  # the same bytes as numbers of another type
    leaving: list[Any] = []
    for o in outputs:
        if type(o) is Number:
            leaving.append(
                (
                    [-1 - v if isinstance(v, int) else position[v.buffer] for v in o.terms],
                    None,
                    o.compute,
                )
            )
        elif type(o) is New:
            spent = (
                spent_slot(o.value.shape, numpy_dtype(o.value.dtype), o.spent, o.ends)
                if o.spent
                else None
            )
            leaving.append((position[o.value.buffer], spent, None))
    # The gradients of the traced call are filled again.
    reused = [_held(*laid) for laid in layout]
    removed = [t for t, v in results.gradients if v is None]
    return Direct(
        layout,
        position,
        reused,
        removed,
        [
            (t, n)
            for (t, v), n in zip(results.gradients, results.grad_writes, strict=True)
            if v is not None and n
        ],
        [(version_of(t), n) for t, n in written],
        leaving,
        [(k, o.writes) for k, o in enumerate(outputs) if type(o) is New and o.writes],
    )


def _held(
    shape: tuple[int, ...], kind: np.dtype, t: Tensor | None
) -> tuple[Tensor, ndarray] | None:
    """A parameter's gradient and its array, where that is memory of its own of such a form."""
    g = None if t is None else t._grad
    if g is None or type(g) is not Tensor or g._rg or g._node is not None:
        return None
    a = g._array
    good = (
        type(a) is ndarray
        and a.base is None
        and a.shape == shape
        and a.dtype == kind
        and a.flags.c_contiguous
        and a.flags.writeable
    )
    return (g, a) if good else None
