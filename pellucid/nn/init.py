"""Initialization of parameters (`torch.nn.init`), with PyTorch's distributions and random numbers."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ..core.display.examples import of_alias as _of_alias
from ..core.modes import no_grad
from ..core.tensor import Tensor
from ..errors import ArgumentValueError
from ..errors import warn as _warn
from ._functions import T

__all__ = [
    "calculate_gain",
    "constant",
    "constant_",
    "dirac",
    "dirac_",
    "eye",
    "eye_",
    "kaiming_normal",
    "kaiming_normal_",
    "kaiming_uniform",
    "kaiming_uniform_",
    "normal",
    "normal_",
    "ones_",
    "orthogonal",
    "orthogonal_",
    "sparse",
    "sparse_",
    "trunc_normal_",
    "uniform",
    "uniform_",
    "xavier_normal",
    "xavier_normal_",
    "xavier_uniform",
    "xavier_uniform_",
    "zeros_",
]

_LINEAR = (
    "linear",
    "conv1d",
    "conv2d",
    "conv3d",
    "conv_transpose1d",
    "conv_transpose2d",
    "conv_transpose3d",
    "sigmoid",
)


def calculate_gain(nonlinearity: str, param: float | None = None) -> float:
    """The recommended scaling factor for weights before a nonlinearity.

    Raises:
        ValueError: an unknown name, or a slope of leaky_relu that is not a number.

    Example:
        >>> calculate_gain("leaky_relu", 0.2)
        1.3867504905630728
    """
    if nonlinearity in _LINEAR:
        return 1
    if nonlinearity == "tanh":
        return 5.0 / 3
    if nonlinearity == "relu":
        return math.sqrt(2.0)
    if nonlinearity == "leaky_relu":
        slope = 0.01 if param is None else param
        if isinstance(slope, bool) or not isinstance(slope, (int, float)):
            raise ArgumentValueError(f"negative_slope {param} not a valid number")
        return math.sqrt(2.0 / (1 + slope**2))
    if nonlinearity == "selu":
        return 3.0 / 4
    raise ArgumentValueError(f"Unsupported nonlinearity {nonlinearity}")


@no_grad()
def uniform_(tensor: Tensor, a: float = 0.0, b: float = 1.0, generator: Any = None) -> Tensor:
    """Fill a tensor in place with uniform random numbers in [a, b).

    Args:
        tensor: any shape, a floating-point dtype.
        a, b: the bounds. Default: 0 and 1.
        generator: the source of random numbers. Default: the global one.

    >>> import pellucid as torch
    >>> _ = torch.manual_seed(0)
    >>> torch.nn.init.uniform_(torch.empty(3))
    tensor([0.4963, 0.7682, 0.0885])
    """
    return tensor.uniform_(a, b, generator=generator)


@no_grad()
def normal_(tensor: Tensor, mean: float = 0.0, std: float = 1.0, generator: Any = None) -> Tensor:
    """Fill a tensor in place with normal random numbers.

    Args:
        tensor: any shape, a floating-point dtype.
        mean, std: mean and standard deviation. Default: 0 and 1.
        generator: the source of random numbers. Default: the global one.

    >>> import pellucid as torch
    >>> _ = torch.manual_seed(0)
    >>> torch.nn.init.normal_(torch.empty(3))
    tensor([ 1.5410, -0.2934, -2.1788])
    """
    return tensor.normal_(mean, std, generator=generator)


@no_grad()
def constant_(tensor: Tensor, val: float) -> Tensor:
    """Fill a tensor in place with one value.

    >>> import pellucid as torch
    >>> torch.nn.init.constant_(torch.empty(2), 0.5)
    tensor([0.5000, 0.5000])
    """
    return tensor.fill_(val)


# PyTorch's names of the functions above, without their checks.
_no_grad_uniform_, _no_grad_normal_, _no_grad_fill_ = uniform_, normal_, constant_


def ones_(tensor: Tensor) -> Tensor:
    """Fill a tensor in place with ones.

    >>> import pellucid as torch
    >>> torch.nn.init.ones_(torch.empty(2))
    tensor([1., 1.])
    """
    return constant_(tensor, 1.0)


@no_grad()
def zeros_(tensor: Tensor) -> Tensor:
    """Fill a tensor in place with zeros.

    >>> import pellucid as torch
    >>> torch.nn.init.zeros_(torch.empty(2))
    tensor([0., 0.])
    """
    return tensor.zero_()


_no_grad_zero_ = zeros_


def _normal_cdf(x: float) -> float:
    return (1.0 + math.erf(x / math.sqrt(2.0))) / 2.0


@no_grad()
def trunc_normal_(
    tensor: Tensor,
    mean: float = 0.0,
    std: float = 1.0,
    a: float = -2.0,
    b: float = 2.0,
    generator: Any = None,
) -> Tensor:
    """Fill a tensor in place with normal random numbers; numbers outside [a, b] are drawn again.

    Where most of the distribution lies inside, whole tensors of normal numbers are drawn until
    every element had one inside; otherwise uniform candidates are accepted with the probability of
    the density.

    Example:
        >>> import pellucid as torch
        >>> bool((trunc_normal_(torch.empty(100)).abs() <= 2).all())
        True
    """
    if tensor.is_meta:
        return tensor
    if mean < a - 2 * std or mean > b + 2 * std:
        _warn(
            "mean is more than 2 std from [a, b] in nn.init.trunc_normal_. The distribution of values may be incorrect.",
        )
    if _normal_cdf((b - mean) / std) - _normal_cdf((a - mean) / std) > 0.3:
        return _redraw_normal(tensor, mean, std, a, b, generator)
    return _accept_uniform(tensor, mean, std, a, b, generator)


_no_grad_trunc_normal_ = trunc_normal_


def _redraw_normal(
    tensor: Any, mean: float, std: float, a: float, b: float, generator: Any
) -> Tensor:
    low, high = (tensor.new_tensor(x).item() for x in (a, b))
    result = tensor.normal_(mean, std, generator=generator)
    while True:
        outside = (result < low) | (result > high)
        if not outside.any():
            break
        result = T.where(
            outside, T.empty_like(result).normal_(mean, std, generator=generator), result
        )
    if result is not tensor:
        tensor.copy_(result)
    return tensor


def _accept_uniform(
    tensor: Any, mean: float, std: float, a: float, b: float, generator: Any
) -> Tensor:
    peak = -0.5 * ((max(a, min(mean, b)) - mean) / std) ** 2

    def refused(x: Any) -> Any:
        density = x.sub(mean).div_(std).pow_(2).mul_(-0.5).sub_(peak)
        return T.empty_like(x).uniform_(generator=generator).log_().gt(density)

    result = tensor.uniform_(a, b, generator=generator)
    pending = refused(result)
    while pending.any():
        candidates = T.empty_like(tensor).uniform_(a, b, generator=generator)
        result = T.where(pending, candidates, result)
        pending = T.where(pending, refused(candidates), pending)
    if result is not tensor:
        tensor.copy_(result)
    return tensor


@no_grad()
def eye_(tensor: Tensor) -> Tensor:
    """Fill a matrix in place with the identity.

    >>> import pellucid as torch
    >>> torch.nn.init.eye_(torch.empty(2, 2))
    tensor([[1., 0.],
            [0., 1.]])
    """
    if tensor.ndim != 2:
        raise ArgumentValueError("Only tensors with 2 dimensions are supported")
    return tensor.copy_(T.eye(*tensor.shape, dtype=tensor.dtype))


@no_grad()
def dirac_(tensor: Tensor, groups: int = 1) -> Tensor:
    """Fill a convolution's weight so that it passes its input through, group by group.

    >>> import pellucid as torch
    >>> w = torch.nn.init.dirac_(torch.empty(2, 2, 3))
    >>> torch.nn.functional.conv1d(torch.tensor([[[1.0, 2.0], [3.0, 4.0]]]), w, padding=1)
    tensor([[[1., 2.],
             [3., 4.]]])
    """
    if tensor.ndim not in (3, 4, 5):
        raise ArgumentValueError("Only tensors with 3, 4, or 5 dimensions are supported")
    sizes = tensor.shape
    if sizes[0] % groups:
        raise ArgumentValueError("dim 0 must be divisible by groups")
    per_group = sizes[0] // groups
    middle = tuple(size // 2 for size in sizes[2:])
    tensor.zero_()
    for g in range(groups):
        for d in range(min(per_group, sizes[1])):
            tensor[(g * per_group + d, d, *middle)] = 1
    return tensor


def _calculate_fan_in_and_fan_out(tensor: Tensor) -> tuple[int, int]:
    if tensor.ndim < 2:
        raise ArgumentValueError(
            "Fan in and fan out can not be computed for tensor with fewer than 2 dimensions",
            hint="a bias has one dimension: use zeros_ or uniform_ for it, and this initialization for weights only",
        )
    field = math.prod(tensor.shape[2:])
    return tensor.shape[1] * field, tensor.shape[0] * field


def _calculate_correct_fan(tensor: Tensor, mode: str) -> int:
    mode = mode.lower()
    modes = ["fan_in", "fan_out"]
    if mode not in modes:
        raise ArgumentValueError(f"Mode {mode} not supported, please use one of {modes}")
    return _calculate_fan_in_and_fan_out(tensor)[modes.index(mode)]


def xavier_uniform_(tensor: Tensor, gain: float = 1.0, generator: Any = None) -> Tensor:
    """Xavier (Glorot) initialization with uniform numbers between -a and a, in place, where
    `a = gain * sqrt(6 / (fan_in + fan_out))`.

    Args:
        tensor: at least two dimensions.
        gain: a factor, as `calculate_gain` returns it. Default: 1.
        generator: the source of random numbers. Default: the global one.

    Source: Glorot, Bengio, "Understanding the difficulty of training deep feedforward neural
    networks", 2010.

    >>> import pellucid as torch
    >>> w = torch.nn.init.xavier_uniform_(torch.empty(3, 3))
    >>> (w.abs() <= 1).all()
    tensor(True)
    """
    fan_in, fan_out = _calculate_fan_in_and_fan_out(tensor)
    bound = math.sqrt(3.0) * (gain * math.sqrt(2.0 / float(fan_in + fan_out)))
    return uniform_(tensor, -bound, bound, generator)


def xavier_normal_(tensor: Tensor, gain: float = 1.0, generator: Any = None) -> Tensor:
    """Xavier (Glorot) initialization with normal numbers, in place, with standard deviation
    `gain * sqrt(2 / (fan_in + fan_out))`.

    Args:
        tensor: at least two dimensions.
        gain: a factor, as `calculate_gain` returns it. Default: 1.
        generator: the source of random numbers. Default: the global one.

    Source: Glorot, Bengio, "Understanding the difficulty of training deep feedforward neural
    networks", 2010.

    >>> import pellucid as torch
    >>> torch.nn.init.xavier_normal_(torch.empty(3, 3)).shape
    torch.Size([3, 3])
    """
    fan_in, fan_out = _calculate_fan_in_and_fan_out(tensor)
    return normal_(tensor, 0.0, gain * math.sqrt(2.0 / float(fan_in + fan_out)), generator)


def _kaiming_std(tensor: Tensor, a: float, mode: str, nonlinearity: str) -> float | None:
    if 0 in tensor.shape:
        _warn("Initializing zero-element tensors is a no-op")
        return None
    fan = _calculate_correct_fan(tensor, mode)
    return calculate_gain(nonlinearity, a) / math.sqrt(fan)


def kaiming_uniform_(
    tensor: Tensor,
    a: float = 0,
    mode: str = "fan_in",
    nonlinearity: str = "leaky_relu",
    generator: Any = None,
) -> Tensor:
    """Kaiming (He) initialization with uniform numbers between -bound and bound, in place, where
    `bound = gain * sqrt(3 / fan)`.

    Args:
        tensor: at least two dimensions.
        a: the negative slope of a leaky ReLU after this layer. Default: 0.
        mode: "fan_in" keeps the variance in the forward pass, "fan_out" in the backward pass.
            Default: "fan_in".
        nonlinearity: the name of what follows, for `calculate_gain`. Default: "leaky_relu".
        generator: the source of random numbers. Default: the global one.

    Source: He, Zhang, Ren, Sun, "Delving deep into rectifiers", 2015.

    >>> import pellucid as torch
    >>> w = torch.nn.init.kaiming_uniform_(torch.empty(4, 6), nonlinearity="relu")
    >>> (w.abs() <= 1).all()
    tensor(True)
    """
    std = _kaiming_std(tensor, a, mode, nonlinearity)
    if std is None:
        return tensor
    bound = math.sqrt(3.0) * std
    return uniform_(tensor, -bound, bound, generator)


def kaiming_normal_(
    tensor: Tensor,
    a: float = 0,
    mode: str = "fan_in",
    nonlinearity: str = "leaky_relu",
    generator: Any = None,
) -> Tensor:
    """Kaiming (He) initialization with normal numbers, in place, with standard deviation `gain /
    sqrt(fan)`.

    Args:
        tensor: at least two dimensions.
        a: the negative slope of a leaky ReLU after this layer. Default: 0.
        mode: "fan_in" keeps the variance in the forward pass, "fan_out" in the backward pass.
            Default: "fan_in".
        nonlinearity: the name of what follows, for `calculate_gain`. Default: "leaky_relu".
        generator: the source of random numbers. Default: the global one.

    Source: He, Zhang, Ren, Sun, "Delving deep into rectifiers", 2015.

    >>> import pellucid as torch
    >>> torch.nn.init.kaiming_normal_(torch.empty(4, 6), nonlinearity="relu").shape
    torch.Size([4, 6])
    """
    std = _kaiming_std(tensor, a, mode, nonlinearity)
    return tensor if std is None else normal_(tensor, 0.0, std, generator)


@no_grad()
def orthogonal_(tensor: Tensor, gain: float = 1, generator: Any = None) -> Tensor:
    """Fill a tensor in place with a (semi-)orthogonal matrix, times `gain`.

    The rows are the first dimension, the columns all others. If there are fewer rows than columns,
    the rows are orthonormal, otherwise the columns.

    Source: Saxe, McClelland, Ganguli, "Exact solutions to the nonlinear dynamics of learning in
    deep linear neural networks", 2013; signs after Mezzadri, "How to generate random matrices from
    the classical compact groups", 2006.

    >>> import pellucid as torch
    >>> w = torch.nn.init.orthogonal_(torch.empty(2, 3))
    >>> torch.allclose(w @ w.T, torch.eye(2), atol=1e-6)
    True
    """
    if tensor.ndim < 2:
        raise ArgumentValueError("Only tensors with 2 or more dimensions are supported")
    if 0 in tensor.shape or tensor.is_meta:
        return tensor
    rows = tensor.shape[0]
    flat = T.empty(rows, math.prod(tensor.shape[1:]), dtype=tensor.dtype).normal_(
        0, 1, generator=generator
    )
    wide = flat.shape[0] < flat.shape[1]
    q, r = T.linalg.qr(flat.t() if wide else flat)
    q = q * T.diag(r, 0).sign()
    tensor.copy_((q.t() if wide else q).reshape(tensor.shape))
    return tensor.mul_(gain)


@no_grad()
def sparse_(tensor: Tensor, sparsity: float, std: float = 0.01, generator: Any = None) -> Tensor:
    """Fill a matrix with normal numbers and set a share of each column to zero.

    >>> import pellucid as torch
    >>> w = torch.nn.init.sparse_(torch.empty(4, 3), sparsity=0.5)
    >>> (w == 0).sum(0)
    tensor([2, 2, 2])
    """
    if tensor.ndim != 2:
        raise ArgumentValueError("Only tensors with 2 dimensions are supported")
    if tensor.is_meta:
        return tensor
    rows, columns = tensor.shape
    zeros = math.ceil(sparsity * rows)
    tensor.normal_(0, std, generator=generator)
    for column in range(columns):
        chosen = T.randperm(rows)[:zeros]
        tensor[chosen, column] = 0
    return tensor


def _deprecated(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    name = function.__name__

    def old(*args: Any, **kwargs: Any) -> Tensor:
        _warn(
            f"`nn.init.{name[:-1]}` is now deprecated in favor of `nn.init.{name}`.",
            FutureWarning,
        )
        return function(*args, **kwargs)

    old.__name__ = name[:-1]
    old.__doc__ = _of_alias(
        f"Deprecated name of :func:`{name}`: warns (FutureWarning), then calls it.",
        function.__doc__,
    )
    return old


uniform, normal, constant = _deprecated(uniform_), _deprecated(normal_), _deprecated(constant_)
eye, dirac, sparse, orthogonal = (
    _deprecated(eye_),
    _deprecated(dirac_),
    _deprecated(sparse_),
    _deprecated(orthogonal_),
)
xavier_uniform, xavier_normal = _deprecated(xavier_uniform_), _deprecated(xavier_normal_)
kaiming_uniform, kaiming_normal = _deprecated(kaiming_uniform_), _deprecated(kaiming_normal_)
