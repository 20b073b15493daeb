"""`torch.cuda.streams`: there is no device that works beside the program."""

from __future__ import annotations

from .._absent import dummy_class as _dummy_class
from ..errors import CUDA_HINT as _CUDA_HINT
from ..errors import hinted as _hinted
from ..errors import no_cuda as _no_cuda


def _no_stream() -> Exception:
    return _hinted(RuntimeError("torch.cuda.Stream requires CUDA support"), _CUDA_HINT)


Event = _dummy_class("Event", __name__)
Stream = _dummy_class("Stream", __name__, _no_stream)
ExternalStream = _dummy_class("ExternalStream", __name__, _no_cuda)
