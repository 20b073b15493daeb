"""`torch._C._distributed_rpc`: there is one process."""

from __future__ import annotations

from typing import Any


def _is_current_rpc_agent_set() -> bool:
    """False."""
    return False


class PyRRef:
    """A value that lives in another process; there are none here, so this only tells that something
    is not one.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise NotImplementedError("torch.distributed.rpc is not supported")
