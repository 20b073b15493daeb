"""Neural network functions decomposed into operators, as in `composite`."""

from __future__ import annotations

from typing import Any

from ..devices import device
from ..dtypes import BY_NUMPY, finfo, strided, uint8
from .composite import A, in_graph, product, route
from .computed import REDUCTIONS, reduction_number


@route
def softmax(input: Any, dim: Any = None, _stacklevel: int = 3, dtype: Any = None) -> Any:
    return _soft(A._softmax, input, dim, dtype)


@route
def log_softmax(input: Any, dim: Any = None, _stacklevel: int = 3, dtype: Any = None) -> Any:
    return _soft(A._log_softmax, input, dim, dtype)


def _soft(operator: Any, input: Any, dim: Any, dtype: Any) -> Any:
    if not isinstance(dim, int):
        return NotImplemented
    if dtype is not None and dtype is not BY_NUMPY[input._array.dtype]:
        input = A._to_copy(input, dtype=dtype)
    return operator(input, dim, False)


@route
def relu(input: Any, inplace: bool = False) -> Any:
    if inplace:
        return NotImplemented if in_graph((input,)) else A.relu_(input)
    return A.relu(input)


def _inplace_or_not(name: str, input: Any, inplace: bool, *rest: Any) -> Any:
    if inplace:
        return NotImplemented if in_graph((input,)) else getattr(A, f"{name}_")(input, *rest)
    return getattr(A, name)(input, *rest)


@route
def silu(input: Any, inplace: bool = False) -> Any:
    return _inplace_or_not("silu", input, inplace)


@route
def mish(input: Any, inplace: bool = False) -> Any:
    return _inplace_or_not("mish", input, inplace)


@route
def hardswish(input: Any, inplace: bool = False) -> Any:
    return _inplace_or_not("hardswish", input, inplace)


@route
def hardsigmoid(input: Any, inplace: bool = False) -> Any:
    return _inplace_or_not("hardsigmoid", input, inplace)


@route
def leaky_relu(input: Any, negative_slope: float = 0.01, inplace: bool = False) -> Any:
    return _inplace_or_not("leaky_relu", input, inplace, negative_slope)


@route
def elu(input: Any, alpha: float = 1.0, inplace: bool = False) -> Any:
    return _inplace_or_not("elu", input, inplace, alpha)


@route
def selu(input: Any, inplace: bool = False) -> Any:
    return _inplace_or_not("elu", input, inplace, 1.6732632423543772, 1.0507009873554805)


@route
def hardtanh(input: Any, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> Any:
    return _inplace_or_not("hardtanh", input, inplace, min_val, max_val)


@route
def relu6(input: Any, inplace: bool = False) -> Any:
    return _inplace_or_not("hardtanh", input, inplace, 0, 6)


@route
def logsigmoid(input: Any) -> Any:
    return A.log_sigmoid_forward(input)[0]


@route
def layer_norm(
    input: Any,
    normalized_shape: Any,
    weight: Any = None,
    bias: Any = None,
    eps: float = 1e-5,
    *rest: Any,
) -> Any:
    shape = [normalized_shape] if isinstance(normalized_shape, int) else list(normalized_shape)
    if list(input._array.shape[-len(shape) :]) != shape:
        return NotImplemented
    return A.native_layer_norm(input, shape, weight, bias, eps)[0]


@route
def rms_norm(
    input: Any, normalized_shape: Any, weight: Any = None, eps: float | None = None
) -> Any:
    shape = [normalized_shape] if isinstance(normalized_shape, int) else list(normalized_shape)
    if (
        not input.dtype.is_floating_point
        or input.dtype.itemsize < 4
        or list(input._array.shape[-len(shape) :]) != shape
    ):
        return NotImplemented  # the record has its own rounding and its own errors
    dims = list(range(len(input._array.shape) - len(shape), len(input._array.shape)))
    mean = A.mean.dim(A.pow.Tensor_Scalar(input, 2), dims, True)
    scaled = A.mul.Tensor(
        input, A.rsqrt(A.add.Scalar(mean, finfo(input.dtype).eps if eps is None else eps))
    )
    return scaled if weight is None else A.mul.Tensor(scaled, weight)


@route
def group_norm(
    input: Any, num_groups: int, weight: Any = None, bias: Any = None, eps: float = 1e-5, *rest: Any
) -> Any:
    shape = input._array.shape
    if len(shape) < 2 or shape[1] % num_groups:
        return NotImplemented
    return A.native_group_norm(
        input, weight, bias, shape[0], shape[1], product(shape[2:]), num_groups, eps
    )[0]


@route
def batch_norm(
    input: Any,
    running_mean: Any,
    running_var: Any,
    weight: Any = None,
    bias: Any = None,
    training: bool = False,
    momentum: Any = 0.1,
    eps: float = 1e-5,
    *rest: Any,
) -> Any:
    if not isinstance(training, bool) or not isinstance(momentum, float):
        return NotImplemented
    # PyTorch's reserved buffer for cuDNN
    A.empty.memory_format([0], dtype=uint8, layout=strided, device=device("cpu"))
    return A.native_batch_norm(
        input, weight, bias, running_mean, running_var, training, momentum, eps
    )[0]


def _conv(n: int) -> Any:
    def function(
        input: Any,
        weight: Any,
        bias: Any = None,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
    ) -> Any:
        if isinstance(padding, str) or input._array.ndim != n + 2:
            return NotImplemented
        sizes = [_each(x, n) for x in (stride, padding, dilation)]
        return A.convolution(input, weight, bias, *sizes, False, [0] * n, groups)

    function.__name__ = f"conv{n}d"
    return route(function)


def _conv_transpose(n: int) -> Any:
    def function(
        input: Any,
        weight: Any,
        bias: Any = None,
        stride: Any = 1,
        padding: Any = 0,
        output_padding: Any = 0,
        groups: int = 1,
        dilation: Any = 1,
    ) -> Any:
        if input._array.ndim != n + 2:
            return NotImplemented
        sizes = [_each(x, n) for x in (stride, padding, dilation)]
        return A.convolution(input, weight, bias, *sizes, True, _each(output_padding, n), groups)

    function.__name__ = f"conv_transpose{n}d"
    return route(function)


def _each(value: Any, n: int) -> list[int]:
    found = [value] if isinstance(value, int) else list(value)
    return found * n if len(found) == 1 else found


conv1d, conv2d, conv3d = _conv(1), _conv(2), _conv(3)
conv_transpose1d, conv_transpose2d, conv_transpose3d = (
    _conv_transpose(1),
    _conv_transpose(2),
    _conv_transpose(3),
)


@route
def max_pool2d(
    input: Any,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    made = A.max_pool2d_with_indices(
        input,
        _each(kernel_size, 2),
        [] if stride is None else _each(stride, 2),
        _each(padding, 2),
        _each(dilation, 2),
        ceil_mode,
    )
    return tuple(made) if return_indices else made[0]


@route
def avg_pool2d(
    input: Any,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: Any = None,
) -> Any:
    return A.avg_pool2d(
        input,
        _each(kernel_size, 2),
        [] if stride is None else _each(stride, 2),
        _each(padding, 2),
        ceil_mode,
        count_include_pad,
        divisor_override,
    )


def _size_of(input: Any, output_size: Any) -> list[int]:
    """Return the size of a pooled image; None stands for the size of the input."""
    return [
        s if wanted is None else wanted
        for s, wanted in zip(input._array.shape[-2:], _each(output_size, 2), strict=True)
    ]


@route
def adaptive_avg_pool2d(input: Any, output_size: Any) -> Any:
    size = _size_of(input, output_size)
    return (
        A.mean.dim(input, [-1, -2], True) if size == [1, 1] else A._adaptive_avg_pool2d(input, size)
    )


@route
def dropout(input: Any, p: float = 0.5, training: bool = True, inplace: bool = False) -> Any:
    if inplace or not 0 <= p <= 1:
        return NotImplemented
    if not training or not p:
        return input
    if p == 1:
        return A.mul.Tensor(input, A.scalar_tensor(0.0, dtype=BY_NUMPY[input._array.dtype]))
    noise = A.bernoulli_.float(A.empty_like(input.detach()), 1 - p)
    return A.mul.Tensor(input, A.div_.Scalar(noise, 1 - p))


@route
def embedding(
    input: Any,
    weight: Any,
    padding_idx: Any = None,
    max_norm: Any = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Any:
    if max_norm is not None:
        return NotImplemented
    if padding_idx is not None and padding_idx < 0:
        padding_idx += weight._array.shape[0]
    return A.embedding(
        weight, input, -1 if padding_idx is None else padding_idx, scale_grad_by_freq, sparse
    )


@route
def scaled_dot_product_attention(
    query: Any,
    key: Any,
    value: Any,
    attn_mask: Any = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: Any = None,
    enable_gqa: bool = False,
) -> Any:
    if (
        dropout_p
        or enable_gqa
        or query._array.ndim != 4
        or attn_mask is not None
        and (attn_mask._rg or attn_mask._array.dtype.kind == "b")
    ):
        return NotImplemented
    return A._scaled_dot_product_flash_attention_for_cpu(
        query, key, value, 0.0, is_causal, attn_mask=attn_mask, scale=scale
    )[0]


@route
def nll_loss(
    input: Any,
    target: Any,
    weight: Any = None,
    size_average: Any = None,
    ignore_index: int = -100,
    reduce: Any = None,
    reduction: str = "mean",
) -> Any:
    how = reduction_number(reduction, size_average, reduce)
    if how is None or input._array.ndim not in (1, 2, 4):
        return NotImplemented
    operator = A.nll_loss2d_forward if input._array.ndim == 4 else A.nll_loss_forward
    return operator(input, target, weight, how, ignore_index)[0]


@route
def cross_entropy(
    input: Any,
    target: Any,
    weight: Any = None,
    size_average: Any = None,
    ignore_index: int = -100,
    reduce: Any = None,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Any:
    if (
        label_smoothing
        or target._array.dtype.kind not in "iu"
        or input._array.ndim not in (1, 2, 4)
    ):
        return NotImplemented
    logs = A._log_softmax(input, 0 if input._array.ndim == 1 else 1, False)
    return nll_loss(logs, target, weight, size_average, ignore_index, reduce, reduction)


def _pair(name: str) -> Any:
    def function(
        input: Any,
        target: Any,
        size_average: Any = None,
        reduce: Any = None,
        reduction: str = "mean",
        *rest: Any,
        **more: Any,
    ) -> Any:
        how = reduction_number(reduction, size_average, reduce, more.pop("weight", None))
        if how is None or input._array.shape != target._array.shape:
            return NotImplemented
        return getattr(A, name)(input, target, how, *rest, *more.values())

    function.__name__ = name
    return route(function)


mse_loss, smooth_l1_loss = _pair("mse_loss"), _pair("smooth_l1_loss")


@route
def l1_loss(
    input: Any,
    target: Any,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
    weight: Any = None,
) -> Any:
    how = reduction_number(reduction, size_average, reduce, weight)
    if how is None:
        return NotImplemented
    made = A.abs(A.sub.Tensor(input, target))
    return (made, A.mean(made) if how == 1 else None, A.sum(made) if how == 2 else None)[how]


@route
def huber_loss(
    input: Any, target: Any, reduction: str = "mean", delta: float = 1.0, weight: Any = None
) -> Any:
    return (
        NotImplemented
        if weight is not None
        else A.huber_loss(input, target, REDUCTIONS.index(reduction), delta)
    )


@route
def binary_cross_entropy(
    input: Any,
    target: Any,
    weight: Any = None,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
) -> Any:
    how = reduction_number(reduction, size_average, reduce)
    return NotImplemented if how is None else A.binary_cross_entropy(input, target, weight, how)


@route
def binary_cross_entropy_with_logits(
    input: Any,
    target: Any,
    weight: Any = None,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
    pos_weight: Any = None,
) -> Any:
    how = reduction_number(reduction, size_average, reduce)
    return (
        NotImplemented
        if how is None
        else A.binary_cross_entropy_with_logits(input, target, weight, pos_weight, how)
    )
