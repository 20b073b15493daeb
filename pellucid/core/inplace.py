"""In-place writes: checks, version counters, and the changes to the graph that let views and bases
see the write.

An in-place operation is its out-of-place form followed by `overwrite`: the result's values are
copied into the tensor's own memory, the version counter goes up, and the tensor takes the result's
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
from ..arrays.halves import storable
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
    ExposedVersion,
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
    """Apply a chain of view operations to an array. The result is a view of the array, or a copy if
    the array's strides do not allow that view.
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
    """As `view_again`, on a value like the base, such as its gradient. `view="reshape"` is for a
    value whose strides differ from the base's, of which `view` may be impossible.
    """
    # `as_strided` could reach beyond the gradient, into the memory of other values
    value = F.clone(value) if any(op.name == "as_strided" for op, _, _ in chain) else value
    return view_again(F, value, chain, view)


def view_again(F: Any, value: Any, chain: Chain, view: str = "view") -> Any:
    """As `replay`, on a value of the namespace `F`."""
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
        # A `view` or `as_strided` of a base whose strides differ from this copy's. Number the
        # elements to find the places to write; places outside of the base have the number 0.
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


# The node of a tensor that was entirely overwritten by a constant.
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


# The node before a leaf whose saved value went through hooks that may have changed it.
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
    """Raise PyTorch's error if `t` must not be written to.

    The check runs before the write, except for a custom Function, whose `forward` has written
    already; `was` is the wording for that case.
    """
    check_own(t)
    view = t._view if t._view is not None and t._view.kind != "bits" else None
    if local.grad and (t._rg or view is not None and view.base._rg):
        if view is not None:
            check_view(t, name)
        if (
            # For a view, its base decides (or the view itself, if it was made a leaf). A batched
            # tensor has its node in the tensor that it wraps.
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
        # `as_strided` may show more of the base than the view it was applied to, so the write reads
        # the base
        reattach(t)
    for step in thread.stack.writes:
        step(t)


def is_written_directly(t: Any) -> bool:
    """Whether writing to `t` takes no more than writing to its memory and counting the write.

    This holds for a plain contiguous tensor with data that needs no gradient and is no view, while
    no interpreters or observers are active.
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
    """Raise PyTorch's error for a write to an inference tensor outside of inference mode. Then let
    nodes that borrow the memory take their copy.
    """
    past_the_counter = type(t._ver) is ExposedVersion  # from `.data`
    if t._x is not None and t._x.get("inference") and not (local.inference or past_the_counter):
        raise GraphError(
            "Inplace update to inference tensor outside InferenceMode is not allowed.You can make a clone to get a normal tensor "
            "before doing inplace update.See https://github.com/pytorch/rfcs/pull/17 for more details.",
            op=name,
        )
    if t._ver is not None and t._ver.borrowers is not None:
        hand_out_copies(t._ver)


def check_view(t: Tensor, name: str) -> None:
    """Raise PyTorch's error if `t` is a view that must not be written to while the write is
    recorded.
    """
    if t._view is not None and t._view.kind not in ("grad", "bits"):
        raise GraphError(refusal(t._node, t._view.kind), op=name)


def check_overlap(array: np.ndarray) -> None:
    """Raise PyTorch's error if elements of the written array share memory, as those of an expanded
    tensor do.
    """
    if overlaps_itself(array):
        raise OperationError(
            "unsupported operation: more than one element of the written-to tensor refers to a single memory location. Please "
            "clone() the tensor before performing the operation."
        )


def check_out(out: Any, arguments: tuple[Any, ...], exact: bool = False) -> None:
    """Raise PyTorch's error for an `out=` tensor that overlaps itself, or overlaps an argument
    partly (with `exact`: in any way).
    """
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
    """Raise PyTorch's error if writing to `t` would partly (with `exact`: in any way) overwrite a
    tensor that the operation reads.
    """
    for x in read:
        if isinstance(x, Tensor) and (
            exact if x is t else numpy_cpu.overlaps(t._array, x._array, exact)
        ):
            raise OperationError(refusals.SHARED)


def bump(t: Tensor, name: str) -> None:
    """Count a write to `t`, and remember the operation for error messages. The line is captured
    only if a node or a view shares the counter, since nothing else reports it.
    """
    version = t._ver or version_of(t)
    version.count += 1
    if version.restricted is not None:
        outdate_all(version)
    version.writer = (name, source.capture(4) if references(version) > UNSHARED else None)


def overwrite(t: Tensor, result: Tensor, name: str) -> Tensor:
    """Give `t` the values of `result` and its place in the graph; returns `t`.

    The caller has run the out-of-place operation and has not changed `t` yet, so an error leaves
    `t` as it was.
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
        namespace_of(memory).copyto(memory, storable(r, a.dtype), casting="unsafe")
    bump(t, name)
    if node is not None:
        _resave(node, t)
    _after(t, name, node, result)
    return t


def _save_own(node: Any, r: np.ndarray, a: np.ndarray, t: Tensor) -> None:
    """Adjust the values that the result's node saved, before `t` is overwritten.

    If the node saved the old value of `t`, it gets a copy, because the write destroys that value.
    If it saved the result, it keeps the memory of `t` instead, which will hold the same values.
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
    """Let the node of `_save_own` that keeps the memory of `t` accept the write just counted: it is
    the write that produced the saved value.
    """
    node = node_of(node)
    if node.ext is not None and node.ext.pop("own", False):
        node.versions = (*node.versions, version_of(t))
        node.total += version_of(t).count


def write(t: Tensor, name: str, op: Any, others: tuple[Any, ...], params: dict[str, Any]) -> Tensor:
    """In-place form of an operation whose record can write directly into its first argument
    (`op.inplace`).

    The record's gradient rules must not need the old value of the first argument, nor the result.
    """
    check_writable(t, name)  # a refused write must not advance the random generator
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
        # Saved inputs that share memory with `t` are checked by the counter as usual. The record
        # promised not to save `t` itself.
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
    """Make `node` the producer of `t` after a write. None means that the new values have no
    gradient.
    """
    if node is not None:
        rebase(t, node)
    elif t._rg and local.grad:
        # The new values need no gradient, so from here on no gradient flows to the old value.
        if (view := t._view) is None and t._node is not None:
            t._node = record(replaced, (t,), (True,), {}, [t])
            refresh_views(t)
        elif view is not None and view.kind in ("grad", "multi"):
            _write_part(view, make_tensor(t._array))


def rebase(t: Tensor, node: Any) -> None:
    """Make `node` the producer of `t`, or of the part of its base that `t` shows."""
    view = t._view
    if view is not None and view.kind in ("grad", "multi"):
        _write_part(view, joined(t._array, node))
    else:
        _move_retained(t, node)
        t._node, t._rg = node, True
        refresh_views(t)


def _write_part(view: View, part: Tensor) -> None:
    """Record on the base of a view that `part` was written through the view."""
    base, params = view.base, {"chain": view.chain}
    base._node = record(copy_slices, (base, part), (base._rg, part._rg), params, [base])
    base._rg = True
    refresh_views(base)


def _move_retained(t: Tensor, node: Any) -> None:
    """Move the hook of `retain_grad` to the new node: it keeps the gradient of the tensor's new
    value.
    """
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
    """Recompute the graph nodes of the live views of `base`, which has a new node."""
    made = node_of(base._node)
    version_of(base).node = made and (weakref.ref(made), type(made))
    for view in views_of(base):
        (reattach if view._view.kind == "grad" else outdate)(view)


@reattaches
def reattach(view: Any) -> None:
    """Recompute the node of a view by replaying it on its base as it is now."""
    if view._view is None or view._view.kind != "grad":
        return
    with enable_grad():
        fresh = replay_tensor(TENSORS, view._view.base, view._view.chain)
    _move_retained(view, fresh._node)
    view._node, view._rg = overwritten.regenerated(fresh, view._view.base), fresh._rg


def inplace_form(function: Callable[..., Tensor], name: str) -> Callable[..., Tensor]:
    """The in-place form (`name_`) of an out-of-place function whose first argument is the tensor."""
    # a matrix product is complete before anything is written, so it may read the written tensor
    by_elements = not name.endswith(("mm_", "mv_"))
    operator = name.startswith("__i")

    def method(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        if not isinstance(self, Tensor):
            raise ArgumentTypeError(
                f"{name}(): argument 'input' (position 1) must be Tensor, not {type_name(self)}"
            )
        if operator and not isinstance(args[0] if args else self, OPERANDS):
            return NotImplemented  # Python then tries the other operand
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
    """The `out=` form: write `result` into `out`, which is resized if its shape differs. `read` are
    the tensors that the result was computed from.
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
            namespace_of(memory).copyto(memory, storable(r, a.dtype), casting="unsafe")
    bump(out, name)
    _after(out, name, None, result)
    return out
