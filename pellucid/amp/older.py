"""What `torch.cuda.amp` and `torch.cpu.amp` hold: the classes of `torch.amp` with the device type
left out, and a warning.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from .. import dtypes
from ..errors import warn
from . import autocast_mode
from . import grad_scaler as scaling


def _warn(old: str, new: str) -> None:
    warn(
        f"`torch.{old}` is deprecated. Please use `torch.amp.{new}` instead.",
        FutureWarning,
    )


def _named(made: type, module: str) -> type:
    """The class under the name that PyTorch has for it."""
    made.__module__, made.__qualname__ = f"torch.{module}", made.__name__
    return made


def autocast_for(kind: str) -> type:
    """`autocast` for a device type."""
    lower = dtypes.float16 if kind == "cuda" else dtypes.bfloat16

    class autocast(autocast_mode.autocast):  # noqa: N801 (PyTorch's name)
        """`torch.amp.autocast` for one device type; the older name."""

        def __init__(
            self, enabled: bool = True, dtype: dtypes.dtype = lower, cache_enabled: bool = True
        ) -> None:
            _warn(f"{kind}.amp.autocast(args...)", f"autocast('{kind}', args...)")
            super().__init__(kind, dtype, enabled, cache_enabled)

    return _named(autocast, f"{kind}.amp.autocast_mode")


def scaler_for(kind: str) -> type:
    """`GradScaler` for a device type."""

    class GradScaler(scaling.GradScaler):
        """`torch.amp.GradScaler` for one device type; the older name."""

        def __init__(
            self,
            init_scale: float = 65536.0,
            growth_factor: float = 2.0,
            backoff_factor: float = 0.5,
            growth_interval: int = 2000,
            enabled: bool = True,
        ) -> None:
            _warn(f"{kind}.amp.GradScaler(args...)", f"GradScaler('{kind}', args...)")
            super().__init__(
                kind, init_scale, growth_factor, backoff_factor, growth_interval, enabled
            )

    return _named(GradScaler, f"{kind}.amp.grad_scaler")


def decorator_for(name: str) -> Callable[..., Any]:
    """`custom_fwd` or `custom_bwd` for CUDA."""
    newer = getattr(autocast_mode, name)

    @functools.wraps(newer)
    def decorator(*args: Any, **kwargs: Any) -> Any:
        _warn(f"cuda.amp.{name}(args...)", f"{name}(args..., device_type='cuda')")
        return newer(*args, **kwargs, device_type="cuda")

    return decorator
