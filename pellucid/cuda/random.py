"""`torch.cuda.random`: there is no generator of a device."""

from __future__ import annotations

from typing import Any as _Any

from .._absent import refusing as _refusing
from ..errors import no_cuda as _no_cuda

initial_seed = _refusing("initial_seed", _no_cuda)


def get_rng_state_all() -> list[_Any]:
    """No state."""
    return []


def get_rng_state(device: _Any = "cuda") -> _Any:
    """Not supported, since there is no such device: always raises an error."""
    raise _no_cuda()


def set_rng_state(new_state: _Any, device: _Any = "cuda") -> None:
    """Not supported, since there is no such device: always raises an error."""
    raise _no_cuda()


def set_rng_state_all(new_states: _Any) -> None:
    """Nothing when there are no states; refused otherwise."""
    if new_states:
        raise _no_cuda()


def manual_seed(seed: int) -> None:
    """Nothing: there is no generator of a device to seed."""
    int(seed)


def manual_seed_all(seed: int) -> None:
    """Nothing: there is no generator of a device to seed."""
    int(seed)


def seed() -> None:
    """Nothing: there is no generator of a device to seed."""


def seed_all() -> None:
    """Nothing: there is no generator of a device to seed."""
