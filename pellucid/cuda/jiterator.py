"""`torch.cuda.jiterator`: functions compiled for a device, which is not here."""

from __future__ import annotations

from .._absent import refusing
from ..errors import no_cuda

_create_jit_fn = refusing("_create_jit_fn", no_cuda)
_create_multi_output_jit_fn = refusing("_create_multi_output_jit_fn", no_cuda)
