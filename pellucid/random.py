"""The default generator's seed and state (`torch.random`)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from .errors import warn
from .ops.create.random import default_generator as default_generator
from .ops.create.random import get_rng_state as get_rng_state
from .ops.create.random import initial_seed as initial_seed
from .ops.create.random import manual_seed as manual_seed
from .ops.create.random import seed as seed
from .ops.create.random import set_rng_state as set_rng_state

__all__ = [
    "fork_rng",
    "get_rng_state",
    "initial_seed",
    "manual_seed",
    "seed",
    "set_rng_state",
    "thread_safe_generator",
]


@contextmanager
def fork_rng(
    devices: Any = None,
    enabled: bool = True,
    _caller: str = "fork_rng",
    _devices_kw: str = "devices",
    device_type: str = "cuda",
) -> Iterator[None]:
    """Inside the block random numbers are drawn as usual; afterwards the stream continues from
    where it was before.

    >>> import pellucid as torch
    >>> _ = torch.manual_seed(0)
    >>> with torch.random.fork_rng():
    ...     _ = torch.rand(10)
    >>> torch.rand(2)
    tensor([0.4963, 0.7682])
    """
    if device_type not in ("cpu", "cuda", "mps", "xpu", "meta"):
        raise RuntimeError(
            f"torch has no module of `{device_type}`, you should register a module by `torch._register_device_module`."
        )
    if devices:
        warn(
            "fork_rng: this build computes on the CPU, whose stream alone is forked",
        )
    if not enabled:
        yield
        return
    state = get_rng_state()
    try:
        yield
    finally:
        set_rng_state(state)


def thread_safe_generator() -> Any:
    """Returns None, because the default generator is safe to use from every thread.

    >>> import pellucid as torch
    >>> torch.random.thread_safe_generator() is None
    True
    """
    return None
