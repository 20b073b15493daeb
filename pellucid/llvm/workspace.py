"""Working memory that kernels keep between calls, and a function that releases all of it.

>>> from pellucid.kernels.convolution import memory as conv_memory
>>> conv_memory.give(conv_memory.take(1000))
>>> release()
>>> len(conv_memory._free)
0
"""

from __future__ import annotations

from collections.abc import Callable

# One function for each module that keeps memory; it frees the memory that is not in use.
holders: list[Callable[[], None]] = []


def release() -> None:
    """Free the memory that kernels keep, as far as this thread can. Useful if these kernels will
    not run again soon.
    """
    for forget in holders:
        forget()
