"""Training by several processes, of which there is one here."""

from __future__ import annotations

from typing import Any

from ...errors import ArgumentValueError
from ..modules.module import Module


class DistributedDataParallel(Module):
    """Refused: there are no process groups. `torch.distributed.is_available()` says so beforehand.

    Raises:
        ValueError: always.
    """

    def __init__(self, module: Module, *args: Any, **kwargs: Any) -> None:
        raise ArgumentValueError("Default process group has not been initialized, please make sure to call init_process_group.")
