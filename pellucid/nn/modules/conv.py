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
from ._naming import separate_initializers
from .lazy import LazyModuleMixin
from .module import Module
from .utils import _missing_padding, _ntuple, _reverse_repeat_tuple
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
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: tuple[int, ...],
        stride: tuple[int, ...],
        padding: Any,
        dilation: tuple[int, ...],
        transposed: bool,
        output_padding: tuple[int, ...],
        groups: int,
        bias: bool,
        padding_mode: str,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        if groups <= 0:
            raise ArgumentValueError("groups must be a positive integer")
        if in_channels % groups != 0:
            raise ArgumentValueError("in_channels must be divisible by groups")
        if out_channels % groups != 0:
            raise ArgumentValueError("out_channels must be divisible by groups")
        if isinstance(padding, str):
            if padding not in ("same", "valid"):
                raise ArgumentValueError(
                    f"Invalid padding string {padding!r}, should be one of {{'same', 'valid'}}"
                )
            if padding == "same" and any(s != 1 for s in stride):
                raise ArgumentValueError("padding='same' is not supported for strided convolutions")
        if padding_mode not in _PADDING_MODES:
            raise ArgumentValueError(
                f"padding_mode must be one of {set(_PADDING_MODES)}, but got padding_mode='{padding_mode}'"
            )
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
        self.weight = Parameter(
            T.empty((first, second // groups, *kernel_size), device=device, dtype=dtype)
        )
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
                self.weight.copy_(
                    init.kaiming_uniform_(
                        T.empty(self.weight.shape, dtype=self.weight.dtype), a=math.sqrt(5)
                    )
                )
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


@separate_initializers
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
            in_channels,
            out_channels,
            each(kernel_size),
            each(stride),
            padding,
            each(dilation),
            False,
            each(0),
            groups,
            bias,
            padding_mode,
            device,
            dtype,
        )

    def _conv_forward(self, input: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        convolve = getattr(F, _CONVOLUTIONS[self._dims])
        if self.padding_mode != "zeros":
            input = F.pad(input, self._reversed_padding_repeated_twice, mode=self.padding_mode)
            return convolve(input, weight, bias, self.stride, 0, self.dilation, self.groups)
        return convolve(input, weight, bias, self.stride, self.padding, self.dilation, self.groups)

    def forward(self, input: Tensor) -> Tensor:
        return self._conv_forward(input, self.weight, self.bias)


# looked up in F at each call, where a function mode may stand
_CONVOLUTIONS = {1: "conv1d", 2: "conv2d", 3: "conv3d"}


class Conv1d(_Conv):
    """1-d convolution with learned kernels over (N, C, L) or, without a batch, (C, L).

    It computes the cross-correlation that the field calls convolution: the kernel is not flipped.
    For sample n and output channel o

        out[n, o] = bias[o] + sum over c of weight[o, c] (*) input[n, c]
        out size  = floor((size + 2 * padding - dilation * (kernel_size - 1) - 1) / stride) + 1

    where (*) slides a kernel over a channel, and the second line holds for each spatial dimension.

    Args:
        in_channels: channels of the input, C; divisible by `groups`.
        out_channels: channels of the result, O; divisible by `groups`.
        kernel_size: size of the kernels: a number, or a tuple of one.
        stride: distance between two positions of the kernel, in the same form. Default: 1.
        padding: elements added on both sides of each spatial dimension, in the same form; "valid"
            adds none; "same" adds as many as the result needs to have the size of the input, and
            takes no stride but 1. Default: 0.
        dilation: distance between two elements of the kernel, in the same form. Default: 1.
        groups: splits the channels into separate convolutions; `groups=in_channels` is
            a depthwise convolution. Default: 1.
        bias: whether to add a learned bias to each output channel. Default: True.
        padding_mode: what the padding holds: "zeros", "reflect", "replicate" or "circular".
            Default: "zeros".
        device, dtype: where the parameters are created and their element type; None: the default
            device and dtype.

    Shape:
        input: `(N, in_channels, L)` or `(in_channels, L)`, of the dtype of the weight.
        result: `(N, out_channels, L_out)` or `(out_channels, L_out)`.

    Attributes:
        weight: `(out_channels, in_channels / groups, K)`, initially uniform in +-1/sqrt(fan_in),
            where fan_in is the number of elements of one kernel.
        bias: `(out_channels,)`, initialized in the same way; None with bias=False.

    Raises:
        ValueError: `groups` does not divide the channels; an unknown `padding` or `padding_mode`;
            "same" with a stride.
        RuntimeError: the input has the wrong number of dimensions or channels, or is smaller than
            the kernel.

    Example:
        >>> import pellucid as torch
        >>> conv = torch.nn.Conv1d(3, 8, kernel_size=3, padding=1)
        >>> conv(torch.ones(2, 3, 10)).shape, conv.weight.shape
        (torch.Size([2, 8, 10]), torch.Size([8, 3, 3]))
    """

    _dims = 1


class Conv2d(_Conv):
    """2-d convolution with learned kernels over (N, C, H, W) or, without a batch, (C, H, W).

    It computes the cross-correlation that the field calls convolution: the kernel is not flipped.
    For sample n and output channel o

        out[n, o] = bias[o] + sum over c of weight[o, c] (*) input[n, c]
        out size  = floor((size + 2 * padding - dilation * (kernel_size - 1) - 1) / stride) + 1

    where (*) slides a kernel over a channel, and the second line holds for each spatial dimension.

    Args:
        in_channels: channels of the input, C; divisible by `groups`.
        out_channels: channels of the result, O; divisible by `groups`.
        kernel_size: size of the kernels: a number for both dimensions, or a pair (height, width).
        stride: distance between two positions of the kernel, in the same form. Default: 1.
        padding: elements added on both sides of each spatial dimension, in the same form; "valid"
            adds none; "same" adds as many as the result needs to have the size of the input, and
            takes no stride but 1. Default: 0.
        dilation: distance between two elements of the kernel, in the same form. Default: 1.
        groups: splits the channels into separate convolutions; `groups=in_channels` is
            a depthwise convolution. Default: 1.
        bias: whether to add a learned bias to each output channel. Default: True.
        padding_mode: what the padding holds: "zeros", "reflect", "replicate" or "circular".
            Default: "zeros".
        device, dtype: where the parameters are created and their element type; None: the default
            device and dtype.

    Shape:
        input: `(N, in_channels, H, W)` or `(in_channels, H, W)`, of the dtype of the weight.
        result: `(N, out_channels, H_out, W_out)` or `(out_channels, H_out, W_out)`.

    Attributes:
        weight: `(out_channels, in_channels / groups, KH, KW)`, initially uniform in
            +-1/sqrt(fan_in), where fan_in is the number of elements of one kernel.
        bias: `(out_channels,)`, initialized in the same way; None with bias=False.

    Raises:
        ValueError: `groups` does not divide the channels; an unknown `padding` or `padding_mode`;
            "same" with a stride.
        RuntimeError: the input has the wrong number of dimensions or channels, or is smaller than
            the kernel.

    Example:
        >>> import pellucid as torch
        >>> conv = torch.nn.Conv2d(3, 8, kernel_size=3, stride=2, padding=1)
        >>> conv(torch.ones(1, 3, 32, 32)).shape, conv.weight.shape
        (torch.Size([1, 8, 16, 16]), torch.Size([8, 3, 3, 3]))
    """

    _dims = 2


class Conv3d(_Conv):
    """3-d convolution with learned kernels over (N, C, D, H, W) or, without a batch, (C, D, H, W).

    It computes the cross-correlation that the field calls convolution: the kernel is not flipped.
    For sample n and output channel o

        out[n, o] = bias[o] + sum over c of weight[o, c] (*) input[n, c]
        out size  = floor((size + 2 * padding - dilation * (kernel_size - 1) - 1) / stride) + 1

    where (*) slides a kernel over a channel, and the second line holds for each spatial dimension.

    Args:
        in_channels: channels of the input, C; divisible by `groups`.
        out_channels: channels of the result, O; divisible by `groups`.
        kernel_size: size of the kernels: a number for all three dimensions, or a triple (depth,
            height, width).
        stride: distance between two positions of the kernel, in the same form. Default: 1.
        padding: elements added on both sides of each spatial dimension, in the same form; "valid"
            adds none; "same" adds as many as the result needs to have the size of the input, and
            takes no stride but 1. Default: 0.
        dilation: distance between two elements of the kernel, in the same form. Default: 1.
        groups: splits the channels into separate convolutions; `groups=in_channels` is
            a depthwise convolution. Default: 1.
        bias: whether to add a learned bias to each output channel. Default: True.
        padding_mode: what the padding holds: "zeros", "reflect", "replicate" or "circular".
            Default: "zeros".
        device, dtype: where the parameters are created and their element type; None: the default
            device and dtype.

    Shape:
        input: `(N, in_channels, D, H, W)` or `(in_channels, D, H, W)`, of the dtype of the weight.
        result: `(N, out_channels, D_out, H_out, W_out)` or `(out_channels, D_out, H_out, W_out)`.

    Attributes:
        weight: `(out_channels, in_channels / groups, KD, KH, KW)`, initially uniform in
            +-1/sqrt(fan_in), where fan_in is the number of elements of one kernel.
        bias: `(out_channels,)`, initialized in the same way; None with bias=False.

    Raises:
        ValueError: `groups` does not divide the channels; an unknown `padding` or `padding_mode`;
            "same" with a stride.
        RuntimeError: the input has the wrong number of dimensions or channels, or is smaller than
            the kernel.

    Example:
        >>> import pellucid as torch
        >>> conv = torch.nn.Conv3d(1, 4, kernel_size=(1, 3, 3), padding=(0, 1, 1))
        >>> conv(torch.ones(1, 1, 5, 8, 8)).shape
        torch.Size([1, 4, 5, 8, 8])
    """

    _dims = 3


@separate_initializers
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
            raise ArgumentValueError(
                f'Only "zeros" padding mode is supported for {type(self).__name__}'
            )
        each = _ntuple(self._dims)
        super().__init__(
            in_channels,
            out_channels,
            each(kernel_size),
            each(stride),
            each(padding),
            each(dilation),
            True,
            each(output_padding),
            groups,
            bias,
            padding_mode,
            device,
            dtype,
        )

    def _output_padding(
        self,
        input: Tensor,
        output_size: Any,
        stride: Any,
        padding: Any,
        kernel_size: Any,
        num_spatial_dims: int,
        dilation: Any = None,
    ) -> Any:
        """The output padding that gives `output_size`."""
        if output_size is None:
            return self.output_padding
        return _missing_padding(
            input, output_size, stride, padding, kernel_size, num_spatial_dims, dilation
        )

    def forward(self, input: Tensor, output_size: Any = None) -> Tensor:
        extra = self._output_padding(
            input,
            output_size,
            self.stride,
            self.padding,
            self.kernel_size,
            self._dims,
            self.dilation,
        )
        return getattr(F, _TRANSPOSED[self._dims])(
            input,
            self.weight,
            self.bias,
            self.stride,
            self.padding,
            extra,
            self.groups,
            self.dilation,
        )


_TRANSPOSED = {1: "conv_transpose1d", 2: "conv_transpose2d", 3: "conv_transpose3d"}


class ConvTranspose1d(_ConvTransposeNd):
    """Transposed 1-d convolution over (N, C, L) or (C, L): maps in the opposite direction of
    Conv1d, often to upsample.

    Each input element adds a copy of the kernel, times the element, to the result. This is the
    gradient of Conv1d with respect to its input; it is not its inverse. The size of each spatial
    dimension becomes

        (size - 1) * stride - 2 * padding + dilation * (kernel_size - 1) + output_padding + 1

    Args:
        in_channels: channels of the input; divisible by `groups`.
        out_channels: channels of the result; divisible by `groups`.
        kernel_size: size of the kernels: a number, or a tuple of one.
        stride: distance between the copies of two neighbors, in the same form. Default: 1.
        padding: elements cut off on both sides of the result, in the same form. Default: 0.
        output_padding: size added at the end of each dimension. Several sizes give the same size
            under a Conv1d with a stride; this chooses one of them. Smaller than the stride or the
            dilation. Default: 0.
        groups: splits the channels into separate convolutions. Default: 1.
        bias: whether to add a learned bias to each output channel. Default: True.
        dilation: distance between two elements of the kernel, in the same form. Default: 1.
        padding_mode: "zeros" only.
        device, dtype: where the parameters are created and their element type; None: the default
            device and dtype.

    Call it as `layer(input)` or as `layer(input, output_size)`, which chooses `output_padding` for
    the spatial sizes that you ask for.

    Shape:
        input: `(N, in_channels, L)` or `(in_channels, L)`, of the dtype of the weight.
        result: `(N, out_channels, L_out)` or `(out_channels, L_out)`.

    Attributes:
        weight: `(in_channels, out_channels / groups, K)`, initially uniform in +-1/sqrt(fan_in),
            with fan_in the number of elements of `weight[0]`.
        bias: `(out_channels,)`, initialized in the same way; None with bias=False.

    Raises:
        ValueError: `groups` does not divide the channels; another padding mode; an `output_size`
            that no output padding gives.
        RuntimeError: the input has the wrong number of dimensions or channels; `output_padding` is
            too large.

    Source: Zeiler et al., "Deconvolutional networks", 2010.

    Example:
        >>> import pellucid as torch
        >>> up = torch.nn.ConvTranspose1d(4, 2, kernel_size=2, stride=2)
        >>> up(torch.ones(1, 4, 8)).shape
        torch.Size([1, 2, 16])
    """

    _dims = 1


class ConvTranspose2d(_ConvTransposeNd):
    """Transposed 2-d convolution over (N, C, H, W) or (C, H, W): maps in the opposite direction of
    Conv2d, often to upsample.

    Each input element adds a copy of the kernel, times the element, to the result. This is the
    gradient of Conv2d with respect to its input; it is not its inverse. The size of each spatial
    dimension becomes

        (size - 1) * stride - 2 * padding + dilation * (kernel_size - 1) + output_padding + 1

    Args:
        in_channels: channels of the input; divisible by `groups`.
        out_channels: channels of the result; divisible by `groups`.
        kernel_size: size of the kernels: a number for both dimensions, or a pair (height, width).
        stride: distance between the copies of two neighbors, in the same form. Default: 1.
        padding: elements cut off on both sides of the result, in the same form. Default: 0.
        output_padding: size added at the end of each dimension. Several sizes give the same size
            under a Conv2d with a stride; this chooses one of them. Smaller than the stride or the
            dilation. Default: 0.
        groups: splits the channels into separate convolutions. Default: 1.
        bias: whether to add a learned bias to each output channel. Default: True.
        dilation: distance between two elements of the kernel, in the same form. Default: 1.
        padding_mode: "zeros" only.
        device, dtype: where the parameters are created and their element type; None: the default
            device and dtype.

    Call it as `layer(input)` or as `layer(input, output_size)`, which chooses `output_padding` for
    the spatial sizes that you ask for.

    Shape:
        input: `(N, in_channels, H, W)` or `(in_channels, H, W)`, of the dtype of the weight.
        result: `(N, out_channels, H_out, W_out)` or `(out_channels, H_out, W_out)`.

    Attributes:
        weight: `(in_channels, out_channels / groups, KH, KW)`, initially uniform in
            +-1/sqrt(fan_in), with fan_in the number of elements of `weight[0]`.
        bias: `(out_channels,)`, initialized in the same way; None with bias=False.

    Raises:
        ValueError: `groups` does not divide the channels; another padding mode; an `output_size`
            that no output padding gives.
        RuntimeError: the input has the wrong number of dimensions or channels; `output_padding` is
            too large.

    Source: Zeiler et al., "Deconvolutional networks", 2010.

    Example:
        >>> import pellucid as torch
        >>> up = torch.nn.ConvTranspose2d(4, 2, kernel_size=2, stride=2)
        >>> up(torch.ones(1, 4, 8, 8)).shape
        torch.Size([1, 2, 16, 16])
    """

    _dims = 2


class ConvTranspose3d(_ConvTransposeNd):
    """Transposed 3-d convolution over (N, C, D, H, W) or (C, D, H, W): maps in the opposite
    direction of Conv3d, often to upsample.

    Each input element adds a copy of the kernel, times the element, to the result. This is the
    gradient of Conv3d with respect to its input; it is not its inverse. The size of each spatial
    dimension becomes

        (size - 1) * stride - 2 * padding + dilation * (kernel_size - 1) + output_padding + 1

    Args:
        in_channels: channels of the input; divisible by `groups`.
        out_channels: channels of the result; divisible by `groups`.
        kernel_size: size of the kernels: a number for all three dimensions, or a triple (depth,
            height, width).
        stride: distance between the copies of two neighbors, in the same form. Default: 1.
        padding: elements cut off on both sides of the result, in the same form. Default: 0.
        output_padding: size added at the end of each dimension. Several sizes give the same size
            under a Conv3d with a stride; this chooses one of them. Smaller than the stride or the
            dilation. Default: 0.
        groups: splits the channels into separate convolutions. Default: 1.
        bias: whether to add a learned bias to each output channel. Default: True.
        dilation: distance between two elements of the kernel, in the same form. Default: 1.
        padding_mode: "zeros" only.
        device, dtype: where the parameters are created and their element type; None: the default
            device and dtype.

    Call it as `layer(input)` or as `layer(input, output_size)`, which chooses `output_padding` for
    the spatial sizes that you ask for.

    Shape:
        input: `(N, in_channels, D, H, W)` or `(in_channels, D, H, W)`, of the dtype of the weight.
        result: `(N, out_channels, D_out, H_out, W_out)` or `(out_channels, D_out, H_out, W_out)`.

    Attributes:
        weight: `(in_channels, out_channels / groups, KD, KH, KW)`, initially uniform in
            +-1/sqrt(fan_in), with fan_in the number of elements of `weight[0]`.
        bias: `(out_channels,)`, initialized in the same way; None with bias=False.

    Raises:
        ValueError: `groups` does not divide the channels; another padding mode; an `output_size`
            that no output padding gives.
        RuntimeError: the input has the wrong number of dimensions or channels; `output_padding` is
            too large.

    Source: Zeiler et al., "Deconvolutional networks", 2010.

    Example:
        >>> import pellucid as torch
        >>> up = torch.nn.ConvTranspose3d(4, 2, kernel_size=2, stride=2)
        >>> up(torch.ones(1, 4, 8, 8, 8)).shape
        torch.Size([1, 2, 16, 16, 16])
    """

    _dims = 3


@separate_initializers
class _LazyConv(LazyModuleMixin):
    """A convolution whose `in_channels` is that of the first input; the constructor leaves
    `in_channels` out.
    """

    _dims: int

    def __init__(
        self,
        out_channels: int,
        *args: Any,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
        **kwargs: Any,
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

    def reset_parameters(self) -> None:
        """Nothing before the first call; afterwards as in the ordinary module."""
        if not self.has_uninitialized_params() and self.in_channels != 0:  # type: ignore[attr-defined]
            super().reset_parameters()  # type: ignore[misc]

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
        first, second = (
            (me.in_channels, me.out_channels)
            if me.transposed
            else (me.out_channels, me.in_channels)
        )
        me.weight.materialize((first, second // me.groups, *me.kernel_size))
        if me.bias is not None:
            me.bias.materialize((me.out_channels,))
        me.reset_parameters()


class LazyConv1d(_LazyConv, Conv1d):
    """Conv1d whose `in_channels` is inferred at the first call.

    Until then `weight` and `bias` have no shape. The first call creates and initializes them, and
    the module becomes a Conv1d. Run one batch through it before you count the parameters; an
    optimizer may be made earlier.

    Args:
        out_channels, kernel_size, stride, padding, ...: all arguments of Conv1d but `in_channels`,
            in the same order.

    Raises:
        RuntimeError: the first input has neither 2 nor 3 dimensions.

    Example:
        >>> import pellucid as torch
        >>> layer = torch.nn.LazyConv1d(8, kernel_size=3)
        >>> layer(torch.ones(2, 5, 6)).shape, layer.in_channels
        (torch.Size([2, 8, 4]), 5)
    """

    cls_to_become = Conv1d


class LazyConv2d(_LazyConv, Conv2d):
    """Conv2d whose `in_channels` is inferred at the first call.

    Until then `weight` and `bias` have no shape. The first call creates and initializes them, and
    the module becomes a Conv2d. Run one batch through it before you count the parameters; an
    optimizer may be made earlier.

    Args:
        out_channels, kernel_size, stride, padding, ...: all arguments of Conv2d but `in_channels`,
            in the same order.

    Raises:
        RuntimeError: the first input has neither 3 nor 4 dimensions.

    Example:
        >>> import pellucid as torch
        >>> layer = torch.nn.LazyConv2d(8, kernel_size=3)
        >>> layer(torch.ones(2, 5, 6, 6)).shape, layer.in_channels
        (torch.Size([2, 8, 4, 4]), 5)
    """

    cls_to_become = Conv2d


class LazyConv3d(_LazyConv, Conv3d):
    """Conv3d whose `in_channels` is inferred at the first call.

    Until then `weight` and `bias` have no shape. The first call creates and initializes them, and
    the module becomes a Conv3d. Run one batch through it before you count the parameters; an
    optimizer may be made earlier.

    Args:
        out_channels, kernel_size, stride, padding, ...: all arguments of Conv3d but `in_channels`,
            in the same order.

    Raises:
        RuntimeError: the first input has neither 4 nor 5 dimensions.

    Example:
        >>> import pellucid as torch
        >>> layer = torch.nn.LazyConv3d(8, kernel_size=3)
        >>> layer(torch.ones(2, 5, 6, 6, 6)).shape, layer.in_channels
        (torch.Size([2, 8, 4, 4, 4]), 5)
    """

    cls_to_become = Conv3d


class LazyConvTranspose1d(_LazyConv, ConvTranspose1d):
    """ConvTranspose1d whose `in_channels` is inferred at the first call.

    Until then `weight` and `bias` have no shape. The first call creates and initializes them, and
    the module becomes a ConvTranspose1d. Run one batch through it before you count the parameters;
    an optimizer may be made earlier.

    Args:
        out_channels, kernel_size, stride, padding, ...: all arguments of ConvTranspose1d but
            `in_channels`, in the same order.

    Raises:
        RuntimeError: the first input has neither 2 nor 3 dimensions.

    Example:
        >>> import pellucid as torch
        >>> layer = torch.nn.LazyConvTranspose1d(8, kernel_size=3)
        >>> layer(torch.ones(2, 5, 6)).shape, layer.in_channels
        (torch.Size([2, 8, 8]), 5)
    """

    cls_to_become = ConvTranspose1d


class LazyConvTranspose2d(_LazyConv, ConvTranspose2d):
    """ConvTranspose2d whose `in_channels` is inferred at the first call.

    Until then `weight` and `bias` have no shape. The first call creates and initializes them, and
    the module becomes a ConvTranspose2d. Run one batch through it before you count the parameters;
    an optimizer may be made earlier.

    Args:
        out_channels, kernel_size, stride, padding, ...: all arguments of ConvTranspose2d but
            `in_channels`, in the same order.

    Raises:
        RuntimeError: the first input has neither 3 nor 4 dimensions.

    Example:
        >>> import pellucid as torch
        >>> layer = torch.nn.LazyConvTranspose2d(8, kernel_size=3)
        >>> layer(torch.ones(2, 5, 6, 6)).shape, layer.in_channels
        (torch.Size([2, 8, 8, 8]), 5)
    """

    cls_to_become = ConvTranspose2d


class LazyConvTranspose3d(_LazyConv, ConvTranspose3d):
    """ConvTranspose3d whose `in_channels` is inferred at the first call.

    Until then `weight` and `bias` have no shape. The first call creates and initializes them, and
    the module becomes a ConvTranspose3d. Run one batch through it before you count the parameters;
    an optimizer may be made earlier.

    Args:
        out_channels, kernel_size, stride, padding, ...: all arguments of ConvTranspose3d but
            `in_channels`, in the same order.

    Raises:
        RuntimeError: the first input has neither 4 nor 5 dimensions.

    Example:
        >>> import pellucid as torch
        >>> layer = torch.nn.LazyConvTranspose3d(8, kernel_size=3)
        >>> layer(torch.ones(2, 5, 6, 6, 6)).shape, layer.in_channels
        (torch.Size([2, 8, 8, 8, 8]), 5)
    """

    cls_to_become = ConvTranspose3d
