"""How the C library handles memory that arrays have freed.

A training step allocates and frees the same arrays again and again. The GNU C library returns freed
memory to the system as soon as a few megabytes of it are at the end of the heap, and the next step
then pays a page fault for every 4 KB. This is a tenth of the time of a small transformer's step. So
we tell it to keep more (mallopt(3)). Other C libraries are left alone.
"""

from __future__ import annotations

import ctypes
import os
import sys

from .. import config
from ..llvm.workspace import release

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3
# if one of these is set, the user has chosen
_CHOSEN = ("MALLOC_TRIM_THRESHOLD_", "MALLOC_MMAP_THRESHOLD_", "GLIBC_TUNABLES")
# glibc's limit; larger arrays are mapped and unmapped one by one
_LARGEST_ON_HEAP = 32 << 20


def keep_freed() -> bool:
    """Keep up to `PELLUCID_KEEP_MEMORY` megabytes of freed memory for later arrays. Returns False
    if nothing was changed.
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
    """Return kept memory, and the kernels' scratch memory, to the system (malloc_trim(3)). Returns
    False if the C library cannot.

    Used after work whose memory the following work does not need. For example, a compiled step is
    traced with eager kernels but runs in an arena of its own.
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
