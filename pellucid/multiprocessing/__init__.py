"""Python's `multiprocessing`, with tensors (PyTorch's `torch.multiprocessing`).

A tensor that is sent to another process moves into memory that both share, so that each sees what
the other writes (`reductions` tells which tensors arrive as copies).
"""

from __future__ import annotations

import multiprocessing as _multiprocessing
import threading as _threading
from typing import Any

from . import reductions as reductions
from .spawn import ProcessContext as ProcessContext
from .spawn import ProcessException as ProcessException
from .spawn import ProcessExitedException as ProcessExitedException
from .spawn import ProcessRaisedException as ProcessRaisedException
from .spawn import SpawnContext as SpawnContext
from .spawn import spawn as spawn
from .spawn import start_processes as start_processes

__all__ = [
    *_multiprocessing.__all__,
    "ProcessContext",
    "ProcessExitedException",
    "ProcessRaisedException",
    "SpawnContext",
    "get_all_sharing_strategies",
    "get_sharing_strategy",
    "set_sharing_strategy",
    "spawn",
    "start_processes",
]


def __getattr__(name: str) -> Any:
    try:
        return getattr(_multiprocessing, name)
    except AttributeError:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}") from None


def get_all_sharing_strategies() -> set[str]:
    """The ways to share memory: one.

    >>> get_all_sharing_strategies()
    {'file_descriptor'}
    """
    return {"file_descriptor"}


def get_sharing_strategy() -> str:
    """Return how memory is shared between processes: "file_descriptor" or "file_system", as last set.

    >>> import pellucid as torch
    >>> torch.multiprocessing.get_sharing_strategy()
    'file_descriptor'
    """
    return "file_descriptor"


def set_sharing_strategy(new_strategy: str) -> None:
    """Accept one of PyTorch's strategies. Memory is shared by file descriptors in any case.

    >>> import pellucid as torch
    >>> torch.multiprocessing.set_sharing_strategy("file_descriptor")
    >>> torch.multiprocessing.get_sharing_strategy()
    'file_descriptor'
    """
    if new_strategy not in ("file_descriptor", "file_system"):
        raise AssertionError(f"unknown sharing strategy {new_strategy!r}")


# ---- a function in several processes -----------------------------------------------------------


def _set_thread_name(name: str) -> None:
    """Name this thread, as far as Python's own list of threads goes."""
    _threading.current_thread().name = name


def _get_thread_name() -> str:
    """The name of this thread."""
    return _threading.current_thread().name
