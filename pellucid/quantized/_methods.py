"""What quantized tensors answer: their integers and parameters, how they print, copies and
comparisons.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arrays.affine import FLOAT_PARAMETERS, Scheme, dequantize, quantize, require_per_tensor
from ..core.display.formatting import _body, _join
from ..core.primitive import Primitive
from ..core.public import METHODS
from ..core.tensor import Parameter, Tensor, make_tensor, version_of
from ..errors import ArgumentTypeError, OperationError
from ..ops.shape.storage import TypedStorage, UntypedStorage
from ._tensor import (
    QuantizedTensor,
    dequantized,
    family,
    is_quantized,
    like,
    method,
    operation,
    overwritten,
    refuse,
    requantized,
    same_schemes,
    wrapped,
)

# what conversions of PyTorch say
_TYPE = "Creation of quantized tensor requires quantized dtype like torch.quint8"


# ---- parameters --------------------------------------------------------------------------------
@method()
def int_repr(self: Any) -> Any:
    """The integers, a copy, as uint8, int8 or int32."""
    return make_tensor(self._array.ints.copy())


@method("dequantize")
def _dequantize(self: Any) -> Any:
    """The numbers that the integers stand for, as float32."""
    return dequantized(self)


@method()
def q_scale(self: Any) -> float:
    """The scale of a tensor that has one."""
    return float(require_per_tensor(self._array).scale)


@method()
def q_zero_point(self: Any) -> int:
    """The zero point of a tensor that has one."""
    return int(require_per_tensor(self._array).zero_point)


def _channels(self: Any) -> Scheme:
    scheme: Scheme = self._array.scheme
    if scheme.per_tensor:
        raise OperationError(
            "Expected quantizer->qscheme() == kPerChannelAffine || quantizer->qscheme() == kPerChannelAffineFloatQParams to be true, but "
            "got false.  (Could this error message be improved?  If so, please report an enhancement request to PyTorch.)"
        )
    return scheme


@method()
def q_per_channel_scales(self: Any) -> Any:
    """The scales of the slices."""
    return make_tensor(_channels(self).scale.copy())


@method()
def q_per_channel_zero_points(self: Any) -> Any:
    """The zero points of the slices."""
    return make_tensor(_channels(self).zero_point.copy())


@method()
def q_per_channel_axis(self: Any) -> int:
    """The axis along which slices have their own scale."""
    return _channels(self).axis


@method()
def qscheme(self: Any) -> Any:
    """`torch.per_tensor_affine`, `torch.per_channel_affine` or
    `torch.per_channel_affine_float_qparams`.
    """
    return self._array.scheme.kind


# ---- printing ----------------------------------------------------------------------------------
def _part(array: Any, suffix: str = "") -> str:
    return f"tensor({_body(array, 7, np.asarray)}{suffix})"


def _repr(self: Any, *, tensor_contents: str | None = None) -> str:
    a = self._array
    scheme = a.scheme
    suffixes = [
        f"size={tuple(a.shape)}",
        f"dtype=torch.{a.name}",
        f"quantization_scheme={scheme.kind}",
    ]
    if scheme.per_tensor:
        suffixes += [f"scale={scheme.scale}", f"zero_point={scheme.zero_point}"]
    else:
        double = ", dtype=torch.float64" if scheme.kind is not FLOAT_PARAMETERS else ""
        suffixes += [
            f"scale={_part(scheme.scale, double)}",
            f"zero_point={_part(scheme.zero_point)}",
            f"axis={scheme.axis}",
        ]
    values = dequantize(a)
    body = _body(values, 7, np.asarray) if values.size else "[]"
    text = _join("tensor(" + body, suffixes, 7)
    return f"Parameter containing:\n{text}" if isinstance(self, Parameter) else text


method("__repr__ __str__")(_repr)


@method()
def __format__(self: Any, spec: str) -> str:  # noqa: N807
    if self._array.ndim == 0 and spec:
        return format(item(self), spec)
    if spec:
        raise ArgumentTypeError("unsupported format string passed to Tensor.__format__")
    return _repr(self)


# ---- leaving -----------------------------------------------------------------------------------
@method()
def item(self: Any) -> float:
    """The number that a tensor of one element stands for."""
    if self._array.size != 1:
        raise OperationError(
            f"a Tensor with {self._array.size} elements cannot be converted to Scalar"
        )
    return float(dequantize(self._array).reshape(-1)[0])


@method()
def __float__(self: Any) -> float:  # noqa: N807
    return item(self)


@method()
def __bool__(self: Any) -> bool:  # noqa: N807
    raise refuse("is_nonzero")


@method()
def tolist(self: Any) -> Any:
    """Not supported, as in PyTorch."""
    raise OperationError("load_scalar: invalid type")


@method("numpy __array__")
def _numpy(self: Any, *args: Any, **kwargs: Any) -> Any:
    raise ArgumentTypeError(f"Got unsupported ScalarType {self.dtype.scalar_type_name}")


@method()
def __dlpack__(self: Any, **kwargs: Any) -> Any:  # noqa: N807
    raise BufferError(f"{self.dtype.scalar_type_name} types are not supported by dlpack")


@method()
def type(self: Any, dtype: Any = None, non_blocking: bool = False, **kwargs: Any) -> Any:
    """`"torch.quantized.QUInt8Tensor"`."""
    if dtype is None:
        return f"torch.quantized.{self.dtype.scalar_type_name}Tensor"
    raise OperationError(_TYPE)


@method()
def untyped_storage(self: Any) -> Any:
    """The bytes of the integers."""
    return make_tensor(self._array.ints).untyped_storage()


@method("storage _typed_storage")
def _storage(self: Any) -> Any:
    return TypedStorage(untyped_storage(self), self.dtype)


@method("data_ptr const_data_ptr")
def _data_ptr(self: Any) -> int:
    return make_tensor(self._array.ints).data_ptr()


@method()
def stride(self: Any, dim: int | None = None) -> Any:
    """As for dense tensors."""
    return make_tensor(self._array.ints).stride(*(() if dim is None else (dim,)))


@method()
def storage_offset(self: Any) -> int:
    """As for dense tensors."""
    return make_tensor(self._array.ints).storage_offset()


@method()
def is_contiguous(self: Any, memory_format: Any = None) -> bool:
    """As for dense tensors."""
    return make_tensor(self._array.ints).is_contiguous(
        *(() if memory_format is None else (memory_format,))
    )


@method()
def share_memory_(self: Any) -> Any:
    """Put the integers where other processes can have them."""
    shared = make_tensor(self._array.ints).share_memory_()
    self._array.ints = shared._array
    return self


# ---- copies --------------------------------------------------------------------------------------
@method()
def clone(self: Any, *, memory_format: Any = None) -> Any:
    """A copy."""
    return like(
        self,
        make_tensor(self._array.ints)
        .clone(**({} if memory_format is None else {"memory_format": memory_format}))
        ._array,
    )


operation("clone")(lambda x, **_: like(x, x._array.ints.copy("K")))


@method()
def contiguous(self: Any, memory_format: Any = None) -> Any:
    """The tensor itself, or a copy in the order of memory that is wanted."""
    made = make_tensor(self._array.ints).contiguous(
        **({} if memory_format is None else {"memory_format": memory_format})
    )
    return self if made._array is self._array.ints else like(self, made._array)


@method()
def detach(self: Any) -> Any:
    """A tensor on the same integers."""
    made = wrapped(self._array)
    made._ver = version_of(self)
    return made


operation("alias")(detach)


def _data(self: Any) -> Any:
    return wrapped(self._array)


def _set_data(self: Any, value: Any) -> None:
    self._array = value._array


setattr(QuantizedTensor, "data", property(_data, _set_data))  # noqa: B010


@method()
def __deepcopy__(self: Any, memo: Any) -> Any:  # noqa: N807
    known = memo.get(id(self))
    if known is None:
        known = like(self, self._array.ints.copy("K"))
        if isinstance(self, Parameter):
            known = Parameter(known, False)
        known.__dict__.update(vars(self))
        memo[id(self)] = known
    return known


@method()
def to(self: Any, *args: Any, **kwargs: Any) -> Any:
    """To the device or the memory format; there is no conversion to another dtype."""
    dtype = kwargs.get("dtype") or next((a for a in args if hasattr(a, "is_floating_point")), None)
    if isinstance(dtype, Tensor):
        dtype = dtype.dtype
    if dtype is not None and dtype is not self.dtype:
        raise OperationError(_TYPE)
    order = kwargs.get("memory_format")
    made = contiguous(self, memory_format=order) if order is not None else self
    return clone(made) if kwargs.get("copy") and made is self else made


def _convert(self: Any, memory_format: Any = None) -> Any:
    raise OperationError(_TYPE)


method("float double half bfloat16 int long short char byte bool")(_convert)


@method()
def cpu(self: Any, memory_format: Any = None) -> Any:
    """The tensor itself."""
    return self


# ---- writes --------------------------------------------------------------------------------------
@method()
def copy_(self: Any, src: Any, non_blocking: bool = False) -> Any:
    """Take the values of a float32 tensor, quantized; or those of a quantized one with its scale."""
    return overwritten(self, src, "copy_")


@method()
def fill_(self: Any, value: Any) -> Any:
    """Every element the number nearest to `value`."""
    value = value.item() if isinstance(value, Tensor) else value
    return overwritten(self, make_tensor(np.full(self._array.shape, value, np.float32)), "fill_")


@method()
def zero_(self: Any) -> Any:
    """Not supported, as in PyTorch."""
    raise refuse("zero_")


@method()
def __setitem__(self: Any, index: Any, value: Any) -> None:  # noqa: N807
    part = self[index]
    if not isinstance(value, Tensor):
        value = make_tensor(np.asarray(value, np.float32))
    if np.may_share_memory(part._array.ints, self._array.ints):
        overwritten(part, value, "copy_")
        return
    ints = (
        value._array.ints
        if is_quantized(value)
        else quantize(value._array, self._array.name, self._array.scheme).ints
    )
    make_tensor(self._array.ints)[index] = make_tensor(ints)


@method("set_")
def _set(self: Any, source: Any, *args: Any) -> Any:
    if args or isinstance(source, UntypedStorage):
        raise OperationError("Setting the storage of a quantized tensor is not supported")
    self._array = source._array
    return self


# ---- comparisons -----------------------------------------------------------------------------------
@family("eq ne lt le gt ge")
def _compared(op: Primitive, x: Any, y: Any, **params: Any) -> Any:
    return op.call(dequantized(x), dequantized(y), **params)


# ---- places ------------------------------------------------------------------------------------------
@family("index index_select flip repeat take_along contiguous roll unsafe_view")
def _moved(op: Primitive, x: Any, *rest: Any, **params: Any) -> Any:
    """Operations that put integers elsewhere, whatever they mean."""
    if not is_quantized(x) or not x._array.scheme.per_tensor:
        raise refuse(op.name)
    others = [t._array if isinstance(t, Tensor) else t for t in rest]
    made = op.numpy_forward(x._array.ints, *others, **params)
    return like(x, made[0] if isinstance(made, tuple) else made)


@operation("reshape")
def _reshape(x: Any, **params: Any) -> Any:
    return like(
        x,
        make_tensor(x._array.ints)
        .reshape(params["shape"] if "shape" in params else params["size"])
        ._array,
    )


@family("cat stack")
def _joined(op: Primitive, *tensors: Any, dim: int) -> Any:
    if not all(map(is_quantized, tensors)):
        raise refuse(op.name)
    if not same_schemes(tensors):
        made = op.call(*[dequantized(t) for t in tensors], dim=dim)
        return requantized(made._array, tensors[0])
    return like(tensors[0], op.call(*[make_tensor(t._array.ints) for t in tensors], dim=dim)._array)


@operation("fill")
def _fill(x: Any, value: Any = 0.0, **_: Any) -> Any:
    return requantized(np.full(x._array.shape, value, np.float32), x)


def dense_dequantize(x: Any) -> Any:
    """`torch.dequantize` of tensors of any kind, or of a list of them."""
    if isinstance(x, (list, tuple)):
        return tuple([dense_dequantize(t) for t in x])
    return dequantized(x) if is_quantized(x) else METHODS["dequantize"](x)
