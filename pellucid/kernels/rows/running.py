"""Update of batch norm's running statistics, for all channels in one native call.

`move(mean, variance, batch_mean, batch_rstd, channels, keep, share, eps, correction)` computes mean
= mean * keep + share * batch_mean. It updates the variance in the same way with (1 / rstd^2 - eps)
* correction, which is computed in double. Results equal those of the same steps with NumPy.
"""

from __future__ import annotations

import numpy as np

from ... import config
from ...llvm.emit import Function, Module, SSAValue, vector
from ...llvm.jit import NativeLibrary

__all__ = ["moved"]

_LANES = 8
_REALS = {np.dtype(np.float32): "float", np.dtype(np.float64): "double"}


def _build(symbol: str) -> str:
    real = symbol.partition("_")[2]
    module = Module(real)
    f = module.function(
        symbol,
        **dict.fromkeys(("mean", "variance", "batch_mean", "batch_rstd"), "ptr"),
        channels="i64",
        **dict.fromkeys(("keep", "share", "eps", "correction"), "double"),
    )
    own, wide = vector(real, _LANES), vector("double", _LANES)

    def narrow(f: Function, x: SSAValue) -> SSAValue:
        return x if real == "double" else f.trunc(x, own)

    keep, share = (narrow(f, f.splat(x, wide)) for x in (f.keep, f.share))
    eps, correction, more = (f.splat(x, wide) for x in (f.eps, f.correction, f.share))

    def move(i: SSAValue, mask: SSAValue | None) -> None:
        mean, var = (f.load(own, x, i, mask=mask) for x in (f.mean, f.variance))
        step = share * f.load(own, f.batch_mean, i, mask=mask)
        f.store(mean * keep + step, f.mean, i, mask=mask)
        rstd = f.load(own, f.batch_rstd, i, mask=mask)
        rstd = rstd if real == "double" else f.extend(rstd, wide)
        unbiased = (1.0 / (rstd * rstd) - eps) * correction
        f.store(var * keep + narrow(f, more * unbiased), f.variance, i, mask=mask)

    f.vector_loop(f.channels, _LANES, move)
    f.ret()
    return module.text()


_library = NativeLibrary(
    "running statistics", _build, {f"move_{real}": "aaaaidddd" for real in _REALS.values()}
)


def moved(arrays: tuple[np.ndarray, ...], momentum: float, eps: float, correction: float) -> bool:
    """Update the running mean and variance from the batch's mean and 1 / deviation. `arrays` are
    these four, contiguous and of one dtype; the first two are written. Returns False, and changes
    nothing, if not supported.
    """
    kind, size = arrays[0].dtype, arrays[0].size
    if kind not in _REALS or not config.kernels:
        return False
    for a in arrays:
        if type(a) is not np.ndarray or a.dtype is not kind or a.size != size:
            return False
        if not a.flags.carray:
            return False
    move = getattr(_library, f"move_{_REALS[kind]}")
    if move is None:
        return False
    move(*arrays, size, 1 - momentum, momentum, eps, correction)
    return True
