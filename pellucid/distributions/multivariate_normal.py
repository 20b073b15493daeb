"""The multivariate normal distribution."""

from __future__ import annotations

from typing import Any

from ..core.tensor import Tensor
from ..errors import ArgumentValueError
from . import constraints
from ._functions import LOG_2PI, L, T
from .distribution import Distribution
from .utils import lazy_property

__all__ = ["MultivariateNormal"]


def _batch_mv(matrix: Tensor, vector: Tensor) -> Tensor:
    """Matrices times vectors, batches broadcast."""
    return T.matmul(matrix, vector.unsqueeze(-1)).squeeze(-1)


def _batch_mahalanobis(factor: Tensor, difference: Tensor) -> Tensor:
    """`x.T inv(L L.T) x` for Cholesky factors L (..., n, n) and vectors x (..., n), batches
    broadcast.
    """
    n = difference.size(-1)
    batch = difference.shape[:-1]
    lead = len(batch) - (factor.dim() - 2)
    if lead <= 0:
        solved = L.solve_triangular(factor, difference.unsqueeze(-1), upper=False)
        return solved.squeeze(-1).pow(2).sum(-1)
    # Dimensions that only the vectors have become columns of one right-hand side: one solve for
    # each factor.
    columns = difference.expand(
        batch[:lead] + T.broadcast_shapes(batch[lead:], factor.shape[:-2]) + (n,)
    )
    inner = columns.shape[lead:-1]
    columns = columns.reshape((-1,) + inner + (n,)).movedim(0, -1)
    solved = L.solve_triangular(factor, columns, upper=False)
    return solved.pow(2).sum(-2).movedim(-1, 0).reshape(batch[:lead] + inner)


def _precision_to_scale_tril(precision: Tensor) -> Tensor:
    """The Cholesky factor of the inverse of a positive definite matrix."""
    # With rows and columns reversed, the factor of the precision is the transposed inverse of the
    # one wanted.
    inverse_factor = T.flip(L.cholesky(T.flip(precision, (-2, -1))), (-2, -1)).transpose(-2, -1)
    identity = T.eye(precision.shape[-1], dtype=precision.dtype, device=precision.device)
    return L.solve_triangular(inverse_factor, identity, upper=False)


def half_log_det(factor: Tensor) -> Tensor:
    """Half the log determinant of `L L.T`."""
    return factor.diagonal(dim1=-2, dim2=-1).log().sum(-1)


class MultivariateNormal(Distribution):
    """The normal distribution of vectors.

    Args:
        loc: mean (..., n).
        covariance_matrix, precision_matrix, scale_tril: exactly one of the covariance, its inverse,
            its Cholesky factor (..., n, n).

    Raises:
        ValueError: none or several of the matrices, or too few dimensions.

    >>> import pellucid as torch
    >>> d = torch.distributions.MultivariateNormal(torch.zeros(2), torch.eye(2))
    >>> d.log_prob(torch.zeros(2))
    tensor(-1.8379)
    """

    arg_constraints = {
        "loc": constraints.real_vector,
        "covariance_matrix": constraints.positive_definite,
        "precision_matrix": constraints.positive_definite,
        "scale_tril": constraints.lower_cholesky,
    }
    support = constraints.real_vector
    has_rsample = True

    def __init__(
        self,
        loc: Tensor,
        covariance_matrix: Tensor | None = None,
        precision_matrix: Tensor | None = None,
        scale_tril: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        if loc.dim() < 1:
            raise ArgumentValueError("loc must be at least one-dimensional.")
        matrices = {
            "scale_tril": scale_tril,
            "covariance_matrix": covariance_matrix,
            "precision_matrix": precision_matrix,
        }
        given = [(name, matrix) for name, matrix in matrices.items() if matrix is not None]
        if len(given) != 1:
            raise ArgumentValueError(
                "Exactly one of covariance_matrix or precision_matrix or scale_tril may be specified."
            )
        name, matrix = given[0]
        if matrix.dim() < 2:
            word = "scale_tril matrix" if name == "scale_tril" else name
            raise ArgumentValueError(
                f"{word} must be at least two-dimensional, with optional leading batch dimensions"
            )
        batch_shape = T.broadcast_shapes(matrix.shape[:-2], loc.shape[:-1])
        setattr(self, name, matrix.expand(batch_shape + (-1, -1)))
        self.loc = loc.expand(batch_shape + (-1,))
        super().__init__(batch_shape, self.loc.shape[-1:], validate_args=validate_args)
        if name == "scale_tril":
            self._unbroadcasted_scale_tril = matrix
        elif name == "covariance_matrix":
            self._unbroadcasted_scale_tril = L.cholesky(matrix)
        else:
            self._unbroadcasted_scale_tril = _precision_to_scale_tril(matrix)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = self._expand_parameters(MultivariateNormal, batch_shape, _instance)
        new._unbroadcasted_scale_tril = self._unbroadcasted_scale_tril
        return new

    @lazy_property
    def scale_tril(self) -> Tensor:
        return self._unbroadcasted_scale_tril.expand(
            self._batch_shape + self._event_shape + self._event_shape
        )

    @lazy_property
    def covariance_matrix(self) -> Tensor:
        factor = self._unbroadcasted_scale_tril
        return T.matmul(factor, factor.mT).expand(
            self._batch_shape + self._event_shape + self._event_shape
        )

    @lazy_property
    def precision_matrix(self) -> Tensor:
        inverse = T.cholesky_inverse(self._unbroadcasted_scale_tril)
        return inverse.expand(self._batch_shape + self._event_shape + self._event_shape)

    @property
    def mean(self) -> Tensor:
        return self.loc

    @property
    def mode(self) -> Tensor:
        return self.loc

    @property
    def variance(self) -> Tensor:
        return (
            self._unbroadcasted_scale_tril.pow(2)
            .sum(-1)
            .expand(self._batch_shape + self._event_shape)
        )

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        noise = T.randn(
            self._extended_shape(sample_shape), dtype=self.loc.dtype, device=self.loc.device
        )
        return self.loc + _batch_mv(self._unbroadcasted_scale_tril, noise)

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        distance = _batch_mahalanobis(self._unbroadcasted_scale_tril, value - self.loc)
        n = self._event_shape[0]
        return -0.5 * (n * LOG_2PI + distance) - half_log_det(self._unbroadcasted_scale_tril)

    def entropy(self) -> Tensor:
        value = 0.5 * self._event_shape[0] * (1.0 + LOG_2PI) + half_log_det(
            self._unbroadcasted_scale_tril
        )
        return value if len(self._batch_shape) == 0 else value.expand(self._batch_shape)
