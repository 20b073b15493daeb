"""Fill memory with an element of 2, 4 or 8 bytes.

>>> x = np.zeros(1 << 15)
>>> filled(x, np.array(1.5)) and float(x[-1])
1.5
"""

from __future__ import annotations

import numpy as np

from ...llvm import jit, target, threads
from ...llvm.emit import Module, vector

__all__ = ["LEAST", "filled"]

LEAST = 1 << 15  # for fewer elements NumPy is as fast
_GRAIN = 1 << 16  # elements per chunk
_TYPES = {2: "i16", 4: "i32", 8: "i64"}


def _build(ctype: str) -> str:
    module = Module()
    f = threads.parallel_export(module, ctype, {"out": "ptr", "element": "ptr"})
    width = target.host().vector_bits // int(ctype[1:])
    kind = vector(ctype, width)
    value, out = f.splat(f.load(ctype, f.element), kind), f.at(f.out, f.begin, ctype)
    f.vector_loop(
        f.end - f.begin, width, lambda i, mask: f.store(value, out, i, mask=mask), unroll=4
    )
    f.ret()
    return module.text()


_lib = jit.NativeLibrary("fills", _build, dict.fromkeys(_TYPES.values(), "paaii"))


def filled(x: np.ndarray, value: np.ndarray) -> bool:
    """Set all elements of `x` to the single element of `value`, which has the same dtype. Returns
    False, and changes nothing, if `x` has gaps, is small or is not supported.
    """
    ctype = _TYPES.get(x.itemsize)
    if not x.flags.c_contiguous:
        x = x.transpose(sorted(range(x.ndim), key=lambda d: -x.strides[d]))
    if ctype is None or x.size < LEAST or not x.flags.carray or x.dtype.hasobject:
        return False
    kernel = getattr(_lib, ctype)
    if kernel is None:
        return False
    kernel(threads.team(), x, value, x.size, _GRAIN)
    return True
