"""Views that a tensor takes on itself: `transpose_`, `unsqueeze_`, `squeeze_`, `as_strided_` and kin."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...core.inplace import bump, check_writable
from ...core.modes import local, no_grad
from ...core.public import FUNCTIONS, METHODS
from ...core.tensor import Tensor
from ...errors import UnsupportedError
from . import storage as view_storage
from . import view


def _changes_nothing(function: Callable[..., Tensor], x: Tensor, args: Any, named: Any) -> bool:
    """Has the view of `x` the shape and strides that `x` has?"""
    with no_grad():
        planned = function(x.detach(), *args, **named)._array
    return (planned.shape, planned.strides, planned.ctypes.data) == (x._array.shape, x._array.strides, x._array.ctypes.data)


def _inplace(name: str, function: Callable[..., Tensor]) -> None:
    def method(self: Tensor, *args: Any, **named: Any) -> Tensor:
        check_writable(self, name)
        before = None if self._ver is None or self._ver.views is None else list(self._ver.views)
        if local.grad and self._view is None and before and any(v() is not None for v in before):
            if _changes_nothing(function, self, args, named):
                bump(self, name)
                return self
            raise UnsupportedError(f"{name}: views of this tensor are alive; their relation to it would be lost")
        result = function(self, *args, **named)
        self._array = result._array
        if result._rg:
            self._node, self._rg = result._node, True
        if self._view is not None:
            self._view = result._view
        elif before is not None and self._ver is not None:
            self._ver.views = before
        bump(self, name)
        return self

    method.__name__ = name
    method.__doc__ = f"The tensor itself takes the sizes and strides of `{name.removesuffix('_')}`; the memory stays."
    METHODS[name] = method
    if name == "as_strided_":
        FUNCTIONS["torch"][name] = method


for _name, _function in {
    "transpose_": view.transpose,
    "swapaxes_": METHODS["swapaxes"],
    "swapdims_": METHODS["swapdims"],
    "t_": view.t,
    "squeeze_": view.squeeze,
    "unsqueeze_": view.unsqueeze,
    "as_strided_": view_storage.as_strided,
}.items():
    _inplace(_name, _function)
