"""Functions of few numbers whose way from the call to the kernel takes longer than the kernel: what
computes such an array is remembered by the array's look and what was asked for.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from types import FunctionType
from typing import Any

import numpy as np
from numpy import ndarray

from .. import config
from ..arrays.native import native_code_runs, sparing
from ..core import callers
from ..core.bind import wrap
from ..core.modes import local, state
from ..core.tape import Node
from ..core.tensor import FAST_TYPES, Tensor


class Few(dict[Any, Any]):
    """What computes an array, by its shape, strides and dtype and what was asked of the function: of
    calls that nobody watches; False where nothing quick does.

    What is asked has to be of types that are told apart by more than `==`, which the function sees
    to: of 2 and 2.0 it takes one. Arrays of more than `most` elements are not looked up at all.
    Calls that are recorded get nodes as the first such call did (`graphs`).

    Args:
        aux: what computes the array returns a pair: it, and what gradient rules know as `aux`.
    """

    def __init__(self, most: int = sys.maxsize, aux: bool = False) -> None:
        super().__init__()
        self.most, self.aux = most, aux
        self.graphs: dict[Any, Graph | None] = {}

    def made(self, x: Any, *asked: Any) -> Tensor | None:
        """The result of the function, where what computes it is known."""
        if type(x) not in FAST_TYPES or state.slow:
            return None
        a = x._array
        if type(a) is not ndarray or a.size > self.most:
            return None
        key = (a.shape, a.strides, a.dtype, asked)
        run = self.get(key)
        if not run or not config.kernels:
            return None
        if x._rg and local.grad:
            graph = self.graphs.get(key)
            return graph.drawn(x, run(a)) if graph is not None and graph.sure else None
        return wrap(run(a)[0] if self.aux else run(a))

    def remember(
        self, x: Tensor, asked: tuple[Any, ...], prepare: Callable[[ndarray], Any], made: Tensor
    ) -> Tensor:
        """Know from now on what computes such an array as `x`: what `prepare` makes for its array;
        False where that is nothing, None where it may be something later. Returns `made`, the
        result of this call.
        """
        a = x._array
        if type(a) is not ndarray or a.size > self.most or state.slow or not config.kernels:
            return made
        key = (a.shape, a.strides, a.dtype, asked)
        if key not in self:
            if len(self) > 1000:
                self.clear()
                self.graphs.clear()
            run = prepare(a)
            if run is not None:
                self[key] = run and self._lies_as(made._array, run(a)) and run
        if x._rg and local.grad and self.get(key):
            known = self.graphs.get(key, self)
            if known is self:
                self.graphs[key] = graph_of(x, made, self.aux)
            elif type(known) is Graph and not known.sure:
                self.graphs[key] = known.confirmed(graph_of(x, made, self.aux))
        return made

    def _lies_as(self, wanted: Any, made: Any) -> bool:
        """Whether an array lies in memory as another."""
        made = made[0] if self.aux else made
        look = made.shape, made.strides, made.dtype
        return type(wanted) is ndarray and look == (wanted.shape, wanted.strides, wanted.dtype)


class Graph:
    """The nodes between an argument and a result, one after the other, where nothing in them depends
    on the argument's values: what they keep are shapes, dtypes and constants, but for `aux` of the
    last one. Other calls on such arguments have such nodes.

    Arrays are constants where a second call keeps the same ones: until then nothing is sure.
    """

    __slots__ = ("arrays", "aux", "first", "last", "sure")

    def __init__(self, steps: list[tuple[Any, ...]], aux: int | None, arrays: list[Any]) -> None:
        *self.first, self.last = steps
        self.aux = aux  # its place in what the last node keeps
        self.arrays, self.sure = arrays, not arrays

    def confirmed(self, other: Graph | None) -> Graph | None:
        """The graph, if that of a second call keeps the same arrays."""
        if other is None or len(other.arrays) != len(self.arrays):
            return None
        if any(a is not b for a, b in zip(self.arrays, other.arrays, strict=True)):
            return None
        self.sure = True
        return self

    def drawn(self, x: Tensor, r: Any) -> Tensor:
        """The tensor of the array `r` that was computed of `x`, with new nodes."""
        record, start = callers.record, x._node or x
        edge: Any = start
        for kind, op, params, plan, ends, saved, guard, total, ext, shape, dtype in self.first:
            n = record(kind, op, params, plan, (edge, *ends), saved, guard, total, None, None)
            n.shape, n.dtype = shape, dtype
            if ext is not None:
                n.ext = _linked(ext, start)
            edge = n
        kind, op, params, plan, ends, saved, guard, total, ext, _, _ = self.last
        if self.aux is not None:
            r, aux = r
            saved = (*saved[: self.aux], aux, *saved[self.aux + 1 :])
        t = record(kind, op, params, plan, (edge, *ends), saved, guard, total, r, None)
        if ext is not None:
            t._node.ext = _linked(ext, start)
        return t


def _linked(ext: tuple[bool, Any], start: Any) -> dict[str, Any]:
    """A node's rare things, with the edge to the argument in its place."""
    linked, of = ext
    made: dict[str, Any] = {}
    if linked:
        made["linked"] = [(start, True)]
    if of is not None:
        made["of"] = (start,), of
    return made


def graph_of(x: Tensor, made: Tensor, aux: bool) -> Graph | None:
    """The nodes between them, where others can be made like them."""
    a, start = x._array, x._node or x
    if type(made) is not Tensor or made._view is not None or made._ver is not None:
        return None
    place, n = None, made._node
    arrays: list[Any] = []
    steps: list[tuple[Any, ...]] = []
    while n is not start:
        if not isinstance(n, Node) or n.plan is not n.op.plan(n.plan.needs) or n.plan.borrowed:
            return None
        edge, *ends = n.inputs
        entries = n.plan.entries
        if edge is None or any(e is not None for e in ends) or len(n.saved or ()) != len(entries):
            return None
        saved = list(n.saved or ())
        for k, (kind, i) in enumerate(entries):
            value = saved[k]
            if kind == "aux" and aux and not steps:
                place, saved[k] = k, None
            elif kind == "in" and n.inputs[i] is None:
                if type(value) is not ndarray or np.may_share_memory(value, a):
                    return None
                arrays.append(value)
            elif kind not in ("shape", "dtype", "shapes"):
                return None
        ext, rare = n.ext, None
        if ext:
            linked, of = ext.get("linked"), ext.get("of")
            if (
                ext.keys() - {"linked", "of"}
                or linked not in (None, [(start, True)])
                or of is not None
                and (of[0] != (start,) or not _is_plain(of[1]))
            ):
                return None
            rare = linked is not None, None if of is None else of[1]
        kept = tuple(saved), n.guard, n.total
        steps.append((type(n), n.op, n.params, n.plan, ends, *kept, rare, n.shape, n.dtype))
        n = edge
    return Graph(steps[::-1], place, arrays) if steps and (place is not None) == aux else None


def _is_plain(value: Any) -> bool:
    """Whether it refers to numbers, words, and functions alone."""
    if type(value) is dict:
        return all(map(_is_plain, value.values()))
    if type(value) in (tuple, list):
        return all(map(_is_plain, value))
    if type(value) is functools.partial:
        return all(map(_is_plain, (value.func, value.args, value.keywords)))
    if type(value) is FunctionType:
        return value.__closure__ is None and _is_plain((value.__defaults__, value.__kwdefaults__))
    return value is None or type(value) in (bool, int, float, complex, str)


def compiles() -> bool:
    """Whether code may be loaded for few numbers now."""
    return native_code_runs() and not sparing[0]
