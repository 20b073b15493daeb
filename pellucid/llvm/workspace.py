"""Working memory that kernels keep from one call to the next, and how to release all of it.

>>> from pellucid.kernels.convolution import memory as conv_memory
>>> conv_memory.give(conv_memory.take(1000))
>>> release()
>>> len(conv_memory._free)
0
"""

from __future__ import annotations

from collections.abc import Callable

# One for each module that keeps memory: it forgets what nobody uses at the moment.
holders: list[Callable[[], None]] = []


def release() -> None:
    """Let go of it, as far as this thread can: for who does not need these kernels again soon."""
    for forget in holders:
        forget()
