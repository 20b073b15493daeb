"""Observers: what they see of tensors decides with which scale and zero point these are quantized."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core.modes import no_grad
from ...core.public import FUNCTIONS
from ...core.tensor import make_tensor
from ...dtypes import float16 as _float16
from ...dtypes import float32 as _float32
from ...errors import UnsupportedError, warn
from ._bases import (
    _EPS,
    ObserverBase,
    UniformQuantizationObserverBase,
    _number,
    per_channel_affine,
    per_channel_affine_float_qparams,
    per_channel_symmetric,
    per_tensor_affine,
    per_tensor_symmetric,
    qint8,
    quint8,
)
from ._bases import _PartialWrapper as _PartialWrapper
from ._bases import _with_args as _with_args
from ._bases import _with_callable_args as _with_callable_args
from ._bases import limits_of as limits_of

__all__ = [
    "FixedQParamsObserver",
    "HistogramObserver",
    "MinMaxObserver",
    "MovingAverageMinMaxObserver",
    "MovingAveragePerChannelMinMaxObserver",
    "NoopObserver",
    "ObserverBase",
    "PerChannelMinMaxObserver",
    "PlaceholderObserver",
    "RecordingObserver",
    "ReuseInputObserver",
    "UniformQuantizationObserverBase",
    "default_affine_fixed_qparams_observer",
    "default_debug_observer",
    "default_dynamic_quant_observer",
    "default_fixed_qparams_range_0to1_observer",
    "default_fixed_qparams_range_neg1to1_observer",
    "default_float_qparams_observer",
    "default_histogram_observer",
    "default_observer",
    "default_per_channel_weight_observer",
    "default_placeholder_observer",
    "default_reuse_input_observer",
    "default_symmetric_fixed_qparams_observer",
    "default_weight_observer",
    "get_observer_state_dict",
    "load_observer_state_dict",
    "per_channel_weight_observer_range_neg_127_to_127",
    "weight_observer_range_neg_127_to_127",
]

for _kind in (ObserverBase, UniformQuantizationObserverBase, _PartialWrapper):
    _kind.__module__ = __name__  # by which pickles find them


_UniformQuantizationObserverBase = UniformQuantizationObserverBase


class MinMaxObserver(UniformQuantizationObserverBase):
    """Remembers the least and the greatest value of all tensors.

    >>> import pellucid as torch
    >>> observer = torch.ao.quantization.MinMaxObserver()
    >>> _ = observer(torch.tensor([0.0, 2.55]))
    >>> observer.calculate_qparams()
    (tensor([0.0100]), tensor([0], dtype=torch.int32))
    """

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
        if qscheme not in (per_tensor_affine, per_tensor_symmetric):
            raise NotImplementedError(
                "MinMaxObserver's qscheme only support torch.per_tensor_symmetric                     and torch.per_tensor_affine."
            )
        super().__init__(
            dtype,
            qscheme,
            reduce_range,
            quant_min,
            quant_max,
            factory_kwargs,
            eps,
            is_dynamic,
            **kwargs,
        )
        self.register_buffer("min_val", _number(float("inf")))
        self.register_buffer("max_val", _number(float("-inf")))

    def forward(self, x_orig: Any) -> Any:
        """Sees a tensor, and gives it back."""
        if x_orig.numel():
            x = x_orig._array
            self._seen(np.float32(x.min()), np.float32(x.max()))
        return x_orig

    def _seen(self, low: Any, high: Any) -> None:
        self.min_val._array[...] = np.minimum(self.min_val._array, low)
        self.max_val._array[...] = np.maximum(self.max_val._array, high)

    def calculate_qparams(self, **kwargs: Any) -> Any:
        """The scale and the zero point, as tensors."""
        return self._calculate_qparams(self.min_val, self.max_val)

    def extra_repr(self) -> str:
        return f"min_val={self.min_val}, max_val={self.max_val}"

    def reset_min_max_vals(self) -> None:
        """Forget what was seen."""
        self.min_val._array[...] = np.inf
        self.max_val._array[...] = -np.inf


class MovingAverageMinMaxObserver(MinMaxObserver):
    """Keeps a moving average of the minimum and of the maximum.

    Args:
        averaging_constant: the weight of a new value. Default: 0.01.

    >>> import pellucid as torch
    >>> observer = torch.ao.quantization.MovingAverageMinMaxObserver(averaging_constant=0.5)
    >>> for x in (torch.tensor([0.0, 2.0]), torch.tensor([0.0, 4.0])):
    ...     _ = observer(x)
    >>> observer.max_val
    tensor(3.)
    """

    def __init__(
        self,
        averaging_constant: float = 0.01,
        dtype: Any = quint8,
        qscheme: Any = per_tensor_affine,
        **kwargs: Any,
    ) -> None:
        self._check(qscheme)
        super().__init__(dtype, qscheme, **kwargs)
        self.averaging_constant = averaging_constant
        if self.is_dynamic and averaging_constant != 1:
            raise NotImplementedError(
                "MovingAverageMinMaxObserver doesn't support dynamic quantization for averaging constant of {averaging_constant}"
            )

    @staticmethod
    def _check(qscheme: Any) -> None:
        if qscheme not in (per_tensor_affine, per_tensor_symmetric):
            raise NotImplementedError(
                "MovingAverageMinMaxObserver's qscheme only support                 torch.per_tensor_symmetric and "
                f"torch.per_tensor_affine.                 but got: {qscheme}"
            )

    def _seen(self, low: Any, high: Any) -> None:
        before = self.min_val._array, self.max_val._array
        if before[0] == np.inf and before[1] == -np.inf:
            made = low, high
        else:
            c = np.float32(self.averaging_constant)
            made = before[0] + c * (low - before[0]), before[1] + c * (high - before[1])
        self.min_val._array[...], self.max_val._array[...] = made


class PerChannelMinMaxObserver(UniformQuantizationObserverBase):
    """Remembers the minimum and the maximum of each slice along `ch_axis`.

    >>> import pellucid as torch
    >>> observer = torch.ao.quantization.PerChannelMinMaxObserver(ch_axis=0)
    >>> _ = observer(torch.tensor([[0.0, 1.0], [-3.0, 0.0]]))
    >>> observer.min_val, observer.max_val
    (tensor([ 0., -3.]), tensor([1., 0.]))
    """

    def __init__(
        self,
        ch_axis: int = 0,
        dtype: Any = quint8,
        qscheme: Any = per_channel_affine,
        reduce_range: bool = False,
        quant_min: int | None = None,
        quant_max: int | None = None,
        factory_kwargs: Any = None,
        eps: float = _EPS,
        is_dynamic: bool = False,
        **kwargs: Any,
    ) -> None:
        if qscheme not in (
            per_channel_affine,
            per_channel_symmetric,
            per_channel_affine_float_qparams,
        ):
            raise NotImplementedError(
                "PerChannelMinMaxObserver's qscheme only support                     torch.per_channel_symmetric, "
                "torch.per_channel_affine and torch.per_channel_affine_float_qparams."
            )
        if is_dynamic:
            raise NotImplementedError(
                "PerChannelMinMaxObserver doesn't support dynamic quantization"
            )
        super().__init__(
            dtype,
            qscheme,
            reduce_range,
            quant_min,
            quant_max,
            factory_kwargs,
            eps,
            is_dynamic,
            **kwargs,
        )
        self.ch_axis = ch_axis
        self.register_buffer("min_val", make_tensor(np.empty(0, np.float32)))
        self.register_buffer("max_val", make_tensor(np.empty(0, np.float32)))

    def forward(self, x_orig: Any) -> Any:
        """Sees a tensor, and gives it back."""
        if x_orig.numel():
            x = np.moveaxis(x_orig._array, self.ch_axis, 0)
            x = x.reshape(len(x), -1).astype(np.float32, copy=False)
            self._seen(x.min(1), x.max(1))
        return x_orig

    def _seen(self, low: Any, high: Any) -> None:
        if self.min_val._array.size:
            low, high = np.minimum(self.min_val._array, low), np.maximum(self.max_val._array, high)
        self._put(low, high)

    def _put(self, low: Any, high: Any) -> None:
        self.min_val._array, self.max_val._array = (
            np.ascontiguousarray(low),
            np.ascontiguousarray(high),
        )

    def calculate_qparams(self, **kwargs: Any) -> Any:
        """The scales and the zero points, as tensors."""
        return self._calculate_qparams(self.min_val, self.max_val)

    def extra_repr(self) -> str:
        return f"min_val={self.min_val}, max_val={self.max_val}"

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
        for name in ("min", "max"):
            # the second is that of old files
            for key in (f"{prefix}{name}_val", f"{prefix}{name}_vals"):
                if key in state_dict:
                    getattr(self, f"{name}_val")._array = np.empty_like(state_dict[key]._array)
                    if key.endswith("s"):
                        state_dict[key[:-1]] = state_dict.pop(key)
        super()._load_from_state_dict(
            state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs
        )

    def reset_min_max_vals(self) -> None:
        """Forget what was seen."""
        self._put(np.empty(0, np.float32), np.empty(0, np.float32))


class MovingAveragePerChannelMinMaxObserver(PerChannelMinMaxObserver):
    """Keeps a moving average of the minimum and of the maximum of each slice along `ch_axis`.

    >>> import pellucid as torch
    >>> from pellucid.ao import quantization as q
    >>> observer = q.MovingAveragePerChannelMinMaxObserver(averaging_constant=0.5)
    >>> _ = observer(torch.tensor([[0.0, 2.0], [-1.0, 1.0]]))
    >>> _ = observer(torch.tensor([[0.0, 4.0], [-3.0, 1.0]]))
    >>> observer.min_val, observer.max_val
    (tensor([ 0., -2.]), tensor([3., 1.]))
    """

    def __init__(
        self,
        averaging_constant: float = 0.01,
        ch_axis: int = 0,
        dtype: Any = quint8,
        qscheme: Any = per_channel_affine,
        **kwargs: Any,
    ) -> None:
        super().__init__(ch_axis, dtype, qscheme, **kwargs)
        self.averaging_constant = averaging_constant

    def _seen(self, low: Any, high: Any) -> None:
        if self.min_val._array.size:
            c = np.float32(self.averaging_constant)
            low = self.min_val._array + c * (low - self.min_val._array)
            high = self.max_val._array + c * (high - self.max_val._array)
        self._put(low, high)


class HistogramObserver(UniformQuantizationObserverBase):
    """Counts values in bins, and chooses the range with the smallest sum of squared rounding errors.

    The range shrinks from both ends, by steps of quantiles, as long as the error falls. Values outside of it are clipped.

    Args:
        bins: the number of bins. Default: 2048.

    >>> import pellucid as torch
    >>> observer = torch.ao.quantization.HistogramObserver()
    >>> _ = observer(torch.cat([torch.linspace(0, 1, 1_000_000), torch.tensor([2.0])]))
    >>> observer.calculate_qparams()[0] * 255  # the end of the range: the outlier is clipped
    tensor([0.9990])
    """

    def __init__(
        self,
        bins: int = 2048,
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
        if qscheme not in (per_tensor_affine, per_tensor_symmetric):
            raise NotImplementedError(
                "HistogramObserver's qscheme only support torch.per_tensor_symmetric                     and "
                "torch.per_tensor_affine."
            )
        if is_dynamic:
            raise NotImplementedError("HistogramObserver doesn't support dynamic quantization")
        super().__init__(
            dtype,
            qscheme,
            reduce_range,
            quant_min,
            quant_max,
            factory_kwargs,
            eps,
            is_dynamic,
            **kwargs,
        )
        self.bins, self.upsample_rate = bins, 16
        self.register_buffer("histogram", make_tensor(np.zeros(bins, np.float32)))
        self.register_buffer("min_val", _number(float("inf")))
        self.register_buffer("max_val", _number(float("-inf")))
        self.dst_nbins = 2 ** (8 * dtype.itemsize)

    def _counted(self, x: Any, low: Any, high: Any) -> Any:
        return FUNCTIONS["torch"]["histc"](
            make_tensor(x), self.bins, min=float(low), max=float(high)
        )._array

    def forward(self, x_orig: Any) -> Any:
        """Sees a tensor, and gives it back."""
        if not x_orig.numel():
            return x_orig
        x = np.asarray(x_orig._array, np.float32)
        low, high = x.min(), x.max()
        if low == -np.inf or high == np.inf:
            warn("torch.inf detected in input tensor, ignoring input")
            x = x[np.abs(x) != np.inf]
            if not x.size:
                return x_orig
            low, high = x.min(), x.max()
        before = self.min_val._array[()], self.max_val._array[()]
        if before[0] == np.inf or before[1] == -np.inf:
            counts = self._counted(x, low, high)
        else:
            low, high = min(low, before[0]), max(high, before[1])
            counts = self._counted(x, low, high) + self._moved(*before, low, high)
        self.histogram._array[...] = counts
        self.min_val._array[...], self.max_val._array[...] = low, high
        return x_orig

    def _moved(self, low: Any, high: Any, new_low: Any, new_high: Any) -> Any:
        """The counts so far in the bins of a wider range: each bin as 16 parts, each where its
        middle lies.
        """
        counts = self.histogram._array
        if (low, high) == (new_low, new_high):
            return counts
        if low == high:
            return self._counted(np.asarray([low], np.float32), new_low, new_high) * counts.sum()
        space = FUNCTIONS["torch"]["linspace"]
        parts = self.bins * self.upsample_rate
        middles = space(float(low), float(high), parts + 1)._array[:-1] + np.float32(0.5) * (
            (high - low) / np.float32(parts)
        )
        edges = space(float(new_low), float(new_high), self.bins + 1)._array
        places = np.clip(np.searchsorted(edges, middles, side="right") - 1, 0, self.bins - 1)
        weights = np.repeat(counts, self.upsample_rate) / np.float32(self.upsample_rate)
        return FUNCTIONS["torch"]["bincount"](
            make_tensor(places), make_tensor(weights), self.bins
        )._array.astype(np.float32)

    def _error(self, first: int, last: int, width: float) -> float:
        """The sum of squares of what rounding to the levels of the bins first..last changes, for
        values spread evenly in each bin.
        """
        step = width * (last - first + 1) / self.dst_nbins
        if step == 0.0:
            return 0.0
        single, half, top = np.float32(step), np.float32(step / 2), np.float32(self.dst_nbins - 1)
        begin = np.arange(-first, self.bins - first).astype(np.float32) * np.float32(width)
        end = begin + np.float32(width)
        level_of_begin, level_of_end = (
            np.clip(np.floor_divide(x, single), np.float32(0), top) for x in (begin, end)
        )
        density = self.histogram._array / np.float32(width)

        def squares(start: Any, stop: Any) -> Any:
            return density * ((stop * stop * stop - start * start * start) / np.float32(3))

        total = squares(begin - (level_of_begin + np.float32(0.5)) * single, half)
        total = total + (level_of_end - level_of_begin - np.float32(1)) * squares(-half, half)
        total = total + squares(-half, end - (level_of_end * single + half))
        return float(make_tensor(total).sum())

    def _range(self) -> tuple[Any, Any]:
        """The least and the greatest value of the range that is chosen."""
        counts = self.histogram._array
        total, below = float(make_tensor(counts).sum()), make_tensor(counts).cumsum(0)._array
        low, high = self.min_val._array[()], self.max_val._array[()]
        width = (float(high) - float(low)) / self.bins
        step, alpha, beta, least = 1e-5, 0.0, 1.0, float("inf")
        first, last = 0, self.bins - 1
        while alpha < beta:
            left = (
                int(np.searchsorted(below[first:last], np.float32((alpha + step) * total))) + first
            )
            right = first + int(
                np.searchsorted(
                    below[first + 1 : last + 1], np.float32((beta - step) * total), side="right"
                )
            )
            if left - first > last - right:
                candidate, alpha = (left, last), alpha + step
            else:
                candidate, beta = (first, right), beta - step
            if candidate == (first, last):
                continue
            error = self._error(*candidate, width)
            if error > least:
                break
            least = error
            first, last = candidate
        bin_width = (high - low) / np.float32(self.bins)
        return low + bin_width * np.float32(first), low + bin_width * np.float32(last + 1)

    def calculate_qparams(self, **kwargs: Any) -> Any:
        """The scale and the zero point, as tensors."""
        if self.min_val._array == np.inf and self.max_val._array == -np.inf:
            warn(
                "must run observer before calling calculate_qparams.                                    Returning default "
                "scale and zero point ",
            )
            return make_tensor(np.ones(1, np.float32)), make_tensor(np.zeros(1, np.int64))
        low, high = self._range()
        return self._calculate_qparams(_number(low), _number(high))

    def extra_repr(self) -> str:
        return f"min_val={self.min_val}, max_val={self.max_val}"


class FixedQParamsObserver(ObserverBase):
    """Observes nothing: its scale and zero point are given. For results in a known range, such as those of sigmoid.

    >>> import pellucid as torch
    >>> from pellucid.ao import quantization as q
    >>> observer = q.FixedQParamsObserver(scale=1 / 256, zero_point=0)
    >>> observer.calculate_qparams()
    (tensor([0.0039]), tensor([0], dtype=torch.int32))
    """

    def __init__(
        self,
        scale: float,
        zero_point: int,
        dtype: Any = quint8,
        qscheme: Any = per_tensor_affine,
        quant_min: int = 0,
        quant_max: int = 255,
        is_dynamic: bool = False,
        **kwargs: Any,
    ) -> None:
        if is_dynamic:
            raise NotImplementedError("FixedQParamsObserver doesn't support dynamic quantization")
        super().__init__(dtype, is_dynamic)
        self.quant_min, self.quant_max, self.qscheme = quant_min, quant_max, qscheme
        self.register_buffer("scale", make_tensor(np.asarray([scale], np.float32)))
        self.register_buffer("zero_point", make_tensor(np.asarray([zero_point], np.int32)))

    def forward(self, X: Any) -> Any:
        return X

    def calculate_qparams(self, **kwargs: Any) -> Any:
        """The scale and the zero point, as tensors."""
        return self.scale, self.zero_point


class PlaceholderObserver(ObserverBase):
    """Observes nothing, but says how something is quantized; for dynamic quantization and for float16.

    >>> import pellucid as torch
    >>> from pellucid.ao import quantization as q
    >>> observer = q.PlaceholderObserver(dtype=torch.float16)
    >>> observer(torch.ones(2)), observer.dtype
    (tensor([1., 1.]), torch.float16)
    """

    def __init__(
        self,
        dtype: Any = _float32,
        custom_op_name: str = "",
        compute_dtype: Any = None,
        quant_min: Any = None,
        quant_max: Any = None,
        qscheme: Any = None,
        eps: Any = None,
        is_dynamic: bool = False,
    ) -> None:
        super().__init__(dtype, is_dynamic)
        self.qscheme = per_tensor_affine if qscheme is None else qscheme
        self.quant_min, self.quant_max, self.eps, self.custom_op = (
            quant_min,
            quant_max,
            eps,
            custom_op_name,
        )
        if compute_dtype:
            self.is_dynamic = True

    def forward(self, x: Any) -> Any:
        return x

    def extra_repr(self) -> str:
        return f"dtype={self.dtype}, is_dynamic={self.is_dynamic}"

    def calculate_qparams(self, **kwargs: Any) -> Any:
        """Not supported."""
        raise Exception("calculate_qparams should not be called for PlaceholderObserver")


class RecordingObserver(ObserverBase):
    """Keeps the tensors that it sees in `get_tensor_value()`, for debugging.

    >>> import pellucid as torch
    >>> observer = torch.ao.quantization.RecordingObserver()
    >>> _ = observer(torch.tensor([1.0, 2.0]))
    >>> observer.get_tensor_value()
    [tensor([1., 2.])]
    """

    def __init__(self, dtype: Any = quint8) -> None:
        super().__init__(dtype)
        self.tensor_val: list[Any] = []

    def forward(self, x: Any) -> Any:
        self.tensor_val.append(x.clone())
        return x

    def calculate_qparams(self, **kwargs: Any) -> Any:
        """Not supported."""
        raise Exception("calculate_qparams should not be called for RecordingObserver")

    def get_tensor_value(self) -> list[Any]:
        """The tensors."""
        return self.tensor_val


class NoopObserver(ObserverBase):
    """Observes nothing; for models quantized to float16.

    >>> import pellucid as torch
    >>> from pellucid.ao import quantization as q
    >>> q.NoopObserver()(torch.ones(2))
    tensor([1., 1.])
    """

    def __init__(self, dtype: Any = _float16, custom_op_name: str = "") -> None:
        super().__init__(dtype)
        self.custom_op = custom_op_name

    def forward(self, x: Any) -> Any:
        return x

    def calculate_qparams(self, **kwargs: Any) -> Any:
        """Not supported."""
        raise Exception("calculate_qparams should not be called for NoopObserver")


class ReuseInputObserver(ObserverBase):
    """For operations whose results have the same scale and zero point as their input.

    >>> import pellucid as torch
    >>> from pellucid.ao import quantization as q
    >>> q.ReuseInputObserver()(torch.ones(2))
    tensor([1., 1.])
    """

    def __init__(self) -> None:
        super().__init__(quint8)

    def forward(self, x: Any) -> Any:
        return x

    def calculate_qparams(self, **kwargs: Any) -> Any:
        """Not supported."""
        raise Exception("calculate_qparams should not be called for ReuseInputObserver")


def get_observer_state_dict(mod: Any) -> Any:
    """Return the entries of a model's `state_dict` that belong to observers.

    >>> import pellucid as torch
    >>> from pellucid.ao import quantization as q
    >>> model = torch.nn.Sequential(q.QuantStub(), torch.nn.Linear(2, 2), q.DeQuantStub()).eval()
    >>> model.qconfig = q.default_qconfig
    >>> prepared = q.prepare(model)
    >>> _ = prepared(torch.tensor([[0.0, 1.0]]))  # calibration
    >>> len(q.get_observer_state_dict(prepared)) > 0
    True
    >>> q.get_observer_state_dict(prepared)["0.activation_post_process.max_val"]
    tensor(1.)
    """
    return {
        key: value
        for key, value in mod.state_dict().items()
        if "activation_post_process" in key or "observer" in key
    }


def load_observer_state_dict(mod: Any, obs_dict: Any) -> None:
    """Load the entries that `get_observer_state_dict` returned.

    >>> import pellucid as torch
    >>> from pellucid.ao import quantization as q
    >>> model = torch.nn.Sequential(q.QuantStub(), torch.nn.Linear(2, 2), q.DeQuantStub()).eval()
    >>> model.qconfig = q.default_qconfig
    >>> prepared = q.prepare(model)
    >>> _ = prepared(torch.tensor([[0.0, 1.0]]))  # calibration
    >>> other = q.prepare(model)
    >>> q.load_observer_state_dict(other, q.get_observer_state_dict(prepared))
    >>> other[0].activation_post_process.max_val
    tensor(1.)
    """
    with no_grad():
        missing, unexpected = mod.load_state_dict(obs_dict, strict=False)
    if any("observer" in key or "activation_post_process" in key for key in missing) or unexpected:
        raise UnsupportedError(
            f"the observers do not fit: missing {missing}, unexpected {unexpected}"
        )


default_observer = MinMaxObserver.with_args(quant_min=0, quant_max=127)
default_placeholder_observer = PlaceholderObserver
default_debug_observer = RecordingObserver
default_weight_observer = MinMaxObserver.with_args(dtype=qint8, qscheme=per_tensor_symmetric)
weight_observer_range_neg_127_to_127 = MinMaxObserver.with_args(
    dtype=qint8, qscheme=per_tensor_symmetric, quant_min=-127, quant_max=127, eps=2**-12
)
default_histogram_observer = HistogramObserver.with_args(quant_min=0, quant_max=127)
default_per_channel_weight_observer = PerChannelMinMaxObserver.with_args(
    dtype=qint8, qscheme=per_channel_symmetric
)
per_channel_weight_observer_range_neg_127_to_127 = PerChannelMinMaxObserver.with_args(
    dtype=qint8, qscheme=per_channel_symmetric, quant_min=-127, quant_max=127, eps=2**-12
)
default_dynamic_quant_observer = PlaceholderObserver.with_args(
    dtype=quint8, quant_min=0, quant_max=255, is_dynamic=True
)
default_float_qparams_observer = PerChannelMinMaxObserver.with_args(
    dtype=quint8, qscheme=per_channel_affine_float_qparams, ch_axis=0
)
default_fixed_qparams_range_neg1to1_observer = FixedQParamsObserver.with_args(
    scale=2.0 / 256.0, zero_point=128, dtype=quint8, quant_min=0, quant_max=255
)
default_fixed_qparams_range_0to1_observer = FixedQParamsObserver.with_args(
    scale=1.0 / 256.0, zero_point=0, dtype=quint8, quant_min=0, quant_max=255
)
default_symmetric_fixed_qparams_observer = default_fixed_qparams_range_neg1to1_observer
default_affine_fixed_qparams_observer = default_fixed_qparams_range_0to1_observer
default_reuse_input_observer = ReuseInputObserver
