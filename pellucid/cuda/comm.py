"""`torch.cuda.comm`: copies between devices, which are not here."""

from __future__ import annotations

from .._absent import refusing as _refusing
from ..errors import no_cuda as _no_cuda

for _name in (
    "broadcast",
    "broadcast_coalesced",
    "gather",
    "reduce_add",
    "reduce_add_coalesced",
    "scatter",
):
    globals()[_name] = _refusing(_name, _no_cuda)
