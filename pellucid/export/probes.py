"""Other inputs, with which a program is recorded again: what differs then depends on the values of
the inputs, or on their sizes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from ..core.tensor import Tensor, make_tensor
from .sizes import Point

# By how much each dynamic size changes in further runs: quotients all different, so that what is
# seen to change tells which size it follows.
STEPS = ((3, 8), (5, 7), (2, 11), (9, 4), (6, 13), (12, 5), (7, 16), (10, 3))


def other_values(t: Tensor, how: str) -> Tensor:
    """A tensor of the same kind with other values.

    Args:
        how: "shifted" by a little, "negated", or in another "order".
    """
    array = t._array
    if not isinstance(array, np.ndarray):
        return t
    made = array.reshape(-1)[::-1].reshape(array.shape).copy()
    if how != "order":
        if array.dtype.kind == "b":
            made = ~array
        elif array.dtype.kind in "iu":
            made = np.where(made > 0, made - 1, made).astype(array.dtype)
        else:
            factor, more = (0.75, 0.125) if how == "shifted" else (-0.5, 0.0)
            kind = array.dtype
            made = (made * np.asarray(factor, kind) + np.asarray(more, kind)).astype(kind)
    return make_tensor(made)


def other_size(t: Tensor, sizes: dict[int, int]) -> Tensor:
    """A tensor of other sizes along some dimensions, its values repeated."""
    array = t._array
    if not isinstance(array, np.ndarray):
        shape = tuple([sizes.get(axis, n) for axis, n in enumerate(array.shape)])
        made: Tensor = t.new_empty(shape)
        return made
    for axis, size in sizes.items():
        array = np.take(array, np.arange(size) % max(array.shape[axis], 1), axis=axis)
    return make_tensor(np.array(array, order="C"))


def other_points(
    first: Mapping[str, int], bounds: Mapping[str, tuple[int, int | None]]
) -> Iterator[list[Point]]:
    """Where else a program may run, given the sizes of its example and the bounds of each: the
    example's sizes and one or two more. The likeliest to run come first.

    Sizes have a limit above more often when they are large (positions that were learned), below
    when they are small; and some must be multiples of a power of two (images that are halved
    several times).

    >>> next(other_points({"n": 4}, {"n": (0, None)}))
    [{'n': 4}, {'n': 7}, {'n': 12}]
    """
    up = all(size < 24 for size in first.values())
    tries = [(1, 1), (-1, 1)] if up else [(-1, 1), (1, 1)]
    tries += [(1, 2), (-1, 2), (1, 4), (-1, 4), (1, 8), (1, 16), (1, 32), (0, 0)]
    for sign, unit in tries:
        points: list[Point] = [first]
        for j in (0, 1):
            at = {
                name: _moved(size, sign * unit * STEPS[k % len(STEPS)][j], bounds[name], j)
                for k, (name, size) in enumerate(first.items())
            }
            moved = {name: size for name, size in at.items() if size is not None}
            if len(moved) == len(at) and moved not in points:
                points.append(moved)
        if len(points) > 2 or (len(points) == 2 and not unit and not _tied(points[1], bounds)):
            yield points


def further_points(first: Point) -> list[Point]:
    """Three more points, since quotients need more to be told apart."""
    return [{n: s + d * k for n, s in first.items()} for k, d in ((3, 2), (5, 2), (7, 3))]


def _tied(at: Point, bounds: Mapping[str, tuple[int, int | None]]) -> bool:
    """Whether sizes cannot be told apart, or are not hemmed in by bounds."""
    return len(set(at.values())) < len(at) or any(bounds[name][1] is None for name in at)


def _moved(size: int, step: int, bounds: tuple[int, int | None], turn: int) -> int | None:
    """A size `step` away, None where that is outside of the bounds; any other size for a step of 0."""
    low, high = max(bounds[0], 2), bounds[1]
    inside = lambda n: n != size and n >= low and (high is None or n <= high)
    if step:
        return size + step if inside(size + step) else None
    near = [n for n in (high, low, size + 1, size - 1) if n is not None and inside(n)]
    return near[turn % len(near)] if near else None
