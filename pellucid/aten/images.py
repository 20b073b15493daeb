"""Operators of aten behind PyTorch's functions for images, padding and losses, implemented with
those functions.

Scripted and traced modules use them. Names follow the convention of `computed`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..core.public import FUNCTIONS
from . import computed


def _functional(name: str) -> Callable[..., Any]:
    return FUNCTIONS["nn.functional"][name]


def _resized(mode: str, aligned: bool, antialias: bool) -> tuple[Any, Any]:
    """Return an operator that takes sizes and single factors, and its overload with a list of
    factors.
    """

    def run(input: Any, size: Any, factors: Any, corners: bool | None) -> Any:
        given = {"scale_factor": tuple(factors)} if factors else {"size": tuple(size)}
        return _functional("interpolate")(
            input, **given, mode=mode, align_corners=corners, antialias=antialias
        )

    def single(input: Any, output_size: Any, *rest: Any, **named: Any) -> Any:
        corners, factors = (rest[0], rest[1:]) if aligned and rest else (None, rest)
        corners = named.pop("align_corners", corners)
        factors = factors or tuple(named.values())
        whole = factors if factors and None not in factors else None
        return run(input, output_size, whole, corners)

    def several(input: Any, output_size: Any, *rest: Any, **named: Any) -> Any:
        corners = rest[0] if aligned and rest else named.get("align_corners")
        factors = rest[-1] if len(rest) > aligned else named.get("scale_factors")
        return run(input, output_size, factors, corners)

    return single, several


for _name, _mode, _aligned, _antialias in (
    ("upsample_linear1d", "linear", True, False),
    ("upsample_bilinear2d", "bilinear", True, False),
    ("upsample_bicubic2d", "bicubic", True, False),
    ("upsample_trilinear3d", "trilinear", True, False),
    ("_upsample_bilinear2d_aa", "bilinear", True, True),
    ("_upsample_bicubic2d_aa", "bicubic", True, True),
    *((f"upsample_nearest{n}d", "nearest", False, False) for n in (1, 2, 3)),
    *((f"_upsample_nearest_exact{n}d", "nearest-exact", False, False) for n in (1, 2, 3)),
):
    globals()[_name], globals()[f"{_name}__vec"] = _resized(_mode, _aligned, _antialias)


def _border(mode: str) -> Callable[[Any, Any], Any]:
    return lambda self, padding: _functional("pad")(self, tuple(padding), mode=mode)


for _n in (1, 2, 3):
    globals()[f"reflection_pad{_n}d"] = _border("reflect")
    globals()[f"replication_pad{_n}d"] = _border("replicate")


def _written(name: str) -> Callable[..., Any]:
    return lambda self: _functional(name)(self, inplace=True)


for _name in ("silu", "relu6", "hardswish", "hardsigmoid", "mish"):
    globals()[f"{_name}_"] = _written(_name)


def gelu_(self: Any, *, approximate: str = "none") -> Any:
    return self.copy_(_functional("gelu")(self.clone(), approximate=approximate))


def log_sigmoid(self: Any) -> Any:
    return _functional("logsigmoid")(self)


def im2col(self: Any, kernel_size: Any, dilation: Any, padding: Any, stride: Any) -> Any:
    return _functional("unfold")(self, kernel_size, dilation, padding, stride)


def col2im(
    self: Any, output_size: Any, kernel_size: Any, dilation: Any, padding: Any, stride: Any
) -> Any:
    return _functional("fold")(self, output_size, kernel_size, dilation, padding, stride)


def cross_entropy_loss(
    self: Any,
    target: Any,
    weight: Any = None,
    reduction: int = 1,
    ignore_index: int = -100,
    label_smoothing: float = 0.0,
) -> Any:
    return _functional("cross_entropy")(
        self,
        target,
        weight,
        reduction=computed.REDUCTIONS[reduction],
        ignore_index=ignore_index,
        label_smoothing=label_smoothing,
    )


def nll_loss_nd(
    self: Any, target: Any, weight: Any = None, reduction: int = 1, ignore_index: int = -100
) -> Any:
    return _functional("nll_loss")(
        self, target, weight, reduction=computed.REDUCTIONS[reduction], ignore_index=ignore_index
    )


def _convolution_mode(
    input: Any, weight: Any, bias: Any, stride: Any, padding: str, dilation: Any, groups: int
) -> Any:
    return _functional(f"conv{weight.ndim - 2}d")(
        input, weight, bias, tuple(stride), padding, tuple(dilation), groups
    )


def _convolution(
    input: Any,
    weight: Any,
    bias: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    transposed: bool,
    output_padding: Any,
    groups: int,
    *of_libraries: bool,
) -> Any:
    return FUNCTIONS["torch"]["convolution"](
        input, weight, bias, stride, padding, dilation, transposed, output_padding, groups
    )
