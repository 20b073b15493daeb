"""Shapes of matrix and vector products."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from ..errors import ShapeError
from .broadcast import broadcast_shapes, expand
from .dims import Shape, text

INNER = "the last size of the first operand must be the size before the last of the second"


def dot_shape(a: Sequence[int], b: Sequence[int]) -> Shape:
    """The shape of the product of two vectors of one length.

    Raises:
        RuntimeError: not vectors, or lengths differ.
    """
    if len(a) != 1 or len(b) != 1:
        raise ShapeError(f"1D tensors expected, but got {len(a)}D and {len(b)}D tensors")
    if a[0] != b[0]:
        raise ShapeError(
            f"inconsistent tensor size, expected tensor {text(a)} and src {text(b)} to have the same number of "
            f"elements, but got {a[0]} and {b[0]} elements respectively",
            dims=(-1,),
        )
    return ()


def mv_shape(
    matrix: Sequence[int], vector: Sequence[int], added: Sequence[int] | None = None
) -> Shape:
    """The shape of `(n, k)` times `(k,)`, to which something of the shape `added` is added.

    Raises:
        RuntimeError: not a matrix and a vector, or k differs. IndexError: the matrix has no
            dimensions.
    """
    dims = 1 if added is None else len(added)
    if len(matrix) != 2 or len(vector) != 1 or dims > 1:
        raise ShapeError(
            f"vector + matrix @ vector expected, got {dims}, {len(matrix)}, {len(vector)}"
        )
    if matrix[1] != vector[0]:
        own = added[0] if added else matrix[0]
        raise ShapeError(
            f"size mismatch, got input ({own}), mat ({matrix[0]}x{matrix[1]}), vec ({vector[0]})",
            dims=(-1,),
        )
    return (matrix[0],)


def mm_shape(a: Sequence[int], b: Sequence[int]) -> Shape:
    """The shape of `(n, k)` times `(k, m)`.

    Raises:
        RuntimeError: not matrices, or k differs.

    Example:
        >>> mm_shape((2, 3), (3, 5))
        (2, 5)
    """
    if len(a) != 2:
        raise ShapeError("self must be a matrix", found=f"shape {text(a)}")
    if len(b) != 2:
        raise ShapeError("mat2 must be a matrix", found=f"shape {text(b)}")
    if a[1] != b[0]:
        raise ShapeError(
            f"mat1 and mat2 shapes cannot be multiplied ({a[0]}x{a[1]} and {b[0]}x{b[1]})",
            hint="one operand looks transposed: try mat2.T" if a[1] == b[1] else INNER,
        )
    return (a[0], b[1])


def bmm_shape(a: Sequence[int], b: Sequence[int]) -> Shape:
    """The shape of `(batch, n, k)` times `(batch, k, m)`.

    Raises:
        RuntimeError: not three dimensions each, or batch or k differ.
    """
    for name, shape in (("batch1", a), ("batch2", b)):
        if len(shape) != 3:
            raise ShapeError(f"{name} must be a 3D tensor", found=f"shape {text(shape)}")
    wanted = (a[0], a[2])
    if wanted != tuple(b[:2]):
        raise ShapeError(
            f"Expected size for first two dimensions of batch2 tensor to be: {text(wanted)} but got: {text(b[:2])}.",
            hint="one operand looks transposed: try batch2.mT" if wanted == (b[0], b[2]) else INNER,
        )
    return (a[0], a[1], b[2])


def matmul_shape(a: Sequence[int], b: Sequence[int]) -> Shape:
    """The shape of `a @ b`: vectors, matrices, and batches of matrices whose leading dimensions are
    broadcast.

    Raises:
        RuntimeError: an operand has no dimensions, or the summed sizes or the batches do not fit.

    Example:
        >>> matmul_shape((7, 2, 3), (3, 5)), matmul_shape((3,), (3, 5)), matmul_shape((4, 1, 2, 3), (6, 3, 5))
        ((7, 2, 5), (5,), (4, 6, 2, 5))
    """
    if not a or not b:
        raise ShapeError(
            f"both arguments to matmul need to be at least 1D, but they are {len(a)}D and {len(b)}D"
        )
    if len(b) == 1:
        if len(a) == 1:
            return dot_shape(a, b)
        mv_shape((prod(a[:-1]), a[-1]), b)
        return tuple(a[:-1])
    if len(a) == 1 and len(b) > 2 and (b[-2] == 1 or 0 in b):
        # PyTorch turns the product around where that needs no copy, and reports the turned one.
        mv_shape((prod(b[:-2]) * b[-1], b[-2]), a)
        return (*b[:-2], b[-1])
    left = (1, *a) if len(a) == 1 else tuple(a)
    if len(b) == 2:
        mm_shape((prod(left[:-1]), left[-1]), b)
        batch: Shape = left[:-2]
    else:
        batch = broadcast_shapes(left[:-2], b[:-2])
        bmm_shape((prod(batch), *left[-2:]), (prod(batch), *b[-2:]))
    return (*batch, *(left[-2:-1] if len(a) > 1 else ()), b[-1])


def linear_shape(
    x: Sequence[int], weight: Sequence[int], bias: Sequence[int] | None = None
) -> Shape:
    """The shape of `x @ weight.T + bias` for x `(..., in)`, weight `(out, in)` or `(in,)`, bias
    broadcast to that.

    Raises:
        RuntimeError: `in` differs, or the bias does not fit.

    Example:
        >>> linear_shape((8, 10, 3), (5, 3), (5,))
        (8, 10, 5)
    """
    result = matmul_shape(
        x, tuple(weight)[::-1] if len(weight) <= 2 else (*weight[:-2], weight[-1], weight[-2])
    )
    if bias is not None:
        rows: Shape = (prod(result[:-1]), result[-1]) if result and len(bias) <= 1 else result
        expand(bias, (0,) * len(bias), rows)
    return result
