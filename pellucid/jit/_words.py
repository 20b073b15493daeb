"""What the code of a TorchScript archive may call: operators of aten, and Python's operators for
values that are not tensors.
"""

from __future__ import annotations

import builtins
import math
import operator
from collections.abc import Callable
from functools import cache
from typing import Any

from .. import devices, dtypes
from .._ops import ops
from ..aten.overload import OpOverloadPacket
from ..aten.schema import SCALAR_TYPES
from ..core.interpret import thread
from ..core.modes import local
from ..core.tensor import Tensor
from ..errors import UnsupportedError, warn_once
from ..nn import _recurrent

# Element types, layouts and memory formats are numbers in such code.
_LAYOUTS = "strided sparse_coo sparse_csr _mkldnn sparse_bsr sparse_bsc sparse_csc".split()
_FORMATS = "contiguous_format preserve_format channels_last channels_last_3d".split()
_NUMBERED = {
    "ScalarType": (dtypes, SCALAR_TYPES),
    "Layout": (devices, _LAYOUTS),
    "MemoryFormat": (devices, _FORMATS),
}
_INTEGERS = ("int", "SymInt", "Scalar", "float", "bool")


def _numbered(kind: str, number: Any) -> Any:
    if type(number) is not int:
        return number
    module, names = _NUMBERED[kind]
    return getattr(module, names[number])


def dtype_number(kind: Any) -> int:
    """The number that an element type has in TorchScript."""
    return SCALAR_TYPES.index(str(kind).removeprefix("torch."))


# ---- aten --------------------------------------------------------------------------------------
@cache
def _enumerations(packet: Any) -> tuple[dict[int, str], dict[str, str]]:
    """The arguments of an operator that are element types, layouts or formats: by place, by name."""
    places: dict[int, str] = {}
    names: dict[str, str] = {}
    numbers: set[int] = set()
    for overload, schema in packet._schemas.items():
        if overload.startswith("prim_"):
            continue  # they say the same with other types
        for place, argument in enumerate(schema.arguments):
            base = argument.type.base
            if base in _NUMBERED:
                names[argument.name] = base
                if not argument.kwarg_only:
                    places[place] = base
            elif base in _INTEGERS and not argument.type.is_list:
                numbers.add(place)
    return {place: base for place, base in places.items() if place not in numbers}, names


def _result(value: Any) -> Any:
    """A result as TorchScript has it: sizes are lists, element types numbers."""
    if isinstance(value, devices.Size):
        return list(value)
    if isinstance(value, dtypes.dtype):
        return dtype_number(value)
    return value


def _of_tensors(packet: Any) -> Callable[..., Any]:
    def call(*args: Any, **kwargs: Any) -> Any:
        places, names = _enumerations(packet)
        if places:
            args = tuple(
                [_numbered(places[k], x) if k in places else x for k, x in enumerate(args)]
            )
        if kwargs:
            kwargs = {
                name: _numbered(names[name], x) if name in names else x
                for name, x in kwargs.items()
            }
        return _result(packet(*args, **kwargs))

    return call


def _holds_tensor(args: tuple[Any, ...]) -> bool:
    return any(
        isinstance(x, Tensor) or type(x) is list and x and isinstance(x[0], Tensor) for x in args
    )


# ---- what is not a tensor ----------------------------------------------------------------------
class ScriptError(RuntimeError):
    """An exception that the code of an archive raises (`torch.jit.Error`)."""


def _raise(message: Any = "", kind: str = "") -> None:
    name = kind.rpartition(".")[2]
    found = getattr(builtins, name, None) if kind.startswith("builtins.") else None
    if isinstance(found, type) and issubclass(found, Exception):
        raise found(message)
    raise ScriptError(str(message))


def _slice(values: Any, start: Any = None, end: Any = None, step: Any = 1) -> Any:
    return values[start:end:step]


def _set_item(values: Any, key: Any, value: Any) -> Any:
    values[key] = value
    return values


def _append(values: list[Any], value: Any) -> list[Any]:
    values.append(value)
    return values


def _delete(values: Any, key: Any) -> None:
    del values[key]


def _sort(values: list[Any], reverse: bool = False) -> None:
    values.sort(reverse=reverse)


def _format(text: str, *values: Any) -> str:
    """Values in the places of `{}`. Python's `format` would read attributes, too (`{0.name}`)."""
    first, *rest = text.split("{}")
    if len(rest) > len(values):
        raise RuntimeError(f"Too few arguments for format string: {text}")
    return first + "".join([f"{value}{part}" for value, part in zip(values, rest, strict=False)])


def _size(t: Tensor, dim: int | None = None) -> Any:
    return list(t.shape) if dim is None else t.shape[dim]


def _warn(message: str, stacklevel: int = 2) -> None:
    warn_once(message)


def _tolist(t: Tensor, *rest: Any) -> Any:
    return t.tolist()


# Of numbers, texts, lists and dictionaries; where there is a tensor among the arguments, aten's
# operator of that name comes first.
_PLAIN: dict[str, Callable[..., Any]] = {
    **{
        name: getattr(operator, name)
        for name in "add sub mul neg eq ne lt le gt ge pow __and__ __or__ __xor__ "
        "__lshift__ __rshift__".split()
    },
    "div": operator.truediv,
    "floordiv": operator.floordiv,
    "remainder": operator.mod,
    "__not__": operator.not_,
    "__is__": operator.is_,
    "__isnot__": operator.is_not,
    "__contains__": operator.contains,
    "__getitem__": operator.getitem,
    "__round_to_zero_floordiv": lambda a, b: int(a / b),
    "__range_length": lambda low, high, step: len(range(low, high, step)),
    "__derive_index": lambda k, low, step: low + k * step,
    **{
        name: getattr(math, name)
        for name in "ceil floor sqrt exp log log2 log10 log1p expm1 sin cos tan asin acos atan "
        "atan2 sinh cosh tanh fmod gcd isnan isinf isfinite degrees radians copysign "
        "factorial gamma lgamma erf erfc".split()
    },
    "abs": abs,
    "round": round,
    "max": max,
    "min": min,
    "sum": sum,
    "all": all,
    "any": any,
    "len": len,
    "list": list,
    "sorted": sorted,
    "dict": dict,
    "str": str,
    "ord": ord,
    "chr": chr,
    "hex": hex,
    "oct": oct,
    "bin": bin,
    "slice": _slice,
    "_set_item": _set_item,
    "append": _append,
    "Delete": _delete,
    "sort": _sort,
    "format": _format,
    "percentFormat": lambda text, *values: text % values,
    "size": _size,
    "dim": lambda t: t.ndim,
    "numel": lambda t: t.numel(),
    "device": devices.device,
    "warn": _warn,
    "keys": lambda d: list(d.keys()),
    "values": lambda d: list(d.values()),
    "items": lambda d: list(d.items()),
    "copy": lambda x: x.copy(),
    "matches": operator.contains,
    "Int": int,
    "Float": float,
    "Bool": bool,
    "Complex": complex,
    "ScalarImplicit": lambda t: t.item(),
    "IntImplicit": int,
    "FloatImplicit": float,
    "is_grad_enabled": lambda: local.grad,
    "is_autocast_enabled": lambda *device: thread.stack.autocast is not None,
    "is_autocast_cpu_enabled": lambda: thread.stack.autocast is not None,
}


def _method(name: str) -> Callable[..., Any]:
    def call(value: Any, *args: Any, **kwargs: Any) -> Any:
        if type(value) not in (str, list, dict):
            raise TypeError(f"aten::{name} of a {type(value).__name__}")
        return getattr(value, name)(*args, **kwargs)

    return call


_PLAIN |= {
    name: _method(name)
    for name in "extend insert pop remove clear reverse count index get setdefault update popitem "
    "join split rsplit splitlines strip lstrip rstrip lower upper capitalize title swapcase "
    "startswith endswith find rfind rindex replace isdigit isalpha isalnum isspace islower "
    "isupper zfill center ljust rjust expandtabs partition rpartition".split()
}
_FIRST = frozenset(
    "size dim numel len device warn format list __is__ __isnot__ __contains__ __getitem__ "
    "_set_item append extend insert pop Int Float Bool Complex ScalarImplicit IntImplicit "
    "FloatImplicit".split()
)

_OUTSIDE = {("aten", "from_file")}  # operators that reach files: not for code from somewhere else
_NETWORKS = ("lstm", "gru", "rnn_tanh", "rnn_relu")  # functions of layers
_PRIM: dict[str, Callable[..., Any]] = {
    "RaiseException": _raise,
    "dtype": lambda t: dtype_number(t.dtype),
    "device": lambda t: t.device,
    "layout": lambda t: _LAYOUTS.index(str(t.layout).removeprefix("torch.")),
    "shape": lambda t: list(t.shape),
    "requires_grad": lambda t: t.requires_grad,
    "grad": lambda t: t.grad,
    "data": lambda t: t.data,
    "is_leaf": lambda t: t.is_leaf,
    "is_sparse": lambda t: t.is_sparse,
    "is_quantized": lambda t: t.is_quantized,
    "is_cuda": lambda t: t.is_cuda,
    "is_nested": lambda t: t.is_nested,
    "is_meta": lambda t: t.is_meta,
    "is_cpu": lambda t: t.is_cpu,
    "is_mkldnn": lambda t: False,
    "itemsize": lambda t: t.element_size(),
    "ndim": lambda t: t.ndim,
    "T": lambda t: t.T,
    "mT": lambda t: t.mT,
    "H": lambda t: t.H,
    "mH": lambda t: t.mH,
    "type": lambda d: d.type,
    "index": lambda d: d.index,
    "tolist": _tolist,
    "unchecked_unwrap_optional": lambda value: value,
    "id": id,
    "abs": abs,
    "max": max,
    "min": min,
    "rangelist": lambda n: list(range(n)),
}


def _number_to_tensor(number: Any) -> Tensor:
    made: Tensor = (
        ops.aten.scalar_tensor(number, dtype=dtypes.int64)
        if type(number) is int
        else (ops.aten.scalar_tensor(number, dtype=dtypes.float64))
    )
    return made


_PRIM["NumToTensor"] = _number_to_tensor


def named(namespace: str, name: str) -> Callable[..., Any]:
    """What a call of `torch.name` ("aten") or `ops.namespace.name` runs.

    What there is not refuses when it is called: a branch that is never taken may name it.
    """
    plain = (_PLAIN if namespace == "aten" else _PRIM if namespace == "prim" else {}).get(name)
    packet = None
    if namespace == "aten" and name in _NETWORKS:
        return getattr(_recurrent, name)
    if namespace != "prim" and (namespace, name) not in _OUTSIDE:
        try:
            packet = getattr(getattr(ops, namespace), name, None)
        except (AttributeError, RuntimeError):
            packet = None
        if not isinstance(packet, OpOverloadPacket):
            packet = None
    if packet is None and plain is not None:
        return plain
    if packet is None:

        def refuse(*args: Any, **kwargs: Any) -> Any:
            raise UnsupportedError(
                f"the operator {namespace}::{name} of a TorchScript archive is not supported",
                hint="build the model in Python and load its state_dict; "
                "torch.jit.load(...).state_dict() has the weights",
            )

        return refuse
    of_tensors = _of_tensors(packet)
    if plain is None:
        return of_tensors
    if name in _FIRST:
        return plain
    of_others = plain

    def either(*args: Any, **kwargs: Any) -> Any:
        return (of_tensors if _holds_tensor(args) else of_others)(*args, **kwargs)

    return either
