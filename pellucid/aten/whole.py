"""Public functions as one operator each, the way PyTorch's bindings call them: `F.linear` is
`aten.linear`, before anything takes it apart.

Traces above decomposition ask here (`make_fx(pre_dispatch=True)`, `torch.export`): first a function
here of the public name, then the operator of that name. What neither knows is taken apart as in
`composite`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import dtypes
from ..core.tensor import Tensor
from ..devices import device
from ..dtypes import BY_NUMPY
from . import composite
from .composite import A
from .computed import reduction_number

# public name -> what the function is as one operator; NotImplemented for what is taken apart
WHOLE: dict[str, Callable[..., Any]] = {}

# These have an operator of their name, but PyTorch's bindings call others.
_APART = {"__getitem__", "__setitem__", "__bool__", "__float__", "__int__", "__index__", "tolist"}


def called(name: str, namespace: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The results of a function by one operator; NotImplemented where there is none."""
    if name in _APART:
        return NotImplemented
    own = WHOLE.get(name)
    if own is not None:
        return own(*args, **kwargs)
    if name in composite.ROUTES and name.startswith("__"):
        return NotImplemented
    return composite.by_operator(name, namespace, args, kwargs, whole=True)


def whole(function: Callable[..., Any]) -> Callable[..., Any]:
    """Decorator: a function that stands for the public function of its name."""
    WHOLE[function.__name__] = function
    return function


def _named(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    function.__name__ = name
    return whole(function)


# ---- convolutions and pooling ------------------------------------------------------------------
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
        packet = getattr(A, f"conv{n}d")
        operator = packet.padding if isinstance(padding, str) else packet.default
        return operator(input, weight, bias, stride, padding, dilation, groups)

    return _named(f"conv{n}d", function)


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
        packet = getattr(A, f"conv_transpose{n}d")
        operator = packet.default if n == 1 else packet.input
        return operator(input, weight, bias, stride, padding, output_padding, groups, dilation)

    return _named(f"conv_transpose{n}d", function)


def _max_pool(n: int) -> Any:
    def function(
        input: Any,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        dilation: Any = 1,
        ceil_mode: bool = False,
        return_indices: bool = False,
    ) -> Any:
        rest = ([] if stride is None else stride, padding, dilation, ceil_mode)
        if return_indices:
            return tuple(getattr(A, f"max_pool{n}d_with_indices")(input, kernel_size, *rest))
        return getattr(A, f"max_pool{n}d")(input, kernel_size, *rest)

    return _named(f"max_pool{n}d", function)


def _avg_pool(n: int) -> Any:
    def function(input: Any, kernel_size: Any, stride: Any = None, *rest: Any, **named: Any) -> Any:
        packet = getattr(A, f"avg_pool{n}d")
        return packet(input, kernel_size, [] if stride is None else stride, *rest, **named)

    return _named(f"avg_pool{n}d", function)


def _adaptive_pool(n: int) -> Any:
    def average(input: Any, output_size: Any) -> Any:
        return getattr(A, f"adaptive_avg_pool{n}d")(input, _size(input, output_size, n))

    def most(input: Any, output_size: Any, return_indices: bool = False) -> Any:
        made = getattr(A, f"adaptive_max_pool{n}d")(input, _size(input, output_size, n))
        return tuple(made) if return_indices else made[0]

    return _named(f"adaptive_avg_pool{n}d", average), _named(f"adaptive_max_pool{n}d", most)


def _size(input: Any, output_size: Any, n: int) -> list[int]:
    """The size of a pooled image; None stands for the size that the input has."""
    sizes = (
        [output_size] * n if output_size is None or isinstance(output_size, int) else output_size
    )
    own = input._array.shape[-n:]
    return [s if wanted is None else wanted for s, wanted in zip(own, sizes, strict=True)]


for _n in (1, 2, 3):
    _conv(_n), _conv_transpose(_n), _max_pool(_n), _avg_pool(_n), _adaptive_pool(_n)


# ---- normalization -----------------------------------------------------------------------------
@whole
def batch_norm(
    input: Any,
    running_mean: Any,
    running_var: Any,
    weight: Any = None,
    bias: Any = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
    *rest: Any,
) -> Any:
    return A.batch_norm.default(
        input, weight, bias, running_mean, running_var, training, momentum, eps, False
    )


@whole
def instance_norm(
    input: Any,
    running_mean: Any = None,
    running_var: Any = None,
    weight: Any = None,
    bias: Any = None,
    use_input_stats: bool = True,
    momentum: float = 0.1,
    eps: float = 1e-5,
    *rest: Any,
) -> Any:
    return A.instance_norm.default(
        input, weight, bias, running_mean, running_var, use_input_stats, momentum, eps, False
    )


@whole
def layer_norm(
    input: Any,
    normalized_shape: Any,
    weight: Any = None,
    bias: Any = None,
    eps: float = 1e-5,
    *rest: Any,
) -> Any:
    return A.layer_norm.default(input, normalized_shape, weight, bias, eps, False)


@whole
def group_norm(
    input: Any, num_groups: int, weight: Any = None, bias: Any = None, eps: float = 1e-5, *rest: Any
) -> Any:
    return A.group_norm.default(input, num_groups, weight, bias, eps, False)


# ---- activations -------------------------------------------------------------------------------
def _inplace(name: str, *defaults: Any) -> Any:
    def function(input: Any, *rest: Any, inplace: bool = False, **named: Any) -> Any:
        if len(rest) > len(defaults):
            rest, inplace = rest[:-1], rest[-1]
        rest = rest if named else (*rest, *defaults[len(rest) :])
        return getattr(A, f"{name}_" if inplace else name).default(input, *rest, **named)

    return _named(name, function)


_inplace("relu")
_inplace("relu6")
_inplace("silu")
_inplace("mish")
_inplace("hardswish")
_inplace("hardsigmoid")
_inplace("selu")
_inplace("celu", 1.0)
_inplace("elu", 1.0)
_inplace("leaky_relu", 0.01)
_inplace("hardtanh", -1.0, 1.0)
_inplace("threshold", 0.0, 0.0)


@whole
def softmin(input: Any, dim: Any = None, _stacklevel: int = 3, dtype: Any = None) -> Any:
    return A.softmax.int(A.neg(input), dim, dtype) if isinstance(dim, int) else NotImplemented


@whole
def logsigmoid(input: Any) -> Any:
    return A.log_sigmoid.default(input)


def _soft(name: str) -> Any:
    def function(input: Any, dim: Any = None, _stacklevel: int = 3, dtype: Any = None) -> Any:
        if not isinstance(dim, int):
            return NotImplemented
        return getattr(A, name).int(input, dim, dtype)

    return _named(name, function)


_soft("softmax")
_soft("log_softmax")


def _dropped(name: str, operator: str | None = None) -> Any:
    def function(input: Any, p: float = 0.5, training: bool = True, inplace: bool = False) -> Any:
        return getattr(A, (operator or name) + ("_" if inplace else ""))(input, p, training)

    return _named(name, function)


_dropped("dropout")
_dropped("alpha_dropout")
_dropped("feature_alpha_dropout")
for _n in (1, 2, 3):
    _dropped(f"dropout{_n}d", "feature_dropout")


# ---- layers ------------------------------------------------------------------------------------
@whole
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
    place = -1 if padding_idx is None else padding_idx
    return A.embedding.default(weight, input, place, scale_grad_by_freq, sparse)


@whole
def gelu(input: Any, approximate: str = "none") -> Any:
    return A.gelu.default(input, approximate=approximate)


@whole
def scaled_dot_product_attention(*args: Any, **named: Any) -> Any:
    return A.scaled_dot_product_attention.default(*args, **named)


_RESIZED = {
    "nearest": "upsample_nearest{}d",
    "nearest-exact": "_upsample_nearest_exact{}d",
    "linear": "upsample_linear1d",
    "bilinear": "upsample_bilinear2d",
    "bicubic": "upsample_bicubic2d",
    "trilinear": "upsample_trilinear3d",
}


@whole
def interpolate(
    input: Any,
    size: Any = None,
    scale_factor: Any = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None,
    antialias: bool = False,
) -> Any:
    n = input._array.ndim - 2
    known = mode in _RESIZED and (mode.startswith("nearest") or mode != "linear" or n == 1)
    if not known or recompute_scale_factor or (size is None) == (scale_factor is None):
        return NotImplemented
    name = _RESIZED[mode].format(n) + ("_aa" if antialias else "")
    sizes = None if size is None else [size] * n if isinstance(size, int) else list(size)
    factors = scale_factor
    if factors is not None:
        factors = list(factors) if isinstance(factors, (list, tuple)) else [factors] * n
        factors = [float(f) for f in factors]
    operator = getattr(A, f"_{name}" if antialias else name).vec
    if mode.startswith("nearest"):
        return operator(input, sizes, factors)
    return operator(input, sizes, bool(align_corners), factors)


@whole
def embedding_bag(
    input: Any,
    weight: Any,
    offsets: Any = None,
    max_norm: Any = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    mode: str = "mean",
    sparse: bool = False,
    per_sample_weights: Any = None,
    include_last_offset: bool = False,
    padding_idx: Any = None,
) -> Any:
    modes = ("sum", "mean", "max")
    if max_norm is not None or mode not in modes:
        return NotImplemented
    if input._array.ndim == 2:
        rows, length = input._array.shape
        offsets = A.arange.start_step(
            0, input._array.size, length, dtype=dtypes.int64, device=device("cpu"), pin_memory=False
        )
        input = A.reshape(input, [-1])
        if per_sample_weights is not None:
            per_sample_weights = A.reshape(per_sample_weights, [-1])
    made = A.embedding_bag.padding_idx(
        weight,
        input,
        offsets,
        scale_grad_by_freq,
        modes.index(mode),
        sparse,
        per_sample_weights,
        include_last_offset,
        padding_idx,
    )
    return made[0]


@whole
def unfold(
    input: Any, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1
) -> Any:
    if isinstance(kernel_size, int) and input._array.ndim != 4:
        return NotImplemented  # Tensor.unfold
    return A.im2col(input, *[_each(x) for x in (kernel_size, dilation, padding, stride)])


@whole
def fold(
    input: Any,
    output_size: Any,
    kernel_size: Any,
    dilation: Any = 1,
    padding: Any = 0,
    stride: Any = 1,
) -> Any:
    sizes = [_each(x) for x in (output_size, kernel_size, dilation, padding, stride)]
    return A.col2im(input, *sizes)


def _each(value: Any) -> list[int]:
    return [value, value] if isinstance(value, int) else list(value)


@whole
def affine_grid(theta: Any, size: Any, align_corners: bool | None = None) -> Any:
    return A.affine_grid_generator(theta, list(size), bool(align_corners))


@whole
def grid_sample(
    input: Any,
    grid: Any,
    mode: str = "bilinear",
    padding_mode: str = "zeros",
    align_corners: bool | None = None,
) -> Any:
    modes, borders = ("bilinear", "nearest", "bicubic"), ("zeros", "border", "reflection")
    if mode not in modes or padding_mode not in borders:
        return NotImplemented
    numbers = (modes.index(mode), borders.index(padding_mode))
    return A.grid_sampler(input, grid, *numbers, bool(align_corners))


# ---- losses ------------------------------------------------------------------------------------
@whole
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
    how = reduction_number(reduction, size_average, reduce)
    if how is None:
        return NotImplemented
    return A.cross_entropy_loss.default(input, target, weight, how, ignore_index, label_smoothing)


@whole
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
    if how is None:
        return NotImplemented
    return A.nll_loss_nd.default(input, target, weight, how, ignore_index)


def _pair(name: str) -> Any:
    def function(
        input: Any,
        target: Any,
        size_average: Any = None,
        reduce: Any = None,
        reduction: str = "mean",
        weight: Any = None,
    ) -> Any:
        how = reduction_number(reduction, size_average, reduce, weight)
        same = input._array.shape == target._array.shape
        return (
            getattr(A, name).default(input, target, how)
            if same and how is not None
            else NotImplemented
        )

    return _named(name, function)


_pair("mse_loss")
_pair("l1_loss")


@whole
def kl_div(
    input: Any,
    target: Any,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
    log_target: bool = False,
) -> Any:
    batch = reduction == "batchmean"
    how = reduction_number("sum" if batch else reduction, size_average, reduce)
    if how is None:
        return NotImplemented
    made = A.kl_div(input, target, how, log_target=log_target)
    return A.div.Tensor(made, input._array.shape[0]) if batch else made


@whole
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
    if how is None:
        return NotImplemented
    return A.binary_cross_entropy_with_logits.default(input, target, weight, pos_weight, how)


# ---- arithmetic --------------------------------------------------------------------------------
for _sign in ("__and__", "__or__", "__xor__"):

    def _logical(self: Any, other: Any, name: str = _sign) -> Any:
        packet = getattr(A, name)
        return (packet.Tensor if isinstance(other, Tensor) else packet.Scalar)(self, other)

    _named(_sign, _logical)


def _spread(name: str) -> Any:
    def function(
        input: Any,
        dim: Any = None,
        unbiased: Any = None,
        keepdim: bool = False,
        *,
        correction: Any = None,
    ) -> Any:
        packet = getattr(A, name)
        if isinstance(dim, bool):
            return packet.default(input, dim)
        dims = [dim] if isinstance(dim, int) else dim
        if correction is not None or dim is None and unbiased is None:
            return packet.correction(input, dims, correction=correction, keepdim=keepdim)
        if dim is None:
            return packet.default(input, unbiased)
        return packet.dim(input, dims, True if unbiased is None else unbiased, keepdim)

    return _named(name, function)


_spread("var")
_spread("std")


@whole
def norm(
    input: Any,
    p: Any = "fro",
    dim: Any = None,
    keepdim: bool = False,
    out: Any = None,
    dtype: Any = None,
) -> Any:
    if p == "nuc" or out is not None:
        return NotImplemented
    order = 2 if p in ("fro", None) else p
    dims = [dim] if isinstance(dim, int) else dim
    return A.linalg_vector_norm(input, order, dims, keepdim, dtype=dtype)


@whole
def einsum(equation: Any, *operands: Any) -> Any:
    if not isinstance(equation, str):
        return NotImplemented
    if len(operands) == 1 and isinstance(operands[0], (list, tuple)):
        operands = tuple(operands[0])
    return A.einsum(equation, list(operands))


@whole
def tensordot(a: Any, b: Any, dims: Any = 2, out: Any = None) -> Any:
    if out is not None or isinstance(dims, Tensor):
        return NotImplemented
    if isinstance(dims, int):
        dims = (list(range(-dims, 0)), list(range(dims)))
    return A.tensordot(a, b, *[[d] if isinstance(d, int) else list(d) for d in dims])


@whole
def meshgrid(*tensors: Any, indexing: Any = None) -> Any:
    if len(tensors) == 1 and isinstance(tensors[0], (list, tuple)):
        tensors = tuple(tensors[0])
    if indexing is None:
        return NotImplemented  # which warns
    return tuple(A.meshgrid.indexing(list(tensors), indexing=indexing))


# ---- views -------------------------------------------------------------------------------------
@whole
def T(self: Any) -> Any:  # noqa: N802 (PyTorch's name)
    return A.numpy_T(self)


@whole
def mT(self: Any) -> Any:  # noqa: N802 (PyTorch's name)
    return A.mT(self)


@whole
def contiguous(self: Any, memory_format: Any = None) -> Any:
    if memory_format not in (None, dtypes.contiguous_format):
        return NotImplemented
    return self if composite.is_row_by_row(self) else A.contiguous(self)


@whole
def split(self: Any, split_size_or_sections: Any, dim: int = 0) -> Any:
    sizes = split_size_or_sections
    if isinstance(sizes, int):
        return tuple(A.split.Tensor(self, sizes, dim))
    return tuple(A.split_with_sizes(self, list(sizes), dim))


# ---- conversions -------------------------------------------------------------------------------
@whole
def to(self: Any, *args: Any, **kwargs: Any) -> Any:
    options = composite.conversion(args, kwargs)
    where, kind = options.pop("device", None), options.pop("dtype", None)
    if where is None:
        return self if kind is None else A.to.dtype(self, kind, **options)
    place = where if isinstance(where, device) else device(where)
    return A.to.device(self, place, kind or BY_NUMPY[self._array.dtype], **options)


def _converting(name: str, kind: Any) -> Any:
    def function(self: Any, memory_format: Any = None) -> Any:
        return NotImplemented if memory_format is not None else A.to.dtype(self, kind)

    return _named(name, function)


for _name, _kind in {
    "double": dtypes.float64,
    "float": dtypes.float32,
    "half": dtypes.float16,
    "bfloat16": dtypes.bfloat16,
    "long": dtypes.int64,
    "int": dtypes.int32,
    "short": dtypes.int16,
    "char": dtypes.int8,
    "byte": dtypes.uint8,
    "bool": dtypes.bool_,
}.items():
    _converting(_name, _kind)


@whole
def item(self: Any) -> Any:
    return A.item.default(self) if self._array.size == 1 else NotImplemented


composite.as_one = called
