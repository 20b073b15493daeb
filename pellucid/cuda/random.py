"""`torch.cuda.random`: there is no generator of a device."""

from __future__ import annotations

from typing import Any

from ..errors import no_cuda as _no_cuda


def get_rng_state_all() -> list[Any]:
    """No state."""
    return []


def get_rng_state(device: Any = "cuda") -> Any:
    """Not supported, since there is no such device: always raises an error."""
    raise _no_cuda()


def set_rng_state(new_state: Any, device: Any = "cuda") -> None:
    """Not supported, since there is no such device: always raises an error."""
    raise _no_cuda()


def set_rng_state_all(new_states: Any) -> None:
    """Nothing when there are no states; refused otherwise."""
    if new_states:
        raise _no_cuda()


def manual_seed(seed: int) -> None:
    """Nothing: there is no generator of a device to seed."""


def manual_seed_all(seed: int) -> None:
    """Nothing: there is no generator of a device to seed."""
