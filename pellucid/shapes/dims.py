"""Dimension numbers: counted from the end, checked, reduced over."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence
from math import prod
from operator import index as as_index
from typing import Any

from ..errors import ArgumentTypeError, DimensionError, OperationError, ShapeError, type_name

Shape = tuple[int, ...]
_NO_NUMBERS_OF_DIMENSIONS = frozenset({float, complex, str, bytes, list, tuple, dict, type(None)})


def text(sizes: Iterable[int]) -> str:
    """Sizes as PyTorch's messages write them: `[2, 3]`."""
    return f"[{', '.join(map(str, sizes))}]"


def listed(value: Any) -> bool:
    """Whether an argument is a sequence of numbers. A tensor without dimensions is one number."""
    return isinstance(value, Iterable) and getattr(value, "ndim", 1) != 0


def numbers(value: Any) -> tuple[Any, ...]:
    """The numbers of an argument that is one number or a sequence of them."""
    return tuple(value) if listed(value) else (value,)


def normalize_dim(dim: int, ndim: int, *, scalar_is_vector: bool = True) -> int:
    """A dimension number in 0 ... ndim-1, counted from the end when negative.

    Args:
        scalar_is_vector: accept 0 and -1 for a tensor without dimensions, as reductions do.

    Raises:
        IndexError: out of range.
        TypeError: not an int.

    Example:
        >>> normalize_dim(-1, 3)
        2
    """
    if type(dim) in _NO_NUMBERS_OF_DIMENSIONS:
        raise ArgumentTypeError(f"argument 'dim' must be int, not {type_name(dim)}")
    if 0 <= dim < ndim:
        return dim
    bound = ndim
    if ndim == 0:
        if not scalar_is_vector:
            raise DimensionError(f"Dimension specified as {dim} but tensor has no dimensions")
        bound = 1
    if -bound <= dim < bound:
        return dim + bound if dim < 0 else dim
    raise DimensionError(
        f"Dimension out of range (expected to be in range of [{-bound}, {bound - 1}], but got {dim})"
    )


def normalize_dims(dims: Iterable[int], ndim: int) -> Shape:
    """`normalize_dim` for each of several distinct dimensions, in the order given.

    Raises:
        IndexError: one is out of range.
        RuntimeError: one appears twice.
    """
    wrapped: list[int] = []
    for dim in dims:
        number = normalize_dim(as_index(dim), ndim)
        if number in wrapped:
            raise OperationError(f"dim {number} appears multiple times in the list of dims")
        wrapped.append(number)
    return tuple(wrapped)


def reduce_dims(dim: int | Iterable[int] | None, ndim: int) -> Shape:
    """The dimensions that a reduction runs over: all of them for None and for an empty list.

    Example:
        >>> reduce_dims(None, 3), reduce_dims(-1, 3), reduce_dims((0, 2), 3)
        ((0, 1, 2), (2,), (0, 2))
    """
    if dim is None:
        return tuple(range(ndim))
    if type(dim) is tuple or isinstance(dim, Iterable):
        wrapped = normalize_dims(dim, ndim)
        return (wrapped if ndim else ()) or tuple(range(ndim))
    number = normalize_dim(as_index(dim), ndim)
    return (number,) if ndim else ()


def reduce_shape(shape: Sequence[int], dims: Iterable[int], keepdim: bool = False) -> Shape:
    """The shape after reducing over `dims` (already normalized).

    Example:
        >>> reduce_shape((2, 3, 4), (1,)), reduce_shape((2, 3, 4), (1,), keepdim=True)
        ((2, 4), (2, 1, 4))
    """
    gone = set(dims)
    if keepdim:
        return tuple(1 if d in gone else size for d, size in enumerate(shape))
    return tuple(size for d, size in enumerate(shape) if d not in gone)


def check_nonempty_reduction(name: str, shape: Sequence[int], dim: int | None) -> None:
    """Refuse `max`, `argmax` ... of no elements, which have no neutral value.

    Raises:
        IndexError: the dimension is empty. RuntimeError: no dimension given (IndexError for
            `argmax`, `argmin`).
    """
    if dim is not None:
        number = normalize_dim(dim, len(shape))
        if shape and shape[number] == 0:
            shown = dim if name in ("amax", "amin") else number
            raise DimensionError(f"{name}(): Expected reduction dim {shown} to have non-zero size.")
    elif prod(shape) == 0:
        sentence = f"{name}(): Expected reduction dim to be specified for input.numel() == 0."
        if name in ("argmax", "argmin"):
            raise DimensionError(sentence)
        raise OperationError(f"{sentence} Specify the reduction dim with the 'dim' argument.")


@functools.cache
def moved(ndim: int, source: int, place: int) -> Shape:
    """The order of `ndim` dimensions of which one was moved: what `moveaxis` transposes by.

    Example:
        >>> moved(4, 1, -1)
        (0, 2, 3, 1)
    """
    order = [d for d in range(ndim) if d != source % ndim]
    order.insert(place % ndim, source % ndim)
    return tuple(order)


def permutation(dims: Iterable[int], ndim: int) -> Shape:
    """The dimensions of a `permute`, checked.

    Raises:
        RuntimeError: not as many as the tensor has, or one twice. IndexError: one is out of range.
    """
    dims = tuple(as_index(dim) for dim in dims)
    if len(dims) != ndim:
        raise ShapeError(
            "permute(sparse_coo): number of dimensions in the tensor input does not match the length of the desired "
            f"ordering of dimensions i.e. input.dim() = {ndim} is not equal to len(dims) = {len(dims)}"
        )
    wrapped = tuple(normalize_dim(dim, ndim) for dim in dims)
    if len(set(wrapped)) != ndim:
        raise OperationError("permute(): duplicate dims are not allowed.")
    return wrapped


@functools.lru_cache(1024)
def reordered(
    shape: tuple[int, ...], strides: tuple[int, ...], axis: Any
) -> tuple[tuple[int, ...], ...]:
    """The dimensions as they lie in memory, where the reduced ones are among them, the way back, and
    the sizes that are left.

    Example:
        >>> reordered((2, 3, 4), (12, 1, 3), 1)
        ((0, 2, 1), (2,), (0, 2, 1), (2, 4))
    """
    ndim = len(shape)
    order = sorted(range(ndim), key=lambda d: -strides[d])
    axes = tuple([d % ndim for d in (axis if type(axis) is tuple else (axis,))])
    back = tuple([order.index(d) for d in range(ndim)])
    left = tuple([n for d, n in enumerate(shape) if d not in axes])
    return tuple(order), tuple([back[d] for d in axes]), back, left
