"""Broadcasting and expanding."""

from __future__ import annotations

from collections.abc import Sequence

from ..errors import ArgumentValueError, OperationError, ShapeError
from .dims import Shape, text


def broadcast_shapes(*shapes: Sequence[int]) -> Shape:
    """The common shape of operands: lined up from the right, sizes are equal or one of them is 1.

    Raises:
        RuntimeError: sizes differ; the message names the two sizes and the dimension.

    Example:
        >>> broadcast_shapes((8, 1, 3), (5, 1))
        (8, 5, 3)
    """
    if not shapes:
        return ()
    result = tuple(shapes[0])
    for shape in shapes[1:]:
        shape = tuple(shape)
        if shape != result:
            result = _broadcast_pair(result, shape)
    return result


def _broadcast_pair(a: Shape, b: Shape) -> Shape:
    ndim = max(len(a), len(b))
    result = [1] * ndim
    for k in range(1, ndim + 1):
        size_a = a[-k] if k <= len(a) else 1
        size_b = b[-k] if k <= len(b) else 1
        if size_a != size_b and size_a != 1 and size_b != 1:
            raise ShapeError(
                f"The size of tensor a ({size_a}) must match the size of tensor b ({size_b}) at non-singleton dimension {ndim - k}",
                dims=(-k,),
                hint=_broadcast_hint(a, b),
            )
        result[-k] = size_b if size_a == 1 else size_a
    return tuple(result)


def _broadcast_hint(a: Shape, b: Shape) -> str | None:
    """A rearrangement that would make the shapes fit, when there is an obvious one."""
    for wide, thin, name in ((a, b, "b"), (b, a, "a")):
        if len(thin) == 1 and len(wide) == 2 and thin[0] == wide[0]:
            return f"to use one value of {name} for each row, make it a column: {name}.unsqueeze(1)"
    if len(a) == len(b) == 2 and a == b[::-1]:
        return "one of them is transposed: a.T has the shape of b"
    if len(a) == len(b) == 2 and a[1] == b[0]:
        return f"for the product of matrices, of shape [{a[0]}, {b[1]}], write a @ b"
    return None


def broadcast_shapes_api(*shapes: int | Sequence[int]) -> Shape:
    """`torch.broadcast_shapes`: as `broadcast_shapes`, for ints and shapes that users write, with
    its own messages.

    Raises:
        RuntimeError: sizes differ. ValueError: a size is negative.
    """
    given = [(s,) if isinstance(s, int) else s for s in shapes if s is not None]
    for shape in given:
        if not isinstance(shape, Sequence):
            raise OperationError(
                f"Input shapes should be of type ints, a tuple of ints, or a list of ints, got {shape}"
            )
    result = [1] * max((len(shape) for shape in given), default=0)
    for position, shape in enumerate(given):
        for k in range(1, len(shape) + 1):
            size = shape[-k]
            if size == result[-k]:
                continue
            if result[-k] == 1 and size < 0:
                raise ArgumentValueError(
                    "Attempting to broadcast a dimension with negative length!"
                )
            if size == 1:
                continue
            if result[-k] != 1:
                raise ShapeError(
                    f"Attempting to broadcast a dimension of length {size} at {-k}! Mismatching argument at index "
                    f"{position} had {shape}; but expected shape should be broadcastable to {result}",
                    dims=(-k,),
                )
            result[-k] = size
    return tuple(result)


def check_inplace_shape(shape: Sequence[int], result: Sequence[int]) -> None:
    """Refuse to write a result into a tensor that it would have to grow.

    Raises:
        RuntimeError: `result` is not `shape`.
    """
    if tuple(shape) != tuple(result):
        raise ShapeError(
            f"output with shape {text(shape)} doesn't match the broadcast shape {text(result)}"
        )


def broadcast_dims(shape: Sequence[int], result: Sequence[int]) -> tuple[int, Shape]:
    """What broadcasting `shape` to `result` did: how many dimensions it put in front, which of its
    own it stretched.

    Example:
        >>> broadcast_dims((1, 3), (5, 4, 3))
        (1, (0,))
    """
    added = len(result) - len(shape)
    return added, tuple(d for d, size in enumerate(shape) if size == 1 and result[added + d] != 1)


def expand(
    shape: Sequence[int],
    strides: Sequence[int],
    target: Sequence[int],
    type_name: str = "torch.FloatTensor",
) -> tuple[Shape, Shape]:
    """Shape and strides of a tensor expanded to `target`, where -1 keeps a size; stretched
    dimensions have stride 0.

    Raises:
        RuntimeError: a size other than 1 would change, there are fewer sizes than dimensions, or a
            new one is -1.

    Example:
        >>> expand((3, 1), (1, 1), (2, -1, 4))
        ((2, 3, 4), (0, 1, 0))
    """
    ndim, added = len(target), len(target) - len(shape)
    if added < 0:
        raise ShapeError(
            f"expand({type_name}{{{text(shape)}}}, size={text(target)}): the number of sizes provided ({ndim}) "
            f"must be greater or equal to the number of dimensions in the tensor ({len(shape)})"
        )
    sizes, steps = list(target), [0] * ndim
    for d in range(ndim - 1, -1, -1):
        own = d - added
        if own >= 0:
            size, step = shape[own], strides[own]
        else:
            size, step = 1, (sizes[d + 1] * steps[d + 1] if d + 1 < ndim else 0)
        if sizes[d] == -1 and shape:
            if own < 0:
                raise ShapeError(
                    f"The expanded size of the tensor (-1) isn't allowed in a leading, non-existing dimension {d}",
                    dims=(d - ndim,),
                )
            sizes[d] = size
        if sizes[d] != size:
            if size != 1:
                raise ShapeError(
                    f"The expanded size of the tensor ({sizes[d]}) must match the existing size ({size}) at "
                    f"non-singleton dimension {d}.  Target sizes: {text(target)}.  Tensor sizes: {text(shape)}",
                    dims=(d - ndim,),
                )
            step = 0
        steps[d] = step if shape else 0
    if any(size < 0 for size in sizes):
        raise ShapeError(
            "numel: integer multiplication overflow", found=f"a negative size in {text(target)}"
        )
    return tuple(sizes), tuple(steps)
