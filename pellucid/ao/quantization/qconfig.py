"""What a `QConfig` says: with which observers a module's results and weights are quantized."""

from __future__ import annotations

import copy
from collections import namedtuple
from typing import Any

from ...dtypes import float16 as _float16
from ...nn.modules.linear import Identity
from ...nn.modules.module import Module
from .fake_quantize import (
    FakeQuantize,
    FusedMovingAvgObsFakeQuantize,
    default_embedding_fake_quant,
    default_fake_quant,
    default_fused_act_fake_quant,
    default_fused_per_channel_wt_fake_quant,
    default_fused_wt_fake_quant,
    default_per_channel_weight_fake_quant,
    default_weight_fake_quant,
)
from .observer import (
    HistogramObserver,
    MovingAverageMinMaxObserver,
    NoopObserver,
    PlaceholderObserver,
    default_debug_observer,
    default_dynamic_quant_observer,
    default_float_qparams_observer,
    default_observer,
    default_per_channel_weight_observer,
    default_placeholder_observer,
    default_reuse_input_observer,
    default_weight_observer,
    per_channel_weight_observer_range_neg_127_to_127,
    qint8,
    weight_observer_range_neg_127_to_127,
)

__all__ = [
    "QConfig",
    "QConfigAny",
    "default_activation_only_qconfig",
    "default_debug_qconfig",
    "default_dynamic_qconfig",
    "default_embedding_qat_qconfig",
    "default_per_channel_qconfig",
    "default_per_channel_symmetric_qnnpack_qconfig",
    "default_qat_qconfig",
    "default_qat_qconfig_v2",
    "default_qconfig",
    "default_reuse_input_qconfig",
    "default_symmetric_qnnpack_qconfig",
    "default_weight_only_qconfig",
    "float16_dynamic_qconfig",
    "float16_static_qconfig",
    "float_qparams_weight_only_qconfig",
    "get_default_qat_qconfig",
    "get_default_qconfig",
    "per_channel_dynamic_qconfig",
    "qconfig_equals",
]


class QConfig(namedtuple("QConfig", ["activation", "weight"])):  # noqa: PYI024
    """How a module is quantized: a constructor of observers for its results, and one for its weights.

    Raises:
        ValueError: an observer is given instead of a class or of `with_args(...)`.

    >>> import pellucid as torch
    >>> from pellucid.ao import quantization as q
    >>> config = q.QConfig(q.MinMaxObserver, q.PerChannelMinMaxObserver.with_args(dtype=torch.qint8))
    >>> config.weight().dtype
    torch.qint8
    """

    __slots__ = ()

    def __new__(cls, activation: Any, weight: Any) -> Any:
        if isinstance(activation, Module) or isinstance(weight, Module):
            raise ValueError(
                "QConfig received observer instance, please pass observer class instead. Use MyObserver.with_args(x=1) to "
                "override arguments to constructor if needed"
            )
        return super().__new__(cls, activation, weight)


default_qconfig = QConfig(default_observer, default_weight_observer)
default_debug_qconfig = QConfig(default_debug_observer, default_weight_observer)
default_per_channel_qconfig = QConfig(default_observer, default_per_channel_weight_observer)
default_dynamic_qconfig = QConfig(default_dynamic_quant_observer, default_weight_observer)
per_channel_dynamic_qconfig = QConfig(
    default_dynamic_quant_observer, default_per_channel_weight_observer
)
float16_dynamic_qconfig = QConfig(
    PlaceholderObserver.with_args(dtype=_float16, is_dynamic=True),
    PlaceholderObserver.with_args(dtype=_float16),
)
float16_static_qconfig = QConfig(
    PlaceholderObserver.with_args(dtype=_float16), PlaceholderObserver.with_args(dtype=_float16)
)
float_qparams_weight_only_qconfig = QConfig(
    default_placeholder_observer, default_float_qparams_observer
)
default_qat_qconfig = QConfig(default_fake_quant, default_weight_fake_quant)
default_weight_only_qconfig = QConfig(Identity, default_weight_fake_quant)
default_activation_only_qconfig = QConfig(default_fake_quant, Identity)
default_qat_qconfig_v2 = QConfig(default_fused_act_fake_quant, default_fused_wt_fake_quant)
default_embedding_qat_qconfig = QConfig(NoopObserver, default_embedding_fake_quant)
default_reuse_input_qconfig = QConfig(default_reuse_input_observer, NoopObserver)
default_symmetric_qnnpack_qconfig = QConfig(
    HistogramObserver.with_args(dtype=qint8, reduce_range=False, eps=2**-12),
    weight_observer_range_neg_127_to_127,
)
default_per_channel_symmetric_qnnpack_qconfig = QConfig(
    HistogramObserver.with_args(dtype=qint8, reduce_range=False, eps=2**-12),
    per_channel_weight_observer_range_neg_127_to_127,
)


def get_default_qconfig(backend: str = "x86", version: int = 0) -> QConfig:
    """Return the observers that suit a backend.

    Args:
        backend: "x86", "fbgemm", "onednn" or "qnnpack". Default: "x86".
        version: 0.

    Raises:
        AssertionError: another backend or version.

    >>> import pellucid as torch
    >>> config = torch.ao.quantization.get_default_qconfig("qnnpack")
    >>> type(config.activation()).__name__, type(config.weight()).__name__
    ('HistogramObserver', 'MinMaxObserver')
    """
    _check(backend, version, (0,))
    if backend in ("fbgemm", "x86"):
        return QConfig(
            HistogramObserver.with_args(reduce_range=True), default_per_channel_weight_observer
        )
    if backend == "qnnpack":
        return QConfig(HistogramObserver.with_args(reduce_range=False), default_weight_observer)
    return QConfig(
        HistogramObserver.with_args(reduce_range=False), default_per_channel_weight_observer
    )


def get_default_qat_qconfig(backend: str = "x86", version: int = 1) -> QConfig:
    """Return the fake quantizers that suit a backend; see `get_default_qconfig`.

    >>> import pellucid as torch
    >>> config = torch.ao.quantization.get_default_qat_qconfig("qnnpack")
    >>> type(config.activation()).__name__
    'FusedMovingAvgObsFakeQuantize'
    """
    _check(backend, version, (0, 1))
    kind: Any = FakeQuantize if version == 0 else FusedMovingAvgObsFakeQuantize
    how: dict[str, Any] = {
        "observer": MovingAverageMinMaxObserver,
        "quant_min": 0,
        "quant_max": 255,
    }
    if backend == "onednn":
        activation = kind.with_args(**how)
    else:
        activation = kind.with_args(**how, reduce_range=backend in ("fbgemm", "x86"))
    if version == 0:
        return QConfig(
            activation,
            default_weight_fake_quant
            if backend == "qnnpack"
            else default_per_channel_weight_fake_quant,
        )
    return QConfig(
        activation,
        default_fused_wt_fake_quant
        if backend == "qnnpack"
        else default_fused_per_channel_wt_fake_quant,
    )


def _check(backend: str, version: int, versions: tuple[int, ...]) -> None:
    known = ["fbgemm", "x86", "qnnpack", "onednn"]
    if backend not in known:
        raise AssertionError(f"backend: {backend} not supported. backend must be one of {known}")
    if version not in versions:
        raise AssertionError(
            f"Version number: {version} in get_default_qconfig is not supported. Version number must be 0"
        )


def _add_module_to_qconfig_obs_ctr(qconfig: Any, module: Any) -> Any:
    return qconfig


def qconfig_equals(q1: Any, q2: Any) -> bool:
    """Whether two configurations make the same observers.

    >>> import pellucid as torch
    >>> from pellucid.ao.quantization import qconfig as q
    >>> q.qconfig_equals(q.get_default_qconfig("x86"), q.get_default_qconfig("qnnpack"))
    False
    """
    if q1 is None or q2 is None:
        return q1 == q2
    return repr(q1) == repr(q2)


def _assert_valid_qconfig(qconfig: Any, mod: Any) -> None:
    if qconfig is not None and type(mod).__name__.startswith("ConvTranspose"):
        if "PerChannel" in repr(qconfig.weight):
            raise AssertionError(
                "Per channel weight observer is not supported yet for ConvTranspose{n}d."
            )


def activation_is_dynamic(qconfig: Any) -> bool:
    """Whether a configuration quantizes results by the range of each run, instead of a range found before.

    >>> import pellucid as torch
    >>> from pellucid.ao.quantization import qconfig as q
    >>> q.activation_is_dynamic(q.default_dynamic_qconfig), q.activation_is_dynamic(q.default_qconfig)
    (True, False)
    """
    made = copy.copy(qconfig.activation)()
    return bool(getattr(made, "is_dynamic", False))


QConfigAny = QConfig
