"""Pooling layers: maximum, mean, p-norm and fractional pooling."""

from __future__ import annotations

from typing import Any

from ...core.tensor import Tensor
from ...errors import ArgumentValueError
from .. import functional as F
from ._naming import separate_initializers
from .module import Module
from .utils import _ntuple

__all__ = [
    "AdaptiveAvgPool1d",
    "AdaptiveAvgPool2d",
    "AdaptiveAvgPool3d",
    "AdaptiveMaxPool1d",
    "AdaptiveMaxPool2d",
    "AdaptiveMaxPool3d",
    "AvgPool1d",
    "AvgPool2d",
    "AvgPool3d",
    "FractionalMaxPool2d",
    "FractionalMaxPool3d",
    "LPPool1d",
    "LPPool2d",
    "LPPool3d",
    "MaxPool1d",
    "MaxPool2d",
    "MaxPool3d",
    "MaxUnpool1d",
    "MaxUnpool2d",
    "MaxUnpool3d",
]


class _MaxPoolNd(Module):
    def __init__(
        self,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        dilation: Any = 1,
        return_indices: bool = False,
        ceil_mode: bool = False,
    ) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = stride if stride is not None else kernel_size
        self.padding = padding
        self.dilation = dilation
        self.return_indices = return_indices
        self.ceil_mode = ceil_mode

    def extra_repr(self) -> str:
        return (
            f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}, dilation={self.dilation}, "
            f"ceil_mode={self.ceil_mode}"
        )

    def _pool(self, function: Any, input: Tensor) -> Any:
        return function(
            input,
            self.kernel_size,
            self.stride,
            self.padding,
            self.dilation,
            ceil_mode=self.ceil_mode,
            return_indices=self.return_indices,
        )


class MaxPool1d(_MaxPoolNd):
    """Max pooling: the largest value of each window of (N, C, L) or (C, L).

    The size of each spatial dimension becomes `floor((size + 2 * padding - dilation * (kernel_size
    - 1) - 1) / stride) + 1`.

    Args:
        kernel_size: size of the windows: a number, or a tuple of one.
        stride: distance between two windows; None: `kernel_size`.
        padding: elements of minus infinity on both sides, at most half the window. Default: 0.
        dilation: distance between two elements of a window. Default: 1.
        return_indices: whether to return (values, indices), the indices as MaxUnpool1d takes them.
            Default: False.
        ceil_mode: whether sizes are rounded up, with smaller windows at the end. Default: False.

    Shape:
        input: `(N, C, L)` or `(C, L)`; the result `(N, C, L_out)` or `(C, L_out)`.

    Raises:
        RuntimeError: padding above half the window; a wrong number of dimensions; an empty result.

    Example:
        >>> import pellucid as torch
        >>> torch.nn.MaxPool1d(2)(torch.ones(1, 3, 8)).shape
        torch.Size([1, 3, 4])
    """

    def forward(self, input: Tensor) -> Any:
        return self._pool(F.max_pool1d, input)


class MaxPool2d(_MaxPoolNd):
    """Max pooling: the largest value of each window of (N, C, H, W) or (C, H, W).

    The size of each spatial dimension becomes `floor((size + 2 * padding - dilation * (kernel_size
    - 1) - 1) / stride) + 1`.

    Args:
        kernel_size: size of the windows: a number for both dimensions, or a pair (height, width).
        stride: distance between two windows; None: `kernel_size`.
        padding: elements of minus infinity on both sides, at most half the window. Default: 0.
        dilation: distance between two elements of a window. Default: 1.
        return_indices: whether to return (values, indices), the indices as MaxUnpool2d takes them.
            Default: False.
        ceil_mode: whether sizes are rounded up, with smaller windows at the end. Default: False.

    Shape:
        input: `(N, C, H, W)` or `(C, H, W)`; the result `(N, C, H_out, W_out)` or
            `(C, H_out, W_out)`.

    Raises:
        RuntimeError: padding above half the window; a wrong number of dimensions; an empty result.

    Example:
        >>> import pellucid as torch
        >>> torch.nn.MaxPool2d(2)(torch.ones(1, 3, 8, 8)).shape
        torch.Size([1, 3, 4, 4])
    """

    def forward(self, input: Tensor) -> Any:
        return self._pool(F.max_pool2d, input)


class MaxPool3d(_MaxPoolNd):
    """Max pooling: the largest value of each window of (N, C, D, H, W) or (C, D, H, W).

    The size of each spatial dimension becomes `floor((size + 2 * padding - dilation * (kernel_size
    - 1) - 1) / stride) + 1`.

    Args:
        kernel_size: size of the windows: a number for all three dimensions, or a triple (depth,
            height, width).
        stride: distance between two windows; None: `kernel_size`.
        padding: elements of minus infinity on both sides, at most half the window. Default: 0.
        dilation: distance between two elements of a window. Default: 1.
        return_indices: whether to return (values, indices), the indices as MaxUnpool3d takes them.
            Default: False.
        ceil_mode: whether sizes are rounded up, with smaller windows at the end. Default: False.

    Shape:
        input: `(N, C, D, H, W)` or `(C, D, H, W)`; the result `(N, C, D_out, H_out, W_out)` or
            `(C, D_out, H_out, W_out)`.

    Raises:
        RuntimeError: padding above half the window; a wrong number of dimensions; an empty result.

    Example:
        >>> import pellucid as torch
        >>> torch.nn.MaxPool3d(2)(torch.ones(1, 3, 8, 8, 8)).shape
        torch.Size([1, 3, 4, 4, 4])
    """

    def forward(self, input: Tensor) -> Any:
        return self._pool(F.max_pool3d, input)


@separate_initializers
class _MaxUnpoolNd(Module):
    _dims = 0

    def __init__(self, kernel_size: Any, stride: Any = None, padding: Any = 0) -> None:
        super().__init__()
        each = _ntuple(self._dims)
        self.kernel_size = each(kernel_size)
        self.stride = each(stride if stride is not None else kernel_size)
        self.padding = each(padding)

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"

    def forward(self, input: Tensor, indices: Tensor, output_size: Any = None) -> Tensor:
        function = getattr(F, f"max_unpool{self._dims}d")
        return function(input, indices, self.kernel_size, self.stride, self.padding, output_size)


class MaxUnpool1d(_MaxUnpoolNd):
    """Puts the values of MaxPool1d back at their positions, with zeros elsewhere.

    Args:
        kernel_size, stride, padding: as for the pooling that it inverts; stride None:
            `kernel_size`.

    Call it as `layer(input, indices, output_size=None)`; `output_size` chooses between the sizes
    that pool to the same one.

    Shape:
        input, indices: `(N, C, L)` or `(C, L)`, as MaxPool1d with `return_indices` gives them.
        result: `(N, C, L_out)` or `(C, L_out)`.

    Example:
        >>> import pellucid as torch
        >>> values, indices = torch.nn.MaxPool1d(2, return_indices=True)(torch.ones(1, 3, 8))
        >>> torch.nn.MaxUnpool1d(2)(values, indices).shape
        torch.Size([1, 3, 8])
    """

    _dims = 1


class MaxUnpool2d(_MaxUnpoolNd):
    """Puts the values of MaxPool2d back at their positions, with zeros elsewhere.

    Args:
        kernel_size, stride, padding: as for the pooling that it inverts; stride None:
            `kernel_size`.

    Call it as `layer(input, indices, output_size=None)`; `output_size` chooses between the sizes
    that pool to the same one.

    Shape:
        input, indices: `(N, C, H, W)` or `(C, H, W)`, as MaxPool2d with `return_indices` gives
            them.
        result: `(N, C, H_out, W_out)` or `(C, H_out, W_out)`.

    Example:
        >>> import pellucid as torch
        >>> values, indices = torch.nn.MaxPool2d(2, return_indices=True)(torch.ones(1, 3, 8, 8))
        >>> torch.nn.MaxUnpool2d(2)(values, indices).shape
        torch.Size([1, 3, 8, 8])
    """

    _dims = 2


class MaxUnpool3d(_MaxUnpoolNd):
    """Puts the values of MaxPool3d back at their positions, with zeros elsewhere.

    Args:
        kernel_size, stride, padding: as for the pooling that it inverts; stride None:
            `kernel_size`.

    Call it as `layer(input, indices, output_size=None)`; `output_size` chooses between the sizes
    that pool to the same one.

    Shape:
        input, indices: `(N, C, D, H, W)` or `(C, D, H, W)`, as MaxPool3d with `return_indices`
            gives them.
        result: `(N, C, D_out, H_out, W_out)` or `(C, D_out, H_out, W_out)`.

    Example:
        >>> import pellucid as torch
        >>> values, indices = torch.nn.MaxPool3d(2, return_indices=True)(torch.ones(1, 3, 8, 8, 8))
        >>> torch.nn.MaxUnpool3d(2)(values, indices).shape
        torch.Size([1, 3, 8, 8, 8])
    """

    _dims = 3


class AvgPool1d(Module):
    """Average pooling: the mean of each window of (N, C, L) or (C, L).

    The size of each spatial dimension becomes
    `floor((size + 2 * padding - kernel_size) / stride) + 1`.

    Args:
        kernel_size: size of the windows: a number, or a tuple of one.
        stride: distance between two windows; None: `kernel_size`.
        padding: zeros on both sides, at most half the window. Default: 0.
        ceil_mode: whether sizes are rounded up, with smaller windows at the end. Default: False.
        count_include_pad: whether the padding counts in the divisor. Default: True.

    Shape:
        input: `(N, C, L)` or `(C, L)`; the result `(N, C, L_out)` or `(C, L_out)`.

    Raises:
        RuntimeError: padding above half the window.

    Example:
        >>> import pellucid as torch
        >>> torch.nn.AvgPool1d(2)(torch.ones(1, 3, 8)).shape
        torch.Size([1, 3, 4])
    """

    def __init__(
        self,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
    ) -> None:
        super().__init__()
        one = _ntuple(1)
        self.kernel_size = one(kernel_size)
        self.stride = one(stride if stride is not None else kernel_size)
        self.padding = one(padding)
        self.ceil_mode = ceil_mode
        self.count_include_pad = count_include_pad

    def forward(self, input: Tensor) -> Tensor:
        return F.avg_pool1d(
            input,
            self.kernel_size,
            self.stride,
            self.padding,
            self.ceil_mode,
            self.count_include_pad,
        )

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


@separate_initializers
class _AvgPoolNd(Module):
    def __init__(
        self,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = stride if stride is not None else kernel_size
        self.padding = padding
        self.ceil_mode = ceil_mode
        self.count_include_pad = count_include_pad
        self.divisor_override = divisor_override

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"

    def _pool(self, function: Any, input: Tensor) -> Tensor:
        return function(
            input,
            self.kernel_size,
            self.stride,
            self.padding,
            self.ceil_mode,
            self.count_include_pad,
            self.divisor_override,
        )


class AvgPool2d(_AvgPoolNd):
    """Average pooling: the mean of each window of (N, C, H, W) or (C, H, W).

    The size of each spatial dimension becomes
    `floor((size + 2 * padding - kernel_size) / stride) + 1`.

    Args:
        kernel_size: size of the windows: a number for both dimensions, or a pair (height, width).
        stride: distance between two windows; None: `kernel_size`.
        padding: zeros on both sides, at most half the window. Default: 0.
        ceil_mode: whether sizes are rounded up, with smaller windows at the end. Default: False.
        count_include_pad: whether the padding counts in the divisor. Default: True.
        divisor_override: a divisor to use instead of the window's size. Default: None.

    Shape:
        input: `(N, C, H, W)` or `(C, H, W)`; the result `(N, C, H_out, W_out)` or
            `(C, H_out, W_out)`.

    Raises:
        RuntimeError: padding above half the window.

    Example:
        >>> import pellucid as torch
        >>> torch.nn.AvgPool2d(2)(torch.ones(1, 3, 8, 8)).shape
        torch.Size([1, 3, 4, 4])
    """

    def forward(self, input: Tensor) -> Tensor:
        return self._pool(F.avg_pool2d, input)


class AvgPool3d(_AvgPoolNd):
    """Average pooling: the mean of each window of (N, C, D, H, W) or (C, D, H, W).

    The size of each spatial dimension becomes
    `floor((size + 2 * padding - kernel_size) / stride) + 1`.

    Args:
        kernel_size: size of the windows: a number for all three dimensions, or a triple (depth,
            height, width).
        stride: distance between two windows; None: `kernel_size`.
        padding: zeros on both sides, at most half the window. Default: 0.
        ceil_mode: whether sizes are rounded up, with smaller windows at the end. Default: False.
        count_include_pad: whether the padding counts in the divisor. Default: True.
        divisor_override: a divisor to use instead of the window's size. Default: None.

    Shape:
        input: `(N, C, D, H, W)` or `(C, D, H, W)`; the result `(N, C, D_out, H_out, W_out)` or
            `(C, D_out, H_out, W_out)`.

    Raises:
        RuntimeError: padding above half the window.

    Example:
        >>> import pellucid as torch
        >>> torch.nn.AvgPool3d(2)(torch.ones(1, 3, 8, 8, 8)).shape
        torch.Size([1, 3, 4, 4, 4])
    """

    def forward(self, input: Tensor) -> Tensor:
        return self._pool(F.avg_pool3d, input)


@separate_initializers
class _FractionalMaxPoolNd(Module):
    _dims = 0

    def __init__(
        self,
        kernel_size: Any,
        output_size: Any = None,
        output_ratio: Any = None,
        return_indices: bool = False,
        _random_samples: Tensor | None = None,
    ) -> None:
        super().__init__()
        each = _ntuple(self._dims)
        name = type(self).__name__
        self.kernel_size = each(kernel_size)
        self.return_indices = return_indices
        self.register_buffer("_random_samples", _random_samples)
        self.output_size = each(output_size) if output_size is not None else None
        self.output_ratio = each(output_ratio) if output_ratio is not None else None
        if output_size is None and output_ratio is None:
            raise ArgumentValueError(
                f"{name} requires specifying either an output size, or a pooling ratio"
            )
        if output_size is not None and output_ratio is not None:
            raise ArgumentValueError("only one of output_size and output_ratio may be specified")
        if self.output_ratio is not None and not all(0 < r < 1 for r in self.output_ratio):
            raise ArgumentValueError(f"output_ratio must be between 0 and 1 (got {output_ratio})")

    def forward(self, input: Tensor) -> Any:
        function = getattr(F, f"fractional_max_pool{self._dims}d")
        return function(
            input,
            self.kernel_size,
            self.output_size,
            self.output_ratio,
            self.return_indices,
            _random_samples=self._random_samples,
        )


class FractionalMaxPool2d(_FractionalMaxPoolNd):
    """Max pooling with windows at random positions, for factors that are not whole numbers.

    Args:
        kernel_size: size of the windows: a number for both dimensions, or a pair (height, width).
        output_size: size of the result, in the same form; or
        output_ratio: the result's size divided by the input's, between 0 and 1. Exactly one of the
            two is given.
        return_indices: whether to return (values, indices). Default: False.

    Shape:
        input: `(N, C, H, W)` or `(C, H, W)`; the result has the sizes of `output_size`.

    Raises:
        ValueError: neither or both of `output_size` and `output_ratio`; a ratio outside (0, 1).

    Source: Graham, "Fractional max-pooling", 2014.

    Example:
        >>> import pellucid as torch
        >>> torch.nn.FractionalMaxPool2d(2, output_size=5)(torch.ones(1, 3, 8, 8)).shape
        torch.Size([1, 3, 5, 5])
    """

    _dims = 2


class FractionalMaxPool3d(_FractionalMaxPoolNd):
    """Max pooling with windows at random positions, for factors that are not whole numbers.

    Args:
        kernel_size: size of the windows: a number for all three dimensions, or a triple (depth,
            height, width).
        output_size: size of the result, in the same form; or
        output_ratio: the result's size divided by the input's, between 0 and 1. Exactly one of the
            two is given.
        return_indices: whether to return (values, indices). Default: False.

    Shape:
        input: `(N, C, D, H, W)` or `(C, D, H, W)`; the result has the sizes of `output_size`.

    Raises:
        ValueError: neither or both of `output_size` and `output_ratio`; a ratio outside (0, 1).

    Source: Graham, "Fractional max-pooling", 2014.

    Example:
        >>> import pellucid as torch
        >>> torch.nn.FractionalMaxPool3d(2, output_size=5)(torch.ones(1, 3, 8, 8, 8)).shape
        torch.Size([1, 3, 5, 5, 5])
    """

    _dims = 3


class _LPPoolNd(Module):
    def __init__(
        self, norm_type: float, kernel_size: Any, stride: Any = None, ceil_mode: bool = False
    ) -> None:
        super().__init__()
        self.norm_type = norm_type
        self.kernel_size = kernel_size
        self.stride = stride
        self.ceil_mode = ceil_mode

    def extra_repr(self) -> str:
        return f"norm_type={self.norm_type}, kernel_size={self.kernel_size}, stride={self.stride}, ceil_mode={self.ceil_mode}"


class LPPool1d(_LPPoolNd):
    """Power-average pooling: `(sum of x^p)^(1/p)` over each window of (N, C, L) or (C, L).

    Args:
        norm_type: the p; 1 gives sums, large numbers come close to the maximum.
        kernel_size: size of the windows: a number, or a tuple of one.
        stride: distance between two windows; None: `kernel_size`.
        ceil_mode: whether sizes are rounded up, with smaller windows at the end. Default: False.

    Shape:
        input: `(N, C, L)` or `(C, L)`; the result `(N, C, L_out)` or `(C, L_out)`.

    Example:
        >>> import pellucid as torch
        >>> torch.nn.LPPool1d(2, kernel_size=2)(torch.ones(1, 3, 4)).shape
        torch.Size([1, 3, 2])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.lp_pool1d(
            input, float(self.norm_type), self.kernel_size, self.stride, self.ceil_mode
        )


class LPPool2d(_LPPoolNd):
    """Power-average pooling: `(sum of x^p)^(1/p)` over each window of (N, C, H, W) or (C, H, W).

    Args:
        norm_type: the p; 1 gives sums, large numbers come close to the maximum.
        kernel_size: size of the windows: a number for both dimensions, or a pair (height, width).
        stride: distance between two windows; None: `kernel_size`.
        ceil_mode: whether sizes are rounded up, with smaller windows at the end. Default: False.

    Shape:
        input: `(N, C, H, W)` or `(C, H, W)`; the result `(N, C, H_out, W_out)` or
            `(C, H_out, W_out)`.

    Example:
        >>> import pellucid as torch
        >>> torch.nn.LPPool2d(2, kernel_size=2)(torch.ones(1, 3, 4, 4)).shape
        torch.Size([1, 3, 2, 2])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.lp_pool2d(
            input, float(self.norm_type), self.kernel_size, self.stride, self.ceil_mode
        )


class LPPool3d(_LPPoolNd):
    """Power-average pooling: `(sum of x^p)^(1/p)` over each window of (N, C, D, H, W) or (C, D, H,
    W).

    Args:
        norm_type: the p; 1 gives sums, large numbers come close to the maximum.
        kernel_size: size of the windows: a number for all three dimensions, or a triple (depth,
            height, width).
        stride: distance between two windows; None: `kernel_size`.
        ceil_mode: whether sizes are rounded up, with smaller windows at the end. Default: False.

    Shape:
        input: `(N, C, D, H, W)` or `(C, D, H, W)`; the result `(N, C, D_out, H_out, W_out)` or
            `(C, D_out, H_out, W_out)`.

    Example:
        >>> import pellucid as torch
        >>> torch.nn.LPPool3d(2, kernel_size=2)(torch.ones(1, 3, 4, 4, 4)).shape
        torch.Size([1, 3, 2, 2, 2])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.lp_pool3d(
            input, float(self.norm_type), self.kernel_size, self.stride, self.ceil_mode
        )


class _AdaptiveAvgPoolNd(Module):
    _function = ""

    def __init__(self, output_size: Any) -> None:
        super().__init__()
        self.output_size = output_size

    def extra_repr(self) -> str:
        return f"output_size={self.output_size}"

    def forward(self, input: Tensor) -> Any:
        return getattr(F, self._function)(input, self.output_size)


class AdaptiveAvgPool1d(_AdaptiveAvgPoolNd):
    """Average pooling to a given size: the mean of windows that divide the input evenly.

    Window i of a dimension runs from `floor(i * size / output_size)` to
    `ceil((i + 1) * size / output_size)`.

    Args:
        output_size: size of the result.

    Shape:
        input: `(N, C, L)` or `(C, L)`; the result `(N, C, L_out)` or `(C, L_out)` with the sizes of
            `output_size`.

    Example:
        >>> import pellucid as torch
        >>> torch.nn.AdaptiveAvgPool1d(2)(torch.ones(1, 3, 5)).shape
        torch.Size([1, 3, 2])
    """

    _function = "adaptive_avg_pool1d"


class AdaptiveAvgPool2d(_AdaptiveAvgPoolNd):
    """Average pooling to a given size: the mean of windows that divide the input evenly.

    Window i of a dimension runs from `floor(i * size / output_size)` to
    `ceil((i + 1) * size / output_size)`.

    Args:
        output_size: size of the result; a number for all dimensions, or a tuple in which None keeps
            a size.

    Shape:
        input: `(N, C, H, W)` or `(C, H, W)`; the result `(N, C, H_out, W_out)` or
            `(C, H_out, W_out)` with the sizes of `output_size`.

    Example:
        >>> import pellucid as torch
        >>> torch.nn.AdaptiveAvgPool2d(2)(torch.ones(1, 3, 5, 5)).shape
        torch.Size([1, 3, 2, 2])
    """

    _function = "adaptive_avg_pool2d"


class AdaptiveAvgPool3d(_AdaptiveAvgPoolNd):
    """Average pooling to a given size: the mean of windows that divide the input evenly.

    Window i of a dimension runs from `floor(i * size / output_size)` to
    `ceil((i + 1) * size / output_size)`.

    Args:
        output_size: size of the result; a number for all dimensions, or a tuple in which None keeps
            a size.

    Shape:
        input: `(N, C, D, H, W)` or `(C, D, H, W)`; the result `(N, C, D_out, H_out, W_out)` or
            `(C, D_out, H_out, W_out)` with the sizes of `output_size`.

    Example:
        >>> import pellucid as torch
        >>> torch.nn.AdaptiveAvgPool3d(2)(torch.ones(1, 3, 5, 5, 5)).shape
        torch.Size([1, 3, 2, 2, 2])
    """

    _function = "adaptive_avg_pool3d"


class _AdaptiveMaxPoolNd(_AdaptiveAvgPoolNd):
    def __init__(self, output_size: Any, return_indices: bool = False) -> None:
        super().__init__(output_size)
        self.return_indices = return_indices

    def forward(self, input: Tensor) -> Any:
        return getattr(F, self._function)(input, self.output_size, self.return_indices)


class AdaptiveMaxPool1d(_AdaptiveMaxPoolNd):
    """Max pooling to a given size: the largest value of windows that divide the input evenly.

    Window i of a dimension runs from `floor(i * size / output_size)` to
    `ceil((i + 1) * size / output_size)`.

    Args:
        output_size: size of the result.
        return_indices: whether to return (values, indices). Default: False.

    Shape:
        input: `(N, C, L)` or `(C, L)`; the result `(N, C, L_out)` or `(C, L_out)` with the sizes of
            `output_size`.

    Example:
        >>> import pellucid as torch
        >>> torch.nn.AdaptiveMaxPool1d(2)(torch.ones(1, 3, 5)).shape
        torch.Size([1, 3, 2])
    """

    _function = "adaptive_max_pool1d"


class AdaptiveMaxPool2d(_AdaptiveMaxPoolNd):
    """Max pooling to a given size: the largest value of windows that divide the input evenly.

    Window i of a dimension runs from `floor(i * size / output_size)` to
    `ceil((i + 1) * size / output_size)`.

    Args:
        output_size: size of the result; a number for all dimensions, or a tuple in which None keeps
            a size.
        return_indices: whether to return (values, indices). Default: False.

    Shape:
        input: `(N, C, H, W)` or `(C, H, W)`; the result `(N, C, H_out, W_out)` or
            `(C, H_out, W_out)` with the sizes of `output_size`.

    Example:
        >>> import pellucid as torch
        >>> torch.nn.AdaptiveMaxPool2d(2)(torch.ones(1, 3, 5, 5)).shape
        torch.Size([1, 3, 2, 2])
    """

    _function = "adaptive_max_pool2d"


class AdaptiveMaxPool3d(_AdaptiveMaxPoolNd):
    """Max pooling to a given size: the largest value of windows that divide the input evenly.

    Window i of a dimension runs from `floor(i * size / output_size)` to
    `ceil((i + 1) * size / output_size)`.

    Args:
        output_size: size of the result; a number for all dimensions, or a tuple in which None keeps
            a size.
        return_indices: whether to return (values, indices). Default: False.

    Shape:
        input: `(N, C, D, H, W)` or `(C, D, H, W)`; the result `(N, C, D_out, H_out, W_out)` or
            `(C, D_out, H_out, W_out)` with the sizes of `output_size`.

    Example:
        >>> import pellucid as torch
        >>> torch.nn.AdaptiveMaxPool3d(2)(torch.ones(1, 3, 5, 5, 5)).shape
        torch.Size([1, 3, 2, 2, 2])
    """

    _function = "adaptive_max_pool3d"
