"""cuDNN's settings. Pellucid does not use cuDNN, so setting them changes nothing; portable scripts
set them anyway.

>>> import pellucid as torch
>>> torch.backends.cudnn.deterministic = True
>>> torch.backends.cudnn.is_available()
False
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

enabled = True
deterministic = False
benchmark = False
benchmark_limit: int | None = None
allow_tf32 = True
fp32_precision = "none"
depthwise_kernel = "auto"
_SWITCHES = (
    "enabled",
    "benchmark",
    "benchmark_limit",
    "deterministic",
    "allow_tf32",
    "fp32_precision",
    "depthwise_kernel",
)


def set_flags(
    _enabled: Any = None,
    _benchmark: Any = None,
    _benchmark_limit: Any = None,
    _deterministic: Any = None,
    _allow_tf32: Any = None,
    _fp32_precision: Any = "none",
    _depthwise_kernel: Any = None,
) -> tuple[Any, ...]:
    """Set the switches that are given; returns all of them as they were.

    >>> set_flags(_benchmark=True)[1], set_flags(_benchmark=False)[1]
    (False, True)
    """
    before = tuple(globals()[name] for name in _SWITCHES)
    given = (
        _enabled,
        _benchmark,
        _benchmark_limit,
        _deterministic,
        _allow_tf32,
        _fp32_precision,
        _depthwise_kernel,
    )
    globals().update(
        {name: value for name, value in zip(_SWITCHES, given, strict=True) if value is not None}
    )
    return before


@contextmanager
def flags(
    enabled: bool = False,
    benchmark: bool = False,
    benchmark_limit: int = 10,
    deterministic: bool = False,
    allow_tf32: bool = True,
    fp32_precision: str = "none",
    depthwise_kernel: str = "auto",
) -> Iterator[None]:
    """Within the block the switches have these values.

    >>> import pellucid as torch
    >>> with torch.backends.cudnn.flags(enabled=False):
    ...     torch.backends.cudnn.enabled
    False
    >>> torch.backends.cudnn.enabled
    True
    """
    before = set_flags(
        enabled,
        benchmark,
        benchmark_limit,
        deterministic,
        allow_tf32,
        fp32_precision,
        depthwise_kernel,
    )
    try:
        yield
    finally:
        globals().update(zip(_SWITCHES, before, strict=True))


def is_available() -> bool:
    """Whether the library is there: it is not."""
    return False


def version() -> int | None:
    """The library's version: None, since it is not there."""
    return None
