"""Writing to tensors: checks, version counters, and the graph rewritten so that views and bases see
the write.

An in-place operation is its out-of-place form followed by `overwrite`: the result's values are
copied into the tensor's own memory, the write counter goes up, and the tensor takes the result's
place in the graph. When the tensor is a view, its base becomes the result of a `copy_slices` node
(the old base with the viewed part replaced), and every live view is replayed from the new base.
"""

from __future__ import annotations

import weakref
from collections import OrderedDict
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from ..arrays import numpy_cpu
from ..arrays.numpy_cpu import namespace_of, overlaps_itself, with_places, written
from ..dtypes import BY_NUMPY, can_cast
from ..errors import (
    ArgumentTypeError,
    DtypeError,
    GraphError,
    OperationError,
    ShapeError,
    resized,
    type_name,
    warn,
)
from . import observe, source, tracing
from .bind import OPERANDS, record
from .display import examples, overwritten, packing, refusals
from .display.gone import UNSHARED, references
from .display.outdated import outdate, outdate_all, reattaches, refusal
from .interpret import owner, thread
from .modes import enable_grad, local, no_grad, state
from .primitive import TENSORS, defop
from .tape import joined
from .tensor import (
    FAST_TYPES,
    OutputSlot,
    Tensor,
    View,
    hand_out_copies,
    make_tensor,
    node_of,
    version_of,
    views_of,
)
from .transforms.capturing import check_own

Chain = tuple[tuple[Any, dict[str, Any], int | None], ...]


def replay(xp: Any, array: Any, chain: Chain) -> Any:
    """The view of an array that a chain of view operations describes, or a copy where the array
    lies so that it has none.
    """
    for op, params, index in chain:
        array = (
            xp.reshape(array, params["shape"])
            if op.name == "view"
            else op.run_forward(xp, (array,), params)
        )
        array = array if index is None else array[index]
    return array


def replay_tensor(F: Any, value: Any, chain: Chain, view: str = "view") -> Any:
    """As `replay`, through the operations of a namespace; `view` may be "reshape" for a value that
    lies otherwise than the base.
    """
    # around a gradient in memory lie others
    value = F.clone(value) if any(op.name == "as_strided" for op, _, _ in chain) else value
    for op, params, index in chain:
        value = getattr(F, view if op.name == "view" else op.name)(value, **params)
        value = value if index is None else value[index]
    return value


def _copy_slices(xp: Any, base: Any, part: Any, *, chain: Chain) -> Any:
    out = xp.copy(base)
    window = replay(xp, out, chain)
    if type(out) is not np.ndarray or np.may_share_memory(window, out) or not window.size:
        window[...] = part
    else:
        # `view` or `as_strided` of a base that lay in memory otherwise than this copy: find the
        # places by their numbers; what lies outside of the base counts as 0
        out = with_places(
            out, replay(xp, np.arange(1, out.size + 1).reshape(out.shape), chain), part
        )
    return out


copy_slices = defop(
    "copy_slices",
    "base part",
    forward=_copy_slices,
    aval=lambda base, part, chain: base,
    vjp={
        "base": lambda F, g, part_shape, part_dtype, chain: F.copy_slices(
            g, F.full(shape=part_shape, value=0, dtype=part_dtype), chain=chain
        ),
        "part": lambda F, g, chain: replay_tensor(F, refusals.within(g, chain), chain, "reshape"),
    },
    jvp="linear",
    grad_name="CopySlices",
    onnx=lambda c: c.part_written(),
)


# A tensor after a constant was written over all of it.
replaced = defop(
    "replaced",
    "input",
    forward=lambda xp, x: xp.copy(x),
    aval=lambda x: x,
    vjp={
        "input": lambda F, input_shape, input_dtype: F.full(
            shape=input_shape, value=0, dtype=input_dtype
        )
    },
    grad_name="CopyBackwards",
    variant=lambda n: ("CopyBackwards", (0, 1)),
    traits="masks copies",
    onnx="Identity",
)


# A leaf whose saved value went through hooks that may have changed it.
unpacked = defop(
    "unpacked",
    "input",
    forward=lambda xp, x, *, value: value,
    aval=lambda x, *, value: x,
    vjp={"input": lambda g: g},
    grad_name="Alias",
    traits="passes",
)


def check_writable(t: Tensor, name: str, was: str = "is being") -> None:
    """Raise PyTorch's error when writing to `t` is refused; nothing has been written yet, but by a
    custom Function (`was`).
    """
    check_own(t)
    view = t._view if t._view is not None and t._view.kind != "bits" else None
    if local.grad and (t._rg or view is not None and view.base._rg):
        if view is not None:
            check_view(t, name)
        if (
            # Of a view: of its base, or of a view that was made a leaf. A batch has its place in
            # the graph in what holds it.
            t._node is None and t.is_leaf if view is None else view.base._node is None
        ):
            raise GraphError(
                f"a {'view of a ' if view else ''}leaf Variable that requires grad {'is being' if view else was} used in an in-place operation.",
                op=name,
                hint="clone() the leaf first, or wrap the update in `with torch.no_grad():`"
                if view
                else "wrap the update in `with torch.no_grad():`, or write `x = x + 1` to make a new tensor",
            )
    check_mode(t, name)
    if local.grad and t._rg and view and "as_strided" in [op.name for op, _, _ in view.chain]:
        reattach(t)  # it may show more than what it was made of: the write reads the base
    for step in thread.stack.writes:
        step(t)


def is_written_directly(t: Any) -> bool:
    """True for a plain tensor in order with data that wants no gradient and is no view, while
    nobody watches: a write to it is a write to its memory and a count.
    """
    return (
        type(t) in FAST_TYPES
        and not state.slow
        and state.born is None
        and t._view is None is t._x
        and (t._ver is None or t._ver.borrowers is None)
        and type(a := t._array) is np.ndarray
        and a.flags.carray
        and not (t._rg and local.grad)
    )


def check_mode(t: Tensor, name: str) -> None:
    """Refuse to write to a tensor of inference mode outside of it; then whoever borrows the memory
    takes a copy.
    """
    if t._x is not None and t._x.get("inference") and not local.inference:
        raise GraphError(
            "Inplace update to inference tensor outside InferenceMode is not allowed.You can make a clone to get a normal tensor "
            "before doing inplace update.See https://github.com/pytorch/rfcs/pull/17 for more details.",
            op=name,
        )
    if t._ver is not None and t._ver.borrowers is not None:
        hand_out_copies(t._ver)


def check_view(t: Tensor, name: str) -> None:
    """Raise PyTorch's error for a view that must not be written to while the write is recorded."""
    if t._view is not None and t._view.kind not in ("grad", "bits"):
        raise GraphError(refusal(t._node, t._view.kind), op=name)


def check_overlap(array: np.ndarray) -> None:
    """Raise PyTorch's error for writing through an expanded tensor."""
    if overlaps_itself(array):
        raise OperationError(
            "unsupported operation: more than one element of the written-to tensor refers to a single memory location. Please "
            "clone() the tensor before performing the operation."
        )


def check_out(out: Any, arguments: tuple[Any, ...], exact: bool = False) -> None:
    """Refuse an `out=` that overlaps itself or, in part (`exact`: at all), a tensor that is read."""
    if isinstance(out, Tensor) and type(out._array) is np.ndarray:
        check_overlap(out._array)
        check_read(
            out,
            [
                x
                for given in arguments
                for x in (given if type(given) in (list, tuple) else (given,))
            ],
            exact,
        )


def check_read(t: Tensor, read: Iterable[Any], exact: bool = False) -> None:
    """Refuse a write to `t` that would change, in part (`exact`: at all), a tensor that the
    operation reads.
    """
    for x in read:
        if isinstance(x, Tensor) and (
            exact if x is t else numpy_cpu.overlaps(t._array, x._array, exact)
        ):
            raise OperationError(refusals.SHARED)


def bump(t: Tensor, name: str) -> None:
    """Count a write to `t` and remember who did it; the line only where somebody has the counter
    beside the tensor: a node that kept the value, or a view. Nobody else asks for it.
    """
    version = t._ver or version_of(t)
    version.count += 1
    if version.restricted is not None:
        outdate_all(version)
    version.writer = (name, source.capture(4) if references(version) > UNSHARED else None)


def overwrite(t: Tensor, result: Tensor, name: str) -> Tensor:
    """`t` takes the values and the place in the graph of `result`; returns `t`.

    The caller has run the out-of-place operation; nothing of `t` has been changed yet, so every
    refusal leaves it as it was.
    """
    a, r = t._array, result._array
    if (
        type(a) is np.ndarray is type(r)
        and r.dtype is a.dtype
        and r.shape == a.shape
        and is_written_directly(t)
        and not (result._rg and local.grad)
        and type(result) in FAST_TYPES
    ):
        a[...] = r
        bump(t, name)
        return t
    if type(result) not in FAST_TYPES or type(t) not in FAST_TYPES:
        own = owner((result, t), "write")
        if own is not None:
            return own(overwrite, t, result, name)
    check_writable(t, name)
    check_overlap(a)
    if r.shape != a.shape:
        raise ShapeError(
            f"output with shape {list(a.shape)} doesn't match the broadcast shape {list(r.shape)}",
            op=name,
            hint=f"an in-place operation cannot change the shape of its tensor; use the out-of-place form of {name}",
        )
    if r.dtype != a.dtype and not can_cast(BY_NUMPY[r.dtype], BY_NUMPY[a.dtype]):
        raise DtypeError(
            f"result type {BY_NUMPY[r.dtype].scalar_type_name} can't be cast to the desired output type "
            f"{BY_NUMPY[a.dtype].scalar_type_name}",
            op=name,
        )
    node = None
    if result._rg and local.grad:
        check_view(t, name)
        if r.dtype != a.dtype:
            result = TENSORS.cast(result, dtype=a.dtype)
        node = result._node
        _save_own(node, r, a, t)
    memory = written(a, name)
    if memory is not None:
        namespace_of(memory).copyto(memory, r, casting="unsafe")
    bump(t, name)
    if node is not None:
        _resave(node, t)
    _after(t, name, node, result)
    return t


def _save_own(node: Any, r: np.ndarray, a: np.ndarray, t: Tensor) -> None:
    """Settle what the node keeps of the tensor about to be written.

    Its old value is about to be lost, so the node gets a copy of it; its new value is the result,
    so the node keeps the tensor's own memory instead of a second copy.
    """
    node = node_of(node)
    if not node.saved or t.is_meta:
        return
    shares = namespace_of(a).may_share_memory
    if any(type(v) is type(a) and (v is a or shares(v, a)) and v is not r for v in node.saved):
        node.saved = tuple(
            [
                tracing.copied(v) if type(v) is type(a) and v is not r and shares(v, a) else v
                for v in node.saved
            ]
        )
        kept = [v for v in node.versions if v is not t._ver]
        node.versions, node.total = tuple(kept), sum(v.count for v in kept)
    if r.dtype == a.dtype and any(v is r for v in node.saved):
        node.saved = tuple([a if v is r else v for v in node.saved])
        node.extra()["own"] = True


def _resave(node: Any, t: Tensor) -> None:
    """The write just counted is the one that made the saved value: it is not an overwriting."""
    node = node_of(node)
    if node.ext is not None and node.ext.pop("own", False):
        node.versions = (*node.versions, version_of(t))
        node.total += version_of(t).count


def write(t: Tensor, name: str, op: Any, others: tuple[Any, ...], params: dict[str, Any]) -> Tensor:
    """In-place form of an operation whose record can write directly into its first argument
    (`op.inplace`).

    The record's gradient rules must not need the old value of the first argument, nor the result's.
    """
    check_writable(t, name)  # before numbers are drawn for it
    if local.grad and t._view is not None and any(isinstance(x, Tensor) and x._rg for x in others):
        check_view(t, name)
    if type(t._array) is np.ndarray:
        check_overlap(t._array)
    plain = type(t) in FAST_TYPES and not (op.host and type(t._array) is not np.ndarray)
    if (
        state.slow
        or not plain
        or any(isinstance(x, Tensor) and type(x) not in FAST_TYPES for x in others)
    ):
        return overwrite(t, packing.before_write(op.call)(t, *others, **params), name)
    memory = written(t._array, name)
    if memory is not None:
        xp = namespace_of(memory)
        op.inplace(
            xp,
            memory,
            *[xp.from_host(x._array) if isinstance(x, Tensor) else x for x in others],
            **params,
        )
    needs = (t._rg, *[isinstance(x, Tensor) and x._rg for x in others])
    node = None
    if True in needs and local.grad and t.dtype.is_floating_point | t.dtype.is_complex:
        node = record(op, (t, *others), needs, params, [t])
    bump(t, name)
    if node is not None:
        # Saved inputs that share memory with t are judged by the counter as usual; the record
        # promised not to keep t itself.
        node.total = sum(v.count for v in node.versions)
    _after(t, name, node, None)
    return t


def _after(t: Tensor, name: str, node: Any, result: Tensor | None) -> None:
    take_place(t, overwritten.named(node, name))
    if state.slow:
        for step in thread.stack.wrote:
            step(t, result)
        if observe.observers:
            observe.notify("inplace", name, t, result)


def take_place(t: Tensor, node: Any) -> None:
    """Give `t`, which was written to, the place in the graph of what made its values; None: nothing
    that is differentiated.
    """
    if node is not None:
        rebase(t, node)
    elif t._rg and local.grad:
        # Overwritten by something that needs no gradient: nothing flows to the old value from here
        # on.
        if (view := t._view) is None and t._node is not None:
            t._node = record(replaced, (t,), (True,), {}, [t])
            refresh_views(t)
        elif view is not None and view.kind in ("grad", "multi"):
            _write_part(view, make_tensor(t._array))


def rebase(t: Tensor, node: Any) -> None:
    """Make `node` the producer of `t`, and of the part of the base that `t` views."""
    view = t._view
    if view is not None and view.kind in ("grad", "multi"):
        _write_part(view, joined(t._array, node))
    else:
        _move_retained(t, node)
        t._node, t._rg = node, True
        refresh_views(t)


def _write_part(view: View, part: Tensor) -> None:
    """Give the base of a view its place in the graph after `part` was written through the view."""
    base, params = view.base, {"chain": view.chain}
    base._node = record(copy_slices, (base, part), (base._rg, part._rg), params, [base])
    base._rg = True
    refresh_views(base)


def _move_retained(t: Tensor, node: Any) -> None:
    """The gradient that `retain_grad` keeps is that of the tensor's new value."""
    if t._x is None or not t._x.get("retains") or node is None:
        return
    old, k = (t._node.node, t._node.index) if type(t._node) is OutputSlot else (t._node, 0)
    new, n = (node.node, node.index) if type(node) is OutputSlot else (node, 0)
    hooks = (old.ext or {}).get("tensor_hooks", {}).get(k)
    keep = None if hooks is None else hooks.pop(RETAIN, None)
    if keep is not None:
        new.extra().setdefault("tensor_hooks", {}).setdefault(n, OrderedDict())[RETAIN] = keep


RETAIN = -1  # the key of `retain_grad` among a tensor's hooks


def refresh_views(base: Tensor) -> None:
    """Give every live view of `base`, which has got a new node, its place in the graph anew."""
    made = node_of(base._node)
    version_of(base).node = made and (weakref.ref(made), type(made))
    for view in views_of(base):
        (reattach if view._view.kind == "grad" else outdate)(view)


@reattaches
def reattach(view: Any) -> None:
    """Give a view its place in the graph anew: that of a view of its base as it is now."""
    if view._view is None or view._view.kind != "grad":
        return
    with enable_grad():
        fresh = replay_tensor(TENSORS, view._view.base, view._view.chain)
    _move_retained(view, fresh._node)
    view._node, view._rg = overwritten.regenerated(fresh, view._view.base), fresh._rg


def inplace_form(function: Callable[..., Tensor], name: str) -> Callable[..., Tensor]:
    """The in-place form (`name_`) of an out-of-place function whose first argument is the tensor."""
    # matrix products are computed before anything is written
    by_elements = not name.endswith(("mm_", "mv_"))
    operator = name.startswith("__i")

    def method(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        if not isinstance(self, Tensor):
            raise ArgumentTypeError(
                f"{name}(): argument 'input' (position 1) must be Tensor, not {type_name(self)}"
            )
        if operator and not isinstance(args[0] if args else self, OPERANDS):
            return NotImplemented  # Python asks the other operand next
        if not is_written_directly(self):
            check_writable(self, name)
        if by_elements:
            check_read(self, (*args, *kwargs.values()) if kwargs else args)
        try:
            result = (packing.before_write(function) if state.slow else function)(
                self, *args, **kwargs
            )
        except NotImplementedError:
            refusals.check_castable(self, function.__name__, (self, *args))
            raise
        return overwrite(self, result, name)

    method.__name__, method.__qualname__ = name, f"Tensor.{name}"
    method.__doc__ = examples.of_inplace(function.__name__, name, function.__doc__)
    return method


def into(out: Tensor, result: Tensor, name: str, read: tuple[Any, ...] = ()) -> Tensor:
    """The `out=` form: write `result`, made of `read`, into `out`, resizing it when its shape
    differs.
    """
    if not isinstance(out, Tensor):
        raise ArgumentTypeError(f"{name}(): argument 'out' must be Tensor, not {type_name(out)}")
    refusals.outside_graphs(name, out, result, *read)
    if state.slow and any(
        isinstance(x, Tensor) and (x._x or {}).get("tangents") for x in (out, result, *read)
    ):
        raise NotImplementedError(refusals.OUT.format(name))
    check_mode(out, name)
    for step in thread.stack.writes:
        step(out)
    r, a = result._array, out._array
    if r.dtype != a.dtype and not can_cast(BY_NUMPY[r.dtype], BY_NUMPY[a.dtype]):
        raise DtypeError(
            f"result type {BY_NUMPY[r.dtype].scalar_type_name} can't be cast to the desired output type "
            f"{BY_NUMPY[a.dtype].scalar_type_name}",
            op=name,
        )
    if r.shape != a.shape:
        if a.size:
            warn(resized(a.shape, r.shape))
        out._array = numpy_cpu.resized(a, r.shape, r)
    check_overlap(out._array)
    with no_grad():
        memory = written(out._array, name)
        if memory is not None:
            namespace_of(memory).copyto(memory, r, casting="unsafe")
    bump(out, name)
    _after(out, name, None, result)
    return out
