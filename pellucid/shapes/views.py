"""Sizes and strides of tensors that show the same memory in another shape."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence
from math import prod
from operator import index as as_index

from ..errors import OperationError, ShapeError
from .dims import Shape, normalize_dim, text


def checked_sizes(sizes: Iterable[int]) -> Shape:
    """The sizes of a new tensor.

    Raises:
        RuntimeError: one is negative.
    """
    shape = tuple(as_index(size) for size in sizes)
    for size in shape:
        if size < 0:
            raise ShapeError(
                f"Trying to create tensor with negative dimension {size}: {text(shape)}"
            )
    return shape


def contiguous_strides(shape: Sequence[int]) -> Shape:
    """Strides of a tensor whose last dimension is closest in memory.

    Example:
        >>> contiguous_strides((2, 3, 4))
        (12, 4, 1)
    """
    strides, step = [0] * len(shape), 1
    for d in range(len(shape) - 1, -1, -1):
        strides[d] = step
        step *= max(shape[d], 1)
    return tuple(strides)


def channels_last_strides(shape: Sequence[int]) -> Shape:
    """Strides of an image batch `(N, C, H, W)` or volume batch `(N, C, D, H, W)` with the channels
    closest in memory.

    Raises:
        RuntimeError: neither 4 nor 5 dimensions.

    Example:
        >>> channels_last_strides((2, 3, 4, 5))
        (60, 1, 15, 3)
    """
    ndim = len(shape)
    if ndim not in (4, 5):
        raise ShapeError(f"required rank {4 if ndim < 5 else 5} tensor to use channels_last format")
    return strides_by_channels(shape)


def strides_by_channels(shape: Sequence[int]) -> Shape:
    """`channels_last_strides` for `(N, C, *spatial)` with any number of spatial dimensions.

    Example:
        >>> strides_by_channels((2, 3, 4))
        (12, 1, 3)
    """
    strides, step = [0] * len(shape), 1
    for d in (1, *range(len(shape) - 1, 1, -1), 0):
        strides[d] = step
        step *= shape[d]
    return tuple(strides)


def is_contiguous(shape: Sequence[int], strides: Sequence[int]) -> bool:
    """Whether elements lie in memory in the order of the dimensions, without gaps; sizes of 1 may
    have any stride.
    """
    step = 1
    for size, stride in zip(reversed(shape), reversed(strides)):
        if size == 0:
            return True
        if size != 1:
            if stride != step:
                return 0 in shape
            step *= size
    return True


def is_channels_last(shape: Sequence[int], strides: Sequence[int]) -> bool:
    """Whether a tensor of 4 or 5 dimensions lies in memory in the order of `channels_last_strides`."""
    if len(shape) not in (4, 5):
        return False
    step = 1
    for d in (1, *range(len(shape) - 1, 1, -1), 0):
        if shape[d] != 1:
            if strides[d] != step:
                return False
            step *= shape[d]
    return True


def infer_size(sizes: Sequence[int], numel: int) -> Shape:
    """The sizes of a `view` or `reshape` of `numel` elements, with -1 replaced by what is left.

    Raises:
        RuntimeError: the number of elements differs, two sizes are -1, or -1 could be anything.

    Example:
        >>> infer_size((2, -1), 12)
        (2, 6)
    """
    known, unknown = 1, None
    for position, size in enumerate(sizes):
        if size == -1:
            if unknown is not None:
                raise ShapeError("only one dimension can be inferred", found=f"shape {text(sizes)}")
            unknown = position
        elif size < 0:
            raise ShapeError(
                f"invalid shape dimension {size} at index {position} of shape {text(sizes)}"
            )
        else:
            known *= size
    if unknown is None:
        if known == numel:
            return tuple(sizes)
    elif known > 0 and numel % known == 0:
        return (*sizes[:unknown], numel // known, *sizes[unknown + 1 :])
    elif known == numel:
        raise ShapeError(
            f"cannot reshape tensor of 0 elements into shape {text(sizes)} because the unspecified dimension size -1 "
            "can be any value and is ambiguous"
        )
    raise ShapeError(f"shape '{text(sizes)}' is invalid for input of size {numel}")


VIEW_REFUSED = (
    "view size is not compatible with input tensor's size and stride (at least one dimension spans across two "
    "contiguous subspaces). Use .reshape(...) instead."
)


def view_strides(
    shape: Sequence[int], strides: Sequence[int], new_shape: Sequence[int]
) -> Shape | None:
    """Strides that show the same memory in `new_shape` (of as many elements), or None where only a
    copy can.

    Old dimensions that follow each other in memory without a gap form a block; a view exists when
    the new dimensions can be cut out of the blocks, none reaching over the edge of one.

    Example:
        >>> view_strides((2, 3, 4), (12, 4, 1), (6, 4)), view_strides((3, 2), (1, 3), (6,))
        ((4, 1), None)
    """
    return _view_strides(tuple(shape), tuple(strides), tuple(new_shape))


@functools.lru_cache(4096)
def _view_strides(shape: Shape, strides: Shape, new_shape: Shape) -> Shape | None:
    if 0 in shape:
        return strides if shape == new_shape else contiguous_strides(new_shape)
    if not shape:
        return (1,) * len(new_shape)

    blocks = []  # (number of elements, stride of the innermost), from the last block to the first
    count, base = 1, strides[-1]
    for d in range(len(shape) - 1, -1, -1):
        count *= shape[d]
        if d == 0 or (shape[d - 1] != 1 and strides[d - 1] != count * base):
            blocks.append((count, base))
            count, base = 1, strides[d - 1]

    result, d = [0] * len(new_shape), len(new_shape) - 1
    for count, base in blocks:
        filled = 1
        while d >= 0 and (filled < count or new_shape[d] == 1):
            result[d] = filled * base
            filled *= new_shape[d]
            d -= 1
        if filled != count:
            return None
    return tuple(result) if d < 0 else None


def flatten_shape(shape: Sequence[int], start_dim: int = 0, end_dim: int = -1) -> Shape:
    """The shape with dimensions `start_dim` ... `end_dim` made one; a scalar becomes one element.

    Raises:
        RuntimeError: `start_dim` comes after `end_dim`. IndexError: out of range.

    Example:
        >>> flatten_shape((2, 3, 4), 1)
        (2, 12)
    """
    if type(shape) is tuple and type(start_dim) is int is type(end_dim):
        return _known_flat_shape(shape, start_dim, end_dim)
    return _flat_shape(shape, start_dim, end_dim)


def _flat_shape(shape: Sequence[int], start_dim: int, end_dim: int) -> Shape:
    start, end = normalize_dim(start_dim, len(shape)), normalize_dim(end_dim, len(shape))
    if start > end:
        raise OperationError("flatten() has invalid args: start_dim cannot come after end_dim")
    if not shape:
        return (1,)
    return (*shape[:start], prod(shape[start : end + 1]), *shape[end + 1 :])


_known_flat_shape = functools.lru_cache(1024)(_flat_shape)


def unflatten_shape(shape: Sequence[int], dim: int, sizes: Sequence[int]) -> Shape:
    """The shape with dimension `dim` split into `sizes`, one of which may be -1.

    Raises:
        RuntimeError: the sizes do not multiply up to the dimension's, or are none. IndexError:
            `dim` is out of range.
    """
    if not sizes:
        raise OperationError("unflatten: sizes must be non-empty")
    number = normalize_dim(dim, len(shape))
    if not shape:
        raise ShapeError(
            "unflatten got an unexpected error:",
            notes=("a scalar has no dimension to split: use reshape",),
        )
    size = shape[number]
    if list(sizes).count(-1) < 2:
        try:
            split = infer_size(sizes, size)
        except RuntimeError as error:
            if "can be any value" in str(error):
                raise ShapeError(f"unflatten got an unexpected error:\n{error}") from None
            raise ShapeError(
                f"unflatten: Provided sizes {text(sizes)} don't multiply up to the size of dim {number} ({size}) "
                "in the input tensor"
            ) from None
    else:
        raise ShapeError(
            "unflatten got an unexpected error:", notes=("only one dimension can be inferred",)
        )
    return (*shape[:number], *split, *shape[number + 1 :])


def check_as_strided(
    size: Sequence[int], stride: Sequence[int], offset: int, storage: int, itemsize: int
) -> None:
    """Refuse strides that leave a storage of `storage` elements of `itemsize` bytes.

    Raises:
        RuntimeError: lengths differ, a stride or the offset is negative, or an element lies
            outside.
    """
    if len(size) != len(stride):
        raise ShapeError("mismatch in length of strides and shape")
    if stride and min(stride) < 0:
        raise OperationError(
            f"as_strided: Negative strides are not supported at the moment, got strides: {text(stride)}"
        )
    if offset < 0:
        raise OperationError(f"Tensor: invalid storage offset {offset}")
    if size and min(size) < 0:
        checked_sizes(size)
    if 0 not in size:
        needed = 1 + offset
        for n, step in zip(size, stride):
            needed += (n - 1) * step
        if needed > storage:
            raise OperationError(
                f"setStorage: sizes {text(size)}, strides {text(stride)}, storage offset {offset}, and itemsize "
                f"{itemsize} requiring a storage size of {needed * itemsize} are out of bounds for storage of size "
                f"{storage * itemsize}"
            )
