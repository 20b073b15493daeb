"""Functions that record several operations but, while saved-tensor hooks are on, save what
PyTorch's single node saves.

Without hooks, such a function records its operations, and each saves what it needs. With hooks,
they must receive what PyTorch's node saves, and the values they unpack must determine the
gradients. So the function runs unrecorded, its node saves the arguments, and backward runs the
function again on the unpacked values and differentiates it. If PyTorch's node does not save all
arguments, the function has its own gradient rule.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

from numpy import ndarray

from ..bind import record
from ..callers import wrap
from ..display.packing import given as _given
from ..display.packing import hooked
from ..interpret import install, thread
from ..modes import enable_grad, local, no_grad
from ..primitive import Primitive
from ..reverse import grad
from ..tensor import FAST_TYPES, OutputSlot, Tensor


def in_one_node(
    title: str,
    edges: str,
    packs: str,
    function: Callable[..., Any],
    beside: Callable[[], dict[str, Any]] | None = None,
    **arguments: Any,
) -> Any:
    """As `one_node`, for a call whose node name is only known at the call."""
    if hooked():
        op = _record(title, tuple(edges.split()), packs, function)
        with nullcontext() if beside is None else _given(**beside()):
            made = _as_one(function, op, arguments)
        if made is not None:
            return made
    return function(**arguments)


def one_node(
    title: str,
    args: str,
    packs: str,
    rule: Callable[..., Any] | None = None,
    beside: Callable[..., dict[str, Any]] | None = None,
) -> Callable[[Any], Any]:
    """A decorator of a function on tensors that PyTorch records as one node.

    Args:
        title: its node's name, as for `titled`.
        args: the names of the arguments that the node has edges to, in order.
        packs: what the node keeps, in PyTorch's order: words as in a record. "x_for_y" is kept where
            `y` wants a gradient, and where it is not kept its values must not matter.
        rule: `rule(g, ...)` returns the gradients of `args` from that of the result, as Tensors: it
            names further what it needs of what is kept and of the other arguments, and "needs":
            which gradients are wanted. The engine undoes broadcasting. None: the function is run
            again and differentiated.
        beside: `beside(**arguments)` are further arrays that PyTorch's node keeps, by their words in
            `packs`.
    """
    names = tuple(args.split())

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        signature = inspect.signature(function)
        starred = {p.name for p in signature.parameters.values() if p.kind == p.VAR_POSITIONAL}

        @functools.wraps(function)
        def wrapper(*given: Any, **named: Any) -> Any:
            if not hooked():
                return function(*given, **named)
            found = signature.bind(*given, **named).arguments
            more = {} if beside is None else beside(**found)
            with _given(**more):
                made = None if found.keys() & starred else _as_one(function, op, found)
            return function(*given, **named) if made is None else made

        op = _record(title, names, packs, function, rule)
        return wrapper

    return decorate


class _Again:
    """The gradient rule of a function without one: run the function again and differentiate it. Its
    parameters are the saved values, and the shapes and dtypes of the other arguments.
    """

    rounds = True  # the operations inside round gradients of two-byte floats themselves

    def __init__(
        self, function: Callable[..., Any], names: tuple[str, ...], packs: list[str]
    ) -> None:
        self.function, self.names = function, names
        known = {word.partition("_for_")[0]: word for word in packs}
        described = [f"{n}_{what}" for n in names for what in ("shape", "dtype")]
        self.kept = [known[n] for n in names if n in known]
        self.words = (*self.kept, *described)
        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
        self.__signature__ = inspect.Signature(
            [inspect.Parameter(n, kind) for n in ("F", "g", "needs", "params", *self.words)]
        )

    def __call__(self, F: Any, g: Any, needs: Any, params: Any, *values: Any) -> tuple[Any, ...]:
        given = dict(zip(self.words, values, strict=True))
        given |= {word.partition("_for_")[0]: given[word] for word in self.kept}
        tensors = {}
        for name, need in zip(self.names, needs, strict=True):
            if need is None:  # not a tensor
                continue
            value = given.get(name)
            if value is None:  # its values do not matter
                kind = given[f"{name}_dtype"]
                value = F.full(shape=given[f"{name}_shape"], value=0, dtype=kind)
            tensors[name] = value = wrap(value) if F.raw else F.alias(value)
            value._rg = need
        with without_hooks(), enable_grad():
            made = self.function(**params, **tensors)
        outs, seeds = (made, g) if isinstance(made, tuple) else ((made,), (g,))
        pairs = [
            (t, wrap(s) if F.raw else s)
            for t, s in zip(outs, seeds, strict=True)
            if s is not None and t._rg
        ]
        roots, seeds = zip(*pairs, strict=True)
        wanted = [tensors[n] for n, need in zip(self.names, needs, strict=True) if need]
        graph = not F.raw and local.grad
        found = iter(grad(roots, wanted, seeds, create_graph=graph, allow_unused=True))
        gs = [next(found) if need else None for need in needs]
        return tuple([t._array if F.raw and t is not None else t for t in gs])


class _Rule:
    """The gradient rule of a function that has one. The rule computes with Tensors, also when the
    engine passes arrays.
    """

    def __init__(self, rule: Callable[..., Any], names: tuple[str, ...], packs: list[str]) -> None:
        self.rule, self.names, self.words = rule, names, packs
        self.asked = inspect.signature(rule).parameters.keys()
        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
        words = ("F", "g", "needs", "params", *packs)
        self.__signature__ = inspect.Signature([inspect.Parameter(n, kind) for n in words])

    def __call__(self, F: Any, g: Any, needs: Any, params: Any, *values: Any) -> tuple[Any, ...]:
        kept = (wrap(v) if isinstance(v, ndarray) else v for v in values)
        given = dict(zip([word.partition("_for_")[0] for word in self.words], kept, strict=True))
        given |= params | {"needs": dict(zip(self.names, needs, strict=False))}
        if F.raw:
            g = tuple(t if t is None else wrap(t) for t in g) if isinstance(g, tuple) else wrap(g)
        with nullcontext() if not F.raw and local.grad else no_grad():
            made = self.rule(g, **{k: v for k, v in given.items() if k in self.asked})
        gs = [t if need else None for t, need in zip(made, needs, strict=False)]
        gs += [None] * (len(needs) - len(gs))
        return tuple([t._array if F.raw and t is not None else t for t in gs])


@contextmanager
def without_hooks() -> Iterator[None]:
    """Inside the block, saved-tensor hooks are off."""
    before = thread.stack.all
    install([i for i in before if not hasattr(i, "save")])
    try:
        yield
    finally:
        install(before)


@functools.cache
def _record(
    title: str, edges: tuple[str, ...], packs: str, function: Any, rule: Any = None
) -> Primitive:
    """The record of the function as a single operation."""
    known = inspect.signature(function).parameters
    words = [w for w in packs.split() if w.partition("_for_")[0] in known]
    names = tuple(dict.fromkeys((*edges, *(w.partition("_for_")[0] for w in words))))
    kept = words if rule is None else [w for w in packs.split() if w in words or "out" in w]
    name = title if "Backward" in title else title + "Backward0"
    return Primitive(
        name=title.partition("Backward")[0],
        title=title.partition("Backward")[0],
        args=names,
        grad_name=name,
        variant=lambda node: (name, tuple(range(len(edges)))),
        vjp=_Again(function, names, words) if rule is None else _Rule(rule, names, kept),
        elementwise=rule is not None,
        packs=packs,
        kernel=title,
    )


def _as_one(function: Callable[..., Any], op: Primitive, arguments: dict[str, Any]) -> Any:
    """Run the function and record it as one operation. None if that is impossible or not needed."""
    stack = thread.stack
    tensors = [arguments.get(name) for name in op.args]
    needs = tuple([x._rg if isinstance(x, Tensor) else None for x in tensors])
    plain = all(type(x) in FAST_TYPES or not isinstance(x, Tensor) for x in arguments.values())
    if stack.run or stack.tracer is not None or not plain or True not in needs:
        return None
    with without_hooks(), no_grad():
        made = function(**arguments)
    outs = list(made) if isinstance(made, tuple) else [made]
    if any(t is x for t in outs for x in tensors):
        return None
    if len(outs) > 1:
        op = _of_several(op, len(outs))
    params = {k: v for k, v in arguments.items() if k not in op.args or not isinstance(v, Tensor)}
    node = record(op, tensors, needs, params, outs)
    for k, t in enumerate(outs):
        if t._array.dtype.kind not in "biu":
            t._node, t._rg, t._view = OutputSlot(node, k) if len(outs) > 1 else node, True, None
    return made


@functools.cache
def _of_several(op: Primitive, count: int) -> Primitive:
    return Primitive(**op.__dict__, outputs=count)
