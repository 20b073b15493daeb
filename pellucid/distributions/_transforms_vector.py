"""Transforms of vectors and matrices, and of the parts of a tensor each in its own way."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ..core.tensor import Tensor
from ..dtypes import finfo
from ..errors import ArgumentValueError, UnsupportedError
from . import constraints
from ._functions import L, T
from ._transform import Transform, _SameForAll
from .utils import sum_rightmost, tril_matrix_to_vec, vec_to_tril_matrix


def _at_least_1d(shape: Any) -> Any:
    if len(shape) < 1:
        raise ArgumentValueError("Too few dimensions on input")
    return shape


class SoftmaxTransform(_SameForAll):
    """Softmax over the last dimension; not bijective: the inverse is the logarithm.

    >>> import pellucid as torch
    >>> torch.distributions.SoftmaxTransform()(torch.tensor([0.0, 0.0]))
    tensor([0.5000, 0.5000])
    """

    domain = constraints.real_vector
    codomain = constraints.simplex

    def _call(self, x: Tensor) -> Tensor:
        weights = (x - x.max(-1, True)[0]).exp()
        return weights / weights.sum(-1, True)

    def _inverse(self, y: Tensor) -> Tensor:
        return y.log()

    def forward_shape(self, shape: Any) -> Any:
        return _at_least_1d(shape)

    def inverse_shape(self, shape: Any) -> Any:
        return _at_least_1d(shape)


class StickBreakingTransform(_SameForAll):
    """Vectors of K-1 numbers to K positive ones that sum to 1: each takes a share of what the ones
    before left.

    Source: Stan Reference Manual, "Unit simplex".

    >>> import pellucid as torch
    >>> torch.distributions.StickBreakingTransform()(torch.tensor([0.0, 0.0]))
    tensor([0.3333, 0.3333, 0.3333])
    """

    domain = constraints.real_vector
    codomain = constraints.simplex
    bijective = True

    def _offset(self, count: int, like: Tensor) -> Tensor:
        """log of how many entries still share the stick: K-1, ..., 1."""
        return (count + 1 - T.ones(count, dtype=like.dtype).cumsum(-1)).log()

    def _call(self, x: Tensor) -> Tensor:
        z = T.sigmoid(x - self._offset(x.shape[-1], x))
        left = (1 - z).cumprod(-1)
        return T.pad(z, [0, 1], value=1) * T.pad(left, [1, 0], value=1)

    def _inverse(self, y: Tensor) -> Tensor:
        taken = y[..., :-1]
        left = (1 - taken.cumsum(-1)).clamp(min=finfo(y.dtype).tiny)
        return taken.log() - left.log() + self._offset(taken.shape[-1], y)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        x = x - self._offset(x.shape[-1], x)
        return (-x + T.logsigmoid(x) + y[..., :-1].log()).sum(-1)

    def forward_shape(self, shape: Any) -> Any:
        _at_least_1d(shape)
        return shape[:-1] + (shape[-1] + 1,)

    def inverse_shape(self, shape: Any) -> Any:
        _at_least_1d(shape)
        return shape[:-1] + (shape[-1] - 1,)


class LowerCholeskyTransform(_SameForAll):
    """Matrices to lower triangular ones with a positive diagonal (its exponential).

    >>> import pellucid as torch
    >>> torch.distributions.LowerCholeskyTransform()(torch.tensor([[0.0, 5.0], [2.0, 0.0]]))
    tensor([[1., 0.],
            [2., 1.]])
    """

    domain = constraints.independent(constraints.real, 2)
    codomain = constraints.lower_cholesky

    def _call(self, x: Tensor) -> Tensor:
        return x.tril(-1) + x.diagonal(dim1=-2, dim2=-1).exp().diag_embed()

    def _inverse(self, y: Tensor) -> Tensor:
        return y.tril(-1) + y.diagonal(dim1=-2, dim2=-1).log().diag_embed()


class PositiveDefiniteTransform(_SameForAll):
    """Matrices to positive definite ones, through a Cholesky factor.

    >>> import pellucid as torch
    >>> torch.distributions.PositiveDefiniteTransform()(torch.tensor([[0.0, 5.0], [2.0, 0.0]]))
    tensor([[1., 2.],
            [2., 5.]])
    """

    domain = constraints.independent(constraints.real, 2)
    codomain = constraints.positive_definite

    def _call(self, x: Tensor) -> Tensor:
        factor = LowerCholeskyTransform()(x)
        return factor @ factor.mT

    def _inverse(self, y: Tensor) -> Tensor:
        return LowerCholeskyTransform().inv(L.cholesky(y))


class CorrCholeskyTransform(Transform):
    """Vectors of D (D-1) / 2 numbers to Cholesky factors of D x D correlation matrices: tanh, then
    a stick for each row.

    Source: Stan Reference Manual, "Cholesky factors of correlation matrices".

    >>> import pellucid as torch
    >>> torch.distributions.CorrCholeskyTransform()(torch.tensor([0.5]))
    tensor([[1.0000, 0.0000],
            [0.4621, 0.8868]])
    """

    domain = constraints.real_vector
    codomain = constraints.corr_cholesky
    bijective = True

    def _call(self, x: Tensor) -> Tensor:
        x = T.tanh(x)
        eps = finfo(x.dtype).eps
        r = vec_to_tril_matrix(x.clamp(min=-1 + eps, max=1 - eps), diag=-1)
        left = (1 - r**2).sqrt().cumprod(-1)
        r = r + T.eye(r.shape[-1], dtype=r.dtype, device=r.device)
        return r * T.pad(left[..., :-1], [1, 0], value=1)

    def _inverse(self, y: Tensor) -> Tensor:
        left = 1 - T.cumsum(y * y, dim=-1)
        before = tril_matrix_to_vec(T.pad(left[..., :-1], [1, 0], value=1), diag=-1)
        t = tril_matrix_to_vec(y, diag=-1) / before.sqrt()
        return (t.log1p() - t.neg().log1p()) / 2

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor, intermediates: Any = None) -> Tensor:
        left = tril_matrix_to_vec(1 - (y * y).cumsum(dim=-1), diag=-2)
        of_sticks = 0.5 * left.log().sum(-1)
        of_tanh = -2 * (x + T.softplus(-2 * x) - math.log(2.0)).sum(dim=-1)
        return of_sticks + of_tanh

    def forward_shape(self, shape: Any) -> Any:
        _at_least_1d(shape)
        count = shape[-1]
        size = round((0.25 + 2 * count) ** 0.5 + 0.5)
        if size * (size - 1) // 2 != count:
            raise ArgumentValueError("Input is not a flattened lower-diagonal number")
        return shape[:-1] + (size, size)

    def inverse_shape(self, shape: Any) -> Any:
        if len(shape) < 2:
            raise ArgumentValueError("Too few dimensions on input")
        if shape[-2] != shape[-1]:
            raise ArgumentValueError("Input is not square")
        return shape[:-2] + (shape[-1] * (shape[-1] - 1) // 2,)


class _Several(Transform):
    """A transform for each part along a dimension."""

    transforms: list[Transform]
    dim: int

    def _parts(self, value: Tensor) -> list[Tensor]:
        raise UnsupportedError(f"{type(self).__name__} does not split")

    def _checked(self, value: Tensor) -> list[Tensor]:
        if not -value.dim() <= self.dim < value.dim():
            raise ArgumentValueError(
                f"dim {self.dim} is out of range for a value of {value.dim()} dimensions"
            )
        parts = self._parts(value)
        if len(parts) != len(self.transforms):
            raise ArgumentValueError(f"{len(self.transforms)} transforms for {len(parts)} parts")
        return parts

    @property
    def bijective(self) -> bool:  # type: ignore[override]
        return all(t.bijective for t in self.transforms)


class CatTransform(_Several):
    """A transform for each part along dimension `dim`, parts of the given `lengths` (1 each by
    default).

    >>> import pellucid as torch
    >>> from pellucid.distributions import AffineTransform, CatTransform, ExpTransform
    >>> CatTransform([ExpTransform(), AffineTransform(0.0, 2.0)])(torch.tensor([0.0, 3.0]))
    tensor([1., 6.])
    """

    def __init__(
        self,
        tseq: Sequence[Transform],
        dim: int = 0,
        lengths: Sequence[int] | None = None,
        cache_size: int = 0,
    ) -> None:
        assert all(isinstance(t, Transform) for t in tseq), "tseq must contain transforms only"
        super().__init__(cache_size=cache_size)
        self.transforms = [t.with_cache(cache_size) for t in tseq]
        self.lengths = [1] * len(self.transforms) if lengths is None else list(lengths)
        assert len(self.lengths) == len(self.transforms), "one length for each transform"
        self.dim = dim

    @property
    def event_dim(self) -> int:
        return max(t.event_dim for t in self.transforms)

    @property
    def length(self) -> int:
        return sum(self.lengths)

    def with_cache(self, cache_size: int = 1) -> Any:
        return (
            self
            if self._cache_size == cache_size
            else CatTransform(self.transforms, self.dim, self.lengths, cache_size)
        )

    def _parts(self, value: Tensor) -> list[Tensor]:
        if value.size(self.dim) != self.length:
            raise ArgumentValueError(
                f"expected {self.length} entries along dim {self.dim}, got {value.size(self.dim)}"
            )
        return list(value.split(self.lengths, self.dim))

    def _call(self, x: Tensor) -> Tensor:
        return T.cat(
            [t(v) for t, v in zip(self.transforms, self._checked(x), strict=True)], dim=self.dim
        )

    def _inverse(self, y: Tensor) -> Tensor:
        return T.cat(
            [t.inv(v) for t, v in zip(self.transforms, self._checked(y), strict=True)], dim=self.dim
        )

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        found = []
        for transform, u, v in zip(
            self.transforms, self._checked(x), self._checked(y), strict=True
        ):
            slope = transform.log_abs_det_jacobian(u, v)
            found.append(sum_rightmost(slope, self.event_dim - transform.event_dim))
        dim = self.dim if self.dim < 0 else self.dim - x.dim()
        dim += self.event_dim
        if dim < 0:
            return T.cat(found, dim=dim)
        total: Any = sum(found)
        return total

    @constraints.dependent_property
    def domain(self) -> Any:
        return constraints.cat([t.domain for t in self.transforms], self.dim, self.lengths)

    @constraints.dependent_property
    def codomain(self) -> Any:
        return constraints.cat([t.codomain for t in self.transforms], self.dim, self.lengths)


class StackTransform(_Several):
    """A transform for each slice along dimension `dim`.

    >>> import pellucid as torch
    >>> from pellucid.distributions import AffineTransform, ExpTransform, StackTransform
    >>> StackTransform([ExpTransform(), AffineTransform(0.0, 2.0)])(torch.tensor([0.0, 3.0]))
    tensor([1., 6.])
    """

    def __init__(self, tseq: Sequence[Transform], dim: int = 0, cache_size: int = 0) -> None:
        assert all(isinstance(t, Transform) for t in tseq), "tseq must contain transforms only"
        super().__init__(cache_size=cache_size)
        self.transforms = [t.with_cache(cache_size) for t in tseq]
        self.dim = dim

    def with_cache(self, cache_size: int = 1) -> Any:
        return (
            self
            if self._cache_size == cache_size
            else StackTransform(self.transforms, self.dim, cache_size)
        )

    def _parts(self, value: Tensor) -> list[Tensor]:
        return list(value.unbind(self.dim))

    def _call(self, x: Tensor) -> Tensor:
        return T.stack(
            [t(v) for t, v in zip(self.transforms, self._checked(x), strict=True)], dim=self.dim
        )

    def _inverse(self, y: Tensor) -> Tensor:
        return T.stack(
            [t.inv(v) for t, v in zip(self.transforms, self._checked(y), strict=True)], dim=self.dim
        )

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        triples = zip(self.transforms, self._checked(x), self._checked(y), strict=True)
        return T.stack([t.log_abs_det_jacobian(u, v) for t, u, v in triples], dim=self.dim)

    @constraints.dependent_property
    def domain(self) -> Any:
        return constraints.stack([t.domain for t in self.transforms], self.dim)

    @constraints.dependent_property
    def codomain(self) -> Any:
        return constraints.stack([t.codomain for t in self.transforms], self.dim)
