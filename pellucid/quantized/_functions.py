"""Operations that compute with quantized tensors: activations, pooling, means, ordering. Results
are PyTorch's, integer by integer.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arrays.affine import (
    LIMITS,
    STORED,
    QuantizedArray,
    Scheme,
    dequantize,
    quantize,
    refusal,
    require_per_tensor,
)
from ..core.primitive import PRIMITIVES, Primitive
from ..core.public import FUNCTIONS
from ..core.tensor import make_tensor
from ..errors import OperationError
from ._tensor import (
    Handler,
    dequantized,
    family,
    function,
    is_quantized,
    like,
    method,
    operation,
    refuse,
    requantized,
    wrapped,
)


# ---- on the integers ---------------------------------------------------------------------------
def rectified(a: QuantizedArray) -> Any:
    """The integers of max(x, 0)."""
    return np.maximum(a.ints, a.ints.dtype.type(a.scheme.zero_point))


@operation("relu")
def _relu(x: Any) -> Any:
    return like(x, rectified(x._array))


@method()
def relu_(self: Any) -> Any:
    """Negative numbers become zero, in place."""
    self._array.ints[...] = rectified(self._array)
    return self


def clamped(a: QuantizedArray, low: float | None, high: float | None) -> Any:
    """The integers of numbers that are kept within two bounds, which are rounded as all numbers
    are.
    """
    ints = a.ints
    for bound, keep in ((low, np.maximum), (high, np.minimum)):
        if bound is not None:
            ints = keep(ints, quantize(np.float32([bound]), a.name, a.scheme).ints[0])
    return ints


@operation("clamp hardtanh")
def _clamp(
    x: Any, min: Any = None, max: Any = None, min_val: Any = None, max_val: Any = None, **_: Any
) -> Any:
    return like(
        x,
        clamped(x._array, min if min_val is None else min_val, max if max_val is None else max_val),
    )


def by_vectors(a: QuantizedArray) -> Any:
    """As `dequantize`, where PyTorch computes with vectors: q * scale - scale * zero_point, the
    first product not rounded.
    """
    scale = np.float32(require_per_tensor(a).scale)
    return (a.ints.astype(np.float64) * scale + scale * -np.float32(a.scheme.zero_point)).astype(
        np.float32
    )


def rounded(values: Any, name: str, scheme: Scheme) -> Any:
    """As `quantize`, there: the product with the reciprocal is rounded to an integer before the
    zero point is added.
    """
    low, high = LIMITS[name]
    with np.errstate(all="ignore"):
        steps = np.rint(values * (np.float32(1) / np.float32(scheme.scale)))
        made = np.fmin(np.fmax(steps + np.float32(scheme.zero_point), low), high)
    return QuantizedArray(made.astype(STORED[name]), name, scheme)


def _by_table(x: Any, function: Any, name: str, scheme: Scheme, vectors: bool = False) -> Any:
    """A function of one number, looked up: there are no more than 256."""
    a = x._array
    low, high = LIMITS[a.name]
    every = QuantizedArray(np.arange(low, high + 1).astype(STORED[a.name]), a.name, a.scheme)
    values = function(by_vectors(every) if vectors else dequantize(every)).astype(np.float32)
    table = (rounded if vectors else quantize)(values, name, scheme).ints
    made = np.take(table, a.ints.astype(np.int16) - low if low else a.ints)
    return wrapped(QuantizedArray(made, name, scheme))


def computed(x: Any, name: str, scheme: Scheme | None = None, **params: Any) -> Any:
    """An element-wise operation on the numbers that `x` stands for, rounded to `scheme` (that of
    `x`).
    """
    function = PRIMITIVES[name].numpy_forward
    a = x._array
    if a.name == "qint32":
        raise refuse(name)
    return _by_table(x, lambda values: function(values, **params), a.name, scheme or a.scheme)


_UNIT = {"quint8": Scheme.of(1 / 256, 0), "qint8": Scheme.of(1 / 256, -128)}
_TWICE = {"quint8": Scheme.of(1 / 128, 128), "qint8": Scheme.of(1 / 128, 0)}


@operation("sigmoid")
def _sigmoid(x: Any) -> Any:
    return computed(x, "sigmoid", _UNIT.get(x._array.name))


@operation("hardsigmoid")
def _hardsigmoid(x: Any) -> Any:
    return computed(x, "hardsigmoid", _UNIT.get(x._array.name))


@operation("tanh")
def _tanh(x: Any) -> Any:
    return computed(x, "tanh", _TWICE.get(x._array.name))


def _activation(name: str, scheme: Any = None) -> Handler:
    """A function of `nn.functional` on the numbers that a tensor stands for, looked up; the scheme
    is `scheme`, or that of the tensor.
    """
    dense = FUNCTIONS["nn.functional"][name]

    def activation(input: Any, *args: Any, inplace: bool = False, **kwargs: Any) -> Any:
        a = input._array
        if a.name == "qint32":
            raise refuse(name)
        to = scheme[a.name] if scheme else a.scheme
        if name == "gelu":  # whose scale passes through float32
            to = Scheme.of(float(np.float32(to.scale)), to.zero_point)
        made = _by_table(
            input,
            lambda values: dense(make_tensor(values), *args, **kwargs)._array,
            a.name,
            to,
            name == "leaky_relu",
        )
        if inplace:
            a.ints[...], a.scheme = made._array.ints, made._array.scheme
            return input
        return made

    activation.__name__ = name
    function(name, "nn.functional", methods=False)(activation)
    return activation


for _name in ("leaky_relu", "gelu"):
    _activation(_name)
_activation("hardsigmoid", _UNIT)


@function("clamp clip", "torch")
def clamp(input: Any, min: Any = None, max: Any = None) -> Any:
    """As `torch.clamp`."""
    return like(input, clamped(input._array, min, max))


@function("hardtanh", "nn.functional", methods=False)
def hardtanh(input: Any, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> Any:
    """As `nn.functional.hardtanh`."""
    ints = clamped(input._array, min_val, max_val)
    if inplace:
        input._array.ints[...] = ints
        return input
    return like(input, ints)


@function("relu6", "nn.functional", methods=False)
def relu6(input: Any, inplace: bool = False) -> Any:
    """As `nn.functional.relu6`."""
    return hardtanh(input, 0.0, 6.0, inplace)


@function("relu", "nn.functional", methods=False)
def relu(input: Any, inplace: bool = False) -> Any:
    """As `nn.functional.relu`."""
    return relu_(input) if inplace else _relu(input)


def _refused(names: str, aten: str, namespaces: str) -> None:
    def handler(input: Any, *args: Any, **kwargs: Any) -> Any:
        raise refusal(aten)

    function(names, namespaces)(handler)


for _names, _aten, _spaces in (
    ("nonzero", "nonzero", "torch"),
    ("hardswish", "hardswish", "nn.functional"),
    ("elu", "elu.out", "nn.functional"),
    ("dropout", "bernoulli_.float", "nn.functional"),
    ("zeros_like", "zero_", "torch"),
    ("linear", "addmm", "nn.functional"),
):
    _refused(_names, _aten, _spaces)


@function("empty_like", methods=False)
def empty_like(input: Any, *, memory_format: Any = None, **kwargs: Any) -> Any:
    """As `torch.empty_like`, with the scale and the zero point of `input`."""
    return like(input, np.zeros_like(input._array.ints))


@function("ones_like", methods=False)
def ones_like(input: Any, *, memory_format: Any = None, **kwargs: Any) -> Any:
    """As `torch.ones_like`, with the scale and the zero point of `input`."""
    return requantized(np.ones(input._array.shape, np.float32), input)


@function("equal")
def equal(input: Any, other: Any) -> bool:
    """Whether types, schemes, sizes and integers are the same."""
    if not is_quantized(other):
        raise OperationError("equal: Tensors must both be quantized")
    a, b = input._array, other._array
    return a.name == b.name and a.scheme == b.scheme and bool(np.array_equal(a.ints, b.ints))


@function("isclose allclose")
def isclose(input: Any, other: Any, *args: Any, **kwargs: Any) -> Any:
    """Not supported, as in PyTorch."""
    raise OperationError("isclose is not supported for quantized inputs.")


@function("masked_fill")
def masked_fill(input: Any, mask: Any, value: Any) -> Any:
    """As `torch.masked_fill`."""
    value = value.item() if hasattr(value, "item") else value
    one = quantize(np.float32([value]), input._array.name, input._array.scheme).ints[0]
    return like(input, np.where(mask._array, one, input._array.ints))


# ---- pooling and means -------------------------------------------------------------------------
def _channels_last(x: Any, ints: Any) -> Any:
    """The integers in the order of memory of `x`, where that has its channels last."""
    before = x._array.ints
    if (
        before.ndim == 4
        and ints.ndim == 4
        and before.strides[1] == before.itemsize
        and not before.flags.c_contiguous
    ):
        return np.ascontiguousarray(ints.transpose(0, 2, 3, 1)).transpose(0, 3, 1, 2)
    return ints


def _largest(
    x: Any,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
) -> Any:
    """Maxima of windows of an image whose channels lie last, or None: of bytes that lie side by
    side, tap by tap.
    """
    ints = x._array.ints
    size, step, pad, apart = (
        (v, v) if isinstance(v, int) else tuple(v)
        for v in (kernel_size, stride or kernel_size, padding, dilation)
    )
    if (
        ints.ndim != 4
        or ceil_mode
        or any(len(v) != 2 for v in (size, step, pad, apart))
        or any(2 * p > k for p, k in zip(pad, size, strict=True))
    ):
        return None
    last = ints.transpose(0, 2, 3, 1)
    if not last.flags.c_contiguous or not last.size:
        return None
    if any(pad):
        lowest = LIMITS[x._array.name][0]
        last = np.pad(last, ((0, 0), (pad[0],) * 2, (pad[1],) * 2, (0, 0)), constant_values=lowest)
    high, wide = (
        (n - d * (k - 1) - 1) // s + 1
        for n, k, s, d in zip(last.shape[1:3], size, step, apart, strict=True)
    )
    if high < 1 or wide < 1:
        return None
    made: Any = None
    for top in range(0, size[0] * apart[0], apart[0]):
        for left in range(0, size[1] * apart[1], apart[1]):
            part = last[
                :,
                top : top + (high - 1) * step[0] + 1 : step[0],
                left : left + (wide - 1) * step[1] + 1 : step[1],
            ]
            made = part.copy() if made is None else np.maximum(made, part, out=made)
    return like(x, made.transpose(0, 3, 1, 2))


def _on_floats(name: str, namespaces: str = "nn.functional") -> None:
    """Functions that choose among integers: exact on floats."""
    dense = FUNCTIONS["nn.functional"][name]

    def chosen(input: Any, *args: Any, **kwargs: Any) -> Any:
        if name == "max_pool2d" and len(args) <= 5 and not kwargs.get("return_indices"):
            quick = _largest(
                input, *args, **{k: v for k, v in kwargs.items() if k != "return_indices"}
            )
            if quick is not None:
                return quick
        made = dense(make_tensor(input._array.ints.astype(np.float32)), *args, **kwargs)
        several = isinstance(made, tuple)
        ints = like(
            input,
            _channels_last(
                input, (made[0] if several else made)._array.astype(STORED[input._array.name])
            ),
        )
        return (ints, *made[1:]) if several else ints

    chosen.__name__ = name
    function(name, namespaces, methods=False)(chosen)


for _name in (
    "max_pool1d",
    "max_pool2d",
    "max_pool3d",
    "adaptive_max_pool1d",
    "adaptive_max_pool2d",
):
    _on_floats(_name, "nn.functional torch")


def _averaged(name: str, namespaces: str = "nn.functional") -> None:
    """Means of integers (minus the zero point), rounded to the scheme of the argument."""
    dense = FUNCTIONS["nn.functional"][name]

    def mean(input: Any, *args: Any, **kwargs: Any) -> Any:
        a = input._array
        made = dense(
            make_tensor(a.ints.astype(np.float32) - np.float32(a.scheme.zero_point)),
            *args,
            **kwargs,
        )._array
        low, high = LIMITS[a.name]
        ints = np.clip(np.rint(made + np.float32(a.scheme.zero_point)), low, high).astype(
            STORED[a.name]
        )
        return like(input, _channels_last(input, ints))

    mean.__name__ = name
    function(name, namespaces, methods=False)(mean)


for _name in (
    "avg_pool2d",
    "avg_pool3d",
    "adaptive_avg_pool2d",
    "adaptive_avg_pool3d",
    "interpolate",
):
    _averaged(_name)


@function("mean")
def mean(input: Any, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    """As `torch.mean`, rounded to the scheme of `input`."""
    x = dequantized(input)
    made = (
        FUNCTIONS["torch"]["mean"](x)
        if dim is None
        else FUNCTIONS["torch"]["mean"](x, dim, keepdim)
    )
    return requantized(np.asarray(made._array, np.float32), input)


# ---- ordering ------------------------------------------------------------------------------------
@family("max_all min_all max_dim min_dim sort topk")
def _ordered(op: Primitive, x: Any, **params: Any) -> Any:
    made = op.call(make_tensor(x._array.ints), **params)
    if isinstance(made, tuple):
        return (like(x, made[0]._array), *made[1:])
    return like(x, made._array)
