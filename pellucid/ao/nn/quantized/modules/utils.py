"""What quantized modules share: rounding a weight as its observer has it, and sharing what other
modules have.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ....._pytree import tree_map
from .....core.tensor import Tensor, make_tensor
from .....nn.modules.module import Module
from .....quantized import quantize_per_channel, quantize_per_tensor
from .....quantized.registry import OPERATORS

__all__ = ["WeightedQuantizedModule", "first", "number", "operators", "quantize_weight", "scalar"]


class _Operators:
    def __getattr__(self, name: str) -> Any:
        if name not in OPERATORS:
            raise AttributeError(name)
        return OPERATORS[name]


operators = _Operators()


class WeightedQuantizedModule(Module):
    """A quantized module with a weight that is made from a float one."""

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Any:
        """The quantized form of a float module."""
        raise NotImplementedError


def quantize_weight(weight: Any, observer: Any) -> Any:
    """A float weight quantized with the parameters that an observer (or a fake quantizer) has
    found.
    """
    scale, zero_point = observer.calculate_qparams()
    weight = weight.detach()
    if observer.qscheme.name in ("per_tensor_symmetric", "per_tensor_affine"):
        return quantize_per_tensor(weight, float(scale), int(zero_point), observer.dtype)
    if observer.qscheme.name in ("per_channel_symmetric", "per_channel_affine"):
        zeros = make_tensor(zero_point._array.astype(np.int64))
        return quantize_per_channel(
            weight,
            make_tensor(scale._array.astype(np.float64)),
            zeros,
            observer.ch_axis,
            observer.dtype,
        )
    if observer.qscheme.name == "per_channel_affine_float_qparams":
        return quantize_per_channel(
            weight,
            make_tensor(scale._array.astype(np.float32)),
            make_tensor(zero_point._array.astype(np.float32)),
            observer.ch_axis,
            observer.dtype,
        )
    raise ValueError(f"Unexpected qscheme {observer.qscheme}")


_quantize_weight = quantize_weight


def observed(weight: Any, qconfig: Any) -> Any:
    """An observer of a weight that has seen it."""
    observer = qconfig.weight()
    observer(weight)
    return observer


def activation_parameters(mod: Any) -> tuple[float, int]:
    """The scale and the zero point that a module's observer of its results has found."""
    scale, zero_point = mod.activation_post_process.calculate_qparams()
    return float(first(scale)), int(first(zero_point))


def first(value: Any) -> Any:
    """The only element of a tensor, or a number itself."""
    return value._array.reshape(-1)[0].item() if isinstance(value, Tensor) else value


def scalar(value: Any, kind: Any = np.float32) -> Any:
    """A tensor without dimensions."""
    return make_tensor(np.asarray(value, kind))


def number(value: Any) -> Any:
    """A tensor of one element as a number."""
    return first(value)


def detached(value: Any) -> Any:
    """Tensors in containers, detached."""
    return tree_map(lambda x: x.detach() if isinstance(x, Tensor) else x, value)
