"""The Fourier transforms of the array API standard over tensors: `xp.fft`.

Source: the array API standard, version 2024.12, extension "fft".
"""

from __future__ import annotations

from typing import Any

from ...core.public import FUNCTIONS
from ...core.tensor import Tensor

_F: dict[str, Any] = FUNCTIONS["fft"]


def _along(name: str) -> Any:
    def function(
        x: Tensor, /, *, n: int | None = None, axis: int = -1, norm: str = "backward"
    ) -> Tensor:
        return _F[name](x, n=n, dim=axis, norm=norm)

    function.__name__, function.__doc__ = name, f"`{name}` along an axis."
    return function


def _over(name: str) -> Any:
    def function(
        x: Tensor, /, *, s: Any = None, axes: Any = None, norm: str = "backward"
    ) -> Tensor:
        return _F[name](x, s=s, dim=axes, norm=norm)

    function.__name__, function.__doc__ = name, f"`{name}` over axes (None: all)."
    return function


fft, ifft, rfft, irfft, hfft, ihfft = map(_along, ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft"))
fftn, ifftn, rfftn, irfftn = map(_over, ("fftn", "ifftn", "rfftn", "irfftn"))


def fftfreq(n: int, /, *, d: float = 1.0, dtype: Any = None, device: Any = None) -> Tensor:
    """Sample frequencies of `fft`."""
    result: Tensor = _F["fftfreq"](n, d=d, dtype=dtype, device=device)
    return result


def rfftfreq(n: int, /, *, d: float = 1.0, dtype: Any = None, device: Any = None) -> Tensor:
    """Sample frequencies of `rfft`."""
    result: Tensor = _F["rfftfreq"](n, d=d, dtype=dtype, device=device)
    return result


def fftshift(x: Tensor, /, *, axes: Any = None) -> Tensor:
    """The zero frequency moved to the middle of axes (None: all)."""
    result: Tensor = _F["fftshift"](x, dim=axes)
    return result


def ifftshift(x: Tensor, /, *, axes: Any = None) -> Tensor:
    """Undo `fftshift`."""
    result: Tensor = _F["ifftshift"](x, dim=axes)
    return result
