"""Functions of few numbers whose way from the call to the kernel takes longer than the kernel: what
computes such an array is remembered by the array's look and what was asked for.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from numpy import ndarray

from .. import config
from ..arrays.native import native_code_runs, sparing
from ..core.bind import wrap
from ..core.modes import local, state
from ..core.tensor import FAST_TYPES, Tensor


class Few(dict[Any, Any]):
    """What computes an array, by its shape, strides and dtype and what was asked of the function: of
    calls that nobody watches and that need no gradient; False where nothing quick does.

    What is asked has to be of types that are told apart by more than `==`, which the function sees
    to: of 2 and 2.0 it takes one. Arrays of more than `most` elements are not looked up at all.
    """

    def __init__(self, most: int = sys.maxsize) -> None:
        super().__init__()
        self.most = most

    def made(self, x: Any, *asked: Any) -> Tensor | None:
        """The result of the function, where what computes it is known."""
        if type(x) not in FAST_TYPES or state.slow or x._rg and local.grad:
            return None
        a = x._array
        if type(a) is not ndarray or a.size > self.most:
            return None
        run = self.get((a.shape, a.strides, a.dtype, asked))
        return wrap(run(a)) if run and config.kernels else None

    def remember(
        self, x: Tensor, asked: tuple[Any, ...], prepare: Callable[[ndarray], Any]
    ) -> None:
        """Know from now on what computes such an array as `x`: what `prepare` makes for its array;
        False where that is nothing, None where it may be something later.
        """
        a = x._array
        if type(a) is not ndarray or a.size > self.most or state.slow or not config.kernels:
            return
        key = (a.shape, a.strides, a.dtype, asked)
        if key not in self:
            if len(self) > 1000:
                self.clear()
            run = prepare(a)
            if run is not None:
                self[key] = run


def compiles() -> bool:
    """Whether code may be loaded for few numbers now."""
    return native_code_runs() and not sparing[0]
