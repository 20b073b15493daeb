"""Fake quantization: tensors are rounded as quantized ones, within floats, while a model is
trained.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...arrays.affine import choose_between
from ...core.public import FUNCTIONS
from ...core.tensor import make_tensor
from ...dtypes import NAMED_ONLY
from ...nn.modules.module import Module
from .observer import (
    FixedQParamsObserver,
    HistogramObserver,
    MovingAverageMinMaxObserver,
    MovingAveragePerChannelMinMaxObserver,
    _PartialWrapper,
    _with_args,
    default_fixed_qparams_range_0to1_observer,
    default_fixed_qparams_range_neg1to1_observer,
    per_channel_affine_float_qparams,
    per_channel_symmetric,
    per_tensor_affine,
    per_tensor_symmetric,
    qint8,
    quint8,
)

__all__ = [
    "FakeQuantize",
    "FakeQuantizeBase",
    "FixedQParamsFakeQuantize",
    "FusedMovingAvgObsFakeQuantize",
    "default_dynamic_fake_quant",
    "default_embedding_fake_quant",
    "default_fake_quant",
    "default_fixed_qparams_range_0to1_fake_quant",
    "default_fixed_qparams_range_neg1to1_fake_quant",
    "default_fused_act_fake_quant",
    "default_fused_per_channel_wt_fake_quant",
    "default_fused_wt_fake_quant",
    "default_histogram_fake_quant",
    "default_per_channel_weight_fake_quant",
    "default_weight_fake_quant",
    "disable_fake_quant",
    "disable_observer",
    "enable_fake_quant",
    "enable_observer",
]


class FakeQuantizeBase(Module):
    """Base class of fake quantizers. It has two switches, kept as buffers: whether to observe, and whether to round.

    >>> import pellucid as torch
    >>> from pellucid.ao import quantization as q
    >>> fake = q.FakeQuantize()
    >>> isinstance(fake, q.FakeQuantizeBase), fake.fake_quant_enabled
    (True, tensor([1], dtype=torch.uint8))
    >>> fake.disable_fake_quant()
    >>> fake.fake_quant_enabled
    tensor([0], dtype=torch.uint8)
    """

    _SWITCH: Any = np.uint8

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("fake_quant_enabled", make_tensor(np.asarray([1], self._SWITCH)))
        self.register_buffer("observer_enabled", make_tensor(np.asarray([1], self._SWITCH)))

    def forward(self, x: Any) -> Any:
        raise NotImplementedError

    def calculate_qparams(self, **kwargs: Any) -> Any:
        """The scale and the zero point, as tensors."""
        raise NotImplementedError

    def enable_fake_quant(self, enabled: bool = True) -> None:
        """Round from now on, or no longer."""
        self.fake_quant_enabled._array[0] = int(enabled)

    def disable_fake_quant(self) -> None:
        """Round no longer."""
        self.enable_fake_quant(False)

    def enable_observer(self, enabled: bool = True) -> None:
        """Observe from now on, or no longer."""
        self.observer_enabled._array[0] = int(enabled)

    def disable_observer(self) -> None:
        """Observe no longer."""
        self.enable_observer(False)

    @classmethod
    def with_args(cls, **kwargs: Any) -> _PartialWrapper:
        """Return a constructor with these arguments fixed; see `ObserverBase.with_args`."""
        made = _with_args(cls, **kwargs)
        made.__dict__["__module__"] = cls.__module__
        return made


class FakeQuantize(FakeQuantizeBase):
    """Rounds tensors to the values that quantized tensors can have, so that training gets used to the error. The gradient
    passes where a value is in range.

    Args:
        observer: the class of the observer that finds the scale and the zero point.
        quant_min, quant_max: the smallest and the largest integer.
        is_dynamic: determine the range anew for each input.
        observer_kwargs: arguments of the observer.

    >>> import pellucid as torch
    >>> rounds = torch.ao.quantization.FakeQuantize(quant_min=0, quant_max=10)
    >>> rounds(torch.tensor([0.0, 0.33, 1.0]))
    tensor([0.0000, 0.3000, 1.0000])
    """

    def __init__(
        self,
        observer: Any = MovingAverageMinMaxObserver,
        quant_min: int | None = None,
        quant_max: int | None = None,
        is_dynamic: bool = False,
        **observer_kwargs: Any,
    ) -> None:
        super().__init__()
        if quant_min is not None and quant_max is not None:
            if quant_min > quant_max:
                raise AssertionError("quant_min must be less than or equal to quant_max")
            kind = observer_kwargs.get("dtype", quint8)
            if (partial := getattr(observer, "p", None)) is not None:
                kind = partial.keywords.get("dtype", kind)
            low, high = {"qint8": (-128, 127), "quint8": (0, 255)}.get(
                kind.name, (-(2**31), 2**31 - 1)
            )
            if quant_min < low:
                raise AssertionError("quant_min out of bound")
            if quant_max > high:
                raise AssertionError("quant_max out of bound")
            observer_kwargs.update(quant_min=quant_min, quant_max=quant_max)
        observer_kwargs["is_dynamic"] = is_dynamic
        self.activation_post_process = observer(**observer_kwargs)
        self.quant_min, self.quant_max = (
            self.activation_post_process.quant_min,
            self.activation_post_process.quant_max,
        )
        self.is_dynamic = is_dynamic
        self.register_buffer("scale", make_tensor(np.ones(1, np.float32)))
        floating = self.activation_post_process.qscheme is per_channel_affine_float_qparams
        self.register_buffer(
            "zero_point", make_tensor(np.zeros(1, np.float32 if floating else np.int32))
        )
        self.dtype, self.qscheme = (
            self.activation_post_process.dtype,
            self.activation_post_process.qscheme,
        )
        self.ch_axis = getattr(self.activation_post_process, "ch_axis", -1)
        self.is_per_channel = self.qscheme.name.startswith("per_channel")
        self.is_symmetric_quant = self.qscheme in (per_tensor_symmetric, per_channel_symmetric)

    def calculate_qparams(self, **kwargs: Any) -> Any:
        """The scale and the zero point that the observer has found."""
        return self.activation_post_process.calculate_qparams()

    def _observe(self, x: Any) -> None:
        self.activation_post_process(x.detach())
        scale, zero_point = self.calculate_qparams()
        kind = self.zero_point._array.dtype
        self.scale._array = np.array(scale._array, np.float32)
        self.zero_point._array = np.array(zero_point._array, kind)

    def forward(self, X: Any) -> Any:
        if self.observer_enabled._array[0] == 1:
            self._observe(X)
        return self._rounded(X) if self.fake_quant_enabled._array[0] == 1 else X

    def _rounded(self, x: Any) -> Any:
        if self.is_per_channel:
            function = FUNCTIONS["torch"]["fake_quantize_per_channel_affine"]
            return function(
                x, self.scale, self.zero_point, self.ch_axis, self.quant_min, self.quant_max
            )
        function = FUNCTIONS["torch"]["fake_quantize_per_tensor_affine"]
        return function(x, self.scale, self.zero_point, self.quant_min, self.quant_max)

    def extra_repr(self) -> str:
        return (
            f"fake_quant_enabled={self.fake_quant_enabled}, observer_enabled={self.observer_enabled}, quant_min={self.quant_min}, "
            f"quant_max={self.quant_max}, dtype={self.dtype}, qscheme={self.qscheme}, ch_axis={self.ch_axis}, scale={self.scale}, "
            f"zero_point={self.zero_point}"
        )

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
        for name in ("scale", "zero_point"):
            if prefix + name in state_dict:  # as many as there are channels
                own = getattr(self, name)
                own._array = np.empty(state_dict[prefix + name].shape, own._array.dtype)
        super()._load_from_state_dict(
            state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs
        )


class FixedQParamsFakeQuantize(FakeQuantize):
    """Rounds tensors with a given scale and zero point.

    >>> import pellucid as torch
    >>> from pellucid.ao.quantization import FixedQParamsFakeQuantize, FixedQParamsObserver
    >>> tenths = FixedQParamsObserver.with_args(scale=0.1, zero_point=0)
    >>> FixedQParamsFakeQuantize(tenths)(torch.tensor([0.12, 0.87]))
    tensor([0.1000, 0.9000])
    """

    def __init__(self, observer: Any) -> None:
        super().__init__(observer=observer)
        if not isinstance(self.activation_post_process, FixedQParamsObserver):
            raise AssertionError(
                f"{type(self).__name__}'s observer must be a FixedQParamsObserver, but got "
                f"{type(self.activation_post_process).__name__}"
            )
        self.scale, self.zero_point = (
            self.activation_post_process.scale,
            self.activation_post_process.zero_point,
        )

    def calculate_qparams(self, **kwargs: Any) -> Any:
        """The scale and the zero point."""
        return self.scale, self.zero_point

    def _observe(self, x: Any) -> None:
        pass

    def extra_repr(self) -> str:
        return (
            f"fake_quant_enabled={self.fake_quant_enabled}, observer_enabled={self.observer_enabled}, scale={self.scale}, "
            f"zero_point={self.zero_point}, dtype={self.dtype}, quant_min={self.quant_min}, quant_max={self.quant_max}, qscheme={self.qscheme}"
        )


class FusedMovingAvgObsFakeQuantize(FakeQuantize):
    """A `FakeQuantize` whose observer is a moving average, computed in one step with the rounding.

    >>> import pellucid as torch
    >>> rounds = torch.ao.quantization.FusedMovingAvgObsFakeQuantize(quant_min=0, quant_max=10)
    >>> rounds(torch.tensor([0.0, 0.33, 1.0]))
    tensor([0.0000, 0.3000, 1.0000])
    """

    _SWITCH = np.int64

    def __init__(
        self,
        observer: Any = MovingAverageMinMaxObserver,
        quant_min: int = 0,
        quant_max: int = 255,
        is_dynamic: bool = False,
        **observer_kwargs: Any,
    ) -> None:
        super().__init__(observer, quant_min, quant_max, is_dynamic, **observer_kwargs)
        if not isinstance(
            self.activation_post_process,
            (MovingAverageMinMaxObserver, MovingAveragePerChannelMinMaxObserver),
        ):
            raise AssertionError(
                "Fused observer+fake_quant module only works with MovingAverageMinMaxObserver"
            )

    def _observe(self, x: Any) -> None:
        """The parameters are those that the fused function of PyTorch chooses, which differ from
        the observer's own.
        """
        observer = self.activation_post_process
        observer(x.detach())
        pairs = zip(
            observer.min_val._array.reshape(-1).tolist(),
            observer.max_val._array.reshape(-1).tolist(),
            strict=True,
        )
        found = [
            choose_between(*pair, self.quant_min, self.quant_max, self.is_symmetric_quant)
            for pair in pairs
        ]
        self.scale._array = np.array([scale for scale, _ in found], np.float32)
        self.zero_point._array = np.array([zero for _, zero in found], self.zero_point._array.dtype)

    def extra_repr(self) -> str:
        return (
            f"fake_quant_enabled={self.fake_quant_enabled}, observer_enabled={self.observer_enabled}, scale={self.scale}, "
            f"zero_point={self.zero_point}, dtype={self.dtype}, quant_min={self.activation_post_process.quant_min}, "
            f"quant_max={self.activation_post_process.quant_max}, qscheme={self.qscheme}, "
            f"reduce_range={self.activation_post_process.reduce_range}"
        )


default_fake_quant = FakeQuantize.with_args(
    observer=MovingAverageMinMaxObserver,
    quant_min=0,
    quant_max=255,
    dtype=quint8,
    qscheme=per_tensor_affine,
    reduce_range=True,
)
default_weight_fake_quant = FakeQuantize.with_args(
    observer=MovingAverageMinMaxObserver,
    quant_min=-128,
    quant_max=127,
    dtype=qint8,
    qscheme=per_tensor_symmetric,
    reduce_range=False,
)
default_dynamic_fake_quant = FakeQuantize.with_args(
    observer=MovingAverageMinMaxObserver,
    quant_min=0,
    quant_max=255,
    is_dynamic=True,
    dtype=quint8,
    averaging_constant=1,
)
default_per_channel_weight_fake_quant = FakeQuantize.with_args(
    observer=MovingAveragePerChannelMinMaxObserver,
    quant_min=-128,
    quant_max=127,
    dtype=qint8,
    qscheme=per_channel_symmetric,
    reduce_range=False,
    ch_axis=0,
)
default_embedding_fake_quant = FakeQuantize.with_args(
    observer=MovingAveragePerChannelMinMaxObserver,
    qscheme=per_channel_affine_float_qparams,
    dtype=NAMED_ONLY["quint8"],
    quant_min=0,
    quant_max=255,
    ch_axis=0,
    averaging_constant=1,
)
default_histogram_fake_quant = FakeQuantize.with_args(
    observer=HistogramObserver,
    quant_min=0,
    quant_max=255,
    dtype=quint8,
    qscheme=per_tensor_affine,
    reduce_range=True,
)
default_fused_act_fake_quant = FusedMovingAvgObsFakeQuantize.with_args(
    observer=MovingAverageMinMaxObserver, quant_min=0, quant_max=255, dtype=quint8
)
default_fused_wt_fake_quant = FusedMovingAvgObsFakeQuantize.with_args(
    observer=MovingAverageMinMaxObserver,
    quant_min=-128,
    quant_max=127,
    dtype=qint8,
    qscheme=per_tensor_symmetric,
)
default_fused_per_channel_wt_fake_quant = FusedMovingAvgObsFakeQuantize.with_args(
    observer=MovingAveragePerChannelMinMaxObserver,
    quant_min=-128,
    quant_max=127,
    dtype=qint8,
    qscheme=per_channel_symmetric,
)
default_fixed_qparams_range_neg1to1_fake_quant = FixedQParamsFakeQuantize.with_args(
    observer=default_fixed_qparams_range_neg1to1_observer
)
default_fixed_qparams_range_0to1_fake_quant = FixedQParamsFakeQuantize.with_args(
    observer=default_fixed_qparams_range_0to1_observer
)


def _for_all(name: str) -> Any:
    def switch(mod: Any) -> None:
        if isinstance(mod, FakeQuantizeBase):
            getattr(mod, name)()

    switch.__name__ = name
    switch.__doc__ = f"""Call `{name}()` of a module if it is a fake quantizer; for `model.apply`.

    >>> import pellucid as torch
    >>> model = torch.nn.Sequential(torch.ao.quantization.FakeQuantize())
    >>> _ = model.apply(torch.ao.quantization.{name})
    >>> model[0].{"fake_quant" if "fake" in name else "observer"}_enabled
    tensor([{int(name.startswith("enable"))}], dtype=torch.uint8)
    """
    return switch


disable_fake_quant, enable_fake_quant, disable_observer, enable_observer = map(
    _for_all, ("disable_fake_quant", "enable_fake_quant", "disable_observer", "enable_observer")
)
