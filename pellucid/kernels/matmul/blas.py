"""Limits on the number of threads of BLAS and LAPACK: one for small and medium matrices, as many as
this library's for large ones.

OpenBLAS's threads wait for more work by spinning, for about ten milliseconds after a product. On a
machine with as many cores as threads they take the cores from this library's workers. If other
processes are busy, each product waits until the system gives its second thread a core: training on
8x8 images took 33 s instead of 2. So whatever takes less than about a millisecond stays on the
calling thread; larger work is worth the threads.

The libraries are found by threadpoolctl, which knows OpenBLAS, MKL, BLIS and FlexiBLAS on Linux,
macOS and Windows. Apple's Accelerate has no such setting.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import os
import sys
import types
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...llvm import threads

__all__ = ["alone", "bound", "bounded", "libraries", "linalg", "matmul", "openblas"]

# Number of multiplications below which no library was seen to use several threads (OpenBLAS 0.3.31
# begins at 2^18 for products of real matrices).
SHARED_PRODUCT = 1 << 17
# the same for products of complex matrices and of vectors, and for factorizations
SHARED_FROM = 1 << 12
WORTH_SHARING = 1 << 25  # number of multiplications in about a millisecond
# Rows * columns * the smaller of both: factorizations of 256 x 256 took as long on two threads, or
# longer.
FACTORISATION_WORTH_SHARING = 1 << 27

# Environment variables that limit the threads of BLAS alone, by threadpoolctl's names for the
# libraries.
_VARIABLES = {
    "openblas": "OPENBLAS_NUM_THREADS",
    "mkl": "MKL_NUM_THREADS",
    "blis": "BLIS_NUM_THREADS",
}


@dataclass(frozen=True)
class BLAS:
    """A BLAS library in this process, with functions that get and set its number of threads."""

    kind: str
    path: str
    version: str
    get: Callable[[], int]
    put: Callable[[int], None]
    # looks up one of OpenBLAS's own functions (such as `get_corename`) by name
    function: Callable[[str], Any] | None

    def bound(self, count: int) -> None:
        """Allow at most `count` threads, and no more than the environment allows BLAS."""
        text = os.environ.get(_VARIABLES.get(self.kind, ""), "")
        self.put(min(count, int(text)) if text.isdecimal() and int(text) > 0 else count)


def libraries() -> tuple[BLAS, ...]:
    """Return every BLAS in this process whose number of threads can be set. SciPy loads one of its
    own on first use.
    """
    return _libraries("scipy.linalg._flapack" in sys.modules)


@functools.cache
def _libraries(scipy_loaded: bool) -> tuple[BLAS, ...]:
    from threadpoolctl import ThreadpoolController

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it warns about OpenMP libraries that others have loaded
        found = [
            _library(c) for c in ThreadpoolController().select(user_api="blas").lib_controllers
        ]
    limit = threads.get_num_threads()
    for library in found:
        if library.get() > limit:
            library.put(limit)
    return tuple(found)


def _library(controller: Any) -> BLAS:
    function = (
        _openblas_functions(controller.dynlib) if controller.internal_api == "openblas" else None
    )
    get, put = controller.get_num_threads, controller.set_num_threads
    if function is not None:
        get, put = function("get_num_threads"), function("set_num_threads")
        get.restype, get.argtypes, put.restype, put.argtypes = (
            ctypes.c_int,
            (),
            None,
            (ctypes.c_int,),
        )
    return BLAS(
        controller.internal_api,
        controller.filepath,
        controller.version or "unknown",
        get,
        put,
        function,
    )


def _openblas_functions(library: ctypes.CDLL) -> Callable[[str], Any] | None:
    for prefix, suffix in (("scipy_", "64_"), ("", "64_"), ("scipy_", ""), ("", ""), ("", "_64")):
        if hasattr(library, f"{prefix}openblas_set_num_threads{suffix}"):
            return lambda name: getattr(library, f"{prefix}openblas_{name}{suffix}")
    return None


def openblas() -> BLAS | None:
    """Return the OpenBLAS that NumPy uses; None if it uses another library."""
    found = [library for library in libraries() if library.function is not None]
    return next(
        (library for library in found if "numpy" in library.path), found[0] if found else None
    )


def bound(count: int) -> None:
    """Limit every BLAS of this process to `count` threads."""
    for library in libraries():
        library.bound(count)


@contextlib.contextmanager
def on_caller() -> Iterator[None]:
    """Inside the block BLAS uses the calling thread only."""
    before = [(library, library.get()) for library in libraries()]
    for library, count in before:
        if count != 1:
            library.put(1)
    try:
        yield
    finally:
        for library, count in before:
            if count != 1:
                library.put(count)


def matmul(a: np.ndarray, b: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
    """`np.matmul(a, b, out)`.

    >>> matmul(np.eye(2), np.ones((2, 3))).sum()
    np.float64(6.0)
    """
    # the work of one matrix of a stack, since BLAS is called for each
    if a.ndim > 1 and b.ndim > 1:
        work = a.shape[-2] * a.shape[-1] * b.shape[-1]
        least = SHARED_FROM if a.dtype.kind == "c" else SHARED_PRODUCT
    else:
        work, least = (
            max(a.shape[-1] if a.ndim == 1 else a.shape[-2] * a.shape[-1], b.shape[-1]),
            SHARED_FROM,
        )
    if work < least or work > WORTH_SHARING or threads.get_num_threads() == 1:
        return np.matmul(a, b, out)
    with on_caller():
        return np.matmul(a, b, out)


def alone(work: int) -> tuple[int, int] | None:
    """Return the addresses of OpenBLAS's functions that get and set its number of threads, if a
    product with `work` multiplications should use a single thread; else None.
    """
    library = openblas() if SHARED_PRODUCT <= work <= WORTH_SHARING else None
    if library is None:
        return None
    get, put = (ctypes.cast(f, ctypes.c_void_p).value or 0 for f in (library.get, library.put))  # type: ignore[arg-type]
    return get, put


def bounded(function: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a `function` of matrices, or of stacks of them, so that it stays on the calling thread
    unless each matrix is large.
    """

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        shape = next((a.shape[-2:] for a in args if getattr(a, "ndim", 0) > 1), (0, 0))
        work = shape[0] * shape[1] * min(shape)
        if work < SHARED_FROM or work > FACTORISATION_WORTH_SHARING:
            return function(*args, **kwargs)
        with on_caller():
            return function(*args, **kwargs)

    return call


_LINALG = (
    "cholesky",
    "cond",
    "det",
    "eig",
    "eigh",
    "eigvals",
    "eigvalsh",
    "inv",
    "lstsq",
    "qr",
    "slogdet",
    "solve",
    "svd",
)
# NumPy's linear algebra, with threads only for large matrices.
linalg = types.SimpleNamespace(
    LinAlgError=np.linalg.LinAlgError,
    **{name: bounded(getattr(np.linalg, name)) for name in _LINALG},
)
