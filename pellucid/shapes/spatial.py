"""What the shape rules of convolution, pooling and padding share: numbers for each dimension, and
their names.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from operator import index as as_index

from ..errors import ShapeError
from .dims import Shape, text

Sizes = int | Sequence[int]
AXES = ("T", "H", "W")
NAMES = ("depth", "height", "width")


def per_dim(value: Sizes, n: int, name: str) -> Shape:
    """`n` numbers from one number, a list of one, or a list of `n`.

    Raises:
        RuntimeError: a list of another length.

    Example:
        >>> per_dim(3, 2, "stride"), per_dim((3, 1), 2, "stride")
        ((3, 3), (3, 1))
    """
    if type(value) is int or not isinstance(value, Iterable):
        return (as_index(value),) * n
    values = tuple(as_index(v) for v in value)
    if len(values) == 1:
        return values * n
    if len(values) != n:
        raise ShapeError(
            f"expected {name} to be a single integer value or a list of {n} values to match the convolution "
            f"dimensions, but got {name}={text(values)}"
        )
    return values


def by(sizes: Sequence[int]) -> str:
    return " x ".join(map(str, sizes))


def labelled(label: str, sizes: Sequence[int], names: Sequence[str] = AXES) -> str:
    """`kernel_height: 3 kernel_width: 3`; one dimension counts as a height of 1 (see `plane`)."""
    return " ".join(f"{label}{name}: {size}" for name, size in zip(names[-len(sizes) :], sizes))


def plane(sizes: Sequence[int], neutral: int = 1) -> Shape:
    """Sizes as PyTorch's kernels see them: one spatial dimension is computed as a plane with a
    height of 1.
    """
    return (neutral, *sizes) if len(sizes) == 1 else tuple(sizes)


def within(steps: Shape, size: Sequence[int], pads: Sequence[tuple[int, int]]) -> Shape:
    """Strides or dilations, none longer than the padded image: one that leads out of it is taken by
    no window, and may be anything.

    Example:
        >>> within((1 << 40, 2), (5, 5), ((1, 1), (0, 0)))
        (7, 2)
    """
    if not size or max(steps) <= min(size):
        return steps
    return tuple(
        min(step, max(n + before + after, 1))
        for step, n, (before, after) in zip(steps, size, pads, strict=True)
    )
