"""What observers share: their options, the limits of the integers, and the scale that follows."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from ...arrays.affine import SCHEMES
from ...core.tensor import make_tensor
from ...dtypes import NAMED_ONLY, dtype
from ...errors import warn
from ...nn.modules.module import Module

qint8, quint8, qint32 = (NAMED_ONLY[name] for name in ("qint8", "quint8", "qint32"))
per_tensor_affine, per_tensor_symmetric = (
    SCHEMES["per_tensor_affine"],
    SCHEMES["per_tensor_symmetric"],
)
per_channel_affine, per_channel_symmetric = (
    SCHEMES["per_channel_affine"],
    SCHEMES["per_channel_symmetric"],
)
per_channel_affine_float_qparams = SCHEMES["per_channel_affine_float_qparams"]
_EPS = float(np.finfo(np.float32).eps)


class _PartialWrapper:
    """An observer class with some arguments fixed, as `with_args` returns it. Each call makes a new observer.

    >>> import pellucid as torch
    >>> observer = torch.ao.quantization.MinMaxObserver.with_args(quant_min=0, quant_max=127)()
    >>> _ = observer(torch.tensor([0.0, 12.7]))
    >>> observer.calculate_qparams()
    (tensor([0.1000]), tensor([0], dtype=torch.int32))
    """

    def __init__(self, p: Any) -> None:
        self.p = p
        self.callable_args: dict[str, Any] = {}

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        for name in self.callable_args:
            keywords.setdefault(name, self.callable_args[name]())
        return self.p(*args, **keywords)

    def __repr__(self) -> str:
        return repr(self.p) + repr(self.callable_args)

    def with_args(self, **kwargs: Any) -> _PartialWrapper:
        """The same with more arguments given."""
        made = _PartialWrapper(partial(self.p, **kwargs))
        made.callable_args = {**self.callable_args}
        return made

    def with_callable_args(self, **kwargs: Any) -> _PartialWrapper:
        """The same with arguments that are computed whenever an observer is made."""
        made = _PartialWrapper(partial(self.p))
        made.callable_args = {**self.callable_args, **kwargs}
        return made


def _with_args(cls_or_self: Any, **kwargs: Any) -> _PartialWrapper:
    return _PartialWrapper(partial(cls_or_self, **kwargs))


def _with_callable_args(cls_or_self: Any, **kwargs: Any) -> _PartialWrapper:
    return _PartialWrapper(partial(cls_or_self)).with_callable_args(**kwargs)


class ObserverBase(Module):
    """What all observers share.

    Attributes:
        dtype: the type of quantized numbers. is_dynamic: whether parameters are found anew for each
            input.

    >>> import pellucid as torch
    >>> from pellucid.ao import quantization as q
    >>> isinstance(q.MinMaxObserver(), q.ObserverBase)
    True
    """

    def __init__(self, dtype: dtype, is_dynamic: bool = False) -> None:
        super().__init__()
        self.dtype, self.is_dynamic = dtype, is_dynamic

    def forward(self, x: Any) -> Any:
        raise NotImplementedError

    def calculate_qparams(self, **kwargs: Any) -> Any:
        """The scale and the zero point, as tensors."""
        raise NotImplementedError

    with_args = classmethod(_with_args)
    with_callable_args = classmethod(_with_callable_args)


def limits_of(
    quant_min: int | None, quant_max: int | None, dtype: Any, reduce_range: bool
) -> tuple[int, int]:  # fmt: skip
    """The least and the greatest integer that are used."""
    if quant_min is not None and quant_max is not None:
        if reduce_range:
            return quant_min // 2, quant_max // 2
        return quant_min, quant_max
    if dtype is qint8:
        return (-64, 63) if reduce_range else (-128, 127)
    if dtype is quint8:
        return (0, 127) if reduce_range else (0, 255)
    if dtype is qint32:
        return -(2**31), 2**31 - 1
    return {
        "int8": (-128, 127),
        "uint8": (0, 255),
        "int16": (-(2**15), 2**15 - 1),
        "uint16": (0, 2**16 - 1),
    }.get(dtype.name, (0, 15))


class UniformQuantizationObserverBase(ObserverBase):
    """What observers share that find a least and a greatest value.

    Args:
        dtype: the type of quantized numbers.
        qscheme: per tensor or per channel, affine or symmetric.
        reduce_range: use half of the integers, so that sums of products in 16 bits cannot overflow.
        quant_min, quant_max: the least and the greatest integer; those of the type when left out.
        eps: the least scale.

    >>> import pellucid as torch
    >>> from pellucid.ao import quantization as q
    >>> observer = q.MinMaxObserver(dtype=torch.qint8, qscheme=torch.per_tensor_symmetric)
    >>> isinstance(observer, q.UniformQuantizationObserverBase)
    True
    >>> observer.quant_min, observer.quant_max
    (-128, 127)
    """

    _version = 3
    eps: Any
    min_val: Any
    max_val: Any

    def __init__(
        self,
        dtype: Any = quint8,
        qscheme: Any = per_tensor_affine,
        reduce_range: bool = False,
        quant_min: int | None = None,
        quant_max: int | None = None,
        factory_kwargs: Any = None,
        eps: float = _EPS,
        is_dynamic: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(dtype, is_dynamic)
        self.qscheme, self.reduce_range = qscheme, reduce_range
        if reduce_range:
            warn(
                "Please use quant_min and quant_max to specify the range for observers.                     reduce_range will be "
                "deprecated in a future release of PyTorch.",
            )
        self.register_buffer("eps", make_tensor(np.asarray([eps], np.float32)))
        if qscheme not in SCHEMES.values():
            raise AssertionError(
                "Default Observer only works for per_tensor_affine, per_tensor_symmetric, per_channel_affine, "
                "per_channel_symmetric and per_channel_float_qparams quantization scheme"
            )
        self.has_customized_qrange = quant_min is not None and quant_max is not None
        if self.has_customized_qrange and not quant_min <= 0 <= quant_max:  # type: ignore[operator]
            raise AssertionError("Used-specified quantization range must include 0.")
        self.quant_min, self.quant_max = limits_of(quant_min, quant_max, dtype, reduce_range)

    def _calculate_qparams(self, min_val: Any, max_val: Any) -> tuple[Any, Any]:
        """The scale and the zero point with which the integers cover a range, in float32."""
        low, high = np.asarray(min_val._array, np.float32), np.asarray(max_val._array, np.float32)
        if not low.size or not high.size or (low.ndim == 0 and low == np.inf and high == -np.inf):
            warn(
                "must run observer before calling calculate_qparams. Returning default values.",
            )
            return make_tensor(np.ones(1, np.float32)), make_tensor(np.zeros(1, np.int64))
        if (low > high).any():
            raise AssertionError(f"min {min_val} should be less than max {max_val}")
        qmin, qmax = self.quant_min, self.quant_max
        below, above = np.minimum(low, np.float32(0)), np.maximum(high, np.float32(0))
        least = np.float32(self.eps._array[0])
        zero = np.zeros(below.shape, np.int64)
        if self.qscheme in (per_tensor_symmetric, per_channel_symmetric):
            scale = np.maximum(-below, above) / np.float32((qmax - qmin) / 2)
            scale = np.maximum(scale, least)
            if self.dtype in (quint8, NAMED_ONLY.get("uint8")):
                zero = np.full(
                    below.shape, (qmin + qmax) // 2 if self.has_customized_qrange else 128, np.int64
                )
        elif self.qscheme is per_channel_affine_float_qparams:
            scale = (high - low) / np.float32(qmax - qmin)
            scale = np.where(scale > least, scale, np.float32(1))
            return make_tensor(scale), make_tensor(-low / scale)
        else:
            scale = np.maximum((above - below) / np.float32(qmax - qmin), least)
            found = np.clip(qmin - np.rint(below / scale).astype(np.int32), qmin, qmax)
            zero = found.astype(np.int32)  # the others are int64 in PyTorch
        scale = np.asarray(scale, np.float32)
        if scale.ndim == 0:
            scale, zero = scale.reshape(1), np.asarray(zero).reshape(1)
        return make_tensor(scale), make_tensor(zero)

    def reset_min_max_vals(self) -> None:
        """Forget what was seen."""
        raise NotImplementedError("Cannot reset min/max values in the given observer.")


def _number(value: float) -> Any:
    return make_tensor(np.asarray(value, np.float32))
