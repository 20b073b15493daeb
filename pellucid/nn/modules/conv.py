"""Convolutions and transposed convolutions in one, two and three dimensions."""

from __future__ import annotations

import math
from typing import Any

from ...core.modes import no_grad
from ...core.tensor import Tensor
from ...errors import ArgumentValueError
from .. import functional as F
from .. import init
from .._functions import T
from ..parameter import Parameter, UninitializedParameter, is_lazy
from .lazy import LazyModuleMixin
from .module import Module
from .utils import _ntuple, _reverse_repeat_tuple
from .utils import _pair as _pair
from .utils import _single as _single
from .utils import _triple as _triple

_PADDING_MODES = ("zeros", "reflect", "replicate", "circular")


class _ConvNd(Module):
    """What all convolutions share: arguments, parameters, initial values, padding modes."""

    _dims = 0
    weight: Any
    bias: Any

    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: tuple[int, ...], stride: tuple[int, ...], padding: Any,
        dilation: tuple[int, ...], transposed: bool, output_padding: tuple[int, ...], groups: int, bias: bool, padding_mode: str,
        device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__()
        if groups <= 0:
            raise ArgumentValueError("groups must be a positive integer")
        if in_channels % groups != 0:
            raise ArgumentValueError("in_channels must be divisible by groups")
        if out_channels % groups != 0:
            raise ArgumentValueError("out_channels must be divisible by groups")
        if isinstance(padding, str):
            if padding not in ("same", "valid"):
                raise ArgumentValueError(f"Invalid padding string {padding!r}, should be one of {{'same', 'valid'}}")
            if padding == "same" and any(s != 1 for s in stride):
                raise ArgumentValueError("padding='same' is not supported for strided convolutions")
        if padding_mode not in _PADDING_MODES:
            raise ArgumentValueError(f"padding_mode must be one of {set(_PADDING_MODES)}, but got padding_mode='{padding_mode}'")
        self.in_channels = in_channels
        self.out_channels = out_channels
        self.kernel_size = kernel_size
        self.stride = stride
        self.padding = padding
        self.dilation = dilation
        self.transposed = transposed
        self.output_padding = output_padding
        self.groups = groups
        self.padding_mode = padding_mode
        self._reversed_padding_repeated_twice = self._edges()
        first, second = (in_channels, out_channels) if transposed else (out_channels, in_channels)
        self.weight = Parameter(T.empty((first, second // groups, *kernel_size), device=device, dtype=dtype))
        if bias:
            self.bias = Parameter(T.empty(out_channels, device=device, dtype=dtype))
        else:
            self.register_parameter("bias", None)
        self.reset_parameters()

    def _edges(self) -> Any:
        """Padding before and after each dimension, last dimension first, as `F.pad` takes it."""
        if not isinstance(self.padding, str):
            return _reverse_repeat_tuple(self.padding, 2)
        edges = []
        for d, k in zip(reversed(self.dilation), reversed(self.kernel_size)):
            total = d * (k - 1) if self.padding == "same" else 0
            edges += [total // 2, total - total // 2]
        return edges

    def reset_parameters(self) -> None:
        """Draw new initial values: uniform in +-1/sqrt(fan_in)."""
        if is_lazy(self.weight):
            return
        with no_grad():
            if self.weight.is_contiguous():
                init.kaiming_uniform_(self.weight, a=math.sqrt(5))
            else:  # the same numbers for the same indices whatever the strides
                self.weight.copy_(init.kaiming_uniform_(T.empty(self.weight.shape, dtype=self.weight.dtype), a=math.sqrt(5)))
            if self.bias is not None:
                fan_in, _ = init._calculate_fan_in_and_fan_out(self.weight)
                bound = 1 / math.sqrt(fan_in) if fan_in > 0 else 0
                init.uniform_(self.bias, -bound, bound)

    def extra_repr(self) -> str:
        text = f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, stride={self.stride}"
        if self.padding != (0,) * len(self.padding):
            text += f", padding={self.padding}"
        if self.dilation != (1,) * len(self.dilation):
            text += f", dilation={self.dilation}"
        if self.output_padding != (0,) * len(self.output_padding):
            text += f", output_padding={self.output_padding}"
        if self.groups != 1:
            text += f", groups={self.groups}"
        if self.bias is None:
            text += ", bias=False"
        if self.padding_mode != "zeros":
            text += f", padding_mode={self.padding_mode}"
        return text

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self.__dict__.setdefault("padding_mode", "zeros")


class _Conv(_ConvNd):
    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        each = _ntuple(self._dims)
        padding = padding if isinstance(padding, str) else each(padding)
        super().__init__(
            in_channels, out_channels, each(kernel_size), each(stride), padding, each(dilation), False, each(0), groups, bias,
            padding_mode, device, dtype,
        )  # fmt: skip

    def _conv_forward(self, input: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        convolve = getattr(F, _CONVOLUTIONS[self._dims])
        if self.padding_mode != "zeros":
            input = F.pad(input, self._reversed_padding_repeated_twice, mode=self.padding_mode)
            return convolve(input, weight, bias, self.stride, 0, self.dilation, self.groups)
        return convolve(input, weight, bias, self.stride, self.padding, self.dilation, self.groups)

    def forward(self, input: Tensor) -> Tensor:
        return self._conv_forward(input, self.weight, self.bias)


_CONVOLUTIONS = {1: "conv1d", 2: "conv2d", 3: "conv3d"}  # looked up in F at each call, where a function mode may stand


class Conv1d(_Conv):
    """1-d convolution: cross-correlation of (N, C, L) or (C, L) with learned kernels.

    Args:
        in_channels, out_channels: channels of input and result, both divisible by `groups`.
        kernel_size, stride, dilation: numbers or tuples.
        padding: a number or tuple, "same" (stride 1) or "valid".
        padding_mode: "zeros", "reflect", "replicate" or "circular".
    """

    _dims = 1


class Conv2d(_Conv):
    """2-d convolution: cross-correlation of (N, C, H, W) or (C, H, W) with learned kernels; arguments as in Conv1d.

    Example:
        >>> import pellucid as torch
        >>> torch.nn.Conv2d(3, 8, 3, padding=1)(torch.ones(1, 3, 5, 5)).shape
        torch.Size([1, 8, 5, 5])
    """

    _dims = 2


class Conv3d(_Conv):
    """3-d convolution: cross-correlation of (N, C, D, H, W) or (C, D, H, W) with learned kernels; arguments as in Conv1d."""

    _dims = 3


class _ConvTransposeNd(_ConvNd):
    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        output_padding: Any = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: Any = 1,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        if padding_mode != "zeros":
            raise ArgumentValueError(f'Only "zeros" padding mode is supported for {type(self).__name__}')
        each = _ntuple(self._dims)
        super().__init__(
            in_channels, out_channels, each(kernel_size), each(stride), each(padding), each(dilation), True, each(output_padding),
            groups, bias, padding_mode, device, dtype,
        )  # fmt: skip

    def _output_padding(self, input: Tensor, output_size: Any) -> Any:
        """The output padding that gives `output_size`."""
        if output_size is None:
            return self.output_padding
        n = self._dims
        lead = 2 if input.ndim == n + 2 else 1
        wanted = list(output_size)
        if len(wanted) == lead + n:
            wanted = wanted[lead:]
        if len(wanted) != n:
            raise ArgumentValueError(
                f"ConvTranspose{n}D: for {input.ndim}D input, output_size must have {n} or {lead + n} elements (got {len(wanted)})"
            )
        low = [
            (input.shape[lead + d] - 1) * self.stride[d] - 2 * self.padding[d] + self.dilation[d] * (self.kernel_size[d] - 1) + 1
            for d in range(n)
        ]
        high = [low[d] + self.stride[d] - 1 for d in range(n)]
        if any(not a <= w <= b for a, w, b in zip(low, wanted, high)):
            raise ArgumentValueError(
                f"requested an output size of {output_size}, but valid sizes range from {low} to {high} (for an input of "
                f"{input.shape[2:]})"
            )
        return [w - a for w, a in zip(wanted, low)]

    def forward(self, input: Tensor, output_size: Any = None) -> Tensor:
        extra = self._output_padding(input, output_size)
        return getattr(F, _TRANSPOSED[self._dims])(
            input, self.weight, self.bias, self.stride, self.padding, extra, self.groups, self.dilation
        )


_TRANSPOSED = {1: "conv_transpose1d", 2: "conv_transpose2d", 3: "conv_transpose3d"}


class ConvTranspose1d(_ConvTransposeNd):
    """Transposed 1-d convolution, which is the gradient of Conv1d with respect to its input; `forward(input, output_size=None)`."""

    _dims = 1


class ConvTranspose2d(_ConvTransposeNd):
    """Transposed 2-d convolution, which is the gradient of Conv2d with respect to its input; `forward(input, output_size=None)`."""

    _dims = 2


class ConvTranspose3d(_ConvTransposeNd):
    """Transposed 3-d convolution, which is the gradient of Conv3d with respect to its input; `forward(input, output_size=None)`."""

    _dims = 3


class _LazyConv(LazyModuleMixin):
    """A convolution whose `in_channels` is that of the first input; the constructor leaves `in_channels` out."""

    _dims: int

    def __init__(
        self, out_channels: int, *args: Any, bias: bool = True, device: Any = None, dtype: Any = None, **kwargs: Any
    ) -> None:
        place = self._bias_place
        if len(args) > place:
            bias, args = args[place], (*args[:place], False, *args[place + 1 :])
        else:
            kwargs["bias"] = False
        super().__init__(0, 0, *args, **kwargs)
        self.weight: Any = UninitializedParameter(device=device, dtype=dtype)
        self.out_channels = out_channels
        if bias:
            self.bias: Any = UninitializedParameter(device=device, dtype=dtype)

    _bias_place = 5

    def initialize_parameters(self, input: Tensor, *args: Any, **kwargs: Any) -> None:
        """Take the channels from the input and draw initial values."""
        if not self.has_uninitialized_params():
            return
        me: Any = self
        n = self._dims
        if input.ndim not in (n + 1, n + 2):
            raise RuntimeError(
                f"Expected {n + 1}D (unbatched) or {n + 2}D (batched) input to {type(self).__name__}, but got input of size: {input.shape}"
            )
        me.in_channels = input.shape[-n - 1]
        if me.in_channels % me.groups != 0:
            raise ArgumentValueError("in_channels must be divisible by groups")
        first, second = (me.in_channels, me.out_channels) if me.transposed else (me.out_channels, me.in_channels)
        me.weight.materialize((first, second // me.groups, *me.kernel_size))
        if me.bias is not None:
            me.bias.materialize((me.out_channels,))
        me.reset_parameters()


class LazyConv1d(_LazyConv, Conv1d):
    """Conv1d whose `in_channels` is inferred at the first call."""

    cls_to_become = Conv1d


class LazyConv2d(_LazyConv, Conv2d):
    """Conv2d whose `in_channels` is inferred at the first call."""

    cls_to_become = Conv2d


class LazyConv3d(_LazyConv, Conv3d):
    """Conv3d whose `in_channels` is inferred at the first call."""

    cls_to_become = Conv3d


class LazyConvTranspose1d(_LazyConv, ConvTranspose1d):
    """ConvTranspose1d whose `in_channels` is inferred at the first call."""

    cls_to_become = ConvTranspose1d


class LazyConvTranspose2d(_LazyConv, ConvTranspose2d):
    """ConvTranspose2d whose `in_channels` is inferred at the first call."""

    cls_to_become = ConvTranspose2d


class LazyConvTranspose3d(_LazyConv, ConvTranspose3d):
    """ConvTranspose3d whose `in_channels` is inferred at the first call."""

    cls_to_become = ConvTranspose3d
