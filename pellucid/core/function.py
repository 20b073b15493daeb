"""Custom operations: `autograd.Function`, in both styles of PyTorch."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import numpy as np

from ..errors import ArgumentTypeError, GraphError, type_name, warn
from . import source
from .bind import wrap
from .callers import tensor_of
from .display import refusals
from .display.nodes import OF_NODES, CtxOf, function_node
from .display.outdated import restrict
from .inplace import bump, check_writable, rebase
from .interpret import owner, thread
from .modes import local, no_grad, set_grad_enabled, state
from .primitive import PRIMITIVES, Primitive
from .tape import Node, check_saved, count, joined, value_at
from .tensor import OutputSlot, Tensor, View, alias, version_of
from .transforms.linking import without

_new = object.__new__


class _SavedTensor:
    """One tensor given to `save_for_backward`. It keeps the tensor itself, except for a result, of
    which it keeps the array only: the node must not own a tensor that refers back to it. With
    saved-tensor hooks, it keeps what the hook packed.
    """

    __slots__ = ("edge", "index", "value")

    def __init__(self, tensor: Tensor, index: int | None, packed: Any = None) -> None:
        self.index = index
        self.value = packed or (tensor if index is None else tensor._array)
        self.edge = (tensor._node or tensor) if index is None and tensor._rg else None

    def tensor(self, node: Node) -> Any:
        """The saved value as a tensor with its place in the graph."""
        edge = self.edge
        if self.index is not None:
            edge = OutputSlot(node, self.index) if isinstance(node.shape, list) else node
        return self.value if isinstance(self.value, Tensor) else joined(self.value, edge)


class FunctionCtx:
    """What `forward` and `backward` of a Function share.

    Attributes:
        needs_input_grad: for each argument of `forward`, whether its gradient is wanted.
        saved_tensors: what `save_for_backward` kept.
    """

    __slots__ = ("__dict__", "__weakref__", "_node")

    def __init__(self) -> None:
        # what recorded the call; it does not own the ctx, but shares its `__dict__`
        self._node: Node | None = None
        self._to_save: tuple[Any, ...] = ()
        self._for_forward: tuple[Any, ...] = ()
        self._dirty: tuple[Any, ...] = ()
        self._non_differentiable: tuple[Any, ...] = ()
        self._materialize = self._materialize_non_diff_grads = True
        self._forward = False  # True while `jvp` runs
        self._fixed: set[int] = set()  # indices of the results that are not differentiable
        self.needs_input_grad: tuple[bool, ...] = ()

    def save_for_backward(self, *tensors: Any) -> None:
        """Keep tensors (inputs, results or others; None allowed) for `backward`; overwriting them
        is noticed.
        """
        self._to_save = tensors

    def save_for_forward(self, *tensors: Any) -> None:
        """Keep tensors for `jvp`."""
        self._for_forward = tensors

    def mark_dirty(self, *args: Tensor) -> None:
        """Say which inputs `forward` overwrote; they must be among the results."""
        self._dirty = refusals.only_tensors(
            args, "mark_dirty can only accept variables, but argument "
        )

    def mark_non_differentiable(self, *args: Tensor) -> None:
        """Say which results have no gradient."""
        self._non_differentiable = refusals.only_tensors(
            args, "mark_non_differentiable only accepts variable arguments, but got "
        )

    def set_materialize_grads(self, value: bool) -> None:
        """Whether `backward` gets zeros (True, the default) or None for results that no gradient
        reached.
        """
        self._materialize = bool(value)

    @property
    def saved_tensors(self) -> tuple[Any, ...]:
        """The tensors kept for backward, joined to the graph."""
        if self._forward and self._for_forward:
            return self._for_forward
        node = self._node
        if node is None:
            return self._to_save or self._for_forward
        check_saved(node)
        return tuple([kept and kept.tensor(node) for kept in (node.saved or ((),))[0]])

    # The interface of a node: in PyTorch, ctx is the node itself.
    def name(self) -> str:
        """The node's name."""
        return type(self).__name__ if self._node is None else self._node.name()

    def __getattr__(self, name: str) -> Any:
        if name not in OF_NODES:
            raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")
        return getattr(self._node, name, ())


class _FunctionPrimitive(Primitive):
    """The record of a Function subclass: its gradient rule calls the user's `backward`."""

    keep_none_grads = True

    def __init__(self, cls: Any) -> None:
        self.partial_backward = getattr(cls, "partial_backward", None)
        super().__init__(
            name=cls.__name__,
            variadic=True,
            forward=cls.forward,
            vjp=cls.backward,
            grad_name=cls.__name__ + "Backward",
        )
        self.cls = cls
        self.entries = (("custom", 0),)
        self.versioned = ()
        self.saves_nothing = False

    def plan(self, needs: tuple[bool | None, ...]) -> Any:
        return self

    def variant(self, node: Node) -> tuple[str, tuple[int, ...]]:
        """As in PyTorch, the node shows an edge for each tensor argument."""
        return self.grad_name, node.params["tensors"]

    def backward(self, F: Any, g: Any, s: Any, p: dict[str, Any]) -> tuple[Any, ...]:
        """Run the user's backward. It gets and returns Tensors, also when the namespace `F` is raw."""
        ctx = p["ctx"]()
        node = ctx._node
        several = isinstance(g, tuple)
        grads = []
        for k, gk in enumerate(g if several else (g,)):
            if (
                gk is None
                and ctx._materialize
                and (ctx._materialize_non_diff_grads or k not in ctx._fixed)
            ):
                shape, dtype = (
                    (node.shape[k], node.dtype[k]) if several else (node.shape, node.dtype)
                )
                gk = np.zeros(shape, dtype)
                gk = gk if F.raw else wrap(gk)
            grads.append(tensor_of(gk) if F.raw and gk is not None else gk)
        # with raw arrays nothing is recorded; with Tensors, the traversal has set grad mode
        with set_grad_enabled(local.grad and not F.raw):
            result = self.cls.backward(ctx, *grads)
        results = result if isinstance(result, tuple) else (result,)
        wanted = len(node.inputs)
        if len(results) > wanted and all(r is None for r in results[wanted:]):
            results = results[:wanted]
        if len(results) != wanted:
            missing = wanted - len(results)
            raise GraphError(
                f"function {self.grad_name} returned an incorrect number of gradients (expected {wanted}, got {len(results)})",
                op=self.grad_name,
                notes=[
                    f"forward took {p['names']}; backward must return one value for each of them"
                ],
                hint=f"add `{', '.join(['None'] * missing)}` to what backward returns"
                if missing > 0
                else None,
            )
        out = []
        for k, r in enumerate(results):
            if r is not None and not isinstance(r, Tensor):
                raise GraphError(f"expected Variable or None (got {type_name(r)})")
            if r is not None and node.inputs[k] is not None:
                _check_shape(self, k, r, node.inputs[k])
            out.append(r._array if F.raw and r is not None else r)
        return tuple(out)


def _check_shape(op: Any, k: int, g: Tensor, edge: Any) -> None:
    shape = value_at(edge)[0]
    a = tuple(g._array.shape)
    if a == tuple(shape):
        return
    extra = len(a) - len(shape)
    if extra < 0 or any(s not in (1, a[i + extra]) for i, s in enumerate(shape)):
        raise GraphError(
            f"Function {op.grad_name} returned an invalid gradient at index {k} - got {list(a)} but expected shape compatible with "
            f"{list(shape)}",
            op=op.grad_name,
        )


class _FunctionMeta(type):
    def __init__(cls, name: str, bases: tuple[type, ...], attributes: dict[str, Any]) -> None:
        super().__init__(name, bases, attributes)
        cls._record: Any = None


class Function(FunctionCtx, metaclass=_FunctionMeta):
    """Base class of custom differentiable operations.

    Define `forward(ctx, *args)` and `backward(ctx, *grad_outputs)`, or `forward(*args)` with
    `setup_context(ctx, inputs, output)`; use it through `apply`. `jvp(ctx, *tangents)` adds forward
    mode, `vmap(info, in_dims, *args)` batching.

    >>> import pellucid as torch
    >>> class Cube(torch.autograd.Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         ctx.save_for_backward(x)
    ...         return x ** 3
    ...     @staticmethod
    ...     def backward(ctx, g):
    ...         x, = ctx.saved_tensors
    ...         return g * 3 * x ** 2
    >>> x = torch.tensor(2.0, requires_grad=True)
    >>> Cube.apply(x).backward()
    >>> x.grad
    tensor(12.)
    """

    generate_vmap_rule = False

    @staticmethod
    def forward(*args: Any, **kwargs: Any) -> Any:
        """Compute the result; defined by the subclass."""
        raise NotImplementedError(
            "You must implement the forward function for custom autograd.Function."
        )

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> Any:
        """Save what backward needs, in the style where `forward` takes no ctx."""
        raise NotImplementedError("setup_context is not implemented.")

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> Any:
        """Return a gradient, or None, for each argument of forward; defined by the subclass."""
        raise NotImplementedError(
            "You must implement either the backward or vjp method for your custom autograd.Function to use it with backward mode AD."
        )

    @staticmethod
    def jvp(ctx: Any, *grad_inputs: Any) -> Any:
        """Return the tangents of the results; defined by the subclass for forward mode."""
        raise NotImplementedError(
            "You must implement the jvp function for custom autograd.Function to use it with forward mode AD."
        )

    @staticmethod
    def vmap(info: Any, in_dims: Any, *args: Any) -> Any:
        """Run forward on a batch, and return the result with where its batch dimension is; defined
        by the subclass.
        """
        raise NotImplementedError(
            "To use autograd.Function with vmap, you must either override the vmap static method or set generate_vmap_rule=True."
        )

    @classmethod
    def apply(cls, *args: Any, **kwargs: Any) -> Any:
        """Run forward on the arguments and record the operation."""
        own = owner(args, "apply")
        return _apply(cls, args, kwargs) if own is None else own(_apply, cls, args, kwargs)


def _apply(cls: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    vjp = getattr(cls, "vjp", None)
    if vjp is not None and cls.backward is Function.backward:
        cls.backward = staticmethod(vjp)
    op = cls._record
    if op is None:
        op = cls._record = _FunctionPrimitive(cls)
    ctx = _ctx_type(cls)()
    split = cls.setup_context is not Function.setup_context
    if local.transforms and not split and local.role == "forward":
        raise GraphError(
            "In order to use an autograd.Function with functorch transforms (vmap, grad, jvp, jacrev, ...), it must override "
            "the setup_context staticmethod. For more details, please see "
            "https://pytorch.org/docs/main/notes/extending.func.html"
        )
    if kwargs or (split and cls.forward.__defaults__):
        bound = refusals.bound(cls.forward, args if split else (ctx, *args), kwargs)
        bound.apply_defaults()
        args = bound.args if split else bound.args[1:]
    needs = tuple(isinstance(x, Tensor) and x._rg for x in args)
    recording = True in needs and local.grad
    ctx.needs_input_grad = needs
    # `forward` gets the arguments themselves, so a result that is an argument can be recognized. It
    # computes no tangents, which `jvp` does.
    with no_grad(), without("carriers") if state.slow else nullcontext():
        if split:
            result = cls.forward(*args)
            cls.setup_context(ctx, args, result)
        else:
            result = cls.forward(ctx, *args)
    several = isinstance(result, (tuple, list))
    outs = list(result) if several else [result]
    inputs = {id(x) for x in args if isinstance(x, Tensor)}
    for t in ctx._dirty:
        if not any(o is t for o in outs):
            raise GraphError(
                "Some elements marked as dirty during the forward method were not returned as output. The inputs that are modified "
                "inplace must all be outputs of the Function."
            )
    dirty = _dirty_inputs(ctx, inputs, len(outs) if recording else 1)
    still = {id(t) for t in ctx._non_differentiable}
    for k, o in enumerate(outs):
        if (
            isinstance(o, Tensor)
            and id(o) not in dirty
            and (id(o) in inputs or o._rg or o._view is not None)
        ):
            fresh = alias(o, type(o) if type(o).__name__ != "Parameter" else Tensor)
            _mark_view(fresh, o, "multi" if recording and len(outs) - len(still) > 1 else "custom")
            if id(o) in still:
                still.add(id(fresh))
            ctx._to_save = tuple(
                fresh if s is o and id(o) not in inputs else s for s in ctx._to_save
            )
            outs[k] = fresh
    ctx._fixed = {
        k
        for k, o in enumerate(outs)
        if not isinstance(o, Tensor) or id(o) in still or o._array.dtype.kind in "biu"
    }
    if recording:
        _record(op, ctx, args, needs, outs, several, dirty, still)
    elif dirty:
        for t in ctx._dirty:
            bump(t, cls.__name__)
    answer = (
        (type(result)(outs) if isinstance(result, list) else tuple(outs)) if several else outs[0]
    )
    if state.slow:
        for step in thread.stack.ran:
            step(op, args, {"ctx": lambda: ctx}, answer, None)
    return answer


def _mark_view(fresh: Tensor, o: Tensor, kind: str) -> None:
    """Mark a result that is a view, or an unchanged input, as a view that must not be written to:
    its gradient is computed by the Function, which does not know of the write.
    """
    if fresh.is_inference():
        return
    old = o._view or View(o, (), kind)
    fresh._view = View(old.base, old.chain or ((PRIMITIVES["alias"], {}, None),), kind)
    fresh._rg = o._rg
    restrict(fresh)


def _dirty_inputs(ctx: Any, inputs: set[int], results: int) -> set[int]:
    """The ids of the inputs that `forward` overwrote."""
    for t in ctx._dirty:
        if id(t) not in inputs:
            warn(refusals.NO_INPUT)
        elif t._view is not None and results > 1 and local.grad:
            raise GraphError(refusals.VIEW_OVERWRITTEN)
    return {id(t) for t in ctx._dirty} & inputs


def _record(
    op: Any,
    ctx: Any,
    args: tuple[Any, ...],
    needs: tuple[bool, ...],
    outs: list[Any],
    several: bool,
    dirty: set[int],
    still: set[int],
) -> None:
    for o in [o for o in outs if id(o) in dirty and id(o) not in still]:
        # may change the arguments' nodes, which are read below
        check_writable(o, op.name, "has been")
    node: Node = _new(function_node(op.grad_name))
    node.__dict__ = ctx.__dict__  # type: ignore[misc]
    node.op = node.plan = op
    places = tuple([k for k, x in enumerate(args) if isinstance(x, Tensor)])
    node.params = {
        "ctx": CtxOf(node, ctx),
        "tensors": places,
        "names": ", ".join(_argument_names(op.cls, len(args))),
    }
    node.inputs = tuple(
        [(x._node or x) if need else None for x, need in zip(args, needs, strict=True)]
    )
    arrays = [o._array if isinstance(o, Tensor) else np.empty(0) for o in outs]
    node.shape = [a.shape for a in arrays] if several else arrays[0].shape
    node.dtype = [a.dtype for a in arrays] if several else arrays[0].dtype
    node.seq = count()
    node.ext = None
    node.source = source.capture(4)
    for step in thread.stack.recorded:
        step(node)
    kept: list[Any] = []
    versions = []
    for position, t in enumerate(ctx._to_save):
        if t is None:
            kept.append(None)
            continue
        if not isinstance(t, Tensor):
            raise ArgumentTypeError(
                f"save_for_backward can only save variables, but argument {position} is of type {type(t).__name__}"
            )
        index = next((k for k, o in enumerate(outs) if o is t), None)
        if thread.stack.save:
            with no_grad():
                kept.append(_SavedTensor(t, index, thread.stack.save[-1](t._array)))
            continue
        kept.append(_SavedTensor(t, index))
        versions.append(version_of(t))
    node.saved = (kept,) if kept else ()
    node.versions = tuple(versions)
    for k, o in enumerate(outs):
        if (
            not isinstance(o, Tensor)
            or id(o) in still
            or not (o.dtype.is_floating_point or o.dtype.is_complex)
        ):
            continue
        edge = OutputSlot(node, k) if several else node
        if id(o) in dirty:
            bump(o, op.name)
            rebase(o, edge)
        else:
            o._node, o._rg = edge, True
    node.total = sum(v.count for v in versions)
    ctx._node = node
    ctx._to_save = ()
    ctx._dirty = ctx._non_differentiable = ()


@functools.cache
def _ctx_type(cls: type) -> type:
    """The class of the ctx. Its name is the Function's, as in PyTorch."""
    return type(cls.__name__ + "Backward", (FunctionCtx,), {"_forward_cls": cls})


def _argument_names(cls: Any, n: int) -> list[str]:
    names = list(inspect.signature(cls.forward).parameters)
    if cls.setup_context is Function.setup_context:
        names = names[1:]
    return names[:n] + [f"argument {k}" for k in range(len(names), n)]


class _NotDifferentiable(Function):
    """The last node behind `once_differentiable`: differentiating it raises an error."""

    @staticmethod
    def forward(ctx: Any, *tensors: Any) -> Any:
        return tuple(t.detach() if isinstance(t, Tensor) else t for t in tensors)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        raise GraphError(
            "trying to differentiate twice a function that was marked with @once_differentiable"
        )


def once_differentiable(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Decorator for `backward`: differentiating its result again raises an error."""

    @functools.wraps(fn)
    def wrapper(ctx: Any, *grads: Any) -> Any:
        with no_grad():
            outputs = fn(ctx, *grads)
        if not local.grad or not any(isinstance(g, Tensor) and g._rg for g in grads):
            return outputs
        several = isinstance(outputs, tuple)
        values = outputs if several else (outputs,)
        tensors = [
            v.detach().requires_grad_()
            if isinstance(v, Tensor) and v.dtype.is_floating_point
            else v
            for v in values
        ]
        refused = _NotDifferentiable.apply(*tensors)
        return refused if several else refused[0]

    return wrapper


class InplaceFunction(Function):
    """Old base class for functions with an in-place variant; the same as Function."""

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace
