"""Run an operation: unwrap the arguments, run the forward rule, wrap the results, and append a node
to the graph if a gradient may be needed.

Each record has one `call`. It tries the fast path (plain tensors of one dtype, no interpreters or
observers) and leaves every other case, errors included, to `general`.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any
from weakref import ref as _ref

import numpy as np
from numpy import ndarray

from .. import config, dtypes
from ..arrays import layout, numpy_cpu
from ..arrays.elsewhere import HOST, NUMBERS, run_on_device, run_on_meta
from ..arrays.halves import HALVES, converted
from ..arrays.meta import MetaArray
from ..arrays.native import native_code_runs
from ..arrays.numpy_cpu import LEAST_ROWS, address, as_array, by_rows, namespace_of
from ..errors import ArgumentTypeError, facts_of, foreign, pass_on, type_name
from ..kernels.views import view_maker
from . import observe, source
from .callers import fixed_names, make_caller, make_recorder
from .callers import wrap as wrap
from .display.kernels import refuse
from .display.outdated import restrict
from .display.packing import pack, promoted
from .explain import explained, located_op
from .interpret import thread
from .modes import local, state
from .primitive import PRIMITIVES, TENSORS, Primitive, _call_makers, takes_only_arrays
from .tape import Node, count, node_type
from .tensor import (
    FAST_TYPES,
    OutputSlot,
    Parameter,
    Tensor,
    VersionCounter,
    View,
    make_tensor,
    version_of,
)

asarray = np.asarray
_new = object.__new__
_NONE: dict[str, Any] = {}  # the empty parameters of operations without parameters, shared


# ---- the callers -----------------------------------------------------------------------------
def _make_call(op: Primitive) -> Callable[..., Any]:
    if op.view and op.outputs == 1 and len(op.args) == 1:
        return _make_view(op)
    plain = (
        op.outputs == 1 and not (op.view or op.variadic or op.aux) and takes_only_arrays(op.forward)
    )
    if plain and len(op.args) == 2 and op.lies in (None, (0, 1)):
        return _make_binary(op)
    return make_caller(op, general, len(op.args), ()) if plain and _is_simple(op) else _make_any(op)


def _is_simple(op: Primitive) -> bool:
    """Whether a generated caller can run the operation: its results are new arrays, their number is
    fixed, and tensors of one dtype need no conversion.
    """
    return (
        not op.view
        and op.outputs != -1
        and (op.promote in (None, "common") or len(op.args) == 1 == op.outputs)
    )


def _make_binary(op: Primitive, operator: bool = False) -> Callable[..., Any]:
    """The caller of an operation on two arguments. With `operator=True`, it returns NotImplemented
    for operands of foreign types, so that Python tries their reflected method.
    """
    forward, spread, least = op.numpy_forward, by_rows(op.numpy_forward), LEAST_ROWS
    differentiable, lies = op.vjp is not None, op.lies is not None
    promotes = op.promote is not None
    operands = OPERANDS if promotes else Tensor  # a matrix product takes no numbers
    same_dtype, aside = op.promote == "float", op.aside
    # A ufunc raises for an array without data (MetaArray), but a rule in Python might not.
    rule = not isinstance(forward, np.ufunc)
    mixes, usual = (op.promote == "common", "fdeEFD") if op.check is None else (False, "fdeE")
    recorders: dict[tuple[bool | None, bool | None], Any] = {}

    def call(x: Any, y: Any) -> Any:
        tx = type(x)
        ty = type(y)
        if not state.slow:
            a = b = None
            if tx is Tensor or tx is Parameter:
                a = x._array
                kind = a.dtype
                if (
                    aside
                    and kind is not _FLOAT32
                    and kind is not _FLOAT64
                    and kind.char in aside
                    or rule
                    and type(a) is not ndarray
                ):
                    if operator and not isinstance(y, operands):
                        return other_type(op.name, x, y)
                    return general(op, (x, y), {})
                if ty is Tensor or ty is Parameter:
                    b = y._array
                    rg = x._rg or y._rg
                    if kind is not b.dtype or rule and type(b) is not ndarray:
                        if mixes and not rg and type(a) is ndarray is type(b):
                            return _mixed(op, x, y)
                        b = None
                elif promotes and (ty is float or ty is int):
                    if kind.char in "fdFD" or (ty is int and kind is _INT64):
                        b = y
                    elif kind in HALVES:
                        b = number_array(op, y, kind)
                    rg = x._rg
            elif promotes and (ty is Tensor or ty is Parameter) and (tx is float or tx is int):
                b = y._array
                kind = b.dtype
                if kind.char in usual and (not rule or type(b) is ndarray):
                    a = number_array(op, x, kind) if kind in HALVES else x
                    rg = y._rg
            if a is not None and b is not None:
                try:
                    r = (
                        forward(a, b)
                        if rule or a is x or b is y or a.size == b.size or a.size + b.size < least
                        else spread(a, b)
                    )
                except Exception as error:
                    pass_on(error)
                    return general(op, (x, y), {})
                if type(r) is not ndarray:
                    r = asarray(r)
                if same_dtype and r.dtype is not kind:
                    return general(op, (x, y), {})
                # The result must have PyTorch's strides, which the first operand decides. NumPy
                # gives the same strides for a C-contiguous first operand, unless it is broadcast to
                # a second operand that is not C-contiguous.
                if (
                    lies
                    and a is not x
                    and (
                        not a.flags.c_contiguous
                        or a.size != r.size
                        and b is not y
                        and not b.flags.c_contiguous
                    )
                ):
                    r = layout.laid(r, (a, b))
                elif lies and a is x and kind in HALVES and not b.flags.c_contiguous:
                    # two-byte floats: `forward` received the number as an array, and `b` alone
                    # decides
                    r = layout.laid(r, (b,))
                if rg and differentiable and local.grad:
                    needs = (
                        None if tx is float or tx is int else x._rg,
                        None if ty is float or ty is int else y._rg,
                    )
                    recorder = recorders.get(needs)
                    if recorder is None:
                        recorder = recorders[needs] = make_recorder(op, needs)
                    return recorder(x, y, r, _NONE)
                t = _new(Tensor)  # `wrap`, written out to save a call
                t._array = r
                t._node = t._grad = t._ver = t._view = t._x = None
                t._rg = False
                return t if state.born is None else state.born(t)
        if operator and not (isinstance(x, operands) and isinstance(y, operands)):
            return other_type(op.name, x, y)
        return general(op, (x, y), {})

    call.__name__ = op.name
    return call


def other_type(name: str, x: Any, y: Any) -> Any:
    """The result of an operator on an operand of a foreign type: NotImplemented, so that Python
    asks the other operand.

    `api.overriding` replaces this function once classes exist that define `__torch_function__`
    without being Tensors.
    """
    return NotImplemented


def _mixed(op: Primitive, x: Tensor, y: Tensor) -> Any:
    """Run a binary operation on two plain tensors of different dtypes that need no gradient."""
    a, b = x._array, y._array
    key = (a.dtype, b.dtype, a.ndim > 0, b.ndim > 0)
    common = _COMMON.get(key)
    if common is None:
        common = _COMMON[key] = common_dtype((x, y)).numpy
    try:
        a, b = [t if t.dtype is common else layout.laid(converted(t, common), (t,)) for t in (a, b)]
        r = asarray(op.numpy_forward(a, b))
        return wrap(layout.laid(r, (a, b)) if op.lies else r)
    except Exception as error:
        pass_on(error)
        return general(op, (x, y), {})


# (two dtypes, whether each has dimensions) -> the dtype that both are promoted to
_COMMON: dict[Any, Any] = {}
OPERANDS = (Tensor, *NUMBERS)
_INT64, _FLOAT32, _FLOAT64 = np.dtype(np.int64), np.dtype(np.float32), np.dtype(np.float64)


def make_operators(
    op: Primitive,
    name: str = "",
    commutes: bool = False,
    of_tensors: Callable[..., Any] | None = None,
) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """The methods `__op__` and `__rop__` of a binary operation.

    Args:
        op: the operation.
        name: the operator's name in error messages, if it is not the operation's.
        commutes: `__rop__` passes the tensor first as well, which also shows in the graph.
        of_tensors: called by `__rop__` when both operands are tensors.
    """
    forward = _make_binary(op, operator=True)

    def reflected(self: Any, other: Any) -> Any:
        if not isinstance(self, Tensor):
            raise foreign(f"__r{name or op.name}__", self)
        if of_tensors is not None and type(other) in FAST_TYPES:
            return of_tensors(self, other)
        return forward(self, other) if commutes else forward(other, self)

    return forward, reflected


def _make_any(op: Primitive) -> Callable[..., Any]:
    """The caller of an operation with any number of arguments, parameters and results. It generates
    one function per call signature, at the first call with that signature.
    """
    callers: dict[Any, Any] = {}
    names, simple = fixed_names(op), _is_simple(op)

    def call(*args: Any, **params: Any) -> Any:
        key = len(args) if names is not None else (len(args), *params)
        made = callers.get(key)
        if made is None:
            # a list argument may have another length at every call
            if not simple or len(args) > 16:
                return general(op, args, params)
            made = callers[key] = make_caller(
                op, general, len(args), tuple(params) if names is None else names
            )
            if names is not None and not op.variadic and op.call is call:
                op.call = made
                vars(TENSORS).pop(op.name, None)  # drop the cached `op.call`
        return made(*args, **params)

    return call


def _make_view(op: Primitive) -> Callable[..., Any]:
    """The caller of a view operation on one tensor."""
    forward: Any = op.forward

    def call(x: Any, **params: Any) -> Any:
        tx = type(x)
        if (tx is Tensor or tx is Parameter) and not state.slow and type(x._array) is ndarray:
            try:
                r = forward(numpy_cpu, x._array, **params)
            except Exception as error:
                pass_on(error)
                return general(op, (x,), params)
            if type(r) is ndarray:
                return view_result(op, x, r, params)
        return general(op, (x,), params)

    call.__name__ = op.name
    return call


LONG_CHAIN = 24


def as_one_view(a: ndarray, r: ndarray) -> Any:
    """A chain of one `as_strided` that shows the memory of `r`, a view of `a`, in place of a longer
    chain. None if the dtype changed on the way, or if there are no elements.
    """
    size = a.dtype.itemsize
    if r.dtype is not a.dtype or not r.size or any(s % size for s in (*r.strides, *a.strides)):
        return None
    params = {
        "size": r.shape,
        "stride": tuple([s // size for s in r.strides]),
        "shift": (address(r) - address(a)) // size,
        "geometry": tuple([s // size for s in a.strides]),
    }
    return ((PRIMITIVES["as_strided"], params, None),)


def views_result(
    op: Primitive, x: Tensor, arrays: list[Any], params: dict[str, Any]
) -> tuple[Tensor, ...]:
    """As `view_result`, for an operation that returns several views."""
    if x._x is not None:
        return finish(op, (x,), (x._rg,), params, arrays)
    if not (x._rg and local.grad):
        return tuple([view_result(op, x, r, params, k) for k, r in enumerate(arrays)])
    made: tuple[Tensor, ...] = (op.recorder or _view_recorder(op))(x, arrays, params)
    mark_views(made, x, op, params, True)
    return made


def _view_recorder(op: Primitive) -> Callable[..., Any]:
    op.recorder = make_recorder(op, (True,))
    return op.recorder


def mark_views(
    made: Sequence[Tensor], x: Tensor, op: Primitive, params: dict[str, Any], several: bool
) -> None:
    """Mark the results `made` as views of `x`: they share its version counter, refer to the base
    and to the chain of operations that leads from it, and the base lists them (weakly).
    """
    version = x._ver or version_of(x)
    parent = x._view
    base, chain, kind = (
        (x, (), "grad") if parent is None else (parent.base, parent.chain, parent.kind)
    )
    if kind == "grad":
        kind = ungraded() if not local.grad else "multi" if several else "grad"
    inference = x._x is not None and x._x.get("inference")
    grad = local.grad
    for k, t in enumerate(made):
        if inference:  # views of inference tensors are not tracked and need no gradient
            t._ver, t._node, t._rg, t._x = version, None, False, {"inference": True}
            continue
        if not grad:
            t._rg = x._rg and base._rg
            if t._x is not None:
                t._x.pop("inference", None)
        t._ver, t._view = version, (view := _new(View))
        view.base, view.chain, view.kind = (
            base,
            (*chain, (op, params, k if several else None)),
            kind,
        )
        restrict(t)
    if (grad or state.slow) and not inference:
        views = version.views
        if views is None:
            views = version.views = []
        elif len(views) > 32 and (len(views) + len(made)).bit_length() > len(views).bit_length():
            forget(views)
        views += map(_ref, made)


def ungraded() -> str:
    """The `kind` of a view that is made while grad mode is off."""
    return "inference" if local.inference else "no_grad"


def _view_result(
    op: Primitive, x: Tensor, r: ndarray, params: dict[str, Any], place: int | None = None
) -> Tensor:
    grad = local.grad
    if x._x is not None and "inference" in x._x:
        t = wrap(r)
        mark_views((t,), x, op, params, False)
        return t
    if x._rg and grad and op.vjp is not None:
        t = (op.recorder or _view_recorder(op))(x, r, params)
    else:
        t = _new(Tensor)
        t._array = r
        t._node = t._grad = t._x = None
        t._rg = x._rg and not grad and (x._view is None or x._view.base._rg)
    version = x._ver or version_of(x)
    t._ver = version
    t._view = view = _new(View)
    parent, step = x._view, (op, params, place)
    view.base, view.chain, view.kind = (
        (x, (step,), "grad")
        if parent is None
        else (parent.base, (*parent.chain, step), parent.kind)
    )
    if len(view.chain) > LONG_CHAIN:
        view.chain = as_one_view(view.base._array, r) or view.chain
    if view.kind == "grad" and (not grad or place is not None):
        view.kind = "multi" if grad else ungraded()
    if view.kind != "grad" and view.base._rg:  # otherwise every write is allowed
        restrict(t)
    if grad:
        views = version.views
        if views is None:
            version.views = [_ref(t)]
        elif views and views[-1]() is None:
            views[-1] = _ref(t)
        else:
            if len(views) > 32 and len(views) & (len(views) - 1) == 0:
                forget(views)
            views.append(_ref(t))
    return t


def forget(views: list[Any]) -> None:
    """Remove dead references from a base's list of views."""
    views[:] = [v for v in views if v() is not None]


def _first_views(*args: Any) -> Tensor:
    global view_result
    if config.kernels and next(_count) >= MANY * (1 if native_code_runs() else 4):
        view_result = (
            view_maker(
                _view_result,
                forget,
                local,
                {
                    "Tensor": Tensor,
                    "Parameter": Parameter,
                    "Counter": VersionCounter,
                    "View": View,
                },
                LONG_CHAIN,
            )
            or _view_result
        )
    return _view_result(*args)


# after so many views, native code makes them, if the process runs native code already (otherwise
# after four times as many)
MANY = 512
_count = itertools.count()
# `view_result(op, x, r, params)`, with the index among several results as the last argument, wraps
# `r`, which a view operation computed from the array of `x`, and records it when `x` needs a
# gradient. The caller has checked `state.slow` and the type of `x`; functions such as `__getitem__`
# compute `r` themselves.
view_result: Callable[..., Tensor] = _first_views


_call_makers.append(_make_call)


# ---- the general path ------------------------------------------------------------------------
def general(op: Primitive, args: tuple[Any, ...], params: dict[str, Any]) -> Any:
    """Run an operation in any case: through the thread's interpreters, and with observers notified."""
    below: Callable[..., Any] = execute
    for step in thread.stack.run:
        below = partial(step, below)
    for x in args:
        if type(x) not in FAST_TYPES and isinstance(x, Tensor) and x._interpreter is not None:
            below = partial(x._interpreter.run, below)
            break
    if not observe.observers:
        return below(op, args, params)
    observe.notify("operation_enter", op, args)
    made = None
    try:
        made = below(op, args, params)
        return made
    finally:
        observe.notify("operation_exit", op, args, made)


def execute(op: Primitive, args: tuple[Any, ...], params: dict[str, Any]) -> Any:
    """Run an operation below the interpreters: on tensors of any dtype, numbers and meta tensors.
    Errors get PyTorch's text and an explanation.
    """
    tensors = given = _check_types(op, args)
    tracer = thread.stack.tracer
    if op.promote is not None:
        tensors, common = _promote(op, tensors)
        if tracer is not None:
            tensors = [tracer.operand(op, x, common) for x in tensors]
    else:
        common = None
    arrays = [x._array if isinstance(x, Tensor) else x for x in tensors]
    if common is not None:
        arrays = [a if not isinstance(a, NUMBERS) else number_array(op, a, common) for a in arrays]
    kinds = {type(a) for a in arrays}
    if not kinds <= HOST and (together := _on_one_device(tensors)):
        return execute(op, together, params)
    if MetaArray in kinds:
        result = run_on_meta(op, arrays, params)
    else:
        try:
            asked = (
                [x._array if isinstance(x, Tensor) else x for x in given]
                if op.check is not None
                else []
            )
            if kinds <= HOST:
                if op.check is not None:
                    op.check(*asked, **params)
                refuse(op.name, given, arrays)
                result = (op.numpy_forward if tracer is None else tracer.forward(op, params))(
                    *arrays, **params
                )
            else:
                result = run_on_device(op, asked, arrays, params)
        except Exception as error:
            if facts_of(error) is not None:
                raise located_op(error, op, tensors) from None
            pass_on(error)
            raise (told := explained(error, op, tensors, arrays, params)) from (
                error if str(error) in str(told) else None
            )
    result, aux = result if op.aux and type(result) is tuple else (result, None)
    outs = _settle(op, result, common, arrays)
    needs = tuple(x._rg if isinstance(x, Tensor) else None for x in tensors)
    made = finish(op, tensors, needs, params, outs, aux)
    if state.slow:
        for step in thread.stack.ran:
            step(op, tensors, params, made, aux)
        if observe.observers:
            observe.notify("operation", op, tensors, params, made)
    return as_subclass(args, made)


def _on_one_device(tensors: Iterable[Any]) -> tuple[Any, ...] | None:
    """The arguments with zero-dimensional host tensors moved to the device of the others, which is
    recorded. None if no argument has to move.
    """
    place = next(
        (
            x.device.type
            for x in tensors
            if isinstance(x, Tensor) and namespace_of(x._array) is not numpy_cpu
        ),
        None,
    )
    alone = [
        isinstance(x, Tensor) and type(x._array) is np.ndarray and not x._array.ndim
        for x in tensors
    ]
    if place is None or True not in alone:
        return None
    return tuple(
        [
            TENSORS.move(x, source="cpu", target=place) if one else x
            for x, one in zip(tensors, alone, strict=True)
        ]
    )


def number_array(op: Primitive, value: Any, kind: Any) -> Any:
    """A Python number as an array of dtype `kind`, or unchanged if the operation takes numbers as
    they are. Integers out of range wrap around, as in PyTorch.
    """
    kind = np.float32 if op.numbers == "wide" and kind in HALVES else kind
    try:
        return value if op.numbers == "given" else asarray(value, kind)
    except OverflowError:
        return asarray(value).astype(kind)


def finish(
    op: Primitive,
    tensors: Any,
    needs: tuple[bool | None, ...],
    params: dict[str, Any],
    outs: Any,
    aux: Any = None,
) -> Any:
    """Wrap the result arrays as tensors, mark them as views if the operation is a view, and record
    a node if a gradient may be needed.
    """
    several = op.outputs != 1
    arrays = outs if several else (outs,)
    made = [make_tensor(a) for a in arrays]
    if True in needs and op.vjp is not None and local.grad:
        kinds = [a.dtype.kind not in "biu" for a in arrays]
        if True in kinds:
            node = record(op, tensors, needs, params, made, aux)
            for k, (t, floating) in enumerate(zip(made, kinds, strict=True)):
                if floating:
                    t._node = OutputSlot(node, k) if several else node
                    t._rg = True
    if op.view:
        mark_views(made, tensors[0], op, params, several)
    return tuple(made) if several else made[0]


def record(
    op: Primitive,
    tensors: Any,
    needs: tuple[bool | None, ...],
    params: dict[str, Any],
    made: list[Tensor],
    aux: Any = None,
) -> Node:
    """Make the graph node of an operation that just ran, with the values that its gradient rules
    need.
    """
    plan = op.plan(needs)
    node: Node = _new(node_type(op))
    node.op = op
    node.params = params
    node.plan = plan
    node.inputs = tuple(
        [(x._node or x) if need else None for x, need in zip(tensors, needs, strict=True)]
    )
    saved: list[Any] = []
    versions: list[VersionCounter] = []
    several = op.outputs != 1
    for kind, i in plan.entries:
        if kind in ("in", "ins", "out", "outs"):
            values = (made if kind[0] == "o" else tensors)[i:]
            held = values if kind[-1] == "s" else values[:1]
            kept = [x._array if isinstance(x, Tensor) else x for x in held]
            saved.append(kept if kind[-1] == "s" else kept[0])
            versions += [version_of(x) for x in held if isinstance(x, Tensor)]
        elif kind == "aux":
            saved.append(aux)
        elif kind == "shapes":
            saved.append([x._array.shape for x in tensors[i:]])
        elif kind in ("shape", "dtype"):
            x = tensors[i]
            saved.append(
                getattr(x._array, kind)
                if isinstance(x, Tensor)
                else (() if kind == "shape" else None)
            )
        else:
            saved.append(getattr(made[0]._array, kind.removeprefix("out_")))
    node.ext = None
    node.saved = tuple(saved)
    node.versions = tuple(versions)
    node.total = sum(v.count for v in versions)
    node.shape = [t._array.shape for t in made] if several else made[0]._array.shape
    node.dtype = [t._array.dtype for t in made] if several else made[0]._array.dtype
    node.seq = count()
    node.source = source.capture(2)
    if thread.stack.save:
        pack(node, thread.stack.save[-1], tensors, made, aux)
    elif plan.borrowed and versions:
        for n in plan.borrowed:
            node.borrow(version_of(tensors[plan.entries[n][1]]))
    for step in thread.stack.recorded:
        step(node)
    return node


def _check_types(op: Primitive, args: tuple[Any, ...]) -> list[Any]:
    """The arguments as a list of tensors and numbers, or PyTorch's TypeError. Numbers are allowed
    if the operation promotes, None except as the first argument. If all are numbers, they become
    tensors.
    """
    out: list[Any] = []
    for i, x in enumerate(args):
        if isinstance(x, Tensor) or x is None and i:
            out.append(x)
        elif isinstance(x, NUMBERS) and op.promote is not None and len(op.args) > 1:
            out.append(dtypes.as_python_number(x))
        else:
            name = op.args[i] if i < len(op.args) else op.args[-1]
            raise ArgumentTypeError(
                f"{op.name}(): argument '{name}' (position {i + 1}) must be Tensor, not {type_name(x)}",
                op=op.name,
            )
    if not any(isinstance(x, Tensor) for x in out) and op.promote is not None:
        out = [
            make_tensor(asarray(x, dtypes.number_dtype(x).numpy)) if isinstance(x, NUMBERS) else x
            for x in out
        ]
    return out


def _promote(op: Primitive, tensors: list[Any]) -> tuple[list[Any], Any]:
    """Cast the tensors to their common dtype by PyTorch's rules; the casts are recorded. Returns
    the tensors and that NumPy dtype.
    """
    common = common_dtype(tensors)
    if op.promote == "float" and not (common.is_floating_point or common.is_complex):
        common = dtypes.get_default_dtype()
    target = common.numpy
    return [
        promoted(x, target) if isinstance(x, Tensor) and x._array.dtype != target else x
        for x in tensors
    ], target


def common_dtype(values: Any) -> dtypes.dtype:
    """The dtype that PyTorch's promotion gives for tensors and Python numbers."""
    operands = [
        (
            dtypes.BY_NUMPY[x._array.dtype],
            dtypes.TENSOR if x._array.ndim else dtypes.SCALAR_TENSOR,
        )
        if isinstance(x, Tensor)
        else (dtypes.number_dtype(x), dtypes.NUMBER)
        for x in values
        if x is not None
    ]
    return dtypes.result_type(*operands)


def _settle(op: Primitive, result: Any, common: Any, arrays: list[Any]) -> Any:
    """The forward results as arrays with PyTorch's strides. They are cast to the promoted dtype
    where NumPy gave another, since ml_dtypes widens when it meets Python numbers.
    """
    if op.outputs != 1:
        return [as_array(r) for r in result]
    result = as_array(result)
    if op.elementwise and op.promote != "compare" and common not in (None, result.dtype):
        if result.dtype.kind != "b" and (common.kind, result.dtype.kind) != ("c", "f"):
            result = result.astype(common)
    if op.lies is not None and type(result) is ndarray:
        result = layout.laid(result, [as_array(arrays[k]) for k in op.lies])
    return result


def keeps_type(kind: type) -> bool:
    """Whether operations on a subclass of Tensor return that subclass.

    `__torch_function__` is what passes the type on. So they do not if the subclass or a surrounding
    block has switched it off.
    """
    return (
        not (local.function_off or local.function_all_off)
        and getattr(kind, "_keeps_type", True)
        and getattr(getattr(kind, "__torch_function__", None), "keeps_type", True)
    )


def as_subclass(args: tuple[Any, ...], made: Any) -> Any:
    """Give results the most derived Tensor subclass among the arguments, as PyTorch does."""
    kinds = [type(x) for x in args if isinstance(x, Tensor) and type(x) not in FAST_TYPES]
    found = max(kinds, key=lambda kind: len(kind.__mro__), default=None)  # the most derived one
    if found is not None and keeps_type(found) and not issubclass(found, Parameter):
        for t in made if isinstance(made, tuple) else (made,):
            t.__class__ = found
    return made
