"""PyTorch's rules for the strides of results."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy import ndarray

from .meta import MetaArray
from .native import straight
from .numpy_cpu import strided

Strides = Sequence[int]


def axis_order(shape: Sequence[int], *operands: Strides) -> list[int]:
    """The axes of `shape`, slowest first, as PyTorch's iterator orders them for operands with these
    strides.

    This is an insertion sort, because an axis of stride 0 (broadcast) compares equal to all others,
    so the order is not a total one. The first operand in which two axes differ decides.
    """
    order = list(range(len(shape)))[::-1]  # fastest first
    for start in range(1, len(shape)):
        current = start
        for before in range(start - 1, -1, -1):
            left, right = order[before], order[current]
            wrong = _outside(left, right, shape, operands)
            if wrong:
                order[before], order[current] = right, left
                current = before
            elif wrong is False:
                break
    return order[::-1]


def _outside(
    left: int, right: int, shape: Sequence[int], operands: Iterable[Strides]
) -> bool | None:
    """Whether the axis `left` has the larger strides; None if no operand distinguishes the two
    axes.
    """
    for strides in operands:
        a, b = strides[left], strides[right]
        if a and b and (a != b or shape[left] > shape[right]):
            return a >= b
    return None


def strides_of_result(shape: tuple[int, ...], arrays: Iterable[Any]) -> tuple[int, ...]:
    """The strides, in elements, that PyTorch gives the result of an element-wise operation on these
    arrays. Entries may also be None or numbers.

    >>> x, y = np.zeros((3, 2)).T, np.zeros((2, 3))
    >>> strides_of_result((2, 3), (x, y)), strides_of_result((2, 3), (y, x))
    ((1, 2), (3, 1))
    """
    operands, alike = [], True
    for a in arrays:
        if a is None:
            continue
        if getattr(a, "shape", ()) == shape:
            operands.append([s // a.itemsize for s in a.strides])
            continue
        alike = False
        if ndim := getattr(a, "ndim", 0):
            sizes = zip(a.strides, a.shape, shape[-ndim:], strict=True)
            steps = [0 if n == 1 != whole else s // a.itemsize for s, n, whole in sizes]
            operands.append([0] * (len(shape) - ndim) + steps)
    if alike and operands:
        for order in (range(len(shape)), (0, 2, 3, 1))[: 2 if len(shape) == 4 else 1]:
            wanted = _packed(shape, order)
            if all(_same(shape, wanted, strides) for strides in operands):
                return wanted
        first = operands[0]
        if all(strides == first for strides in operands) and dense(shape, first):
            return tuple(first)
    return _packed(shape, axis_order(shape, *operands))


def dense_strides(shape: tuple[int, ...], strides: Strides) -> tuple[int, ...]:
    """The strides, in elements, of a copy that keeps the memory format: the given ones if they
    leave no gaps.
    """
    return tuple(strides) if dense(shape, strides) else _packed(shape, axis_order(shape, strides))


def dense(shape: Sequence[int], strides: Strides) -> bool:
    """Whether elements with these strides fill memory without gaps, in any order of the axes."""
    expected = 1
    for step, n in sorted((step, n) for step, n in zip(strides, shape, strict=True) if n != 1):
        if step != expected:
            return False
        expected *= n
    return True


def turned(like: Any, values: Any) -> tuple[int, ...] | None:
    """The axes, slowest first, of a copy of `values` that has the memory format of `like`. None if
    an ordinary copy has it. A `like` with gaps counts as contiguous.
    """
    if not type(like) is ndarray is type(values) or values.shape != like.shape:
        return None
    steps, order = [s // like.itemsize for s in like.strides], list(range(like.ndim))
    if dense(like.shape, steps):
        order.sort(key=lambda d: -steps[d])
    return None if values.transpose(order).flags.c_contiguous else tuple(order)


def _packed(shape: Sequence[int], order: Sequence[int]) -> tuple[int, ...]:
    """Strides without gaps for axes in this order, slowest first."""
    strides, step = [0] * len(shape), 1
    for d in reversed(order):
        strides[d] = step
        step *= max(shape[d], 1)
    return tuple(strides)


def _same(shape: Sequence[int], left: Strides, right: Strides) -> bool:
    """Whether the strides agree, ignoring axes of size 1."""
    return all(n == 1 or a == b for n, a, b in zip(shape, left, right, strict=True))


# cache: result shape and operands -> strides of the result
_orders: dict[Any, tuple[int, ...]] = {}


def _without_gaps(made: np.ndarray) -> bool:
    """Whether an array certainly fills all of its memory, in any order of its axes."""
    base = made.base
    return base is None or type(base) is np.ndarray and base.size == made.size


def laid(made: np.ndarray, arrays: Iterable[Any]) -> np.ndarray:
    """The result of an element-wise operation on `arrays` with PyTorch's strides. It is copied if
    NumPy chose others: NumPy prefers C order if any operand has it.
    """
    if not made.size:
        return made
    arrays = tuple(arrays)
    first: Any = arrays[0] if arrays else None
    if type(first) is np.ndarray and first.strides == made.strides and _without_gaps(made):
        # the result has the first operand's strides, and these fully determine the order
        if first.shape == made.shape and 1 not in made.shape and 0 not in made.strides:
            return made
    # cached, because computing the order would cost more than a small result
    looks = tuple(
        [
            (a.shape, a.strides, a.itemsize)
            if type(a) is np.ndarray
            else ()
            if isinstance(a, (int, float, complex))
            else None
            for a in arrays
        ]
    )
    key = (made.shape, looks)
    strides = _orders.get(key)
    if strides is None:
        strides = strides_of_result(made.shape, arrays)
        if None not in looks:
            if len(_orders) > 1000:
                _orders.clear()
            _orders[key] = strides
    if made.strides == tuple([s * made.itemsize for s in strides]):
        return made
    held = empty(made.shape, strides, made.dtype)
    held[...] = made
    return held


def empty(shape: tuple[int, ...], strides: Strides, kind: Any) -> np.ndarray:
    """A new array without gaps, with the given strides in elements."""
    flat = np.empty(math.prod(shape), kind)
    return strided(flat, shape, tuple([s * flat.itemsize for s in strides]))


def laid_alike(array: Any, kind: Any) -> Any:
    """A new dense array with the shape and the order of dimensions of `array`; for a MetaArray, its
    description.

    >>> laid_alike(np.broadcast_to(np.arange(3.0), (4, 3)), np.dtype(float)).strides
    (24, 8)
    """
    steps = [s // array.itemsize for s in array.strides]
    strides = dense_strides(array.shape, steps)
    if type(array) is not MetaArray:
        return empty(array.shape, strides, kind)
    kind = np.dtype(kind)
    return MetaArray(array.shape, kind, tuple([s * kind.itemsize for s in strides]))


_may_share_memory = straight(np.may_share_memory)


def own_memory(a: ndarray, b: ndarray) -> bool:
    """Whether two arrays share no memory."""
    x, y = a.base, b.base
    x, y = a if x is None else x, b if y is None else y
    known = x is not y and type(x) is ndarray is type(y) and x.base is None is y.base
    return known or not _may_share_memory(a, b)
