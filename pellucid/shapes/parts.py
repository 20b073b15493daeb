"""Parts of a tensor, and tensors put together: slices, splits, windows, diagonals, `cat`, `stack`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from operator import index as as_index

from ..errors import ArgumentValueError, IndexOutOfRangeError, OperationError, ShapeError
from .dims import Shape, normalize_dim, reduce_shape, text


def slice_range(s: slice, size: int) -> tuple[int, int, int]:
    """(start, length, step) of a slice of a dimension of `size` elements.

    Raises:
        ValueError: the step is not positive.

    Example:
        >>> slice_range(slice(-3, None, 2), 10)
        (7, 2, 2)
    """
    step = 1 if s.step is None else as_index(s.step)
    if step == 0:
        raise ArgumentValueError("slice step cannot be zero")
    if step < 0:
        raise ArgumentValueError(
            "step must be greater than zero", hint="to reverse a dimension, use flip"
        )
    start, stop, _ = s.indices(size)
    return start, max(0, -(-(stop - start) // step)), step


def index_position(index: int, shape: Sequence[int], dim: int) -> int:
    """The position that `tensor[..., index]` means in dimension `dim`.

    Raises:
        IndexError: out of range.
    """
    size = shape[dim]
    if -size <= index < size:
        return index + size if index < 0 else index
    raise IndexOutOfRangeError(
        f"index {index} is out of bounds for dimension {dim} with size {size}",
        dims=(dim - len(shape),),
    )


def select_position(index: int, shape: Sequence[int], dim: int) -> tuple[int, int]:
    """(dimension, position) of `select(dim, index)`, both counted from 0.

    Raises:
        IndexError: out of range, or there is no dimension.
    """
    if not shape:
        raise IndexOutOfRangeError("select() cannot be applied to a 0-dim tensor.")
    number = normalize_dim(dim, len(shape))
    size = shape[number]
    if not -size <= index < size:
        raise IndexOutOfRangeError(
            f"select(): index {index} out of range for tensor of size {text(shape)} at dimension {number}",
            dims=(number - len(shape),),
        )
    return number, index + size if index < 0 else index


def narrow_range(shape: Sequence[int], dim: int, start: int, length: int) -> tuple[int, int]:
    """(dimension, start) of `narrow(dim, start, length)`, both counted from 0.

    Raises:
        RuntimeError: no dimension, negative length, or the part ends outside. IndexError: it starts
            outside.
    """
    if not shape:
        raise OperationError("narrow() cannot be applied to a 0-dim tensor.")
    if length < 0:
        raise OperationError("narrow(): length must be non-negative.")
    number = normalize_dim(dim, len(shape))
    size = shape[number]
    if not -size <= start <= size:
        raise IndexOutOfRangeError(
            f"start out of range (expected to be in range of [{-size}, {size}], but got {start})"
        )
    first = start + size if start < 0 else start
    if first + length > size:
        raise OperationError(
            f"start ({first}) + length ({length}) exceeds dimension size ({size})."
        )
    return number, first


def split_sizes(size: int, split: int | Sequence[int], dim: int = 0) -> Shape:
    """The lengths of the parts of `split`: of one size with a smaller rest, or as listed.

    Raises:
        RuntimeError: negative, or not as many as the dimension has.

    Example:
        >>> split_sizes(10, 4), split_sizes(10, [3, 7])
        ((4, 4, 2), (3, 7))
    """
    if not isinstance(split, int) and isinstance(split, Iterable):
        parts = tuple(as_index(part) for part in split)
        if any(part < 0 for part in parts):
            raise OperationError(
                f"split_with_sizes expects split_sizes have only non-negative entries, but got split_sizes={text(parts)}"
            )
        if sum(parts) != size:
            raise OperationError(
                f"split_with_sizes expects split_sizes to sum exactly to {size} (input tensor's size at dimension "
                f"{dim}), but got split_sizes={text(parts)}"
            )
        return parts
    if split < 0:
        raise OperationError(
            f"split expects split_size be non-negative, but got split_size={split}"
        )
    if split == 0:
        if size:
            raise OperationError(
                f"split_size can only be 0 if dimension size is 0, but got dimension size of {size}"
            )
        return (0,)
    whole, rest = divmod(size, split)
    return (split,) * whole + ((rest,) if rest or not whole else ())


def chunk_sizes(size: int, chunks: int) -> Shape:
    """The lengths of the parts of `chunk`: at most `chunks`, all but the last of one size.

    Raises:
        RuntimeError: `chunks` is not positive.

    Example:
        >>> chunk_sizes(10, 4)
        (3, 3, 3, 1)
    """
    if chunks <= 0:
        raise OperationError(f"chunk expects `chunks` to be greater than 0, got: {chunks}")
    if size == 0:
        return (0,) * chunks
    return split_sizes(size, -(-size // chunks))


def tensor_split_sizes(size: int, sections: int | Sequence[int]) -> Shape:
    """The lengths of the parts of `tensor_split`: as equal as possible, or cut at the listed
    positions.

    Raises:
        RuntimeError: `sections` is not positive.

    Example:
        >>> tensor_split_sizes(10, 4), tensor_split_sizes(10, [2, 5])
        ((3, 3, 2, 2), (2, 3, 5))
    """
    if not isinstance(sections, Iterable):
        if sections <= 0:
            raise OperationError(f"number of sections must be larger than 0, got {sections}")
        small, larger = divmod(size, sections)
        return (small + 1,) * larger + (small,) * (sections - larger)
    lengths, start = [], 0
    for cut in (*sections, size):
        lengths.append(slice_range(slice(start, cut), size)[1])
        start = cut
    return tuple(lengths)


def unfold_shape(shape: Sequence[int], dim: int, size: int, step: int) -> Shape:
    """The shape of `unfold(dim, size, step)`: windows counted along `dim`, their elements in a new
    last dimension.

    Raises:
        RuntimeError: the window does not fit, or size or step are out of range.
    """
    number = normalize_dim(dim, len(shape))
    if size < 0:
        raise OperationError(f"size is {size} but must be >= 0")
    extent = shape[number] if shape else 1
    if size > extent:
        raise OperationError(
            f"maximum size for tensor at dimension {number} is {extent} but size is {size}"
        )
    if step <= 0:
        raise OperationError(f"step is {step} but must be > 0")
    if not shape:
        return (size,)
    return (*shape[:number], (extent - size) // step + 1, *shape[number + 1 :], size)


def diagonal_shape(shape: Sequence[int], offset: int = 0, dim1: int = 0, dim2: int = 1) -> Shape:
    """The shape of `diagonal`: the other dimensions, then the length of the diagonal.

    Raises:
        RuntimeError: both dimensions are the same. IndexError: one is out of range.

    Example:
        >>> diagonal_shape((5, 3, 4), 1, 1, 2)
        (5, 3)
    """
    first, second = normalize_dim(dim1, len(shape)), normalize_dim(dim2, len(shape))
    if first == second:
        raise OperationError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    rows, columns = shape[first] + min(offset, 0), shape[second] - max(offset, 0)
    return (*reduce_shape(shape, (first, second)), max(0, min(rows, columns)))


def cat_shape(shapes: Sequence[Sequence[int]], dim: int = 0) -> Shape:
    """The shape of tensors put one after the other along `dim`; empty vectors are left out, as
    PyTorch does.

    Raises:
        ValueError: no tensors. RuntimeError: other sizes differ. IndexError: `dim` is out of range.

    Example:
        >>> cat_shape([(2, 3), (4, 3)])
        (6, 3)
    """
    if not shapes:
        raise ArgumentValueError("torch.cat(): expected a non-empty list of Tensors")
    for position, shape in enumerate(shapes):
        if not shape:
            raise ShapeError(
                f"zero-dimensional tensor (at position {position}) cannot be concatenated",
                hint="torch.stack joins single numbers to a vector",
            )
    kept = [(position, shape) for position, shape in enumerate(shapes) if tuple(shape) != (0,)]
    if not kept:
        return (0,)
    first = kept[0][1]
    number = normalize_dim(dim, len(first))
    for position, shape in kept[1:]:
        if len(shape) != len(first):
            raise ShapeError(
                f"Tensors must have same number of dimensions: got {len(first)} and {len(shape)}"
            )
        for d, (wanted, size) in enumerate(zip(first, shape)):
            if d != number and wanted != size:
                raise ShapeError(
                    f"Sizes of tensors must match except in dimension {number}. Expected size {wanted} but got size "
                    f"{size} for tensor number {position} in the list.",
                    dims=(d - len(first),),
                )
    return (*first[:number], sum(shape[number] for _, shape in kept), *first[number + 1 :])


def stack_shape(shapes: Sequence[Sequence[int]], dim: int = 0) -> Shape:
    """The shape of equal tensors put one after the other along a new dimension `dim`.

    Raises:
        RuntimeError: no tensors, or shapes differ. IndexError: `dim` is out of range.

    Example:
        >>> stack_shape([(2, 3), (2, 3)], -1)
        (2, 3, 2)
    """
    if not shapes:
        raise OperationError("stack expects a non-empty TensorList")
    first = tuple(shapes[0])
    number = normalize_dim(dim, len(first) + 1)
    for position, shape in enumerate(shapes):
        if tuple(shape) != first:
            raise ShapeError(
                f"stack expects each tensor to be equal size, but got {text(first)} at entry 0 and {text(shape)} "
                f"at entry {position}"
            )
    return (*first[:number], len(shapes), *first[number:])
