"""Products by NumPy's BLAS, on one thread where its own threads would be in the way.

OpenBLAS's threads wait for more work by spinning, for some ten milliseconds after a product. On a machine with as many cores as threads
they take the cores from this library's workers: a small transformer's step took longer on two cores than on one. So products of middling
size, which our kernels leave to BLAS, are done by the calling thread; large ones repay the threads.
"""

from __future__ import annotations

import ctypes
import functools
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from pellucid.codegen import threads

__all__ = ["alone", "matmul", "openblas"]

SHARED_FROM = 1 << 17  # multiplications: OpenBLAS does less on one thread by itself
WORTH_SHARING = 1 << 25  # about a millisecond's work


@functools.cache
def openblas() -> tuple[str, Callable[[str], Any]] | None:
    """The path of the OpenBLAS that NumPy loaded, and a function from the name of one of its C functions (`get_num_threads`) to it.

    None for another BLAS, or where it cannot be found.
    """
    try:
        maps = Path("/proc/self/maps").read_text(errors="replace").splitlines()
    except OSError:  # not Linux
        return None
    paths = {line.split(maxsplit=5)[-1] for line in maps if ".so" in line}
    for path in sorted(p for p in paths if "numpy" in p and "blas" in Path(p).name):
        library = ctypes.CDLL(path)
        for prefix, suffix in (("scipy_", "64_"), ("", "64_"), ("scipy_", ""), ("", "")):
            if hasattr(library, f"{prefix}openblas_set_num_threads{suffix}"):
                return path, lambda name, p=prefix, s=suffix, library=library: getattr(library, f"{p}openblas_{name}{s}")
    return None


@functools.cache
def _controls() -> tuple[Callable[[], int], Callable[[int], None]] | None:
    """OpenBLAS's own functions that say and set how many threads it uses."""
    found = openblas()
    if found is None:
        return None
    get, put = found[1]("get_num_threads"), found[1]("set_num_threads")
    get.restype, get.argtypes, put.restype, put.argtypes = ctypes.c_int, (), None, (ctypes.c_int,)
    return get, put


def matmul(a: np.ndarray, b: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
    """`np.matmul(a, b, out)`.

    >>> matmul(np.eye(2), np.ones((2, 3))).sum()
    np.float64(6.0)
    """
    if a.size * b.shape[-1] < SHARED_FROM or threads.get_num_threads() == 1:
        return np.matmul(a, b, out)
    return _by_caller(a, b, out)


def alone(work: int) -> tuple[int, int] | None:
    """The addresses of OpenBLAS's functions that say and set its number of threads, where a product of so many multiplications belongs
    on one; None where it does not.
    """
    controls = _controls() if SHARED_FROM <= work <= WORTH_SHARING and threads.get_num_threads() > 1 else None
    if controls is None or "OPENBLAS_NUM_THREADS" in os.environ:
        return None
    get, put = (ctypes.cast(c, ctypes.c_void_p).value or 0 for c in controls)  # type: ignore[arg-type]
    return get, put


def _by_caller(a: np.ndarray, b: np.ndarray, out: np.ndarray | None) -> np.ndarray:
    controls = _controls()
    # Who sets the number for BLAS alone wants it.
    if controls is None or "OPENBLAS_NUM_THREADS" in os.environ or a.size * b.shape[-1] > WORTH_SHARING:
        return np.matmul(a, b, out)
    get, put = controls
    before = get()
    if before == 1:
        return np.matmul(a, b, out)
    put(1)
    try:
        return np.matmul(a, b, out)
    finally:
        put(before)
