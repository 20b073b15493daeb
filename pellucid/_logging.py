"""PyTorch's `torch._logging`: what compiled functions tell while a program runs."""

from __future__ import annotations

import logging
from typing import Any

from .compiler.report.logs import KNOWN, OTHERS, listen

__all__ = ["set_logs"]


def set_logs(*, modules: dict[str, Any] | None = None, **names: Any) -> None:
    """Tell on stderr when a compiled function is traced again (`recompiles=True`) and what runs
    eagerly (`graph_breaks=True`).

    Other names of PyTorch's are accepted, and tell nothing: `explain()` of a compiled function
    shows its program, guards and code. Called without any, it switches all off.

    Raises:
        TypeError: for a name that PyTorch does not know either.

    >>> import pellucid as torch
    >>> torch._logging.set_logs(recompiles=True)
    >>> torch._logging.set_logs()
    """
    for name in names:
        if name not in KNOWN and name not in OTHERS:
            raise TypeError(f"set_logs() got an unexpected keyword argument '{name}'")
    # Names of artifacts are True or False; those of components are levels of `logging`.
    listen(
        {
            name
            for name, on in names.items()
            if on is True or on is not False and on is not None and on <= logging.INFO
        }
    )
