"""The results of a call: outputs, gradients, and changes to existing tensors."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from sys import getrefcount
from typing import Any

import numpy as np
from numpy import empty, ndarray

from ...arrays.numpy_cpu import address
from ...core.bind import wrap
from ...core.inplace import view_again
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
    """A new tensor with the memory of a value.

    `joins`: it requires grad and is a result of the version's node. `spent`: a backward inside the
    function has freed its graph (True), or its graph raises this error; `ends` are the leaves of
    such a graph. `inference`: it is created in (or out of) inference mode, unlike the mode of the
    call.
    """

    value: Value
    requires_grad: bool
    spent: bool | Exception = False
    writes: int = 0  # number of writes by the call
    ends: tuple[Any, ...] = ()
    inference: bool | None = None

    @property
    def joins(self) -> bool:
        """Whether it is a result of the version's node, so that the caller may differentiate it."""
        return self.requires_grad and not self.spent

    @property
    def values(self) -> list[Value]:
        """The program values that it contains."""
        return [self.value]


@dataclass(slots=True, frozen=True, eq=False)
class Number:
    """A Python number computed from terms: numbers given to the call (by their positions), and
    values of the program.
    """

    terms: list[int | Value]
    compute: Callable[[list[Any]], Any]

    @property
    def values(self) -> list[Value]:
        """The program values that it depends on."""
        return [v for v in self.terms if type(v) is Value]

    def made(self, numbers: list[Any], memory: Callable[[Value], ndarray]) -> Any:
        """The number, computed from the numbers of a call and its memory."""
        return self.compute(
            [numbers[v] if isinstance(v, int) else plain(memory(v)) for v in self.terms]
        )


@dataclass(slots=True, frozen=True, eq=False)
class Given:
    """A tensor that existed before: an argument by its position, or a tensor of the state."""

    who: int | Tensor


@dataclass(slots=True, frozen=True, eq=False)
class GradientOf:
    """The gradient that an argument or a tensor of the state had before; it may be another tensor
    at each call.
    """

    who: int | Tensor


@dataclass(slots=True, frozen=True, eq=False)
class ViewOf:
    """A view of an existing tensor, in the graph of that tensor: a write to one affects the other's
    gradient.
    """

    who: int | Tensor
    chain: tuple[Any, ...]  # of view operations


@dataclass(slots=True, frozen=True, eq=False)
class Beside:
    """A tensor in the memory of another output, with a common version counter: a view or, without a
    chain, the result of `detach`.
    """

    of: int
    value: Value
    chain: tuple[Any, ...] | None
    kind: str

    @property
    def values(self) -> list[Value]:
        """The program values that it contains."""
        return [self.value]

    def made(self, base: Tensor, array: ndarray, parts: dict[Any, Any]) -> Tensor:
        """Create the tensor from `base`. `parts` caches the results of operations that have
        several.
        """
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
    """What a call produces: `outputs`, which `skeleton` arranges into the function's result, and
    gradients.

    The outputs include values that side effects store and the function does not return.
    """

    outputs: list[Output]
    skeleton: Any  # with a TensorSlot for each output
    single: bool  # whether the first output is the function's result
    # (who, new gradient); None: no gradient after the call
    gradients: list[tuple[Any, Value | None]]
    grad_writes: list[int]  # number of writes by the call to each of them
    moved: list[tuple[Any, Value]]  # (who, its new memory)
    asked: list[int]  # arguments on which the function sets requires_grad
    # outputs that may be written to, even if they share memory with a tensor that requires grad
    detached: set[int]
    based: dict[Buffer, Any]  # buffer -> who owns the memory in which outputs may lie
    memory: Memory
    readers: dict[Value, Callable[[list[Any]], Any]]  # created on first use

    def read(self, value: Value, env: list[Any]) -> ndarray:
        """The array of a value in the memory of a call."""
        read = self.readers.get(value)
        if read is None:
            read = self.readers[value] = self.memory.getter(value)
        return read(env)

    def take_gradients(self, made: list[Any], tensors: list[Tensor]) -> None:
        """Fill `made` with the existing gradients, before they are replaced."""
        for k, o in enumerate(self.outputs):
            if type(o) is GradientOf:
                made[k] = the_tensor(o.who, tensors)._grad

    def leave_gradients(self, tensors: list[Tensor], env: list[Any]) -> None:
        """Assign gradients, and set requires_grad on arguments, as the traced call did."""
        for k in self.asked:
            tensors[k]._rg = True
        for (who, value), n in zip(self.gradients, self.grad_writes, strict=True):
            t = the_tensor(who, tensors)
            t._grad = None if value is None else make_tensor(self.read(value, env))
            if n and t._grad is not None:
                version_of(t._grad).count = n

    def move(self, tensors: list[Tensor], env: list[Any]) -> None:
        """Replace the memory of tensors, as `.data = ` did in the traced call."""
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
        """Fill `made` with the outputs, except numbers that are already known and those at the
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
                made[k] = view_again(TENSORS, t, o.chain) if isinstance(o, ViewOf) else t

    def make_beside(self, made: list[Any], env: list[Any], slots: dict[int, OutputSlot]) -> None:
        """Fill `made` with the outputs that share memory with other outputs, after those have their
        nodes. `slots` are the places in the graph of outputs from which others were computed.
        """
        parts: dict[Any, Any] = {}
        waiting = [k for k, o in enumerate(self.outputs) if type(o) is Beside]
        while waiting:
            k = waiting.pop(0)
            o: Any = self.outputs[k]
            if made[o.of] is None:
                waiting.append(k)  # its base is itself not made yet
            else:
                made[k] = o.made(made[o.of], self.read(o.value, env), parts)
                made[k]._node = slots.get(k, made[k]._node)


def _view(base: Tensor, array: ndarray) -> Tensor:
    """A result in the memory of an argument or parameter, as a view of it, so that both share the
    version counter.
    """
    size = array.itemsize
    if array.dtype != base._array.dtype or any(step % size or step < 0 for step in array.strides):
        return wrap(array)
    start = storage_offset_of(base)
    if array.size:  # the address of an empty array is arbitrary
        start += (address(array) - address(base._array)) // size
    with no_grad():
        return as_strided(base, array.shape, [step // size for step in array.strides], start)


# ---- everyday calls ------------------------------------------------------------------------------------
@dataclass(slots=True, eq=False)
class Direct:
    """The fast path for the results of a call, if they are plain: they are taken directly from the
    memory blocks that the program fills.

    Outputs are new tensors and numbers; no previous gradient is read, and no graph begins.
    """

    # per block: shape, dtype, and the tensor whose gradient it is
    layout: list[tuple[tuple[int, ...], Any, Tensor | None]]
    position: dict[Buffer, int]  # buffer -> index in the memory of a call
    # gradients with their arrays, which are reused if nothing else refers to them
    reused: list[tuple[Tensor, ndarray] | None]
    removed: list[Tensor]  # tensors whose gradients are cleared
    # (tensor, number of writes to its new gradient)
    grad_writes: list[tuple[Tensor, int]]
    counters: list[tuple[VersionCounter, int]]  # (version counter, number of writes)
    # (block or terms, spent graph, function that computes a number)
    leaving: list[tuple[Any, OutputSlot | None, Callable[[list[Any]], Any] | None]]
    written: list[tuple[int, int]]  # (output, number of writes by the call)

    def memory(self, arrays: list[Any]) -> list[Any]:
        """Append memory for the outputs to that of a call. Returns the gradients that are new:
        (block, tensor, gradient, array).
        """
        reused = self.reused
        fresh = []
        for k, (shape, kind, t) in enumerate(self.layout):
            if t is not None:
                held = reused[k]
                # Reuse a gradient's memory if only the parameter and this version refer to it.
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
        """Set gradients and counters, and return the outputs. `known` are numbers that were
        computed before the program.
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


def direct(
    results: Results, given: int, written: list[tuple[Tensor, int]], saved: set[Buffer]
) -> Direct | None:
    """The fast path for a version's results; None if they do not qualify. In the memory of a call,
    `given` arrays precede the blocks. `saved` are blocks for the second half.
    """
    # such calls have no other outputs
    outputs = [o for o in results.outputs if isinstance(o, (New, Number))]
    gradient_of = {v.buffer: (v, t) for t, v in results.gradients if v is not None}
    layout: list[tuple[tuple[int, ...], Any, Tensor | None]] = []
    position: dict[Buffer, int] = {}
    for b, form in zip(results.memory.fresh, results.memory.blocks, strict=True):
        value, t = gradient_of.get(b, (None, None))
        if value is None:
            value = next((v for o in outputs for v in o.values if v.buffer is b and v.whole), None)
        position[b] = given + len(layout)
        if value is None and b in saved:
            layout.append((*form, None))
            continue
        if value is None or not value.whole:
            return None
        layout.append((value.shape, numpy_dtype(value.dtype), t))
    if any(not v.whole or v.buffer not in position for o in outputs for v in o.values):
        return None
    if any(
        type(o) is New and any(type(t) is int or not t.is_leaf for t in o.ends) for o in outputs
    ):
        return None  # the graph refers to this call's arguments
    if any(
        type(o) is New and layout[position[o.value.buffer] - given][0] != o.value.shape
        for o in outputs
    ):
        return None  # two results share memory with different shapes
    if any(
        layout[position[v.buffer] - given][1] != numpy_dtype(v.dtype)
        for o in outputs
        for v in o.values
    ):
        return None  # two results share memory with different dtypes
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
    # The gradients of the traced call are reused.
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
    """A parameter's gradient and its array, if it owns memory of this form."""
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
