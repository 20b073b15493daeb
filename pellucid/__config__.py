"""What this build computes with (`torch.__config__`)."""

from __future__ import annotations

import platform

import numpy as np

from ._version import __version__


def show() -> str:
    """A description of the build, in lines.

    >>> print(show().splitlines()[0])
    Pellucid built with:
    """
    return "\n".join(
        [
            "Pellucid built with:",
            f"  - Pellucid {__version__}",
            f"  - Python {platform.python_version()} on {platform.machine()}",
            f"  - NumPy {np.__version__}",
            "  - CUDA is not used",
        ]
    )


def parallel_info() -> str:
    """The number of threads."""
    from .llvm import threads

    return f"Pellucid parallel backend: native worker threads\n\tget_num_threads() : {threads.get_num_threads()}\n"
