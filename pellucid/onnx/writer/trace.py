"""A call recorded as a list of steps without side effects: what the exporters read.

Every operation of the engine is watched while the function runs. Writes to tensors become new
values, arrays that operations hold in their parameters (an index, a mask) become values as well,
and what no operation made is a parameter, a buffer or a constant.

A constant could hide something that was computed from the inputs outside the engine, and a size
could hide the batch. So `record_checked` runs the function more than once: with other input values
(everything recorded must be the same), and with other sizes along the dynamic axes (every size that
differs must follow from them).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from pellucid.arrays import numpy_cpu
from pellucid.core import observe, source
from pellucid.core.inplace import replay
from pellucid.core.modes import no_grad
from pellucid.core.primitive import PRIMITIVES
from pellucid.core.tensor import Tensor, make_tensor
from pellucid.errors import UnsupportedError
from pellucid.export.probes import (
    STEPS,
    further_points,
    other_points,
    other_size,
    other_values,
)
from pellucid.export.sizes import Expression, Point, solve


class Ref(NamedTuple):
    """A value of the trace, by its number."""

    value: int


@dataclass
class TracedOperation:
    """One operation: its name, arguments (`Ref`, number or None), parameters (arrays replaced by
    `Ref`) and result values.
    """

    op: str
    inputs: tuple[Any, ...]
    params: dict[str, Any]
    outputs: tuple[int, ...]
    site: Any = field(default=None, compare=False)  # the user's line, see `core.source`


@dataclass
class Trace:
    """Steps in order, with what the values are."""

    steps: list[TracedOperation] = field(default_factory=list)
    # of every value; an `Expression` for a dynamic size, None if unknown
    shapes: list[tuple[Any, ...]] = field(default_factory=list)
    dtypes: list[np.dtype[Any]] = field(default_factory=list)
    inputs: list[int] = field(default_factory=list)
    state: dict[int, str] = field(default_factory=dict)  # value -> name in the state_dict
    state_arrays: dict[int, Any] = field(default_factory=dict)
    constants: dict[int, np.ndarray[Any, Any]] = field(default_factory=dict)
    outputs: list[int] = field(default_factory=list)
    result: Any = None  # the structure of the result around the outputs

    def new_value(self, shape: tuple[Any, ...], dtype: np.dtype[Any]) -> int:
        """The number of a new value."""
        self.shapes.append(tuple(shape))
        self.dtypes.append(np.dtype(dtype))
        return len(self.shapes) - 1


# ---- structures of results -----------------------------------------------------------------
def flatten(tree: Any, leaves: list[Any]) -> Any:
    """The structure of nested tuples, lists and dicts as JSON-able data; the tensors are appended
    to `leaves`.
    """
    if isinstance(tree, Tensor):
        leaves.append(tree)
        return {"leaf": len(leaves) - 1}
    if isinstance(tree, (tuple, list)):
        kind = "tuple" if isinstance(tree, tuple) else "list"
        return {kind: [flatten(part, leaves) for part in tree]}
    if isinstance(tree, dict):
        if not all(isinstance(key, str) for key in tree):
            raise UnsupportedError(
                "export: only dicts with str keys can be arguments or results of an exported function"
            )
        return {"dict": {key: flatten(part, leaves) for key, part in tree.items()}}
    if tree is None or isinstance(tree, (bool, int, float, str)):
        return {"plain": tree}
    raise UnsupportedError(
        f"export: a {type(tree).__name__} cannot be an argument or a result of an exported function"
    )


def unflatten(tree: Any, leaves: list[Any]) -> Any:
    """The structure with the leaves put back."""
    ((kind, part),) = tree.items()
    if kind == "leaf":
        return leaves[part]
    if kind == "plain":
        return part
    if kind == "dict":
        return {key: unflatten(item, leaves) for key, item in part.items()}
    made = [unflatten(item, leaves) for item in part]
    return tuple(made) if kind == "tuple" else made


# ---- recording -------------------------------------------------------------------------------
def _place(array: Any) -> Any:
    """Where an array lies in memory and how it is read."""
    return (array.__array_interface__["data"][0], array.shape, array.strides, array.dtype)


class TraceRecorder:
    """An observer that writes down a `Trace`."""

    whole_layers = True  # recurrent layers come as one operation, so that the length may be open

    def __init__(self, named_state: dict[str, Tensor], inputs: list[Tensor]) -> None:
        self.trace = Trace()
        # id of a tensor -> its value, writes to its base until then
        self.known: dict[int, tuple[int, int]] = {}
        self.places: dict[Any, int] = {}
        self.writes: dict[int, int] = {}  # id of a base -> how often it was written through a view
        self.alive: list[Any] = []
        # memory of a parameter or buffer, read in order -> value
        self.owners: dict[tuple[int, Any], int] = {}
        self.steady: set[int] = set()
        self.varying: set[int] = set()  # values that depend on the inputs
        trace = self.trace
        for tensor in inputs:
            trace.inputs.append(self.bind(tensor))
        self.varying.update(trace.inputs)
        for name, tensor in named_state.items():
            if id(tensor) in self.known:
                continue
            value = self.bind(tensor)
            trace.state[value] = name
            trace.state_arrays[value] = tensor._array
            self.steady.add(value)
            array = tensor._array
            if array.size and array.flags.c_contiguous:
                self.owners[array.__array_interface__["data"][0], array.dtype] = value

    def bind(self, tensor: Tensor, value: int | None = None) -> int:
        """Let a tensor stand for a value, a new one if none is given."""
        array = tensor._array
        if value is None:
            value = self.trace.new_value(array.shape, array.dtype)
        self.known[id(tensor)] = (value, self.base_writes(tensor))
        self.alive.append((tensor, array))
        if array.size and isinstance(array, np.ndarray):
            self.places[_place(array)] = value
        return value

    def base_writes(self, tensor: Tensor) -> int:
        base = tensor if tensor._view is None else tensor._view.base
        return self.writes.get(id(base), 0)

    def value_of(self, tensor: Tensor) -> int:
        """The value that a tensor stands for now."""
        entry = self.known.get(id(tensor))
        view = tensor._view
        if entry is None:
            if view is not None and view.base is not tensor and id(view.base) in self.known:
                return self.replayed(tensor)
            return self.bind(tensor, self.from_outside(tensor._array))
        value, writes = entry
        if view is not None and writes != self.base_writes(tensor):
            return self.replayed(tensor)
        return value

    def replayed(self, tensor: Tensor) -> int:
        """A view read again from its base, which was written since."""
        view: Any = tensor._view
        value = self.value_of(view.base)
        array = view.base._array
        for op, params, index in view.chain:
            array = op.run_forward(numpy_cpu, (array,), params)
            parts = list(array) if index is not None else [array]
            outs = [self.trace.new_value(part.shape, part.dtype) for part in parts]
            self.append(
                TracedOperation(op.name, (Ref(value),), self.with_refs(params), tuple(outs))
            )
            array, value = parts[index or 0], outs[index or 0]
        return self.bind(tensor, value)

    def from_outside(self, array: Any) -> int:
        """The value of an array that no operation made: part of the state in another shape, or a
        constant.
        """
        if not isinstance(array, np.ndarray):
            raise UnsupportedError("export: meta tensors have no values to export")
        if array.size and array.flags.c_contiguous:
            owner = self.owners.get((array.__array_interface__["data"][0], array.dtype))
            if owner is not None and np.prod(self.trace.shapes[owner], dtype=int) == array.size:
                if self.trace.shapes[owner] == array.shape:
                    return owner
                return self.add("reshape", (Ref(owner),), {"shape": array.shape}, array)
        value = self.trace.new_value(array.shape, array.dtype)
        self.trace.constants[value] = array.copy()
        return value

    def add(self, op: str, inputs: tuple[Any, ...], params: dict[str, Any], result: Any) -> int:
        value = self.trace.new_value(result.shape, result.dtype)
        self.append(TracedOperation(op, inputs, params, (value,)))
        return value

    def append(self, step: TracedOperation) -> None:
        """Add a step, and note whether its results depend on the inputs."""
        self.trace.steps.append(step)
        if any(ref.value in self.varying for ref in refs([step.inputs, step.params])):
            self.varying.update(step.outputs)

    def with_refs(self, part: Any) -> Any:
        """Parameters with arrays and tensors replaced by the values they are."""
        if isinstance(part, Tensor):
            return Ref(self.value_of(part))
        if isinstance(part, np.ndarray):
            found = self.places.get(_place(part)) if part.size else None
            if found is None:
                found = self.from_outside(part)
                self.alive.append(part)
                if part.size:
                    self.places[_place(part)] = found
            return Ref(found)
        if isinstance(part, dict):
            return {key: self.with_refs(item) for key, item in part.items()}
        if isinstance(part, list):
            return [self.with_refs(item) for item in part]
        if isinstance(part, tuple):
            return tuple([self.with_refs(item) for item in part])
        return part

    # -- events
    def operation(self, op: Any, inputs: Any, params: dict[str, Any], outputs: Any) -> None:
        """An operation ran."""
        name = op.name if op.name in PRIMITIVES else {"detach": "alias"}.get(op.name, op.name)
        args = tuple([Ref(self.value_of(x)) if isinstance(x, Tensor) else x for x in inputs])
        made = outputs if isinstance(outputs, tuple) else (outputs,)
        params = self.with_refs(params)
        if name == "index" or (name == "index_put" and inputs[1].numel() != 1):
            for ref in refs(args):
                if (
                    ref.value in self.varying
                    and self.trace.dtypes[ref.value].kind == "b"
                    and ref != args[0]
                ):
                    raise UnsupportedError(
                        "export: indexing with a mask that depends on the inputs gives a result whose size depends on the inputs"
                    )
        self.append(
            TracedOperation(
                name, args, params, tuple([self.bind(t) for t in made]), source.capture()
            )
        )

    def read(self, tensor: Tensor, how: str) -> None:
        """A value left the engine: what is done with it cannot be seen."""
        if self.value_of(tensor) in self.varying:
            raise UnsupportedError(
                f"export: the function reads a value that depends on the inputs ({how}): what it does with it, "
                "a branch on the data or a computation elsewhere, is not recorded"
            )

    def inplace(self, name: str, tensor: Tensor, result: Any) -> None:
        """A tensor was overwritten with a result."""
        old = self.known.get(id(tensor))
        base = tensor if tensor._view is None else tensor._view.base
        base_entry = self.known.get(id(base))
        for entry in (old, base_entry):
            if entry is not None and entry[0] in self.steady:
                raise UnsupportedError(
                    f"export: {name} writes to {self.trace.state[entry[0]]!r}; call .eval() or write to a copy"
                )
            if entry is not None and entry[0] in self.trace.inputs:
                raise UnsupportedError(
                    f"export: {name} writes to an input of the exported function; write to a copy"
                )
        value = (
            self.value_of(result)
            if isinstance(result, Tensor)
            else self.from_outside(np.asarray(result))
        )
        array = tensor._array
        if self.trace.dtypes[value] != array.dtype:
            source = value
            value = self.trace.new_value(self.trace.shapes[source], array.dtype)
            self.append(TracedOperation("cast", (Ref(source),), {"dtype": array.dtype}, (value,)))
        if self.trace.shapes[value] != array.shape:
            value = self.add("expand", (Ref(value),), {"shape": array.shape}, array)
        if base is not tensor:
            self.write_through(base, tensor, value)
        self.writes[id(base)] = self.writes.get(id(base), 0) + 1
        self.places.clear()  # arrays that lie where something was written are found no more
        self.bind(tensor, value)
        if base is not tensor:
            self.bind(base, self.known[id(base)][0])

    def write_through(self, base: Tensor, view: Tensor, value: int) -> None:
        """The base of a view after the view was written."""
        how: Any = view._view
        chain = how.chain
        if id(base) not in self.known:
            array = base._array.copy()
            # what stood there does not matter, and the new data is no constant
            replay(numpy_cpu, array, chain)[...] = 0
            self.known[id(base)] = (self.from_outside(array), 0)
            self.alive.append(base)
        named = tuple([(op.name, self.with_refs(params), index) for op, params, index in chain])
        inputs = (Ref(self.known[id(base)][0]), Ref(value))
        self.known[id(base)] = (self.add("copy_slices", inputs, {"chain": named}, base._array), 0)


def record(
    function: Callable[..., Any], named_state: dict[str, Tensor], args: Any, kwargs: dict[str, Any]
) -> Trace:
    """The trace of one call."""
    leaves: list[Any] = []
    flatten([list(args), kwargs], leaves)
    recorder = TraceRecorder(named_state, leaves)
    with no_grad(), observe.observing(recorder):
        result = function(*args, **kwargs)
        made: list[Any] = []
        recorder.trace.result = flatten(result, made)
        recorder.trace.outputs = [recorder.value_of(t) for t in made]
    return recorder.trace


# ---- checks by repetition --------------------------------------------------------------------
def record_checked(
    function: Callable[..., Any],
    named_state: dict[str, Tensor],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    dynamic: dict[int, dict[int, str]] | None = None,
) -> Trace:
    """The trace of a call, with sizes along `dynamic` axes (input -> axis -> name) by name.

    Raises:
        UnsupportedError: something recorded depends on the values of the inputs, or on a dynamic
            size in a way that no `Expression` gives.
    """
    dynamic = {k: axes for k, axes in (dynamic or {}).items() if axes}
    leaves: list[Tensor] = []
    structure = flatten([list(args), dict(kwargs)], leaves)
    first = _first_sizes(leaves, dynamic)

    def run(sizes: Point, change: Callable[[Tensor], Tensor] = lambda t: t) -> Trace:
        resized = [
            other_size(t, {axis: sizes[name] for axis, name in dynamic.get(k, {}).items()})
            for k, t in enumerate(leaves)
        ]
        return record(function, named_state, *unflatten(structure, [change(t) for t in resized]))

    trace = run(first)
    again = None
    for how in ("shifted", "order"):
        try:
            again = run(first, partial(other_values, how=how))
            break
        except Exception:
            # not every function takes every value; the same ones in another order must do
            if how == "order":
                raise
    assert again is not None
    merge([trace, again], [], "the values of the inputs")
    return _with_sizes(run, first, trace) if dynamic else trace


def _with_sizes(run: Callable[[Point], Trace], first: Point, trace: Trace) -> Trace:
    """The trace at the first point with the sizes that follow from dynamic ones."""
    points, others = _elsewhere(run, first)
    what = "a dynamic size"
    failure: NotImplementedError | None = None
    try:
        merge([trace, *others], points, what)
        if not any(None in shape for shape in trace.shapes):
            return trace
    except NotImplementedError as error:
        failure = error
    try:  # quotients take more runs to be told apart
        more = further_points(first)
        finer = run(first)
        merge([finer, *others, *[run(p) for p in more]], points + more, what)
    except Exception:
        if failure is not None:
            raise failure from None
        return trace
    return finer


def _elsewhere(run: Callable[[Point], Trace], first: Point) -> tuple[list[Point], list[Trace]]:
    """The points at which the function is recorded, and the recordings at all but the first."""
    error: Exception | None = None
    for points in other_points(first, dict.fromkeys(first, (0, None))):
        try:
            return points, [run(sizes) for sizes in points[1:]]
        except Exception as caught:  # the first one tells most about the function
            error = error or caught
    assert error is not None
    raise error


def _first_sizes(leaves: list[Tensor], dynamic: dict[int, dict[int, str]]) -> Point:
    """The dynamic sizes as given; but 1 is avoided, which broadcasts."""
    first: dict[str, int] = {}
    for k, axes in dynamic.items():
        for axis, name in axes.items():
            size = max(leaves[k]._array.shape[axis], 2)
            if first.setdefault(name, size) != size:
                raise UnsupportedError(
                    f"export: the dynamic axis {name!r} has the sizes {first[name]} and {size} in the inputs"
                )
    if len(first) > len(STEPS):
        raise UnsupportedError(
            f"export: at most {len(STEPS)} different dynamic sizes, got {', '.join(first)}"
        )
    return first


def _differs(what: str, where: str) -> Exception:
    return UnsupportedError(
        f"export: {where} depends on {what} in a way that operations on tensors do not show "
        "(a random number, a value read with .item() or .numpy(), or a branch on the data)"
    )


def merge(traces: list[Trace], points: list[Point], what: str) -> None:
    """Compare traces of one function, made at `points` of the dynamic sizes; what differs becomes a
    an `Expression` in the first.
    """
    trace, others = traces[0], traces[1:]

    def size(seen: list[int], where: str) -> Any:
        if seen.count(seen[0]) == len(seen):
            return seen[0]
        found = solve(seen, points)
        if found is None:
            raise _differs(what, where)
        return found

    def shape(k: int) -> tuple[Any, ...]:
        """A value's shape; None where it follows from a dynamic size in some other way (the length
        after a stride).
        """
        out: list[Any] = []
        if len({len(t.shapes[k]) for t in traces}) > 1 or len({t.dtypes[k] for t in traces}) > 1:
            raise _differs(what, "a shape")
        for seen in zip(*[t.shapes[k] for t in traces], strict=True):
            try:
                out.append(size(list(seen), "a shape"))
            except NotImplementedError:
                if not points:
                    raise
                out.append(None)
        return tuple(out)

    def part(seen: list[Any], where: str) -> Any:
        first = seen[0]
        if any(type(x) is not type(first) for x in seen):
            raise _differs(what, where)
        if isinstance(first, (tuple, list)) and not isinstance(first, Ref):
            if any(len(x) != len(first) for x in seen):
                raise _differs(what, where)
            return type(first)([part(list(items), where) for items in zip(*seen, strict=True)])
        if isinstance(first, dict):
            return {key: part([x[key] for x in seen], where) for key in first}
        if isinstance(first, slice):
            return slice(
                *[part([getattr(x, n) for x in seen], where) for n in ("start", "stop", "step")]
            )
        if type(first) is int:
            return size(seen, where)
        if all(x is first or x == first or (x != x and first != first) for x in seen):
            return first
        raise _differs(what, where)

    for other in others:
        if [s.op for s in trace.steps] != [s.op for s in other.steps] or len(trace.shapes) != len(
            other.shapes
        ):
            raise _differs(what, "the sequence of operations")
        if [s.outputs for s in trace.steps] != [s.outputs for s in other.steps]:
            raise _differs(what, "the number of results of an operation")
        if (
            trace.result != other.result
            or trace.outputs != other.outputs
            or trace.constants.keys() != other.constants.keys()
        ):
            raise _differs(what, "the result's structure")
    for step, *twins in zip(*[t.steps for t in traces], strict=True):
        step.inputs = part([s.inputs for s in (step, *twins)], f"an argument of {step.op}")
        step.params = part([s.params for s in (step, *twins)], f"a parameter of {step.op}")
    users = {r.value: s.op for s in reversed(trace.steps) for r in refs([s.inputs, s.params])}
    grown: list[TracedOperation] = []
    for value, array in list(trace.constants.items()):
        seen = [t.constants[value] for t in traces]
        if all(
            a.shape == array.shape and np.array_equal(a, array, equal_nan=a.dtype.kind in "fc")
            for a in seen
        ):
            continue
        where = f"a constant used by {users.get(value, 'the result')}"
        if not points or len({a.ndim for a in seen}) > 1:
            raise _differs(what, where)
        grown_shape = tuple(
            [size(list(sizes), where) for sizes in zip(*[a.shape for a in seen], strict=True)]
        )
        grown.append(_grown(seen, grown_shape, value, _differs(what, where)))
        del trace.constants[value]
    trace.steps[:0] = grown
    trace.shapes[:] = [shape(k) for k in range(len(trace.shapes))]


def _grown(
    seen: list[Any], shape: tuple[Any, ...], value: int, error: Exception
) -> TracedOperation:
    """The step that makes a constant whose shape depends on a dynamic size: filled with one number,
    or counting up.
    """
    array = seen[0]
    if all(a.size for a in seen):
        number = array.flat[0]
        if all((a == number).all() for a in seen):
            return TracedOperation(
                "full", (), {"shape": shape, "value": number.item(), "dtype": array.dtype}, (value,)
            )
        if array.ndim == 1 and all(np.array_equal(a, np.arange(len(a))) for a in seen):
            return TracedOperation("arange", (), {"end": shape[0], "dtype": array.dtype}, (value,))
    raise error


def refs(tree: Any) -> Iterator[Ref]:
    """Every `Ref` in nested parameters."""
    if isinstance(tree, Ref):
        yield tree
    elif isinstance(tree, dict):
        for item in tree.values():
            yield from refs(item)
    elif isinstance(tree, (tuple, list)):
        for item in tree:
            yield from refs(item)


def named_state(mod: Any) -> dict[str, Tensor]:
    """Parameters and buffers of a module by name (persistent or not)."""
    state = (
        dict(mod.named_parameters(remove_duplicate=False))
        if hasattr(mod, "named_parameters")
        else {}
    )
    if hasattr(mod, "named_buffers"):
        state.update(mod.named_buffers(remove_duplicate=False))
    return state


def run_step(step: TracedOperation, values: dict[int, Any], sizes: dict[str, int]) -> Any:
    """The result of one step."""

    def filled(part: Any) -> Any:
        if isinstance(part, Ref):
            return values[part.value]._array
        if isinstance(part, Expression):
            return part.at(sizes)
        if isinstance(part, (tuple, list)):
            return type(part)([filled(item) for item in part])
        if isinstance(part, dict):
            return {key: filled(item) for key, item in part.items()}
        if isinstance(part, slice):
            return slice(filled(part.start), filled(part.stop), filled(part.step))
        return part

    params = {key: filled(part) for key, part in step.params.items()}
    if step.op == "arange":
        return make_tensor(np.arange(params["end"]).astype(params["dtype"]))
    if step.op == "copy_slices":
        params["chain"] = tuple(
            [(PRIMITIVES[name], how, index) for name, how, index in params["chain"]]
        )
    inputs = [values[x.value] if isinstance(x, Ref) else filled(x) for x in step.inputs]
    return PRIMITIVES[step.op].call(*inputs, **params)
