"""What programs with loaders of their own ask about the signals of worker processes
(`torch.utils.data._utils.signal_handling`): Python's `multiprocessing` tells who ended.
"""

from __future__ import annotations

from typing import Any

_workers: dict[Any, tuple[int, ...]] = {}


def _set_worker_signal_handlers() -> None:
    """Nothing: a worker that crashes ends, and its parent sees that."""


def _set_SIGCHLD_handler() -> None:  # noqa: N802 (PyTorch's name)
    """Nothing: the parent looks for workers that ended while it waits."""


def _set_worker_pids(loader: Any, pids: tuple[int, ...]) -> None:
    """Remember the processes of a loader."""
    _workers[loader] = pids


def _remove_worker_pids(loader: Any) -> None:
    """Forget them."""
    _workers.pop(loader, None)


def _error_if_any_worker_fails() -> None:
    """Nothing: the loader raises."""
