"""Decompositions of functions into operators, as in PyTorch, and the operators that correspond to
records.

`called` handles a function that a program called. It tries a decomposition of that name in this
file, then the operator of that name. If there is neither, the library runs the function, and its
records are turned into operators one by one. Functions here have the public name.
"""

from __future__ import annotations

import builtins
import functools
from collections.abc import Callable, Sequence
from types import FunctionType
from typing import Any

from ..api import overriding
from ..core.modes import local
from ..core.primitive import PRIMITIVES
from ..core.public import FUNCTIONS, METHODS
from ..core.tensor import FAST_TYPES, Tensor
from ..dtypes import BY_NUMPY, contiguous_format, device, preserve_format, strided
from ..errors import OperationError
from ..ops import return_types
from ..ops.linalg.matmul import matmul_by_aten
from ..ops.nn.linear import linear_by_aten
from . import dispatch
from .memory import contiguous as is_row_by_row
from .memory import viewable
from .overload import DEFINED, OpOverload, bound, define, ops
from .schema import aten as schemas

A: Any = ops.aten
_PREFIXES = {"linalg": "linalg_", "fft": "fft_", "special": "special_"}
_whole = builtins.slice(None)

# operator names of Python's operator methods
_SIGNS = {
    "__add__": "add",
    "__radd__": "add",
    "__sub__": "sub",
    "__mul__": "mul",
    "__rmul__": "mul",
    "__truediv__": "div",
    "__div__": "div",
    "__pow__": "pow",
    "__neg__": "neg",
    "__gt__": "gt",
    "__lt__": "lt",
    "__ge__": "ge",
    "__le__": "le",
    "__eq__": "eq",
    "__ne__": "ne",
    "__matmul__": "matmul",
    "__and__": "bitwise_and",
    "__or__": "bitwise_or",
    "__xor__": "bitwise_xor",
    "__rand__": "bitwise_and",
    "__ror__": "bitwise_or",
    "__rxor__": "bitwise_xor",
    "__invert__": "bitwise_not",
    "__mod__": "remainder",
    "__floordiv__": "floor_divide",
    "__abs__": "abs",
    "__iadd__": "add_",
    "__isub__": "sub_",
    "__imul__": "mul_",
    "__itruediv__": "div_",
    "__ipow__": "pow_",
    "__iand__": "bitwise_and_",
    "__ior__": "bitwise_or_",
    "__ixor__": "bitwise_xor_",
    "__ifloordiv__": "floor_divide_",
    "__imod__": "remainder_",
    "__lshift__": "bitwise_left_shift",
    "__rshift__": "bitwise_right_shift",
}
_SHOWN = {
    "__add__": "+",
    "__sub__": "-",
    "__mul__": "*",
    "__truediv__": "/",
    "__matmul__": "@",
    "__floordiv__": "//",
    "__mod__": "%",
}
# argument names that differ between Python and the schemas
_RENAMED = {"input": "self", "axis": "dim", "keepdims": "keepdim"}
# operators whose result is not a tensor
_WITHOUT_RESULT = {"equal"}


# A call of a function as one operator, for traces above decomposition; set by `whole`.
as_one: Callable[..., Any] = NotImplemented


def called(name: str, namespace: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Run a function as operators and return its results; NotImplemented if that is not possible."""
    if name in ("__get__", "__set__"):
        return NotImplemented
    if kwargs.get("out", 0) is None:
        kwargs = {k: v for k, v in kwargs.items() if k != "out"}
    if kwargs.get("requires_grad"):
        made = called(
            name, namespace, args, {k: v for k, v in kwargs.items() if k != "requires_grad"}
        )
        return made.requires_grad_() if isinstance(made, Tensor) else made
    if dispatch.above_decomposition():
        made = as_one(name, namespace, args, kwargs)
        if made is not NotImplemented:
            return made
    own = ROUTES.get(name)
    if own is not None:
        made = own(*args, **kwargs)
        if made is not NotImplemented:
            return made
    return by_operator(name, namespace, args, kwargs)


def by_operator(
    name: str, namespace: str, args: tuple[Any, ...], kwargs: dict[str, Any], whole: bool = False
) -> Any:
    """Run a function as the operator of its name; NotImplemented if there is none.

    Args:
        whole: operators that PyTorch takes apart count too.
    """
    sign = _SHOWN.get(name)
    name = _PREFIXES.get(namespace, "") + _SIGNS.get(name, name)
    overload = _fitting(name, args, kwargs, whole)
    if overload is None:
        return NotImplemented
    operator, values, named = overload
    if operator is dispatch.thread.whole:
        return NotImplemented
    if name.endswith("_") and in_graph(values):
        return NotImplemented
    try:
        return _public(name, operator(*values, **named))
    except dispatch.Unhandled as error:
        if not sign:
            raise
        raise TypeError(
            f"unsupported operand type(s) for {sign}: '{type(args[0]).__name__}' and '{type(args[-1]).__name__}'"
        ) from error


@functools.cache
def _namespaces() -> dict[Any, str]:
    return {
        function: space
        for space in _PREFIXES
        for function in FUNCTIONS.get(space, {}).values()
        if isinstance(function, FunctionType)
    }


def namespace_of(function: Any) -> str:
    """Return the namespace of a public function if the names of its operators begin with it; "" for
    others.
    """
    return _namespaces().get(function, "") if isinstance(function, FunctionType) else ""


def in_graph(args: Sequence[Any]) -> bool:
    """Return whether a write to these arguments would have to be recorded."""
    return local.grad and any(isinstance(x, Tensor) and x._rg for x in args)


def _public(name: str, made: Any) -> Any:
    """Return results in the form in which the public function returns them."""
    if isinstance(made, list):
        return tuple(made)
    if type(made) is tuple and name in return_types.TYPES:
        return return_types.TYPES[name](*made)
    return made


def _fitting(
    name: str, args: tuple[Any, ...], kwargs: dict[str, Any], whole: bool = False
) -> tuple[OpOverload, tuple[Any, ...], dict[str, Any]] | None:
    """Return the operator that a call of a function amounts to, with its arguments. None if there
    is none, and for composite operators unless `whole`.
    """
    known = schemas().get(name)
    if known is None:
        return None
    packet = getattr(A, name)
    named = {_RENAMED.get(k, k): v for k, v in kwargs.items()}
    for given in _spellings(args):
        for overload, (letters, text) in known.items():
            if (
                "c" in letters
                and not whole
                or "j" in letters
                or " -> " not in text
                or "Tensor" not in text.rsplit(" -> ", 1)[1]
                and name not in _WITHOUT_RESULT
            ):
                continue
            found: OpOverload = getattr(packet, overload)
            first = found._schema.arguments[0].name if found._schema.arguments else ""
            options = (
                {"self" if k == "input" and first == "self" else k: v for k, v in kwargs.items()}
                if first != "self"
                else named
            )
            options = _options(found, options)
            try:
                bound(found._schema, given, options)
            except RuntimeError:
                continue
            if any(
                a.type.base == "ScalarType" and isinstance(v, int)
                for a, v in zip(found._schema.arguments, given, strict=False)
            ):
                continue  # sizes, one by one
            return found, given, options
    return None


def _options(overload: OpOverload, kwargs: dict[str, Any]) -> dict[str, Any]:
    """Return the keywords as PyTorch's bindings pass them on, with the options of factories filled
    in.
    """
    names = {a.name for a in overload._schema.arguments}
    named = {k: v for k, v in kwargs.items() if k not in ("requires_grad", "names") or k in names}
    if "dim" not in names and "axis" in kwargs:
        named = {**named, "axis": named.pop("dim")}
    if "pin_memory" in names and overload.namespace == "aten":
        named.setdefault("pin_memory", False)
        named["pin_memory"] = bool(named["pin_memory"])
        factory = not overload._schema.arguments or overload._schema.arguments[0].name != "self"
        if factory and "device" in names and named.get("device") is None:
            named["device"] = local.device or device("cpu")
        if isinstance(named.get("device"), str):
            named["device"] = device(named["device"])
        named = {
            k: v for k, v in named.items() if v is not None and not (k == "layout" and v is strided)
        }
    return named


def _spellings(args: tuple[Any, ...]) -> list[tuple[Any, ...]]:
    """Return the arguments as given, and with sizes that were given one by one as a list."""
    found = [args]
    for k in (0, 1):
        rest = args[k:]
        if rest and all(isinstance(x, int) and not isinstance(x, bool) for x in rest):
            found.append((*args[:k], list(rest)))
    return found


ROUTES: dict[
    str, Callable[..., Any]
    # public name -> decomposition, which returns NotImplemented for calls that it does not handle
] = {}


def route(function: Callable[..., Any]) -> Callable[..., Any]:
    """Decorator: the function is the decomposition of the public function of its name."""
    ROUTES[function.__name__] = function
    return function


# ---- products ----------------------------------------------------------------------------------
@route
def linear(input: Any, weight: Any, bias: Any = None) -> Any:
    return linear_by_aten(A, input, weight, bias)


@route
def matmul(input: Any, other: Any) -> Any:
    return matmul_by_aten(A, input, other)


def product(sizes: Sequence[int]) -> int:
    made = 1
    for s in sizes:
        made *= s
    return made


@route
def __rmatmul__(self: Any, other: Any) -> Any:
    return matmul(other, self)


# ---- arithmetic --------------------------------------------------------------------------------
@route
def __rsub__(self: Any, other: Any) -> Any:
    return A.rsub(self, other)


@route
def __rtruediv__(self: Any, other: Any) -> Any:
    return A.mul.Tensor(A.reciprocal(self), other)


ROUTES["__rdiv__"] = __rtruediv__  # another name of it


@route
def __rpow__(self: Any, other: Any) -> Any:
    return A.pow(other, self)


@route
def where(condition: Any, input: Any = None, other: Any = None) -> Any:
    if input is None or other is None:
        return NotImplemented
    known = next((x for x in (input, other) if isinstance(x, Tensor)), None)
    kind = None if known is None else BY_NUMPY[known._array.dtype]
    parts = [x if isinstance(x, Tensor) else scalar(x, kind) for x in (input, other)]
    return A.where.self(condition, *parts)


def scalar(x: Any, kind: Any) -> Any:
    return A.scalar_tensor(x, dtype=kind, layout=strided, device=device("cpu"))


@route
def square(input: Any) -> Any:
    return A.pow.Tensor_Scalar(input, 2)


# ---- copies and views --------------------------------------------------------------------------
def conversion(args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments of `Tensor.to` by name. A tensor stands for its dtype and device."""
    options = dict(kwargs)
    for x in args:
        if isinstance(x, Tensor):
            options.setdefault("dtype", BY_NUMPY[x._array.dtype])
            options.setdefault("device", x.device)
        elif isinstance(x, (str, device)):
            options.setdefault("device", x)
        elif isinstance(x, bool):
            options.setdefault("non_blocking" if "non_blocking" not in options else "copy", x)
        elif x is not None:
            options.setdefault("dtype", x)
    return options


@route
def to(self: Any, *args: Any, **kwargs: Any) -> Any:
    return _converted(self, **conversion(args, kwargs))


def _converted(
    self: Any,
    dtype: Any = None,
    device: Any = None,
    copy: bool = False,
    memory_format: Any = None,
    non_blocking: bool = False,
) -> Any:
    place = None if device is None else _place(device)
    own = BY_NUMPY[self._array.dtype]
    moved = place is not None and place.type != self.device.type
    if (
        not moved
        and (dtype is None or dtype is own)
        and not copy
        and memory_format in (None, preserve_format)
    ):
        return self
    named: dict[str, Any] = {}
    if dtype is not None or moved:
        named["dtype"] = dtype or own
    if moved:
        named |= {"layout": strided, "device": place}
    if memory_format not in (None, preserve_format):
        named["memory_format"] = memory_format
    if non_blocking:
        named["non_blocking"] = True
    return A._to_copy(self, **named)


def _place(where: Any) -> Any:
    return device(where) if not isinstance(where, device) else where


@route
def type_as(self: Any, other: Any) -> Any:
    return to(self, BY_NUMPY[other._array.dtype])


@route
def contiguous(self: Any, memory_format: Any = None) -> Any:
    if memory_format not in (None, contiguous_format):
        return NotImplemented
    return self if is_row_by_row(self) else A.clone(self, memory_format=contiguous_format)


@route
def reshape(input: Any, *shape: Any, **named: Any) -> Any:
    sizes = named.get(
        "shape", shape[0] if len(shape) == 1 and isinstance(shape[0], (list, tuple)) else shape
    )
    sizes = _settled(input, list(sizes))
    if sizes is None:
        return NotImplemented
    if is_row_by_row(input) or viewable(input, sizes):
        return A.view(input, sizes)
    return A._unsafe_view(A.clone(input, memory_format=contiguous_format), sizes)


def _settled(t: Any, sizes: list[Any]) -> list[int] | None:
    total = product(t._array.shape)
    known = product([s for s in sizes if s != -1])
    if (
        sizes.count(-1) > 1
        or (-1 in sizes and (not known or total % known))
        or (-1 not in sizes and known != total)
    ):
        return None
    return [total // known if s == -1 else int(s) for s in sizes]


@route
def flatten(input: Any, start_dim: int = 0, end_dim: int = -1) -> Any:
    shape = list(input._array.shape)
    if not shape:
        return reshape(input, 1)
    first, last = start_dim % len(shape), end_dim % len(shape)
    if first > last:
        return NotImplemented
    return (
        input
        if first == last
        else reshape(input, [*shape[:first], product(shape[first : last + 1]), *shape[last + 1 :]])
    )


@route
def chunk(input: Any, chunks: int, dim: int = 0) -> Any:
    if chunks < 1:
        return NotImplemented
    size = input._array.shape[dim]
    return tuple(A.split.Tensor(input, max(-(-size // chunks), 1), dim))


@route
def narrow(input: Any, dim: int, start: Any, length: int) -> Any:
    if isinstance(start, Tensor):
        return NotImplemented
    size = input._array.shape[dim]
    first = start + size if start < 0 else start
    if first + length > size or length < 0:
        return NotImplemented
    return A.slice.Tensor(input, dim, first, first + length)


@route
def expand(self: Any, *sizes: Any, **named: Any) -> Any:
    shape = (
        list(sizes[0])
        if len(sizes) == 1 and isinstance(sizes[0], (list, tuple))
        else list(sizes or named.get("size", ()))
    )
    return A.expand(self, shape)


@route
def view_as(self: Any, other: Any) -> Any:
    return A.view(self, list(other._array.shape))


@route
def __getitem__(self: Any, index: Any) -> Any:
    items = list(index) if isinstance(index, tuple) else [index]
    if any(isinstance(i, (list, range)) or type(i).__module__ == "numpy" for i in items):
        items = [
            _as_tensor(i)
            if isinstance(i, (list, range)) or type(i).__module__ == "numpy" and i.ndim
            else i
            for i in items
        ]
    used = builtins.sum(
        i._array.ndim
        if isinstance(i, Tensor) and i._array.dtype.kind == "b"
        else i is not None and i is not Ellipsis
        for i in items
    )
    if any(isinstance(i, bool) for i in items) or used > self._array.ndim:
        return NotImplemented
    made, dim, places = self, 0, []
    for item in items:
        if item is None:
            made = A.unsqueeze(made, dim)
            dim += 1
        elif item is Ellipsis:
            dim += self._array.ndim - used
        elif isinstance(item, builtins.slice):
            made = _sliced(made, dim, item)
            dim += 1
        elif isinstance(item, Tensor) and (item._array.ndim or item._array.dtype.kind == "b"):
            places.append((dim, item))
            dim += item._array.ndim if item._array.dtype.kind == "b" else 1
        else:
            made = A.select.int(made, dim, item.item() if isinstance(item, Tensor) else int(item))
    if not places:
        return A.alias(made) if made is self else made
    indices: list[Any] = []
    for place, item in places:
        indices += [None] * (
            place
            - builtins.sum(
                x._array.ndim if x is not None and x._array.dtype.kind == "b" else 1
                for x in indices
            )
        )
        indices.append(item)
    return A.index.Tensor(made, indices)


def _sliced(t: Any, dim: int, item: Any) -> Any:
    step = 1 if item.step is None else item.step
    if (
        item.start in (None, 0)
        and step == 1
        and (item.stop is None or item.stop == 9223372036854775807)
    ):
        return t
    return A.slice.Tensor(
        t,
        dim,
        0 if item.start is None else item.start,
        9223372036854775807 if item.stop is None else item.stop,
        step,
    )


def _as_tensor(value: Any) -> Any:
    return A.lift_fresh(
        overriding.own(FUNCTIONS["torch"]["tensor"])(
            list(value) if isinstance(value, range) else value
        )
    )


@route
def __setitem__(self: Any, index: Any, value: Any) -> Any:
    items = list(index) if isinstance(index, tuple) else [index]
    if in_graph((self, value)):
        return NotImplemented
    if not isinstance(value, Tensor):
        value = _as_tensor(value)
    if any(isinstance(i, (list, range, bool)) or type(i).__module__ == "numpy" for i in items):
        return NotImplemented
    if any(isinstance(i, Tensor) and (i._array.ndim or i._array.dtype.kind == "b") for i in items):
        if any(i is not _whole and not isinstance(i, Tensor) and i != _whole for i in items):
            return NotImplemented
        A.index_put_(self, [i if isinstance(i, Tensor) else None for i in items], value)
        return None
    target = __getitem__(self, index)
    if target is NotImplemented:
        return NotImplemented
    if value._array.ndim == 0 and type(self) in FAST_TYPES:
        A.fill_.Tensor(target, value)
    else:
        A.copy_(target, value)
    return None


# ---- values that leave -------------------------------------------------------------------------
@route
def item(self: Any) -> Any:
    return A._local_scalar_dense(self) if self._array.size == 1 else NotImplemented


@route
def __bool__(self: Any) -> Any:
    return bool(A._local_scalar_dense(self)) if self._array.size == 1 else NotImplemented


@route
def __float__(self: Any) -> Any:
    return float(A._local_scalar_dense(self)) if self._array.size == 1 else NotImplemented


@route
def __int__(self: Any) -> Any:
    return int(A._local_scalar_dense(self)) if self._array.size == 1 else NotImplemented


@route
def __index__(self: Any) -> Any:
    return (
        int(A._local_scalar_dense(self))
        if self._array.size == 1 and self._array.dtype.kind in "iu"
        else NotImplemented
    )


def _of_others(self: Any) -> bool:
    return type(self) not in FAST_TYPES and dispatch.takes_over(type(self))


@route
def numpy(self: Any, *args: Any, **kwargs: Any) -> Any:
    if not _of_others(self):
        return NotImplemented
    raise OperationError(".numpy() is not supported for tensor subclasses.")


@route
def tolist(self: Any) -> Any:
    if not _of_others(self):
        return NotImplemented
    raise OperationError(
        f".tolist() is not supported for tensor subclasses, got {type(self).__name__}"
    )


@route
def backward(
    self: Any,
    gradient: Any = None,
    retain_graph: Any = None,
    create_graph: bool = False,
    inputs: Any = None,
) -> Any:
    if gradient is not None or self._array.size != 1 or not self._rg:
        return NotImplemented
    return overriding.own(METHODS["backward"])(self, seed(self), retain_graph, create_graph, inputs)


def seed(t: Any) -> Any:
    """Return the initial gradient of backward for a tensor with one element, made by an operator.
    None if no mode or type intercepts operators.
    """
    if not isinstance(t, Tensor) or t._array.size != 1 or not t._rg or not dispatch.takes((t,), {}):
        return None
    with dispatch.passed_autograd():
        return dispatch.call(
            A.ones_like.default, (t,), {"pin_memory": False, "memory_format": preserve_format}
        )


# ---- factories ---------------------------------------------------------------------------------
@route
def tensor(data: Any, **options: Any) -> Any:
    wanted = options.pop("requires_grad", False)
    made = A.lift_fresh(overriding.own(FUNCTIONS["torch"]["tensor"])(data, **options))
    return made.requires_grad_() if wanted else made


@route
def as_tensor(data: Any, dtype: Any = None, device: Any = None) -> Any:
    return (
        to(data, dtype=dtype, device=device)
        if isinstance(data, Tensor)
        else tensor(data, dtype=dtype, device=device)
    )


@route
def new_tensor(self: Any, data: Any, **options: Any) -> Any:
    return tensor(data, **{"dtype": BY_NUMPY[self._array.dtype], **options})


@route
def randint(*args: Any, **kwargs: Any) -> Any:
    sizes = [x for x in args if isinstance(x, (list, tuple))]
    numbers = [x for x in args if isinstance(x, int)]
    if (
        len(sizes) != 1
        or len(numbers) not in (1, 2)
        or set(kwargs) - {"dtype", "device", "layout", "pin_memory"}
    ):
        return NotImplemented
    low, high = (0, numbers[0]) if len(numbers) == 1 else numbers
    found = _fitting("randint", (low, high, list(sizes[0])), kwargs)
    return NotImplemented if found is None else found[0](*found[1], **found[2])


# ---- reductions --------------------------------------------------------------------------------
def _spread(
    operator: Any, input: Any, dim: Any, unbiased: Any, correction: Any, keepdim: bool
) -> Any:
    if isinstance(dim, bool):
        dim, unbiased = None, dim
    if correction is None and (dim is not None or unbiased is not None):
        correction = 1 if unbiased in (None, True) else 0
    dims = [dim] if isinstance(dim, int) else dim if dim is None else list(dim)
    return operator(input, dims, correction=correction, keepdim=keepdim)


@route
def var(
    input: Any,
    dim: Any = None,
    unbiased: Any = None,
    keepdim: bool = False,
    *,
    correction: Any = None,
) -> Any:
    return _spread(A.var.correction, input, dim, unbiased, correction, keepdim)


@route
def std(
    input: Any,
    dim: Any = None,
    unbiased: Any = None,
    keepdim: bool = False,
    *,
    correction: Any = None,
) -> Any:
    return _spread(A.std.correction, input, dim, unbiased, correction, keepdim)


@route
def norm(
    input: Any,
    p: Any = "fro",
    dim: Any = None,
    keepdim: bool = False,
    dtype: Any = None,
    **other: Any,
) -> Any:
    if other or p not in ("fro", 2, 2.0, 1, 1.0) or dtype is not None:
        return NotImplemented
    order = 2 if p == "fro" else p
    return A.linalg_vector_norm(input, order, [dim] if isinstance(dim, int) else dim, keepdim)


# ---- records -----------------------------------------------------------------------------------
def of_record(op: Any, args: tuple[Any, ...], params: dict[str, Any]) -> Callable[[], Any] | None:
    """Return a function that runs a record as operators; None if no operator corresponds to it."""
    own = getattr(op, "aten", None)
    if own is not None:
        return lambda: own(A, *args, **params)
    found = _fitting(
        op.name,
        args,
        {k: list(v) if isinstance(v, tuple) else v for k, v in params.items() if v is not None},
    )
    if found is None or op.outputs > 1 == len(found[0]._schema.returns):
        # for example, `cholesky` of aten does not return the record's info
        return _by_itself(op, args, params)
    operator, values, named = found
    return lambda: operator(*values, **named)


def _by_itself(op: Any, args: tuple[Any, ...], params: dict[str, Any]) -> Callable[[], Any] | None:
    """Return a function that runs a record as an operator of its own, such as
    `pellucid::resample_axis`, if aten has none.
    """
    if op.name not in PRIMITIVES:
        return None
    for overload in DEFINED.get("pellucid", {}).get(op.name, {}):
        operator: OpOverload = getattr(getattr(ops.pellucid, op.name), overload)
        if [a.name for a in operator._schema.arguments if a.kwarg_only] == sorted(params):
            break
    else:
        count = len(DEFINED.get("pellucid", {}).get(op.name, {}))
        given = [f"Any[] {op.args[-1]}"] if op.variadic else [f"Any {name}" for name in op.args]
        named = ["*", *[f"Any {name}" for name in sorted(params)]] if params else []
        results = (
            "Tensor"
            if op.outputs == 1
            else "Tensor[]"
            if op.outputs < 0
            else f"({', '.join(['Tensor'] * op.outputs)})"
        )
        suffix = f".with{count}" if count else ""
        operator = define(
            "pellucid", f"{op.name}{suffix}({', '.join([*given, *named])}) -> {results}"
        )
        run = (lambda tensors, **p: op.call(*tensors, **p)) if op.variadic else op.call
        operator.py_kernels["CompositeExplicitAutograd"] = operator.py_kernels["Meta"] = run
    return lambda: operator(*([list(args)] if op.variadic else args), **params)
