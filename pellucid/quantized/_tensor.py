"""Quantized tensors, and how what an operation does with them is found.

A `QuantizedTensor` is a Tensor whose array is a `QuantizedArray`. Views share its integers. An
operation of the engine that meets one comes to the interpreter here, which looks into
`HANDLERS.operations`; what is not there, and no view, is refused by PyTorch's words. Functions that
are no single operation are registered with `method`. Dense calls pass none of this.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable
from typing import Any

import numpy as np

from ..api.attach import Handler, Handlers
from ..arrays.affine import (
    FLOAT_PARAMETERS,
    PER_TENSOR,
    QuantizedArray,
    Scheme,
    dequantize,
    quantize,
    refusal,
)
from ..core.bind import common_dtype
from ..core.inplace import bump
from ..core.primitive import PRIMITIVES, Primitive
from ..core.tensor import Parameter, Tensor, make_tensor, version_of
from ..dtypes import NAMED_ONLY
from ..errors import OperationError, no_attribute


class QuantizedTensor(Tensor):
    """A tensor of integers with a scale and a zero point; PyTorch's quantized tensors.

    Made by `quantize_per_tensor`, `quantize_per_channel` and the modules of
    `torch.ao.nn.quantized`.
    """

    __slots__ = ()
    __getattr__ = no_attribute
    _array: QuantizedArray

    @property
    def dtype(self) -> Any:
        """`torch.quint8`, `torch.qint8` or `torch.qint32`."""
        return NAMED_ONLY[self._array.name]

    @property
    def is_quantized(self) -> bool:
        """True."""
        return True

    @property
    def _is_param(self) -> bool:
        return isinstance(self, QuantizedParameter)

    @_is_param.setter
    def _is_param(self, value: bool) -> None:
        # How `nn.Parameter` marks a tensor of a type of its own.
        self.__class__ = QuantizedParameter if value else QuantizedTensor

    class _interpreter:  # noqa: N801
        @staticmethod
        def run(below: Any, op: Any, args: tuple[Any, ...], params: dict[str, Any]) -> Any:
            handler = HANDLERS.operations.get(op)
            if handler is not None:
                return handler(*args, **params)
            if op.view and len(args) == 1:
                return viewed(op, args[0], params)
            return refused(op, *args)

        @staticmethod
        def write(below: Any, tensor: Any, result: Any, name: str) -> Any:
            if not is_quantized(tensor):
                return below(tensor, dequantized(result), name)
            return overwritten(tensor, result, name)


class QuantizedParameter(QuantizedTensor, Parameter):
    """A quantized tensor that a Module registers as its parameter."""

    __slots__ = ()


# ---- making ----------------------------------------------------------------------------------
def wrapped(array: QuantizedArray) -> QuantizedTensor:
    """A quantized tensor around an array, which is shared."""
    made: QuantizedTensor = make_tensor(array, QuantizedTensor)
    return made


def like(x: Any, ints: Any) -> QuantizedTensor:
    """Other integers that mean what those of `x` do."""
    return wrapped(x._array.like(ints))


def is_quantized(value: Any) -> bool:
    """Whether a value is a quantized tensor."""
    return isinstance(value, Tensor) and type(value._array) is QuantizedArray


def dequantized(x: Any) -> Any:
    """The numbers that a tensor stands for; other values as they are."""
    return make_tensor(dequantize(x._array)) if is_quantized(x) else x


def requantized(values: Any, x: Any) -> QuantizedTensor:
    """A float array in the type, the scale and the zero point of `x`."""
    return wrapped(quantize(values, x._array.name, x._array.scheme))


def refuse(name: str) -> Exception:
    """PyTorch's error for an operation that quantized tensors do not have."""
    op = PRIMITIVES.get(name)
    if op is None:
        return refusal(name)
    name = op.overload or op.title
    if op.elementwise and (op.formula is not None or len(op.args) == 2):
        return refusal(name + ("_out" if "." in name else ".out"))
    return refusal(name)


def refused(op: Primitive, *args: Any, name: str = "", **_: Any) -> Any:
    """Refuse an operation, by PyTorch's `name` of it where that is another one for such tensors."""
    if op.promote and len({x._array.dtype for x in args if isinstance(x, Tensor)}) > 1:
        common_dtype(args)  # which refuses
    raise refusal(name) if name else refuse(op.name)


# ---- views -----------------------------------------------------------------------------------
def viewed(op: Any, x: Any, params: dict[str, Any]) -> Any:
    """Views of the integers: they share memory and the write counter."""
    a = x._array
    made = op.numpy_forward(a.ints, **params)
    if isinstance(made, (list, tuple)):
        return tuple([_view(x, part, op.name, params, k) for k, part in enumerate(made)])
    return _view(x, made, op.name, params, 0)


def _view(x: Any, ints: Any, name: str, params: dict[str, Any], which: int) -> Any:
    made = wrapped(
        QuantizedArray(ints, x._array.name, _scheme_of_view(x._array, ints, name, params))
    )
    made._ver = version_of(x)
    return made


def _scheme_of_view(a: QuantizedArray, ints: Any, name: str, params: dict[str, Any]) -> Scheme:
    scheme = a.scheme
    if scheme.per_tensor or ints.shape == a.ints.shape and ints.strides == a.ints.strides:
        return scheme
    if (
        name in ("view", "reshape", "unsafe_view")
        and ints.ndim > scheme.axis
        and ints.shape[scheme.axis] == len(scheme.scale)
    ):
        return scheme
    if (name == "select" and params["dim"] == scheme.axis) or (
        name == "index_select_int" and scheme.axis == 0
    ):
        index = params["index"]
        at = (
            index
            if isinstance(index, int)
            else next((i for i in index if isinstance(i, int)), None)
        )
        if (
            at is not None
            and ints.shape == a.ints.shape[: scheme.axis] + a.ints.shape[scheme.axis + 1 :]
        ):
            return Scheme.of(float(scheme.scale[at]), int(scheme.zero_point[at]))
    if name in ("view", "reshape", "unsafe_view"):
        found = ints.shape[scheme.axis] if ints.ndim > scheme.axis else 0
        raise OperationError(
            f"length of scales must equal to channel, expected {found} got, {len(scheme.scale)}"
        )
    raise OperationError("Setting strides is possible only on uniformly quantized tensor")


# ---- writing ---------------------------------------------------------------------------------
def overwritten(tensor: Any, result: Any, name: str) -> Any:
    """`tensor` takes the values of `result`, in its own scale."""
    a = tensor._array
    if is_quantized(result):
        r = result._array
        if r.name != a.name:
            raise OperationError("Quantized Copy only works with same scalar types")
        if not r.scheme == a.scheme:
            if name == "copy_":
                a.scheme = r.scheme
            else:
                r = quantize(dequantize(r), a.name, a.scheme)
        source = r.ints
    else:
        if name == "copy_" and result._array.dtype != np.float32:
            raise OperationError("Quantized copy only works with kFloat as source Tensor")
        source = quantize(np.asarray(result._array, np.float32), a.name, a.scheme).ints
    try:
        a.ints[...] = source
    except ValueError:
        raise OperationError(
            f"output with shape {list(a.shape)} doesn't match the broadcast shape {list(source.shape)}",
            op=name,
        ) from None
    bump(tensor, name)
    return tensor


# ---- registering -----------------------------------------------------------------------------
def _choose(handler: Handler, dense: Any) -> Any:
    @functools.wraps(dense)
    def quantized(*args: Any, **kwargs: Any) -> Any:
        return handler(*args, **kwargs)

    @functools.wraps(dense)
    def chosen(*args: Any, **kwargs: Any) -> Any:
        x = args[0] if args else kwargs.get("input")
        return (quantized if isinstance(x, QuantizedTensor) else dense)(*args, **kwargs)

    return chosen


HANDLERS = Handlers(QuantizedTensor, _choose)
operation, family = HANDLERS.operation, HANDLERS.family
method, function = HANDLERS.method, HANDLERS.function
# The kernels that PyTorch looks for where it computes with quantized tensors.
family("abs")(functools.partial(refused, name="abs.out"))
family("sum_all sum")(functools.partial(refused, name="sum.IntList_out"))
family("matmul")(functools.partial(refused, name="mm"))
family("pow")(functools.partial(refused, name="pow.Tensor_Scalar_out"))
family("conv")(functools.partial(refused, name="convolution_overrideable"))
family("linear")(functools.partial(refused, name="addmm.out"))


def same_schemes(tensors: Iterable[Any]) -> bool:
    """Whether quantized tensors have one type, scale and zero point."""
    arrays = [t._array for t in tensors]
    return all(a.name == arrays[0].name and a.scheme == arrays[0].scheme for a in arrays)


__all__ = [
    "FLOAT_PARAMETERS",
    "PER_TENSOR",
    "QuantizedParameter",
    "QuantizedTensor",
    "dequantized",
    "family",
    "is_quantized",
    "like",
    "function",
    "method",
    "operation",
    "refuse",
    "requantized",
    "same_schemes",
    "wrapped",
]
