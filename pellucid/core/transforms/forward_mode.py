"""Forward mode: tangents are computed together with tensors, operation by operation.

A tensor's tangents are in `t.extra()["tangents"]`, one per level. Levels nest (`jvp` of `jvp`): the
tangent at a level is itself a tensor that may carry tangents of the outer levels, so it is computed
while only those are active. A level is an interpreter (`core.interpret`). It is on the thread's
stack while it is open, and is notified of each operation that ran.

The tangent of a result comes from the record's `jvp`. Without one, it is derived from the vjp. The
vjp is linear in the gradient g, so the derivative of <v, vjp(g)> with respect to g is the product
of the Jacobian with v.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from weakref import ref

import numpy as np

from ...errors import ArgumentTypeError, GraphError, OperationError
from .. import interpret, reverse
from ..bind import NUMBERS as NUMBERS
from ..inplace import copy_slices, replay_tensor
from ..interpret import thread
from ..modes import enable_grad, local
from ..primitive import TENSORS, Primitive, parameters
from ..tensor import Tensor, make_tensor, node_of, version_of, views_of
from ..tracing import constant
from .batching import batched, level_of, lift, lower, physical
from .linking import apart


class Dual(tuple[Any, ...]):
    """The step from a tensor to its dual in the chain of a view.

    Where gradients are recorded, a dual is a view of its primal. A tangent belongs to the dual and
    its parts only, so a write to these leaves the primal without one.
    """

    level: int
    whole: Any  # the dual's tangent


class Level:
    """An open level: the interpreter that computes the tangents with this number."""

    on_tensors = True

    def __init__(self, number: int) -> None:
        self.number = number
        self.carriers: list[Any] = []  # weak references to the tensors that carry a tangent
        self.within: Any = None  # the stack from which `below` was derived
        self.below: Any = None

    def ran(self, op: Any, tensors: Any, params: dict[str, Any], made: Any, aux: Any) -> None:
        """Compute the tangents of an operation's results."""
        given = [tangent(x, self.number) for x in tensors]
        if all(v is None for v in given):
            return
        outs = made if isinstance(made, (tuple, list)) else (made,)
        with self.outside():
            values = _tangents(op, tensors, given, params, made, aux)
        for out, value in zip(outs, values, strict=True):
            if value is not None and isinstance(out, Tensor) and out._array.dtype.kind not in "biu":
                set_tangent(out, self.number, _fitted(value, out))
        _keep(op, tensors, outs)

    def wrote(self, t: Tensor, result: Tensor) -> None:
        """Give `t`, which was overwritten with the values of `result`, the tangent of `result`."""
        value = tangent(result, self.number)
        base, chain = (t, ()) if t._view is None else (t._view.base, t._view.chain)
        k, start = self._start(chain)
        whole = tangent(base, self.number) if start is None else start.whole
        if value is None and tangent(t, self.number) is None and whole is None:
            return
        with self.outside():
            # clone, because another tensor may own it
            value = _zeros(t) if value is None else _fitted(value, t).clone()
            if chain[k:]:
                if whole is None:
                    whole = _zeros(replay_tensor(TENSORS, base, chain[:k]))
                value = copy_slices.call(whole, value, chain=chain[k:])
            if start is None:
                set_tangent(base, self.number, value)
            else:
                start.whole = value
            for view in views_of(base):
                if self._start(view._view.chain)[1] is start:
                    part = replay_tensor(TENSORS, value, view._view.chain[k:])
                    set_tangent(view, self.number, part)

    def _start(self, chain: Any) -> tuple[int, Dual | None]:
        """Where in a view's chain the tensor stands that the view is a part of at this level: after
        the last step that made a dual here. Without one, it is the view's base.
        """
        for k in range(len(chain), 0, -1):
            step = chain[k - 1]
            if type(step) is Dual and step.level == self.number:
                return k, step
        return 0, None

    @contextmanager
    def outside(self) -> Iterator[None]:
        """Inside the block, only the levels that were opened before this one are active."""
        before = thread.stack
        if self.within is not before:
            kept = [i for i in before.all if type(i) is not Level or i.number < self.number]
            self.within, self.below = before, interpret.stack_of(kept)
        thread.stack = self.below
        try:
            yield
        finally:
            thread.stack = before


_numbers = itertools.count(1)
_open: dict[int, Level] = {}


# ---- levels and duals ------------------------------------------------------------------------
def enter_level() -> int:
    """Open a new innermost level and return its number."""
    level = next(_numbers)
    _open[level] = Level(level)
    interpret.push(_open[level])
    return level


def exit_level(level: int) -> None:
    """Close the innermost level."""
    if [i.number for i in thread.stack.all if type(i) is Level][-1:] != [level]:
        raise OperationError(
            "Trying to exit a forward AD level that was not the last one that was created. This is not supported."
        )
    interpret.pop(_open[level])
    _open[level].within = _open[level].below = None  # they refer back to the level
    for carrier in _open.pop(level).carriers:
        t = carrier()
        if t is not None:
            set_tangent(t, level, None)
            for step in () if t._view is None else t._view.chain:
                if type(step) is Dual and step.level == level:
                    step.whole = None


def tangent(t: Any, level: int) -> Any:
    """The tangent of a tensor at a level, or None."""
    extra = t._x if isinstance(t, Tensor) else None
    return None if extra is None or "tangents" not in extra else extra["tangents"].get(level)


def set_tangent(t: Tensor, level: int, value: Tensor | None) -> None:
    """Set a tensor's tangent at a level; None removes it."""
    known = {} if t._x is None else t._x.get("tangents", {})
    tangents = {k: v for k, v in known.items() if k != level}
    if value is not None:
        tangents[level] = value
        if level in _open:
            _open[level].carriers.append(ref(t))
    t.extra()["tangents"] = tangents
    if not tangents:
        del t.extra()["tangents"]


def make_dual(primal: Tensor, value: Tensor, level: int) -> Tensor:
    """An alias of `primal` that carries the tangent `value` at a level."""
    if not (primal.dtype.is_floating_point or primal.dtype.is_complex):
        raise ArgumentTypeError(
            f"Expected primal to be floating point or complex, but got: {primal.dtype}"
        )
    if not (value.dtype.is_floating_point or value.dtype.is_complex):
        raise ArgumentTypeError(
            f"Expected tangent to be floating point or complex, but got: {value.dtype}"
        )
    if value._array.shape != primal._array.shape:
        raise OperationError(
            "Trying to set a forward gradient that has a different size than that of the original Tensor, this is not supported. Tensor is "
            f"of size {list(primal._array.shape)} while the given forward gradient is of size {list(value._array.shape)}."
        )
    batch = level_of(primal)
    if batch:
        samples = physical(primal)
        return batched(
            make_dual(samples, lower(value, batch, samples._array.shape[0]), level), batch
        )
    dual = TENSORS.alias(primal)
    if dual._view is not None:
        step = Dual(dual._view.chain[-1])
        step.level, step.whole = level, value
        dual._view.chain = (*dual._view.chain[:-1], step)
    set_tangent(dual, level, value)
    return dual


def unpack(t: Tensor, level: int) -> tuple[Tensor, Tensor | None]:
    """(primal, tangent) of a tensor at a level; the primal carries no tangent of that level."""
    batch = level_of(t)
    if batch:
        primal, value = unpack(physical(t), level)
        return batched(primal, batch), None if value is None else lift(value, batch)
    value = tangent(t, level)
    if value is None:
        return t, None
    primal = TENSORS.alias(t)
    set_tangent(primal, level, None)
    return primal, value


# ---- the tangents of results -----------------------------------------------------------------
def _fitted(value: Tensor, out: Tensor) -> Tensor:
    a, b = value._array, out._array
    if a.shape != b.shape:
        value = TENSORS.expand(value, shape=tuple(b.shape))
    if a.dtype != b.dtype:
        value = TENSORS.cast(value, dtype=b.dtype)
    return value


def _tangents(
    op: Any, tensors: Any, given: list[Any], params: dict[str, Any], made: Any, aux: Any
) -> tuple[Any, ...]:
    outs = made if isinstance(made, (tuple, list)) else (made,)
    if "ctx" in params and hasattr(op, "cls"):
        return _of_function(op, tensors, given, params["ctx"](), outs)
    if op.vjp is None:
        return (None,) * len(outs)
    rule = op.jvp
    real = all(x._array.dtype.kind not in "cW" for x in (*tensors, *outs) if isinstance(x, Tensor))
    if rule == "linear":
        values = _linear(op, tensors, given, params)
    elif callable(rule):
        values = _call(op, rule, tensors, given, params, made, aux)
    elif op.elementwise and real and isinstance(op.vjp, dict):
        values = _diagonal(op, tensors, given, params, made, aux)
    else:
        values = _from_vjp(op, tensors, given, params, outs, made, aux)
    return tuple(values) if isinstance(values, (tuple, list)) else (values,)


def _linear(op: Primitive, tensors: Any, given: list[Any], params: dict[str, Any]) -> Any:
    """The tangent of an operation that is linear in all its differentiable arguments together: the
    operation applied to their tangents.
    """
    args = []
    for i, (x, v) in enumerate(zip(tensors, given, strict=True)):
        name = op.args[min(i, len(op.args) - 1)]
        if v is None and (not isinstance(op.vjp, dict) or name in op.vjp):
            if isinstance(x, Tensor):
                v = x if x._array.dtype.kind in "biu" else _zeros(x)
            else:
                v = 0 if isinstance(x, NUMBERS) else x
        args.append(x if v is None else v)
    return op.call(*args, **params)


def _continuous(x: Tensor) -> bool:
    """Whether a tensor can have a tangent."""
    return x._array.dtype.kind not in "biu"


def _zeros(x: Tensor) -> Tensor:
    zero: Tensor = TENSORS.full(shape=tuple(x._array.shape), value=0, dtype=x._array.dtype)
    return zero


def _value(op: Primitive, entry: tuple[str, int], tensors: Any, made: Any, aux: Any) -> Any:
    """The value of a rule's parameter, as tensors with their place in the graph."""
    kind, i = entry
    several = isinstance(made, (tuple, list))
    if kind == "in":
        return tensors[i]
    if kind == "ins":
        return list(tensors[i:])
    if kind == "out":
        return made[i] if several else made
    if kind == "outs":
        return tuple(made)
    if kind == "aux":
        return aux
    if kind == "shapes":
        return [x._array.shape for x in tensors[i:]]
    if kind in ("shape", "dtype"):
        x = tensors[i]
        return (
            getattr(x._array, kind) if isinstance(x, Tensor) else (() if kind == "shape" else None)
        )
    first = made[0] if several else made
    return getattr(first._array, kind.removeprefix("out_"))


def _call(
    op: Primitive, rule: Any, tensors: Any, g: Any, params: dict[str, Any], made: Any, aux: Any
) -> Any:
    """Run a rule with its parameters looked up by name. `g` is passed as `g` or `tangents`."""
    args = []
    for word in parameters(rule):
        if word in ("g", "tangents"):
            args.append(g)
        elif word == "F":
            args.append(TENSORS)
        elif word == "params":
            args.append(params)
        else:
            entry = op._entry(word)
            args.append(params[word] if entry is None else _value(op, entry, tensors, made, aux))
    return rule(*args)


def _diagonal(
    op: Primitive, tensors: Any, given: list[Any], params: dict[str, Any], made: Any, aux: Any
) -> Any:
    """The tangent of an element-wise operation on real numbers. Its Jacobian is diagonal and thus
    equal to its transpose, so the vjp rules can be applied to the tangents.
    """
    total = None
    rules = op.vjp if isinstance(op.vjp, dict) else {}
    for i, v in enumerate(given):
        rule = rules.get(op.args[i]) if v is not None else None
        if rule is None:
            continue
        part = _call(op, rule, tensors, _fitted(v, made), params, made, aux)
        total = part if total is None else total + part
    return total


def _from_vjp(
    op: Primitive,
    tensors: Any,
    given: list[Any],
    params: dict[str, Any],
    outs: Any,
    made: Any,
    aux: Any,
) -> Any:
    """The product of the Jacobian with the tangents, by differentiating the vjp with respect to its
    gradient.
    """
    needs = tuple(v is not None for v in given)
    plan = op.plan(needs)
    outer = local.grad
    # this double backward is an implementation detail, so hooks must not see it
    with enable_grad(), apart():
        dummies = []
        for out in outs:
            g = (
                make_tensor(constant(np.zeros(out._array.shape, out._array.dtype)))
                if type(out._array) is np.ndarray
                else _zeros(out).detach()
            )
            g._rg = out._array.dtype.kind not in "biu"
            dummies.append(g)
        saved = tuple(_value(op, entry, tensors, made, aux) for entry in plan.entries)
        gs = plan.backward(
            TENSORS, tuple(dummies) if op.outputs != 1 else dummies[0], saved, params
        )
        products, seeds = [], []
        for x, v, product in zip(tensors, given, gs, strict=False):
            if v is None or product is None:
                continue
            product = reverse.fit_tensor(product, x._array.shape, x._array.dtype)
            if product._rg:
                products.append(product)
                seeds.append(v)
    wanted = [g for g in dummies if g._rg]
    found: dict[int, Any] = {}
    if products:
        with apart():
            got = reverse.grad(products, wanted, seeds, create_graph=outer, allow_unused=True)
        found = {id(g): value for g, value in zip(wanted, got, strict=True)}
    return [found.get(id(g)) for g in dummies]


def _of_function(op: Any, tensors: Any, given: list[Any], ctx: Any, outs: Any) -> tuple[Any, ...]:
    """The tangents that a custom Function's `jvp` returns. It gets zeros for arguments without a
    tangent.
    """
    writes = [None if v is None else version_of(v).count for v in given]
    filled = given
    if ctx._materialize:
        filled = [
            _zeros(x) if v is None and isinstance(x, Tensor) and _continuous(x) else v
            for x, v in zip(tensors, given, strict=True)
        ]
    ctx._forward = True
    try:
        values = op.cls.jvp(ctx, *filled)
    finally:
        ctx._forward = False
    values = values if isinstance(values, (tuple, list)) else (values,)
    if len(values) != len(outs):
        raise GraphError(
            f"function {op.grad_name} returned an incorrect number of forward gradients (expected {len(outs)}, got {len(values)})"
        )
    for k, (value, out) in enumerate(zip(values, outs, strict=True)):
        if value is not None and k in ctx._fixed:
            raise GraphError(
                f"Function's jvp returned a gradient at position {k}, but  the corresponding forward output is not a differentiable "
                "Tensor.You should return None at that position instead."
            )
        if value is not None and isinstance(out, Tensor) and value._array.shape != out._array.shape:
            raise GraphError(
                f"function {op.grad_name} returned a forward gradient of shape {list(value._array.shape)} for output {k} of shape "
                f"{list(out._array.shape)}"
            )
        for x, v, count in zip(tensors, given, writes, strict=True):
            if x is out and v is not None:  # an argument that was overwritten
                if version_of(v).count == count:
                    raise GraphError(_NOT_IN_PLACE)
                if value is not v:
                    raise GraphError(_NOT_AS_IS)
    return tuple(values)


_NOT_IN_PLACE = (
    "An inplace custom Function is not modifying the forward mode gradients inplace. If the forward is modifying an input inplace, "
    "then the jvp function must modify the corresponding gradient inplace."
)
_NOT_AS_IS = (
    "An inplace custom Function is not returning the forward mode gradients as-is. If the forward is modifying an input inplace, "
    "then the jvp function must modify the gradient inplace and return it as-is."
)


def _keep(op: Any, tensors: Any, outs: Any) -> None:
    """Store the tangents of the saved values in the node, so that a backward that runs on tensors
    is differentiated, too.
    """
    edge = next((o._node for o in outs if isinstance(o, Tensor) and o._node is not None), None)
    node = node_of(edge)
    if node is None or node.op is not op or not hasattr(node.plan, "entries"):
        return
    kept: dict[tuple[str, int], Any] = {}
    for kind, i in node.plan.entries:
        sources = {
            "in": tensors[i : i + 1],
            "ins": tensors[i:],
            "out": outs[i : i + 1],
            "outs": outs,
        }.get(kind, ())
        for k, x in enumerate(sources):
            if isinstance(x, Tensor) and x._x is not None and "tangents" in x._x:
                kept[kind, i + k] = x._x["tangents"]
    if kept:
        node.extra()["tangents"] = kept
