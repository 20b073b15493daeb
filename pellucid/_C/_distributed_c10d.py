"""`torch._C._distributed_c10d`: the names are those of `torch.distributed`."""

from __future__ import annotations

from ..distributed import FileStore as FileStore
from ..distributed import ProcessGroup as ProcessGroup
from ..distributed import Store as Store
from ..distributed import TCPStore as TCPStore
from ..distributed import Work as Work


class Reducer:
    """Exists to be asked for with `isinstance`: there is one process."""


class Logger:
    """Exists to be asked for with `isinstance`: there is one process."""
