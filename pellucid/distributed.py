"""`torch.distributed` of a single process: scripts learn that there are no process groups, and run as they do on one machine.

>>> import pellucid as torch
>>> import pellucid.distributed as dist
>>> rank = dist.get_rank() if dist.is_available() and dist.is_initialized() else 0
>>> rank
0
"""

from __future__ import annotations

import enum
from collections.abc import Callable
from typing import Any

from .errors import ArgumentValueError, UnsupportedError


class ReduceOp(enum.Enum):
    """How the processes' tensors are combined; named in arguments only."""

    SUM = 0
    AVG = 1
    PRODUCT = 2
    MIN = 3
    MAX = 4
    BAND = 5
    BOR = 6
    BXOR = 7


class Backend(str):
    """The name of a way to communicate; named in arguments only."""

    GLOO = "gloo"
    NCCL = "nccl"
    MPI = "mpi"
    UCC = "ucc"


class group:  # noqa: N801 (PyTorch's name)
    """The group of all processes: there is none."""

    WORLD = None


GroupMember = group
ProcessGroup = group


def is_available() -> bool:
    """False: processes do not work together here."""
    return False


def is_initialized() -> bool:
    """False."""
    return False


is_nccl_available = is_gloo_available = is_mpi_available = is_ucc_available = is_torchelastic_launched = is_initialized


def init_process_group(backend: Any = None, init_method: str | None = None, *args: Any, **kwargs: Any) -> None:
    """Refused.

    Raises:
        NotImplementedError: always.
    """
    raise UnsupportedError(
        "torch.distributed.init_process_group: processes do not work together here; run the script as one process "
        "(torch.distributed.is_available() is False)"
    )


def _without_group(name: str) -> Callable[..., Any]:
    def refused(*args: Any, **kwargs: Any) -> Any:
        raise ArgumentValueError("Default process group has not been initialized, please make sure to call init_process_group.")

    refused.__name__ = refused.__qualname__ = name
    refused.__doc__ = "Refused: there is no process group (ValueError)."
    return refused


for _name in (
    "all_gather", "all_gather_into_tensor", "all_gather_object", "all_reduce", "all_to_all", "all_to_all_single", "barrier",
    "broadcast", "broadcast_object_list", "destroy_process_group", "gather", "gather_object", "get_backend", "get_rank",
    "get_world_size", "irecv", "isend", "monitored_barrier", "new_group", "recv", "reduce", "reduce_scatter",
    "reduce_scatter_tensor", "scatter", "scatter_object_list", "send",
):  # fmt: skip
    globals()[_name] = _without_group(_name)
