"""Layers of quantized tensors with packed weights, as `torch.ops.quantized` has them.

>>> import pellucid as torch
>>> w = torch.quantize_per_tensor(torch.eye(2), 0.5, 0, torch.qint8)
>>> packed = torch.ops.quantized.linear_prepack(w, None)
>>> torch.ops.quantized.linear_dynamic(torch.tensor([[1.0, -2.0]]), packed).round()
tensor([[ 1., -2.]])
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..arrays import rnn
from ..arrays.affine import QuantizedArray, Scheme, choose, quantize
from ..core.tensor import make_tensor
from ..errors import OperationError, UnsupportedError
from ..kernels.quantized import products
from ._tensor import is_quantized, wrapped
from .registry import OPERATORS, _bytes_of, _operator, engine


# ---- packed weights ------------------------------------------------------------------------------
class _Packed:
    """A weight and a bias, and the weight as the native products take it."""

    def __init__(self, weight: Any, bias: Any) -> None:
        if not is_quantized(weight) or weight._array.name != "qint8":
            raise OperationError("a packed weight is made of a tensor of torch.qint8")
        self._weight, self._bias = weight, bias
        self._matrix: Any = None

    def unpack(self) -> tuple[Any, Any]:
        """The weight and the bias."""
        return self._weight, self._bias

    def bias(self) -> Any:
        """The bias, or None."""
        return self._bias

    @property
    def bias_array(self) -> Any:
        return None if self._bias is None else self._bias._array

    def __deepcopy__(self, memo: Any) -> Any:
        made = object.__new__(type(self))
        made.__dict__.update(self.__dict__)
        return made

    def __getstate__(self) -> Any:
        return {**self.__dict__, "_matrix": None}


def _channel_parameters(a: QuantizedArray, axis: int) -> tuple[Any, Any]:
    scheme = a.scheme
    if not scheme.per_tensor and scheme.axis != axis:
        raise OperationError(f"scales of a weight must be along dimension {axis}")
    return scheme.scale, scheme.zero_point


class LinearPackedParams(_Packed):
    """The weight of a linear layer, `(out, in)`."""

    def matrix(self) -> Any:
        """The weight for native products."""
        if self._matrix is None:
            a = self._weight._array
            self._matrix = products.Weight(a.ints, *_channel_parameters(a, 0))
        return self._matrix


class ConvPackedParams(_Packed):
    """The weight of a convolution, `(out, in / groups, *taps)`, and how it is applied."""

    def __init__(
        self,
        weight: Any,
        bias: Any,
        stride: Any,
        padding: Any,
        dilation: Any,
        groups: int,
        output_padding: Any = None,
        transposed: bool = False,
    ) -> None:
        super().__init__(weight, bias)
        dims = weight._array.ndim - 2
        self._stride, self._padding, self._dilation = (
            list(v)[-dims:] if v is not None else [] for v in (stride, padding, dilation)
        )
        self._output_padding = list(output_padding or [0] * dims)
        self._groups, self._transposed = groups, transposed

    def stride(self) -> list[int]:
        """The step of the windows."""
        return self._stride

    def padding(self) -> list[int]:
        """What is added at each side."""
        return self._padding

    def dilation(self) -> list[int]:
        """How far taps are apart."""
        return self._dilation

    def output_padding(self) -> list[int]:
        """What is added at one side of the result of a transposed convolution."""
        return self._output_padding

    def groups(self) -> int:
        """How many groups of channels there are."""
        return self._groups

    def transpose(self) -> bool:
        """Whether it is transposed."""
        return self._transposed

    def matrix(self) -> Any:
        """The weight for native products: a row for each channel of the result, its taps in the
        order of the patches.
        """
        if self._matrix is None:
            a = self._weight._array
            if self._transposed:
                ints, groups = a.ints, self._groups
                # (in, out / groups, *taps) with taps turned round, as (out, *taps, in / groups)
                turned = np.flip(ints, tuple(range(2, ints.ndim)))
                parts = turned.reshape(groups, ints.shape[0] // groups, *ints.shape[1:]).swapaxes(
                    1, 2
                )
                ints = np.moveaxis(parts, 2, -1)
                rows = ints.shape[0] * ints.shape[1]
                scale, zero = _channel_parameters(a, 1)
                scale, zero = (
                    np.tile(np.atleast_1d(v), groups) if np.ndim(v) else v for v in (scale, zero)
                )
                self._matrix = products.Weight(ints.reshape(rows, -1), scale, zero)
            else:
                self._matrix = products.Weight(
                    np.moveaxis(a.ints, 1, -1).reshape(len(a.ints), -1), *_channel_parameters(a, 0)
                )
        return self._matrix


class EmbeddingPackedParams:
    """Rows of bytes with their own scale and zero point."""

    def __init__(self, weight: Any) -> None:
        if not is_quantized(weight) or weight._array.name not in ("quint8",):
            raise UnsupportedError("embeddings of other types than torch.quint8 are not supported")
        self._weight = weight

    def unpack(self) -> Any:
        """The weight."""
        return self._weight

    def rows(self, index: Any) -> Any:
        """The floats of rows: q * scale + bias, with the product not rounded."""
        a = self._weight._array
        scale, zero = (
            np.broadcast_to(np.asarray(v, np.float32), (len(a.ints),))[index]
            for v in (a.scheme.scale, a.scheme.zero_point)
        )
        bias = -zero * scale
        picked = a.ints[index].astype(np.float64)
        return (picked * scale[..., None] + bias[..., None]).astype(np.float32)


# ---- linear -----------------------------------------------------------------------------------------
@_operator
def linear_prepack(W: Any, B: Any = None) -> Any:
    """Pack a weight `(out, in)` of torch.qint8 and a float bias."""
    return LinearPackedParams(W, B)


@_operator
def linear_unpack(W_prepack: Any) -> Any:
    """The weight and the bias that were packed."""
    return W_prepack.unpack()


def _linear(X: Any, packed: Any, scale: float, zero_point: int, relu: bool, name: str) -> Any:
    ints, scheme = _bytes_of(X, name)
    w = packed.matrix()
    _check_inner(ints.shape, w)
    made = products.linear(
        ints.reshape(-1, w.k),
        w,
        scheme.scale,
        scheme.zero_point,
        packed.bias_array,
        scale=scale,
        zero_point=zero_point,
        relu=relu,
        late=engine.name == "onednn",
    )
    return wrapped(
        QuantizedArray(
            made.reshape(*ints.shape[:-1], w.rows), "quint8", Scheme.of(scale, zero_point)
        )
    )


def _check_inner(shape: tuple[int, ...], w: Any) -> None:
    if not shape or shape[-1] != w.k:
        raise OperationError(
            f"The number of columns in the input ({shape[-1] if shape else 1}) must be that of the weight ({w.k})"
        )


@_operator
def linear(X: Any, W_prepack: Any, Y_scale_i: float, Y_zero_point_i: int) -> Any:
    """`x @ weight.T + bias` of quantized `x`, quantized."""
    return _linear(X, W_prepack, Y_scale_i, Y_zero_point_i, False, "linear")


@_operator
def linear_relu(X: Any, W_prepack: Any, Y_scale_i: float, Y_zero_point_i: int) -> Any:
    """As `linear`, and what is negative becomes zero."""
    return _linear(X, W_prepack, Y_scale_i, Y_zero_point_i, True, "linear_relu")


def _linear_dynamic(X: Any, packed: Any, reduce_range: bool, relu: bool) -> Any:
    x = X._array
    if type(x) is not np.ndarray or x.dtype != np.float32:
        raise OperationError("The data type of input tensor should be float.")
    return make_tensor(_dynamic(x, packed, reduce_range, relu))


def _dynamic(x: Any, packed: Any, reduce_range: bool, relu: bool = False) -> Any:
    """The products of an array of floats."""
    w = packed.matrix()
    _check_inner(x.shape, w)
    flat = np.ascontiguousarray(x).reshape(-1, w.k)
    if not flat.size:
        return np.zeros((*x.shape[:-1], w.rows), np.float32)
    low, high = products.range_of(flat)
    scale, zero_point = choose(low, high, "quint8", reduce_range and engine.name != "qnnpack")
    return products.linear_dynamic(flat, w, scale, zero_point, packed.bias_array, relu).reshape(
        *x.shape[:-1], w.rows
    )


@_operator
def linear_dynamic(X: Any, W_prepack: Any, reduce_range: bool = False) -> Any:
    """`x @ weight.T + bias` of a float `x`, which is rounded to bytes that cover its range, as
    floats.
    """
    return _linear_dynamic(X, W_prepack, reduce_range, False)


@_operator
def linear_relu_dynamic(X: Any, W_prepack: Any, reduce_range: bool = False) -> Any:
    """As `linear_dynamic`, and what is negative becomes zero."""
    return _linear_dynamic(X, W_prepack, reduce_range, True)


# ---- convolution -----------------------------------------------------------------------------------
def _prepack(name: str, dims: int, transposed: bool = False) -> None:
    def ordinary(
        weight: Any, bias: Any, stride: Any, padding: Any, dilation: Any, groups: int
    ) -> Any:
        _check_dims(weight, dims)
        return ConvPackedParams(weight, bias, stride, padding, dilation, groups)

    def turned(
        weight: Any,
        bias: Any,
        stride: Any,
        padding: Any,
        output_padding: Any,
        dilation: Any,
        groups: int,
    ) -> Any:
        _check_dims(weight, dims)
        return ConvPackedParams(
            weight, bias, stride, padding, dilation, groups, output_padding, True
        )

    OPERATORS[f"{name}_prepack"] = turned if transposed else ordinary
    OPERATORS[f"{name}_unpack"] = lambda packed_weights: packed_weights.unpack()


def _check_dims(weight: Any, dims: int) -> None:
    if weight._array.ndim != dims + 2:
        raise OperationError(f"Weights are expected to have {dims + 2} dimensions")


def _convolution(
    x: Any,
    packed: ConvPackedParams,
    scale: float,
    zero_point: int,
    relu: bool,
    name: str,
    dims: int,
) -> Any:
    ints, scheme = _bytes_of(x, name)
    if ints.ndim != dims + 2:
        raise OperationError(f"Expected activation data tensor to have {dims + 2} dimension(s).")
    last = np.moveaxis(ints, 1, -1)  # the channels last
    w, taps = packed.matrix(), packed._weight._array.shape[2:]
    stride, padding, dilation = packed._stride, packed._padding, packed._dilation
    if packed._transposed:
        last, stride, padding = _spread(last, packed, taps, scheme.zero_point)
    if last.shape[-1] != w.k // math.prod(taps) * packed._groups:
        raise OperationError(
            f"Given groups={packed._groups}, expected input to have {w.k // math.prod(taps) * packed._groups} channels"
        )
    late = engine.name in ("x86", "onednn") and not packed._transposed and packed._groups <= 100
    made = _convolved(
        last, w, taps, scheme, packed, stride, padding, dilation, scale, zero_point, relu, late
    )
    return wrapped(QuantizedArray(np.moveaxis(made, -1, 1), "quint8", Scheme.of(scale, zero_point)))


def _convolved(
    x: Any,
    w: Any,
    taps: Any,
    scheme: Scheme,
    packed: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    scale: float,
    zero_point: int,
    relu: bool,
    late: bool,
) -> Any:
    dims = len(taps)
    if dims <= 2:
        extra = (1,) * (2 - dims)
        made = products.convolution(
            x if dims == 2 else x[:, None],
            w,
            (*extra, *taps),
            scheme.scale,
            scheme.zero_point,
            packed.bias_array,
            stride=(*extra, *stride),
            padding=(*(0,) * (2 - dims), *padding),
            dilation=(*extra, *dilation),
            groups=packed._groups,
            scale=scale,
            zero_point=zero_point,
            relu=relu,
            late=late,
        )
        return made if dims == 2 else made[:, 0]
    out = tuple(
        products.extent(*v)
        for v in zip(x.shape[1:-1], taps, stride, padding, dilation, strict=True)
    )
    patches = products.patches_of(x, taps, scheme.zero_point, stride, padding, dilation, out)
    places, groups = len(x) * math.prod(out), packed._groups
    used, each = x.shape[-1] // groups, w.rows // groups
    flat = patches.reshape(places, math.prod(taps), x.shape[-1])
    bias = packed.bias_array
    parts = [
        products.linear(
            np.ascontiguousarray(flat[:, :, g * used : (g + 1) * used]).reshape(places, -1),
            w if groups == 1 else w.part(g * each, (g + 1) * each),
            scheme.scale,
            scheme.zero_point,
            None if bias is None else bias[g * each : (g + 1) * each],
            scale=scale,
            zero_point=zero_point,
            relu=relu,
            late=late,
        )
        for g in range(groups)
    ]
    return np.concatenate(parts, 1).reshape(len(x), *out, w.rows)


def _spread(
    x: Any, packed: ConvPackedParams, taps: Any, zero: int
) -> tuple[Any, list[int], list[int]]:
    """The input of a transposed convolution as that of an ordinary one: zero points between its
    elements, and around it.
    """
    sizes = x.shape[1:-1]
    ends = [
        d * (t - 1) - p for d, t, p in zip(packed._dilation, taps, packed._padding, strict=True)
    ]
    if min(ends) < 0:
        raise UnsupportedError(
            "a transposed convolution whose padding is larger than its window is not supported"
        )
    inner = [(s - 1) * st + 1 for s, st in zip(sizes, packed._stride, strict=True)]
    full = [i + 2 * e + o for i, e, o in zip(inner, ends, packed._output_padding, strict=True)]
    made = np.full((len(x), *full, x.shape[-1]), zero, np.uint8)
    made[
        (
            slice(None),
            *[slice(e, e + i, st) for e, i, st in zip(ends, inner, packed._stride, strict=True)],
        )
    ] = x
    return made, [1] * len(taps), [0] * len(taps)


def _layers(dims: int) -> None:
    name = f"conv{dims}d"

    def plain(qx: Any, packed_weight: Any, output_scale: float, output_zero_point: int) -> Any:
        return _convolution(qx, packed_weight, output_scale, output_zero_point, False, name, dims)

    def rectifying(qx: Any, packed_weight: Any, output_scale: float, output_zero_point: int) -> Any:
        return _convolution(qx, packed_weight, output_scale, output_zero_point, True, name, dims)

    def dynamic(qx: Any, packed_weight: Any, reduce_range: bool = False) -> Any:
        return _convolution_dynamic(qx, packed_weight, reduce_range, dims)

    OPERATORS[name] = OPERATORS[f"conv_transpose{dims}d"] = plain
    OPERATORS[f"{name}_relu"] = rectifying
    OPERATORS[f"{name}_dynamic"] = OPERATORS[f"conv_transpose{dims}d_dynamic"] = dynamic
    _prepack(name, dims)
    _prepack(f"conv_transpose{dims}d", dims, True)


def _convolution_dynamic(x: Any, packed: ConvPackedParams, reduce_range: bool, dims: int) -> Any:
    """Of floats that are rounded to bytes, as floats: exact sums of what the bytes stand for."""
    array = x._array
    scale, zero_point = choose(float(array.min()), float(array.max()), "quint8", reduce_range)
    ints = quantize(np.ascontiguousarray(array), "quint8", Scheme.of(scale, zero_point)).ints
    last, w, taps = np.moveaxis(ints, 1, -1), packed.matrix(), packed._weight._array.shape[2:]
    stride, padding = packed._stride, packed._padding
    if packed._transposed:
        last, stride, padding = _spread(last, packed, taps, zero_point)
    out = tuple(
        products.extent(*v)
        for v in zip(last.shape[1:-1], taps, stride, padding, packed._dilation, strict=True)
    )
    sums = products._sums_of_patches(
        last, w, taps, zero_point, stride, padding, packed._dilation, packed._groups, out
    )
    added = 0.0 if packed._bias is None else packed.bias_array
    made = (sums.astype(np.float64) * (np.float32(scale) * w.scales) + added).astype(np.float32)
    return make_tensor(np.moveaxis(made.reshape(len(last), *out, w.rows), -1, 1))


for _dims in (1, 2, 3):
    _layers(_dims)


# ---- embeddings ----------------------------------------------------------------------------------------
@_operator
def embedding_bag_prepack(weight: Any) -> Any:
    """Pack rows of torch.quint8."""
    return EmbeddingPackedParams(weight)


@_operator
def embedding_bag_unpack(W_prepack: Any) -> Any:
    """The weight that was packed."""
    return W_prepack.unpack()


@_operator
def embedding_byte(weight: Any, indices: Any, pruned_weights: bool = False) -> Any:
    """The rows of a packed weight, as floats."""
    return make_tensor(weight.rows(indices._array))


@_operator
def embedding_bag_byte(
    weight: Any,
    indices: Any,
    offsets: Any = None,
    scale_grad_by_freq: bool = False,
    mode: int = 0,
    pruned_weights: bool = False,
    per_sample_weights: Any = None,
    compressed_indices_mapping: Any = None,
    include_last_offset: bool = False,
) -> Any:
    """Sums of the rows of a packed weight, as floats."""
    index = indices._array
    if index.ndim == 2:
        starts, flat = np.arange(len(index)) * index.shape[1], index.reshape(-1)
    else:
        starts, flat = offsets._array, index
        starts = starts[:-1] if include_last_offset else starts
    rows = weight.rows(flat)
    if per_sample_weights is not None:
        rows = rows * per_sample_weights._array.reshape(-1, 1)
    ends = [*starts[1:].tolist(), len(flat)]
    made = np.zeros((len(starts), rows.shape[1]), np.float32)
    for k, (first, last) in enumerate(zip(starts.tolist(), ends, strict=True)):
        for row in rows[first:last]:
            made[k] += row
    return make_tensor(made)


# ---- recurrent cells ----------------------------------------------------------------------------------------
class CellParams:
    """The packed weights of one layer and direction of a recurrent network: those of the input and
    of the state.
    """

    def __init__(
        self, w_ih: LinearPackedParams, w_hh: LinearPackedParams, reduce_range: bool = False
    ) -> None:
        self.w_ih, self.w_hh, self.reduce_range = w_ih, w_hh, reduce_range


def step(mode: str, x: Any, h: Any, c: Any, w_ih: Any, w_hh: Any) -> Any:
    """One step of a cell, "lstm", "gru" or "rnn_*", of arrays: h, or for an LSTM (h, c)."""
    h, c = np.ascontiguousarray(h), None if c is None else np.ascontiguousarray(c)
    return rnn.cell_step(mode, _dynamic(x, w_ih, True), _dynamic(h, w_hh, True), h, c)


def layer(
    mode: str, x: Any, h: Any, c: Any, cell: CellParams, reverse: bool
) -> tuple[Any, Any, Any]:
    """A layer in one direction, of arrays `(steps, batch, features)`: the results, and the last
    state.

    The inputs of all steps are rounded by their common range, the states of each step by their own.
    """
    inputs = _dynamic(x, cell.w_ih, True)
    made = np.empty((*x.shape[:2], h.shape[-1]), np.float32)
    h, c = np.ascontiguousarray(h), None if c is None else np.ascontiguousarray(c)
    for t in range(len(x) - 1, -1, -1) if reverse else range(len(x)):
        state = rnn.cell_step(mode, inputs[t], _dynamic(h, cell.w_hh, True), h, c)
        h, c = state if mode == "lstm" else (state, None)
        made[t] = h
    return made, h, c


@_operator
def make_quantized_cell_params_dynamic(
    w_ih: Any, w_hh: Any, bias_ih: Any, bias_hh: Any, reduce_range: bool = False
) -> Any:
    """Packed weights of a cell."""
    return CellParams(w_ih, w_hh, reduce_range)


__all__ = [
    "CellParams",
    "ConvPackedParams",
    "EmbeddingPackedParams",
    "LinearPackedParams",
]
