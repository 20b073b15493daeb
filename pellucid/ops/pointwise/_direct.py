"""The fast path of in-place operations, which writes straight into the tensor's memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...arrays.layout import own_memory
from ...arrays.native import ufuncs
from ...core.bind import number_array
from ...core.inplace import bump
from ...core.modes import local, state
from ...core.primitive import Primitive
from ...core.public import FUNCTIONS, METHODS
from ...core.tensor import FAST_TYPES, Tensor

_COUNTS = "bBhil"  # type characters of integer dtypes
_SHARED = 1 << 16  # from this many elements on, several threads share a ufunc


def direct_form(
    slow: Callable[..., Tensor],
    write: Callable[..., Any],
    name: str,
    numbers: tuple[type, ...] = (float, int),
    counts: bool = False,
    chars: str = "fd",
) -> Callable[..., Tensor]:
    """The in-place form `slow` with a short way for its common case: no gradient to record, no
    view, one floating-point dtype.

    `write(array, array)` or `write(array, other, array)` is a ufunc that writes into its last
    argument and refuses, before it writes anything, what does not fit; then, and in every other
    case, `slow` is called. `numbers` are the types of numbers that may stand for the other tensor;
    with `counts` integers and complex numbers take the short way, too, integers with whole numbers
    alone; `chars` are the characters of the dtypes that take it.
    """
    alone = getattr(write, "nin", 1) == 1
    numpys = getattr(np, getattr(write, "__name__", ""), None) is write

    def method(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        if (
            len(args) < 2
            and not kwargs
            and not state.slow
            and state.born is None
            and type(self) in FAST_TYPES
            and not (self._rg and local.grad)
            and self._view is None is self._x
            # Do not bind the counter to a variable: `bump` checks its reference count.
            and (self._ver is None or self._ver.borrowers is None)
            and (
                (a := self._array).dtype.char in chars
                or counts
                and args
                and (
                    a.dtype.char in _COUNTS
                    and (type(args[0]) is int or type(args[0]) in FAST_TYPES)
                    or a.dtype.char == "F"
                )
            )
            and 0 not in a.strides  # a detached expanded tensor is not marked as a view
        ):
            put = write if not numpys or a.size < _SHARED else getattr(ufuncs, write.__name__)
            try:
                if not args:
                    if not alone:
                        raise TypeError  # `slow` says what is missing
                    put(a, a)
                    bump(self, name)
                    return self
                other = args[0]
                kind = type(other)
                if kind in numbers:
                    put(a, other, a)
                    bump(self, name)
                    return self
                if (
                    kind in FAST_TYPES
                    and other._array.dtype is a.dtype
                    and not (other._rg and local.grad)
                    and own_memory(a, other._array)
                ):
                    put(a, other._array, a)
                    bump(self, name)
                    return self
            except (TypeError, ValueError, OverflowError):
                pass
        return slow(self, *args, **kwargs)

    method.__name__ = name
    method.__qualname__ = f"Tensor.{name}"
    method.__doc__ = slow.__doc__
    return method


def write_directly(
    names: str, write: Callable[..., Any], op: Primitive | None = None, counts: bool = False
) -> None:
    """Give registered in-place methods (and functions of their names) the short way; see
    `direct_form`. That of two-byte floats is the forward rule of `op`, beside another operand.
    """
    for name in names.split():
        form = METHODS[name]
        if op is not None:
            form = direct_form(form, _of_halves(op), name, chars="eE")
        form = METHODS[name] = direct_form(form, write, name, counts=counts)
        if name in FUNCTIONS["torch"]:
            FUNCTIONS["torch"][name] = form


def _of_halves(op: Primitive) -> Callable[..., None]:
    def write(a: np.ndarray, other: Any, out: np.ndarray) -> None:
        number = type(other) is not np.ndarray
        op.numpy_forward(a, number_array(op, other, a.dtype) if number else other, out)

    return write
