"""`torch.cuda._memory_viz`: pictures of a device's memory, which is not here."""

from __future__ import annotations

from .._absent import refusing as _refusing
from ..errors import no_cuda as _no_cuda

for _name in ("memory", "segment_plot", "segments", "trace", "trace_plot", "profile_plot"):
    globals()[_name] = _refusing(_name, _no_cuda)
