"""`torch.cuda.graphs`: there is no device whose work could be recorded."""

from __future__ import annotations

from .._absent import dummy_class as _dummy_class
from .._absent import refusing as _refusing
from ..errors import no_cuda as _no_cuda

CUDAGraph = _dummy_class("CUDAGraph", __name__)
graph = _refusing("graph", _no_cuda)
graph_pool_handle = _refusing(
    "graph_pool_handle",
    lambda: RuntimeError("Tried to instantiate dummy base class _graph_pool_handle"),
)
make_graphed_callables = _refusing("make_graphed_callables", _no_cuda)


def is_current_stream_capturing() -> bool:
    """False."""
    return False
