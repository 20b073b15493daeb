"""`torch.cuda.nccl`: collectives between devices, which are not here; `torch.distributed` has those
of processes.
"""

from __future__ import annotations

from .._absent import refusing as _refusing
from ..errors import no_cuda as _no_cuda

for _name in (
    "all_gather",
    "all_reduce",
    "broadcast",
    "reduce",
    "reduce_scatter",
):
    globals()[_name] = _refusing(_name, _no_cuda)
for _name in ("version", "unique_id", "init_rank", "is_available"):
    globals()[_name] = _refusing(_name, _no_cuda)
