"""Graphs whose numbers are known: the forward of a module recorded several times, with other values
of its inputs, so that nothing recorded depends on them unseen, and with other sizes along the
dynamic dimensions, so that every number is fixed or follows from a size.

A branch on a size that none of these runs takes goes unseen.
"""

from __future__ import annotations

import contextlib
import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..aten.overload import OpOverload, Tag, ops
from ..core.tensor import Tensor
from ..errors import UserError
from ..fx.experimental.symbolic_shapes import GuardOnDataDependentSymNode
from ..fx.node import Node
from .capture import Recording, Seen, State, record
from .dynamic_shapes import Axis, Dynamic
from .probes import further_points, other_points, other_size, other_values
from .sizes import Expression, Point, Symbol, ValueRanges, renamed, solve

aten: Any = ops.aten


class Differs(Exception):  # noqa: N818
    """Two runs recorded different graphs."""


@dataclass
class Traced:
    """A graph whose numbers are known to be fixed, or to follow from sizes.

    Attributes:
        recording: the run with the example's sizes, its numbers replaced by nodes.
        shapes: for each node of a tensor its shape, of numbers and `Symbol`s.
        ranges: the smallest and largest size by symbol.
        axes: by the number of the input, by dimension, how the size follows from a symbol.
    """

    recording: Recording
    shapes: dict[str, tuple[Any, ...]]
    ranges: dict[Symbol, ValueRanges]
    axes: dict[int, dict[int, Axis]]


def trace(
    mod: Any,
    state: State,
    words: Sequence[str],
    leaves: Sequence[Any],
    spec: Any,
    dynamic: Dynamic,
    table: dict[Any, Any] | None = None,
) -> Traced:
    """The graph of a module's forward.

    Raises:
        UserError: what runs depends on a dynamic size.
        GuardOnDataDependentSymNode: what runs depends on the values of the inputs.
    """
    runs = _Runs(mod, state, words, leaves, spec, table)
    bounds = _settle(runs, dynamic)
    axes = runs.axes
    first = _first(leaves, axes)
    base = runs.at(first)
    _same_for_other_values(runs, first, base)
    points: list[Point] = [first]
    recordings = [base]
    if first:
        points, recordings = _elsewhere(runs, first, bounds, base)
    return _merged(base, recordings, points, axes, bounds, runs)


class _Runs:
    """Runs of one module at sizes."""

    def __init__(
        self,
        mod: Any,
        state: State,
        words: Sequence[str],
        leaves: Sequence[Any],
        spec: Any,
        table: dict[Any, Any] | None,
    ) -> None:
        self.mod, self.state, self.words = mod, state, words
        self.leaves, self.spec, self.table = leaves, spec, table
        self.axes: dict[int, dict[int, Axis]] = {}

    def inputs(self, sizes: Point) -> list[Any]:
        """The example's inputs with other dynamic sizes."""
        made = list(self.leaves)
        for k, where in self.axes.items():
            wanted = {axis: a.factor * sizes[a.name] + a.offset for axis, a in where.items()}
            if any(made[k].shape[axis] != n for axis, n in wanted.items()):
                made[k] = other_size(made[k], wanted)
        return made

    def at(self, sizes: Point, change: Callable[[Tensor], Tensor] | None = None) -> Recording:
        """The graph at sizes."""
        leaves = self.inputs(sizes)
        if change is not None:
            leaves = [change(x) if isinstance(x, Tensor) else x for x in leaves]
        return record(self.mod, self.state, self.words, leaves, self.spec, self.table)


def _first(leaves: Sequence[Any], axes: dict[int, dict[int, Axis]]) -> dict[str, int]:
    """The sizes of the example, by name; but 1 is avoided, which broadcasts."""
    found: dict[str, int] = {}
    for k, where in axes.items():
        for axis, a in where.items():
            size = (leaves[k].shape[axis] - a.offset) // a.factor
            size = max(size, 2) if a.factor == 1 and not a.offset else size
            if found.setdefault(a.name, size) != size:
                raise UserError(
                    f"Constraints violated ({a.name})! The dynamic size {a.name!r} is {found[a.name]} and {size} in the inputs."
                )
    return found


def _same_for_other_values(runs: _Runs, first: Point, base: Recording) -> None:
    """Refuse a graph that depends on the values of the inputs."""
    if not any(isinstance(x, Tensor) and isinstance(x._array, np.ndarray) for x in runs.leaves):
        return
    others = []
    for how in ("shifted", "negated", "order"):
        # Not every function takes every value; the same ones in another order must do.
        with contextlib.suppress(Exception):
            others.append(runs.at(first, lambda t: other_values(t, how)))  # noqa: B023
            if how == "shifted" and not _has_sizes_from_values(base):
                break
    try:
        _compare([base, *others], [], "the values of the inputs")
    except Differs as error:
        raise GuardOnDataDependentSymNode(str(error)) from None


def _has_sizes_from_values(recording: Recording) -> bool:
    """Whether the shape of a result depends on values: what runs then takes more to be seen."""
    return any(
        isinstance(n.target, OpOverload)
        and (Tag.dynamic_output_shape in n.target.tags or n.target is aten.index.Tensor)
        for n in recording.graph.nodes
    )


def _elsewhere(
    runs: _Runs, first: dict[str, int], bounds: dict[str, tuple[int, int | None]], base: Recording
) -> tuple[list[Point], list[Recording]]:
    """Runs with other dynamic sizes, and the sizes of all of them."""
    error: Exception | None = None
    for points in other_points(first, bounds):
        try:
            recordings = [base] + [runs.at(p) for p in points[1:]]
        except Exception as caught:  # the first one tells most about the function
            error = error or caught
            continue
        try:
            _alike(recordings)
        except Differs as caught:
            raise _violated(first, caught) from None
        _at_the_ends(runs, first, bounds, base)
        return points, recordings
    raise _violated(first, error)


def _at_the_ends(
    runs: _Runs, first: dict[str, int], bounds: dict[str, tuple[int, int | None]], base: Recording
) -> None:
    """Refuse bounds at which the program does something else."""
    lowest: Point = {n: bounds[n][0] if bounds[n][0] > 2 else size for n, size in first.items()}
    highest: dict[str, int] = {}
    for name, size in first.items():
        most = bounds[name][1]
        highest[name] = size if most is None or most > 4 * size + 4096 else most
    for ends in (lowest, highest):
        if ends != first:
            try:
                _alike([base, runs.at(ends)])
            except Exception as caught:
                raise _violated(first, caught, ends) from caught


def _alike(recordings: list[Recording]) -> None:
    """Refuse runs of different operators."""
    want = [(n.op, str(n.target)) for n in recordings[0].graph.nodes]
    for other in recordings[1:]:
        got = [(n.op, str(n.target)) for n in other.graph.nodes]
        if got != want:
            k = next((k for k, (a, b) in enumerate(zip(got, want, strict=False)) if a != b), -1)
            node = list(recordings[0].graph.nodes)[min(k, len(want) - 1)]
            trace = node.stack_trace
            raise Differs(f"the operators that run{f' (from {trace})' if trace else ''}")


def _violated(first: Point, error: Exception | None, at: Point | None = None) -> UserError:
    """The error of dynamic sizes that are not free."""
    shown = ", ".join(first)
    where = "" if at is None else f" at the bound {', '.join(f'{n} = {v}' for n, v in at.items())}"
    made = UserError(
        f'Constraints violated ({shown})! For more information, run with TORCH_LOGS="+dynamic".\n'
        f"  - Not all values of {shown} in the specified range satisfy what the program asks of its sizes{where}: {error}"
    )
    made.add_note(
        "fix the size (Dim.STATIC, or no Dim), or narrow its bounds: Dim(name, min=..., max=...)"
    )
    return made


# ---- which sizes are free ----------------------------------------------------------------------
def _settle(runs: _Runs, dynamic: Dynamic) -> dict[str, tuple[int, int | None]]:
    """Find the dynamic sizes: those that must be equal are one, and those of `Dim.AUTO` that are
    not free are left out. Their bounds.
    """
    runs.axes = {k: dict(where) for k, where in dynamic.axes.items() if where}
    bounds = dict(dynamic.bounds)
    used = {a.name for where in runs.axes.values() for a in where.values()}
    if len(used) <= 1 and not dynamic.hints or _is_free(runs, bounds):
        return bounds
    runs.axes = one = _unified(runs.axes, runs.leaves)
    if _is_free(runs, bounds):
        return bounds
    for name, kind in dynamic.hints.items():
        runs.axes = _of_name(one, lambda n: n == name)  # noqa: B023
        if runs.axes and not _is_free(runs, bounds):
            if kind == "DYNAMIC":
                k, axis = next((k, axis) for k, where in runs.axes.items() for axis in where)
                raise _specialized(runs, k, axis)
            one = _of_name(one, lambda n: n != name)  # noqa: B023
    runs.axes = one
    return bounds


def _of_name(
    axes: dict[int, dict[int, Axis]], wanted: Callable[[str], bool]
) -> dict[int, dict[int, Axis]]:
    """The dynamic dimensions whose name is wanted."""
    made = {
        k: {axis: a for axis, a in where.items() if wanted(a.name)} for k, where in axes.items()
    }
    return {k: where for k, where in made.items() if where}


def _specialized(runs: _Runs, k: int, axis: int) -> UserError:
    place = f"L['{runs.words[k]}'].size()[{axis}]"
    return UserError(
        f'Constraints violated ({place})! For more information, run with TORCH_LOGS="+dynamic".\n'
        f"  - You marked {place} as dynamic but your code specialized it to be a constant ({runs.leaves[k].shape[axis]}). "
        "If you're using mark_dynamic, either remove it or use maybe_mark_dynamic. If you're using Dim.DYNAMIC, replace it with "
        "either Dim.STATIC or Dim.AUTO."
    )


def _unified(axes: dict[int, dict[int, Axis]], leaves: Sequence[Any]) -> dict[int, dict[int, Axis]]:
    """Sizes that are equal in the example under one name."""
    by_size: dict[int, str] = {}
    made: dict[int, dict[int, Axis]] = {}
    for k, where in axes.items():
        for axis, a in where.items():
            if a.factor == 1 and not a.offset:
                a = Axis(by_size.setdefault(leaves[k].shape[axis], a.name))
            made.setdefault(k, {})[axis] = a
    return made


def _is_free(runs: _Runs, bounds: dict[str, tuple[int, int | None]]) -> bool:
    """Whether the program runs alike at other sizes, with numbers that follow from them."""
    try:
        first = _first(runs.leaves, runs.axes)
        base = runs.at(first)
        points, recordings = _elsewhere(runs, first, bounds, base)
        _compare(recordings, points, "a dynamic size")
    except Exception:
        return False
    return True


# ---- what differs ------------------------------------------------------------------------------
def _compare(
    recordings: list[Recording], points: list[Point], what: str
) -> dict[str, tuple[Any, Any]]:
    """The arguments of each node, with an `Expression` for each number that follows from sizes.

    Raises:
        Differs: something else differs.
    """
    try:
        _alike(recordings)
    except Differs as error:
        raise Differs(f"{error} depend on {what}") from None
    found: dict[str, tuple[Any, Any]] = {}
    for nodes in zip(*[r.graph.nodes for r in recordings], strict=True):
        node = nodes[0]
        where = f"an argument of {node.target}"
        if node.stack_trace:
            where += f" ({node.stack_trace.strip()})"
        try:
            args = _part([n.args for n in nodes], points)
            found[node.name] = (args, _part([dict(n.kwargs) for n in nodes], points))
        except Differs:
            raise Differs(
                f"{where} depends on {what} in a way that operations on tensors do not show"
            ) from None
    for name, constant in recordings[0].constants.items():
        for other in recordings[1:]:
            twin = other.constants.get(name)
            if twin is None or not _equal(constant, twin):
                raise Differs(f"a constant ({name}) depends on {what}")
    return found


def _equal(a: Tensor, b: Tensor) -> bool:
    x, y = a._array, b._array
    if x.shape != y.shape or x.dtype != y.dtype:
        return False
    if not isinstance(x, np.ndarray):
        return True
    return bool(np.array_equal(x, y, equal_nan=x.dtype.kind in "fc"))


def _part(seen: list[Any], points: list[Point]) -> Any:
    first = seen[0]
    if isinstance(first, Node):
        if any(not isinstance(x, Node) or x.name != first.name for x in seen):
            raise Differs
        return first
    if any(type(x) is not type(first) for x in seen):
        raise Differs
    if isinstance(first, (tuple, list)):
        if any(len(x) != len(first) for x in seen):
            raise Differs
        made = [_part(list(items), points) for items in zip(*seen, strict=True)]
        return tuple(made) if isinstance(first, tuple) else made
    if isinstance(first, dict):
        if any(x.keys() != first.keys() for x in seen):
            raise Differs
        return {key: _part([x[key] for x in seen], points) for key in first}
    if isinstance(first, slice):
        parts = [[getattr(x, n) for x in seen] for n in ("start", "stop", "step")]
        return slice(*[_part(items, points) for items in parts])
    if all(x is first or x == first or (x != x and first != first) for x in seen):
        return first
    if type(first) is int:
        expression = solve(seen, points)
        if expression is not None:
            return expression
    raise Differs


def _merged(
    base: Recording,
    recordings: list[Recording],
    points: list[Point],
    axes: dict[int, dict[int, Axis]],
    bounds: dict[str, tuple[int, int | None]],
    runs: _Runs,
) -> Traced:
    """The first recording with nodes for the numbers that follow from sizes."""
    try:
        arguments = _compare(recordings, points, "a dynamic size")
    except Differs:
        # Quotients need more points to be told apart.
        more = further_points(points[0])
        with contextlib.suppress(Exception):
            recordings = [*recordings, *[runs.at(p) for p in more]]
            points = [*points, *more]
        try:
            arguments = _compare(recordings, points, "a dynamic size")
        except Differs as error:
            raise _violated(points[0], error) from None
    names = list(points[0])
    symbols = {name: f"s{k}" for k, name in enumerate(names)}
    writer = _Sizes(base, axes, points[0], symbols)
    for node in list(base.graph.nodes):
        args, kwargs = arguments[node.name]
        node.args, node.kwargs = writer.filled(args), writer.filled(kwargs)
    base.results = list(base.graph.output_node().args[0])
    shapes = {}
    for name, seen in base.seen.items():
        if isinstance(seen, Seen):
            shapes[name] = _shape(name, recordings, points, symbols)
    ranges = {writer.symbol(Expression(1, (name,))): ValueRanges(*bounds[name]) for name in names}
    named = {
        k: {axis: Axis(symbols[a.name], a.factor, a.offset) for axis, a in where.items()}
        for k, where in axes.items()
    }
    return Traced(base, shapes, ranges, named)


def _shape(
    name: str, recordings: list[Recording], points: list[Point], symbols: dict[str, str]
) -> tuple[Any, ...]:
    """The shape of a node's tensor; a size that follows in no known way has a symbol of its own."""
    made: list[Any] = []
    shapes = [r.seen[name].shape for r in recordings if name in r.seen]
    for axis, seen in enumerate(zip(*shapes, strict=False)):
        if len(set(seen)) == 1:
            made.append(seen[0])
            continue
        found = solve(seen, points) if len(seen) == len(points) else None
        word = f"u_{name}_{axis}" if found is None else renamed(found, symbols)
        made.append(Symbol(word, seen[0]))
    return tuple(made)


class _Sizes:
    """Writes the nodes that compute sizes, after the inputs."""

    def __init__(
        self,
        base: Recording,
        axes: dict[int, dict[int, Axis]],
        first: Point,
        symbols: dict[str, str],
    ) -> None:
        self.graph, self.seen, self.first, self.symbols = base.graph, base.seen, first, symbols
        self.after = next((n for n in reversed(base.graph.nodes) if n.op == "placeholder"), None)
        self.inputs = base.inputs
        self.axes = axes
        self.made: dict[Expression, Any] = {}

    def symbol(self, found: Expression) -> Symbol:
        """The symbol that shows an expression."""
        return Symbol(renamed(found, self.symbols), found.at(self.first))

    def filled(self, part: Any) -> Any:
        """An argument with nodes in the place of expressions."""
        if isinstance(part, Expression):
            return self.node(part)
        if isinstance(part, (tuple, list)):
            return type(part)([self.filled(x) for x in part])
        if isinstance(part, dict):
            return {key: self.filled(x) for key, x in part.items()}
        if isinstance(part, slice):
            return slice(self.filled(part.start), self.filled(part.stop), self.filled(part.step))
        return part

    def node(self, found: Expression) -> Any:
        """The node of an expression."""
        if found not in self.made:
            self.made[found] = self._new(found)
        return self.made[found]

    def _new(self, e: Expression) -> Any:
        if e.divisor != 1:
            inner = Expression(e.factor, e.names, e.offset)
            return self._call(operator.floordiv, (self.node(inner), e.divisor), e)
        if len(e.names) == 1:
            for k, where in self.axes.items():
                for axis, a in where.items():
                    if a == Axis(e.names[0], e.factor, e.offset):
                        return self._call(aten.sym_size.int, (self.inputs[k], axis), e)
        if e.offset:
            inner = Expression(e.factor, e.names)
            if e.offset < 0:
                return self._call(operator.sub, (self.node(inner), -e.offset), e)
            return self._call(operator.add, (self.node(inner), e.offset), e)
        if e.factor != 1:
            return self._call(operator.mul, (e.factor, self.node(Expression(1, e.names))), e)
        if len(e.names) > 1:
            parts = [self.node(Expression(1, (n,))) for n in e.names]
            return self._call(operator.mul, tuple(parts), e)
        return self._root(e)

    def _root(self, e: Expression) -> Any:
        """A size that no input has by itself: from one that follows from it."""
        for where in self.axes.values():
            for a in where.values():
                if a.name == e.names[0]:
                    made = self.node(Expression(a.factor, e.names, a.offset))
                    if a.offset:
                        whole = Expression(a.factor, e.names)
                        made = self._call(operator.sub, (made, a.offset), whole)
                    return self._call(operator.floordiv, (made, a.factor), e)
        raise AssertionError(f"no input has the size {e}")

    def _call(self, target: Any, args: tuple[Any, ...], e: Expression) -> Node:
        with self.graph.inserting_after(self.after):
            node = self.graph.call_function(target, args)
        node.meta["val"] = self.symbol(e)
        self.after = node
        return node
