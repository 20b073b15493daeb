"""`torch.quasirandom`: points that fill a cube more evenly than random ones."""

from __future__ import annotations

import functools
from importlib.resources import files
from typing import Any, Self

import numpy as np

from . import dtypes
from .core.public import FUNCTIONS
from .core.tensor import Tensor, make_tensor
from .errors import ArgumentValueError, UnsupportedError
from .ops.create.random import Generator

__all__ = ["SobolEngine"]

_BITS = 30


@functools.cache
def _table() -> tuple[Any, Any]:
    """Primitive polynomials (bits of their coefficients) and first direction numbers, per
    dimension.
    """
    path = files("scipy.stats") / "_sobol_direction_numbers.npz"
    try:
        with path.open("rb") as file, np.load(file) as stored:
            return stored["poly"], stored["vinit"]
    except OSError as error:
        raise UnsupportedError(
            "SobolEngine needs the table of direction numbers that SciPy brings along"
        ) from error


def _directions(dimension: int) -> Any:
    """Direction numbers as integers of 30 bits, (dimension, 30); in the first dimension they are
    single bits.
    """
    polynomials, starts = (a[:dimension] for a in _table())
    v = np.ones((dimension, _BITS), np.int64)
    degrees = np.frexp(polynomials.astype(np.float64))[1] - 1
    for degree in range(1, int(degrees.max()) + 1):
        rows = np.flatnonzero((degrees == degree) & (np.arange(dimension) > 0))
        polynomial, group = polynomials[rows], v[rows]
        group[:, :degree] = starts[rows, :degree]
        for j in range(degree, _BITS):
            group[:, j] = group[:, j - degree]
            for k in range(1, degree + 1):
                group[:, j] ^= (polynomial >> (degree - k) & 1) * (group[:, j - k] << k)
        v[rows] = group
    return v << np.arange(_BITS - 1, -1, -1)


class SobolEngine:
    """A Sobol sequence in the unit cube, point after point; the same numbers as PyTorch's.

    Args:
        dimension: of the cube, 1 to 21201.
        scramble: shift the digits and mix them by random triangular matrices (Matousek's form of
            Owen's scrambling).
        seed: of the scrambling; without it the global random stream is used.

    Raises:
        ValueError: a dimension out of range.

    Source: Sobol, "The distribution of points in a cube", 1967; Joe, Kuo, "Constructing Sobol
    sequences with better two-dimensional projections", 2008 (direction numbers); Owen, "Scrambling
    Sobol and Niederreiter-Xing points", 1998.

    Example:
        >>> import pellucid as torch
        >>> torch.quasirandom.SobolEngine(2).draw(3)
        tensor([[0.0000, 0.0000],
                [0.5000, 0.5000],
                [0.7500, 0.2500]])
    """

    MAXBIT = _BITS
    MAXDIM = 21201

    def __init__(self, dimension: int, scramble: bool = False, seed: int | None = None) -> None:
        if dimension > self.MAXDIM or dimension < 1:
            raise ArgumentValueError(
                f"Supported range of dimensionality for SobolEngine is [1, {self.MAXDIM}]"
            )
        self.seed = seed
        self.scramble = scramble
        self.dimension = dimension
        self.sobolstate = make_tensor(_directions(dimension))
        self.shift = make_tensor(np.zeros(dimension, np.int64))
        if scramble:
            self._scramble()
        self.num_generated = 0

    @property
    def quasi(self) -> Tensor:
        """The last point drawn (before the first: the first), as integers of 30 bits, (dimension,)."""
        return make_tensor(self._points(max(self.num_generated - 1, 0), 1)[0])

    def _scramble(self) -> None:
        generator = None if self.seed is None else Generator().manual_seed(self.seed)
        randint = FUNCTIONS["torch"]["randint"]
        digits = randint(2, (self.dimension, _BITS), generator=generator)._array
        self.shift = make_tensor(digits @ (1 << np.arange(_BITS)))
        lower = np.tril(randint(2, (self.dimension, _BITS, _BITS), generator=generator)._array, -1)
        lower += np.eye(_BITS, dtype=np.int64)
        # digit p of a new number is the parity of row p and the old number
        rows = lower @ (1 << np.arange(_BITS - 1, -1, -1))
        old, new = self.sobolstate._array, np.zeros((self.dimension, _BITS), np.int64)
        for p in range(_BITS):
            new |= (np.bitwise_count(rows[:, p, None] & old).astype(np.int64) & 1) << (
                _BITS - 1 - p
            )
        self.sobolstate = make_tensor(new)

    def _points(self, start: int, n: int) -> Any:
        """Points start, ..., start + n - 1 as integers: the shift and the directions of the set
        bits of each Gray code.
        """
        index = np.arange(start, start + n, dtype=np.int64)
        if n and index[-1] >= 1 << _BITS:
            raise ArgumentValueError(
                f"SobolEngine has {1 << _BITS} points, but point {index[-1]} is asked for"
            )
        gray = index ^ (index >> 1)
        points = np.repeat(self.shift._array[None], n, 0)
        for k in range(_BITS):
            chosen = (gray >> k & 1).astype(bool)
            if chosen.any():
                points[chosen] ^= self.sobolstate._array[:, k]
        return points

    def draw(
        self, n: int = 1, out: Tensor | None = None, dtype: dtypes.dtype | None = None
    ) -> Tensor:
        """The next `n` points, (n, dimension), in [0, 1)."""
        kind = dtypes.get_default_dtype() if dtype is None else dtype
        points = self._points(self.num_generated, n)
        # Rounding may reach 1 in types with few digits, as in PyTorch.
        result = make_tensor((points.astype(np.float64) / (1 << _BITS)).astype(kind.numpy))
        self.num_generated += n
        if out is not None:
            return out.resize_as_(result).copy_(result)
        return result

    def draw_base2(
        self, m: int, out: Tensor | None = None, dtype: dtypes.dtype | None = None
    ) -> Tensor:
        """The next `2**m` points; with those drawn before, their number must be a power of 2.

        Raises:
            ValueError: it is not.
        """
        n = 2**m
        total = self.num_generated + n
        if total & (total - 1):
            raise ArgumentValueError(
                "The balance properties of Sobol' points require n to be a power of 2. "
                f"{self.num_generated} points have been previously generated, then: n={self.num_generated}+2**{m}={total}. "
                "If you still want to do this, please use 'SobolEngine.draw()' instead."
            )
        return self.draw(n, out, dtype)

    def reset(self) -> Self:
        """Begin again with the first point."""
        self.num_generated = 0
        return self

    def fast_forward(self, n: int) -> Self:
        """Skip `n` points."""
        self.num_generated += n
        return self

    def __repr__(self) -> str:
        text = f"dimension={self.dimension}"
        if self.scramble:
            text += ", scramble=True"
        if self.seed is not None:
            text += f", seed={self.seed}"
        return f"{type(self).__name__}({text})"
