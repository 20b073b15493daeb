"""A cache for calls on small tensors.

For a small argument, the way from the public function to the kernel takes longer than the kernel
itself. `Few` remembers which kernel served an argument of some shape, strides and dtype, and
`Graph` remembers which nodes such a call recorded, so that the next call of this kind skips that
way.
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
    """A cache of prepared kernels for calls on small tensors.

    The cache key is the shape, strides and dtype of the argument's array together with the other
    arguments of the function (`asked`). The value is a function that computes the result from the
    array, or False where there is no faster way than the usual one.

    A key is compared with `==`, so 2 and 2.0 are the same key: the public function must not look up
    arguments of types that it treats differently. Arrays of more than `most` elements bypass the
    cache, and so does every call while an interpreter or observer is active.

    A call that needs a gradient is served only if `graphs` has a trusted template of the nodes that
    it must record.

    Args:
        most: the largest number of elements that is looked up.
        aux: the prepared functions return a pair: the result, and the value that the gradient
            rules know as `aux`.
    """

    def __init__(self, most: int = sys.maxsize, aux: bool = False) -> None:
        super().__init__()
        self.most, self.aux = most, aux
        self.graphs: dict[Any, Graph | None] = {}

    def made(self, x: Any, *asked: Any) -> Tensor | None:
        """The function's result for `x`, or None on a cache miss."""
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
        """Fill the cache after a call that took the usual way, and return its result `made`.

        `prepare(array)` returns the function that computes the result for such arrays. It returns
        False if there is none, and None if there is none yet (native code may not be loaded so
        far), in which case nothing is stored and a later call asks again.
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
                self[key] = run and self._has_layout_of(made._array, run(a)) and run
        if x._rg and local.grad and self.get(key):
            known = self.graphs.get(key, self)
            if known is self:
                self.graphs[key] = graph_of(x, made, self.aux)
            elif type(known) is Graph and not known.sure:
                self.graphs[key] = known.confirmed(graph_of(x, made, self.aux))
        return made

    def _has_layout_of(self, wanted: Any, made: Any) -> bool:
        """Whether `made` has the shape, strides and dtype of `wanted`."""
        made = made[0] if self.aux else made
        look = made.shape, made.strides, made.dtype
        return type(wanted) is ndarray and look == (wanted.shape, wanted.strides, wanted.dtype)


class Graph:
    """A template of the nodes that a call records between its argument and its result.

    The nodes form a chain. What they save must not depend on the argument's values: only shapes,
    dtypes and constants qualify, except for the `aux` value of the last node, which every call
    computes anew.

    Whether a saved array is a constant cannot be told from one call. A template that saves arrays
    is therefore trusted (`sure`) only after a second call has saved the very same arrays.
    """

    __slots__ = ("arrays", "aux", "first", "last", "sure")

    def __init__(self, steps: list[tuple[Any, ...]], aux: int | None, arrays: list[Any]) -> None:
        *self.first, self.last = steps
        self.aux = aux  # the index of `aux` among the values that the last node saves
        self.arrays, self.sure = arrays, not arrays

    def confirmed(self, other: Graph | None) -> Graph | None:
        """This template, now trusted, if a second call saved the same arrays; otherwise None."""
        if other is None or len(other.arrays) != len(self.arrays):
            return None
        if any(a is not b for a, b in zip(self.arrays, other.arrays, strict=True)):
            return None
        self.sure = True
        return self

    def drawn(self, x: Tensor, r: Any) -> Tensor:
        """Record new nodes for the argument `x`, and return the tensor that holds the result `r`."""
        record, start = callers.record, x._node or x
        edge: Any = start
        for kind, op, params, plan, ends, saved, guard, total, ext, shape, dtype in self.first:
            n = record(kind, op, params, plan, (edge, *ends), saved, guard, total, None, None)
            n.shape, n.dtype = shape, dtype
            if ext is not None:
                n.ext = _fresh_ext(ext, start)
            edge = n
        kind, op, params, plan, ends, saved, guard, total, ext, _, _ = self.last
        if self.aux is not None:
            r, aux = r
            saved = (*saved[: self.aux], aux, *saved[self.aux + 1 :])
        t = record(kind, op, params, plan, (edge, *ends), saved, guard, total, r, None)
        if ext is not None:
            t._node.ext = _fresh_ext(ext, start)
        return t


def _fresh_ext(ext: tuple[bool, Any], start: Any) -> dict[str, Any]:
    """The `ext` dictionary of a new node, which refers to the edge `start` of the new argument."""
    linked, of = ext
    made: dict[str, Any] = {}
    if linked:
        made["linked"] = [(start, True)]
    if of is not None:
        made["of"] = (start,), of
    return made


def graph_of(x: Tensor, made: Tensor, aux: bool) -> Graph | None:
    """A template of the nodes between `x` and `made`, or None if their contents are specific to
    this call.
    """
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
    """Whether a value consists of numbers, strings and functions without a closure only."""
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
    """Whether a kernel for small arrays may be compiled now."""
    return native_code_runs() and not sparing[0]
