"""Layer, group, RMS and local response normalization."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np

from ...core.tape import titled
from ...core.tensor import Tensor, make_tensor
from ...errors import ArgumentValueError
from .. import functional as F
from .. import init
from .._functions import T
from ..parameter import Parameter
from .module import Module

__all__ = ["CrossMapLRN2d", "GroupNorm", "LayerNorm", "LocalResponseNorm", "RMSNorm"]


def _shape(normalized_shape: Any) -> tuple[int, ...]:
    return (
        (int(normalized_shape),)
        if isinstance(normalized_shape, Integral)
        else tuple(normalized_shape)
    )


class LayerNorm(Module):
    """Layer normalization: zero mean and unit variance over the last dimensions, then a learned
    scale and shift.

    For each sample, with mean and variance over the dimensions of `normalized_shape`

        y = (x - mean) / sqrt(var + eps) * weight + bias

    where the variance is divided by the count, without correction. Training and evaluation mode do
    the same.

    Args:
        normalized_shape: sizes of the last dimensions, a tuple or, for one dimension, a number.
        eps: added to the variance. Default: 1e-5.
        elementwise_affine: whether to learn scale and shift, one number for each normalized
            element. Default: True.
        bias: whether to learn the shift, where `elementwise_affine` is set. Default: True.
        device, dtype: where the parameters are created and their element type; None: the default
            device and dtype.

    Shape:
        input: `(*, *normalized_shape)`.
        result: as the input.

    Attributes:
        weight: of shape `normalized_shape`, initially 1; None with elementwise_affine=False.
        bias: of shape `normalized_shape`, initially 0; None without.

    Raises:
        RuntimeError: the input does not end with `normalized_shape`.

    Source: Ba, Kiros, Hinton, "Layer normalization", 2016.

    Example:
        >>> import pellucid as torch
        >>> torch.nn.LayerNorm(4)
        LayerNorm((4,), eps=1e-05, elementwise_affine=True, bias=True)
        >>> torch.nn.LayerNorm(2)(torch.tensor([[1.0, 3.0]]))
        tensor([[-1.0000,  1.0000]], grad_fn=<NativeLayerNormBackward0>)
    """

    weight: Any
    bias: Any

    def __init__(
        self,
        normalized_shape: Any,
        eps: float = 1e-5,
        elementwise_affine: bool = True,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.normalized_shape = _shape(normalized_shape)
        self.eps = eps
        self.elementwise_affine = elementwise_affine
        for name, wanted in (("weight", elementwise_affine), ("bias", elementwise_affine and bias)):
            param = (
                Parameter(T.empty(self.normalized_shape, device=device, dtype=dtype))
                if wanted
                else None
            )
            self.register_parameter(name, param)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Weight 1, bias 0."""
        if self.elementwise_affine:
            init.ones_(self.weight)
            if self.bias is not None:
                init.zeros_(self.bias)

    def forward(self, input: Tensor) -> Tensor:
        return F.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        return f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}, bias={self.bias is not None}"


class RMSNorm(Module):
    """RMS normalization: `y = x / sqrt(mean(x^2) + eps) * weight`, with the mean over the last
    dimensions.

    Compared with LayerNorm, it neither subtracts the mean nor adds a shift.

    Args:
        normalized_shape: sizes of the last dimensions, a tuple or, for one dimension, a number.
        eps: added to the mean of squares; None: the machine epsilon of the dtype. Default: None.
        elementwise_affine: whether to learn the scale, one number for each normalized element.
            Default: True.
        device, dtype: where the parameters are created and their element type; None: the default
            device and dtype.

    Shape:
        x: `(*, *normalized_shape)`.
        result: as the input.

    Attributes:
        weight: of shape `normalized_shape`, initially 1; None with elementwise_affine=False.

    Raises:
        RuntimeError: the input does not end with `normalized_shape`.

    Source: Zhang, Sennrich, "Root mean square layer normalization", 2019.

    Example:
        >>> import pellucid as torch
        >>> torch.nn.RMSNorm(2, elementwise_affine=False)(torch.tensor([[1.0, 7.0]]))
        tensor([[0.2000, 1.4000]])
    """

    weight: Any

    def __init__(
        self,
        normalized_shape: Any,
        eps: float | None = None,
        elementwise_affine: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.normalized_shape = _shape(normalized_shape)
        self.eps = eps
        self.elementwise_affine = elementwise_affine
        param = (
            Parameter(T.empty(self.normalized_shape, device=device, dtype=dtype))
            if elementwise_affine
            else None
        )
        self.register_parameter("weight", param)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Weight 1."""
        if self.elementwise_affine:
            init.ones_(self.weight)

    def forward(self, x: Tensor) -> Tensor:
        return F.rms_norm(x, self.normalized_shape, self.weight, self.eps)

    def extra_repr(self) -> str:
        return (
            f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}"
        )


class GroupNorm(Module):
    """Group normalization: normalizes each group of channels of each sample, then applies a learned
    scale and shift.

    The channels are split into `num_groups` groups of neighbors. For each group of each sample

        y = (x - mean) / sqrt(var + eps) * weight + bias

    where the variance is divided by the count, without correction. `num_groups=1` normalizes each
    sample as a whole, `num_groups=num_channels` each channel, as InstanceNorm does. Training and
    evaluation mode do the same.

    Args:
        num_groups: number of groups; a divisor of `num_channels`.
        num_channels: number of channels, C.
        eps: added to the variance. Default: 1e-5.
        affine: whether to learn scale and shift, one number for each channel. Default: True.
        bias: whether to learn the shift, where `affine` is set. Default: True.
        device, dtype: where the parameters are created and their element type; None: the default
            device and dtype.

    Shape:
        input: `(N, C, *)`.
        result: as the input.

    Attributes:
        weight, bias: scale and shift, `(C,)`, initially 1 and 0; None with affine=False.

    Raises:
        ValueError: `num_groups` is not positive or does not divide `num_channels`.
        RuntimeError: the input does not have C channels.

    Source: Wu, He, "Group normalization", 2018.

    Example:
        >>> import pellucid as torch
        >>> torch.nn.GroupNorm(2, 6)(torch.ones(4, 6, 5, 5)).shape
        torch.Size([4, 6, 5, 5])
    """

    weight: Any
    bias: Any

    def __init__(
        self,
        num_groups: int,
        num_channels: int,
        eps: float = 1e-5,
        affine: bool = True,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        if num_groups <= 0:
            raise ArgumentValueError(f"num_groups must be a positive integer, got {num_groups}")
        if num_channels % num_groups != 0:
            raise ArgumentValueError(
                f"num_channels ({num_channels}) must be divisible by num_groups ({num_groups})"
            )
        self.num_groups = num_groups
        self.num_channels = num_channels
        self.eps = eps
        self.affine = affine
        for name, wanted in (("weight", affine), ("bias", affine and bias)):
            self.register_parameter(
                name,
                Parameter(T.empty(num_channels, device=device, dtype=dtype)) if wanted else None,
            )
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Weight 1, bias 0."""
        if self.weight is not None:
            init.ones_(self.weight)
        if self.bias is not None:
            init.zeros_(self.bias)

    def forward(self, input: Tensor) -> Tensor:
        return F.group_norm(input, self.num_groups, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        return f"{self.num_groups}, {self.num_channels}, eps={self.eps}, affine={self.affine}, bias={self.bias is not None}"


class LocalResponseNorm(Module):
    """Local response normalization: divides by a power of the mean square over neighboring
    channels.

    `y[c] = x[c] / (k + alpha * mean(x[j]^2))^beta`, where j runs over `size` channels around c;
    those outside count as zeros.

    Args:
        size: number of neighboring channels.
        alpha: factor of the mean square. Default: 1e-4.
        beta: the power. Default: 0.75.
        k: added to the mean square. Default: 1.

    Shape:
        input: `(N, C, *)`.
        result: as the input.

    Source: Krizhevsky, Sutskever, Hinton, "ImageNet classification with deep convolutional neural
    networks", 2012.

    Example:
        >>> import pellucid as torch
        >>> torch.nn.LocalResponseNorm(2)(torch.ones(1, 4, 3, 3)).shape
        torch.Size([1, 4, 3, 3])
    """

    def __init__(self, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> None:
        super().__init__()
        self.size = size
        self.alpha = alpha
        self.beta = beta
        self.k = k

    def forward(self, input: Tensor) -> Tensor:
        return F.local_response_norm(input, self.size, self.alpha, self.beta, self.k)

    def extra_repr(self) -> str:
        return f"{self.size}, alpha={self.alpha}, beta={self.beta}, k={self.k}"


class CrossMapLRN2d(Module):
    """Local response normalization of (N, C, H, W) over `size` neighboring channels and the first
    one.

    `y[c] = x[c] / (k + alpha / size * sum(x[j]^2))^beta`, where j runs over the channels around c
    and the first channel. The gradient is that of the result. PyTorch 2.13's is not: it differs
    from finite differences.

    Args:
        size: number of neighboring channels.
        alpha: factor of the mean square. Default: 1e-4.
        beta: the power. Default: 0.75.
        k: added to the mean square. Default: 1.

    Shape:
        input: `(N, C, H, W)`.
        result: as the input.

    Raises:
        ValueError: the input does not have four dimensions.

    Example:
        >>> import pellucid as torch
        >>> torch.nn.CrossMapLRN2d(2)(torch.ones(1, 4, 3, 3)).shape
        torch.Size([1, 4, 3, 3])
    """

    def __init__(self, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1) -> None:
        super().__init__()
        self.size = size
        self.alpha = alpha
        self.beta = beta
        self.k = k

    def forward(self, input: Tensor) -> Tensor:
        if input.ndim != 4:
            raise ArgumentValueError(
                f"CrossMapLRN2d: Expected input to be 4D, got {input.ndim}D instead."
            )
        total = T.einsum("ij,njhw->nihw", self._windows(input), input * input)
        made = input * (total * (self.alpha / self.size) + self.k) ** -self.beta
        return titled(made, "CrossMapLRN2dBackward", of=(input,))

    def _windows(self, input: Tensor) -> Tensor:
        """Which channels (columns) count for which (rows): those nearer than half the size, and
        always the first.
        """
        channels = input.shape[1]
        half = int((self.size - 1) / 2 + 1)
        at = np.arange(channels)
        near = np.abs(at[:, None] - at) < half
        near[half:, 0] = True  # PyTorch's running sum never lets go of channel 0
        return make_tensor(near.astype(input._array.dtype))

    def extra_repr(self) -> str:
        return f"{self.size}, alpha={self.alpha}, beta={self.beta}, k={self.k}"
