"""Quantized convolutions."""

from __future__ import annotations

from typing import Any

import numpy as np

from .....core.public import FUNCTIONS
from .....core.tensor import make_tensor
from .....dtypes import NAMED_ONLY
from .....nn.utils import fusion
from .....quantized import _empty_affine_quantized
from .utils import (
    WeightedQuantizedModule,
    activation_parameters,
    number,
    observed,
    operators,
    quantize_weight,
    scalar,
)


def _tuple(value: Any, dims: int) -> tuple[int, ...]:
    return tuple(value) if isinstance(value, (tuple, list)) else (value,) * dims


class _ConvNd(WeightedQuantizedModule):
    _DIMS = 2
    _RELU = False
    _TRANSPOSED = False

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
        *,
        output_padding: Any = 0,
    ) -> None:
        super().__init__()
        dims = self._DIMS
        if padding_mode not in ("zeros", "reflect") or padding_mode == "reflect" and dims == 3:
            raise ValueError(
                f"'padding_mode' {padding_mode} is not supported by quantized convolution"
            )
        if in_channels % groups:
            raise ValueError("in_channels must be divisible by groups")
        if out_channels % groups:
            raise ValueError("out_channels must be divisible by groups")
        self.in_channels, self.out_channels, self.groups, self.padding_mode = (
            in_channels,
            out_channels,
            groups,
            padding_mode,
        )
        self.kernel_size, self.stride, self.dilation = (
            _tuple(v, dims) for v in (kernel_size, stride, dilation)
        )
        self.padding = padding if isinstance(padding, str) else _tuple(padding, dims)
        self.output_padding, self.transposed = _tuple(output_padding, dims), self._TRANSPOSED
        shape = (
            [in_channels, out_channels // groups]
            if self.transposed
            else [out_channels, in_channels // groups]
        )
        weight = _empty_affine_quantized(
            [*shape, *self.kernel_size], scale=1, zero_point=0, dtype=NAMED_ONLY["qint8"]
        )
        self.set_weight_bias(
            weight, make_tensor(np.zeros(out_channels, np.float32)) if bias else None
        )
        self.scale: Any = 1.0
        self.zero_point: Any = 0

    @property
    def _name_of_operator(self) -> str:
        return f"conv_transpose{self._DIMS}d" if self.transposed else f"conv{self._DIMS}d"

    def set_weight_bias(self, w: Any, b: Any) -> None:
        """Pack another weight and bias."""
        padding: Any = (0,) * self._DIMS if self.padding_mode != "zeros" else self.padding
        prepack = getattr(operators, f"{self._name_of_operator}_prepack")
        extra = (self.output_padding,) if self.transposed else ()
        self._packed_params = prepack(
            w, b, self.stride, padding, *extra, self.dilation, self.groups
        )

    def _weight_bias(self) -> Any:
        return self._packed_params.unpack()

    def weight(self) -> Any:
        """The quantized weight."""
        return self._weight_bias()[0]

    def bias(self) -> Any:
        """The bias, or None."""
        return self._weight_bias()[1]

    def forward(self, input: Any) -> Any:
        if input.ndim != self._DIMS + 2:
            raise ValueError(
                "Input shape must be `(N, C, "
                + {1: "L", 2: "H, W", 3: "D, H, W"}[self._DIMS]
                + ")`!"
            )
        if self.padding_mode != "zeros":
            twice = [p for size in reversed(self.padding) for p in (size, size)]
            input = FUNCTIONS["nn.functional"]["pad"](input, twice, mode=self.padding_mode)
        run = getattr(operators, self._name_of_operator + ("_relu" if self._RELU else ""))
        return run(input, self._packed_params, self.scale, self.zero_point)

    def _get_name(self) -> str:
        return f"Quantized{type(self).__name__}"

    def extra_repr(self) -> str:
        text = (
            f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, stride={self.stride}, scale={self.scale}, "
            f"zero_point={self.zero_point}"
        )
        if self.padding != (0,) * self._DIMS:
            text += f", padding={self.padding}"
        if self.dilation != (1,) * self._DIMS:
            text += f", dilation={self.dilation}"
        if self.output_padding != (0,) * self._DIMS:
            text += f", output_padding={self.output_padding}"
        if self.groups != 1:
            text += f", groups={self.groups}"
        return text + (", bias=False" if self.bias() is None else "")

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        super()._save_to_state_dict(destination, prefix, keep_vars)
        destination[prefix + "weight"], destination[prefix + "bias"] = self._weight_bias()
        destination[prefix + "scale"] = scalar(self.scale)
        destination[prefix + "zero_point"] = scalar(self.zero_point, np.int64)

    def _load_from_state_dict(
        self,
        state_dict: Any,
        prefix: str,
        local_metadata: Any,
        strict: bool,
        missing_keys: Any,
        unexpected_keys: Any,
        error_msgs: Any,
    ) -> None:
        self.set_weight_bias(state_dict.pop(prefix + "weight"), state_dict.pop(prefix + "bias"))
        self.scale = float(number(state_dict.pop(prefix + "scale")))
        self.zero_point = int(number(state_dict.pop(prefix + "zero_point")))
        super()._load_from_state_dict(
            state_dict, prefix, local_metadata, False, missing_keys, unexpected_keys, error_msgs
        )

    @classmethod
    def _made(cls, mod: Any, dtype: Any = None) -> Any:
        how = (mod.stride, mod.padding)
        rest = (mod.dilation, mod.groups, mod.bias is not None, mod.padding_mode)
        if cls._TRANSPOSED:
            return cls(
                mod.in_channels,
                mod.out_channels,
                mod.kernel_size,
                *how,
                mod.output_padding,
                mod.groups,
                mod.bias is not None,
                mod.dilation,
                mod.padding_mode,
            )
        return cls(mod.in_channels, mod.out_channels, mod.kernel_size, *how, *rest)

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Any:
        """The quantized form of a module that was prepared and has seen data, or was trained with
        fake quantization.
        """
        after = getattr(mod, "activation_post_process", None)
        if hasattr(mod, "weight_fake_quant"):
            weight, bias = mod.weight, mod.bias
            if hasattr(mod, "bn"):
                n = mod.bn
                weight, bias = fusion.fuse_conv_bn_weights(
                    weight, bias, n.running_mean, n.running_var, n.eps, n.weight, n.bias
                )
            observer = mod.weight_fake_quant
            if not use_precomputed_fake_quant:
                observer(weight)
        else:
            if not hasattr(mod, "weight"):  # fused, not for training
                mod = mod[0]
            weight, bias = mod.weight, mod.bias
            observer = observed(weight, mod.qconfig)
        made = cls._made(mod)
        made.set_weight_bias(quantize_weight(weight.float(), observer), bias)
        if (
            after is not None
            and hasattr(after, "calculate_qparams")
            and after.dtype is not None
            and not getattr(after, "is_dynamic", False)
        ):
            holder = type("_", (), {"activation_post_process": after})
            made.scale, made.zero_point = activation_parameters(holder)
        return made


class Conv1d(_ConvNd):
    """As `nn.Conv1d`, of quantized tensors."""

    _DIMS = 1


class Conv2d(_ConvNd):
    """As `nn.Conv2d`, of quantized tensors."""


class Conv3d(_ConvNd):
    """As `nn.Conv3d`, of quantized tensors."""

    _DIMS = 3


class _ConvTransposeNd(_ConvNd):
    _TRANSPOSED = True

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
        super().__init__(
            in_channels,
            out_channels,
            kernel_size,
            stride,
            padding,
            dilation,
            groups,
            bias,
            padding_mode,
            device,
            dtype,
            output_padding=output_padding,
        )


class ConvTranspose1d(_ConvTransposeNd):
    """As `nn.ConvTranspose1d`, of quantized tensors."""

    _DIMS = 1


class ConvTranspose2d(_ConvTransposeNd):
    """As `nn.ConvTranspose2d`, of quantized tensors."""


class ConvTranspose3d(_ConvTransposeNd):
    """As `nn.ConvTranspose3d`, of quantized tensors."""

    _DIMS = 3
