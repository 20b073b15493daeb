"""Normal distributions of vectors with a covariance of low rank plus a diagonal."""

from __future__ import annotations

from typing import Any

from ..core.tensor import Tensor
from ..errors import ArgumentValueError
from . import constraints
from ._functions import LOG_2PI, L, T
from .distribution import Distribution
from .multivariate_normal import _batch_mahalanobis, _batch_mv, half_log_det
from .utils import lazy_property

__all__ = ["LowRankMultivariateNormal"]


def _plus_identity(matrix: Tensor) -> Tensor:
    return matrix + T.eye(matrix.shape[-1], dtype=matrix.dtype, device=matrix.device)


class LowRankMultivariateNormal(Distribution):
    """The normal distribution of covariance `W @ W.T + diag(d)`, computed through the rank x rank
    matrix `1 + W.T @ diag(1/d) @ W`.

    Args:
        loc: mean (..., n).
        cov_factor: W (..., n, rank).
        cov_diag: d, positive (..., n).

    Raises:
        ValueError: shapes that do not fit.

    >>> import pellucid as torch
    >>> d = torch.distributions.LowRankMultivariateNormal(
    ...     torch.zeros(2), torch.tensor([[1.0], [2.0]]), torch.ones(2)
    ... )
    >>> d.covariance_matrix
    tensor([[2., 2.],
            [2., 5.]])
    """

    arg_constraints = {
        "loc": constraints.real_vector,
        "cov_factor": constraints.independent(constraints.real, 2),
        "cov_diag": constraints.independent(constraints.positive, 1),
    }
    support = constraints.real_vector
    has_rsample = True

    def __init__(
        self, loc: Tensor, cov_factor: Tensor, cov_diag: Tensor, validate_args: bool | None = None
    ) -> None:
        if loc.dim() < 1:
            raise ArgumentValueError("loc must be at least one-dimensional.")
        event = loc.shape[-1:]
        if cov_factor.dim() < 2:
            raise ArgumentValueError(
                "cov_factor must be at least two-dimensional, with optional leading batch dimensions"
            )
        if cov_factor.shape[-2:-1] != event:
            raise ArgumentValueError(
                f"cov_factor must be a batch of matrices with shape {event[0]} x m"
            )
        if cov_diag.shape[-1:] != event:
            raise ArgumentValueError(f"cov_diag must be a batch of vectors with shape {event}")
        try:
            batch = T.broadcast_shapes(loc.shape[:-1], cov_factor.shape[:-2], cov_diag.shape[:-1])
        except RuntimeError as error:
            raise ArgumentValueError(
                f"Incompatible batch shapes: loc {loc.shape}, cov_factor {cov_factor.shape}, cov_diag {cov_diag.shape}"
            ) from error
        self.loc = loc.expand(batch + event)
        self.cov_factor = cov_factor.expand(batch + cov_factor.shape[-2:])
        self.cov_diag = cov_diag.expand(batch + event)
        self._unbroadcasted_cov_factor = cov_factor
        self._unbroadcasted_cov_diag = cov_diag
        self._scaled = cov_factor.mT / cov_diag.unsqueeze(-2)
        self._capacitance_tril = L.cholesky(_plus_identity(T.matmul(self._scaled, cov_factor)))
        super().__init__(batch, event, validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = self._expand_parameters(LowRankMultivariateNormal, batch_shape, _instance)
        for name in (
            "_unbroadcasted_cov_factor",
            "_unbroadcasted_cov_diag",
            "_scaled",
            "_capacitance_tril",
        ):
            setattr(new, name, getattr(self, name))
        return new

    def _matrix(self, value: Tensor) -> Tensor:
        return value.expand(self._batch_shape + self._event_shape + self._event_shape)

    @property
    def mean(self) -> Tensor:
        return self.loc

    @property
    def mode(self) -> Tensor:
        return self.loc

    @lazy_property
    def variance(self) -> Tensor:
        squares = self._unbroadcasted_cov_factor.pow(2).sum(-1)
        return (squares + self._unbroadcasted_cov_diag).expand(
            self._batch_shape + self._event_shape
        )

    @lazy_property
    def scale_tril(self) -> Tensor:
        # What is factored has eigenvalues of 1 and more (Rasmussen, Williams, "Gaussian processes",
        # 3.4.3).
        root = self._unbroadcasted_cov_diag.sqrt().unsqueeze(-1)
        scaled = self._unbroadcasted_cov_factor / root
        return self._matrix(root * L.cholesky(_plus_identity(T.matmul(scaled, scaled.mT))))

    @lazy_property
    def covariance_matrix(self) -> Tensor:
        factor = self._unbroadcasted_cov_factor
        return self._matrix(
            T.matmul(factor, factor.mT) + T.diag_embed(self._unbroadcasted_cov_diag)
        )

    @lazy_property
    def precision_matrix(self) -> Tensor:
        part = L.solve_triangular(self._capacitance_tril, self._scaled, upper=False)
        return self._matrix(
            T.diag_embed(self._unbroadcasted_cov_diag.reciprocal()) - part.mT @ part
        )

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        kind = {"dtype": self.loc.dtype, "device": self.loc.device}
        low = T.randn(shape[:-1] + self.cov_factor.shape[-1:], **kind)
        own = T.randn(shape, **kind)
        return (
            self.loc
            + _batch_mv(self._unbroadcasted_cov_factor, low)
            + self._unbroadcasted_cov_diag.sqrt() * own
        )

    def _log_det(self) -> Tensor:
        return 2 * half_log_det(self._capacitance_tril) + self._unbroadcasted_cov_diag.log().sum(-1)

    def _mahalanobis(self, difference: Tensor) -> Tensor:
        """`x.T inv(covariance) x`, by Woodbury's identity."""
        low = _batch_mahalanobis(self._capacitance_tril, _batch_mv(self._scaled, difference))
        return (difference.pow(2) / self._unbroadcasted_cov_diag).sum(-1) - low

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        distance = self._mahalanobis(value - self.loc)
        return -0.5 * (self._event_shape[0] * LOG_2PI + self._log_det() + distance)

    def entropy(self) -> Tensor:
        value = 0.5 * (self._event_shape[0] * (1.0 + LOG_2PI) + self._log_det())
        return value if len(self._batch_shape) == 0 else value.expand(self._batch_shape)
