"""How ranks are bound to processors near their GPU (`torch.numa.binding`): there are no GPUs, so the
choice is kept and changes nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

__all__ = ["AffinityMode", "NumaOptions"]


class AffinityMode(str, Enum):  # noqa: UP042 (its text is PyTorch's)
    """Which processors a rank may run on."""

    NODE = "node"
    SOCKET = "socket"
    EXCLUSIVE = "exclusive"
    CORE_COMPLEX = "core-complex"


@dataclass(frozen=True)
class NumaOptions:
    """How to bind ranks, and whether an error in doing so is passed over."""

    affinity_mode: AffinityMode
    should_fall_back_if_binding_fails: bool = False
