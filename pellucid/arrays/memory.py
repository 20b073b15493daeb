"""What the C library does with memory that arrays have given back.

A training step allocates and frees the same arrays again and again. The GNU C library returns freed
memory to the system as soon as a few megabytes of it lie at the end of the heap, and the next step
pays for it with a page fault for every 4 KB: a tenth of the time of a small transformer's step. So
it is told to keep some (mallopt(3)); other C libraries are left as they are.
"""

from __future__ import annotations

import ctypes
import os
import sys

from .. import config
from ..llvm.workspace import release

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3
# somebody has decided already
_CHOSEN = ("MALLOC_TRIM_THRESHOLD_", "MALLOC_MMAP_THRESHOLD_", "GLIBC_TUNABLES")
# glibc accepts no more; larger arrays are mapped and unmapped one by one
_LARGEST_ON_HEAP = 32 << 20


def keep_freed() -> bool:
    """Keep up to `PELLUCID_KEEP_MEMORY` megabytes of freed memory for the next arrays; False where
    nothing was changed.
    """
    megabytes = config.keep_memory
    if (
        not megabytes
        or any(name in os.environ for name in _CHOSEN)
        or not sys.platform.startswith("linux")
    ):
        return False
    try:
        mallopt = ctypes.CDLL(None).mallopt
        _ = ctypes.CDLL(None).gnu_get_libc_version
    except (OSError, AttributeError):
        return False
    return bool(
        mallopt(_MMAP_THRESHOLD, _LARGEST_ON_HEAP) and mallopt(_TRIM_THRESHOLD, megabytes << 20)
    )


def give_back() -> bool:
    """Return freed memory that was kept, and what kernels keep to work in, to the system
    (malloc_trim(3)); False where the C library cannot.

    For the end of work whose memory is not what the work that follows uses: a compiled step, traced
    with eager kernels, has an arena.
    """
    release()
    if not sys.platform.startswith("linux"):
        return False
    try:
        trim = ctypes.CDLL(None).malloc_trim
    except (OSError, AttributeError):
        return False
    return bool(trim(ctypes.c_size_t(0)))


keep_freed()
