"""The Wishart distribution."""

from __future__ import annotations

import math
from typing import Any

from ..core.tensor import Tensor
from ..devices import Size
from ..dtypes import finfo
from ..errors import ArgumentValueError, warn
from . import constraints
from ._functions import L, T
from .chi2 import Chi2
from .distribution import Distribution
from .exp_family import ExponentialFamily
from .multivariate_normal import _precision_to_scale_tril, half_log_det
from .utils import lazy_property

__all__ = ["Wishart"]


_LOG_2 = math.log(2)


def _multivariate_digamma(x: Tensor, p: int) -> Tensor:
    """The derivative of `mvlgamma`."""
    return T.digamma(x.unsqueeze(-1) - T.arange(p, dtype=x.dtype, device=x.device) / 2).sum(-1)


class Wishart(ExponentialFamily):
    """The distribution of sums of `df` outer products of normal vectors of covariance
    `covariance_matrix`.

    Args:
        df: degrees of freedom, above n - 1.
        covariance_matrix, precision_matrix, scale_tril: exactly one of them (..., n, n).

    Raises:
        AssertionError: none or several of the matrices. ValueError: too few dimensions or degrees
            of freedom.

    Source: Sawyer, "Wishart distributions and inverse-Wishart sampling", 2007 (Bartlett's
    decomposition).

    >>> import pellucid as torch
    >>> d = torch.distributions.Wishart(torch.tensor(3.0), torch.eye(2))
    >>> d.mean
    tensor([[3., 0.],
            [0., 3.]])
    """

    support = constraints.positive_definite
    has_rsample = True
    _mean_carrier_measure = 0

    @property
    def arg_constraints(self) -> dict[str, Any]:
        return {
            "covariance_matrix": constraints.positive_definite,
            "precision_matrix": constraints.positive_definite,
            "scale_tril": constraints.lower_cholesky,
            "df": constraints.greater_than(self._event_shape[-1] - 1),
        }

    def __init__(
        self,
        df: Any,
        covariance_matrix: Tensor | None = None,
        precision_matrix: Tensor | None = None,
        scale_tril: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        matrices = {
            "covariance_matrix": covariance_matrix,
            "precision_matrix": precision_matrix,
            "scale_tril": scale_tril,
        }
        given = [(name, matrix) for name, matrix in matrices.items() if matrix is not None]
        if len(given) != 1:
            raise AssertionError(
                "Exactly one of covariance_matrix or precision_matrix or scale_tril may be specified."
            )
        name, matrix = given[0]
        if matrix.dim() < 2:
            raise ArgumentValueError(
                "scale_tril must be at least two-dimensional, with optional leading batch dimensions"
            )
        n = matrix.shape[-1]
        if isinstance(df, Tensor):
            batch_shape = T.broadcast_shapes(matrix.shape[:-2], df.shape)
            self.df = df.expand(batch_shape)
        else:
            batch_shape = Size(matrix.shape[:-2])
            self.df = T.tensor(df, dtype=matrix.dtype, device=matrix.device)
        if bool(self.df.le(n - 1).any()):
            raise ArgumentValueError(
                f"Value of df={df} expected to be greater than ndim - 1 = {n - 1}."
            )
        setattr(self, name, matrix.expand(batch_shape + (-1, -1)))
        if bool(self.df.lt(n).any()):
            warn(
                "Low df values detected. Singular samples are highly likely to occur for ndim - 1 < df < ndim.",
            )
        super().__init__(batch_shape, matrix.shape[-2:], validate_args=validate_args)
        if name == "scale_tril":
            self._unbroadcasted_scale_tril = matrix
        elif name == "covariance_matrix":
            self._unbroadcasted_scale_tril = L.cholesky(matrix)
        else:
            self._unbroadcasted_scale_tril = _precision_to_scale_tril(matrix)
        self._dist_chi2 = self._chi2_of_diagonal()

    def _chi2_of_diagonal(self) -> Chi2:
        less = T.arange(self._event_shape[-1], dtype=self.df.dtype, device=self.df.device)
        return Chi2(df=self.df.unsqueeze(-1) - less.expand(self._batch_shape + (-1,)))

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = self._get_checked_instance(Wishart, _instance)
        batch_shape = Size(batch_shape)
        whole = batch_shape + self._event_shape
        new._unbroadcasted_scale_tril = self._unbroadcasted_scale_tril.expand(whole)
        new.df = self.df.expand(batch_shape)
        for name in ("covariance_matrix", "scale_tril", "precision_matrix"):
            if name in self.__dict__:
                setattr(new, name, getattr(self, name).expand(whole))
        Distribution.__init__(new, batch_shape, self._event_shape, validate_args=False)
        new._validate_args = self._validate_args
        new._dist_chi2 = new._chi2_of_diagonal()
        return new

    @lazy_property
    def scale_tril(self) -> Tensor:
        return self._unbroadcasted_scale_tril.expand(self._batch_shape + self._event_shape)

    @lazy_property
    def covariance_matrix(self) -> Tensor:
        factor = self._unbroadcasted_scale_tril
        return (factor @ factor.mT).expand(self._batch_shape + self._event_shape)

    @lazy_property
    def precision_matrix(self) -> Tensor:
        factor = self._unbroadcasted_scale_tril
        identity = T.eye(factor.shape[-1], dtype=factor.dtype, device=factor.device)
        return T.cholesky_solve(identity, factor).expand(self._batch_shape + self._event_shape)

    @property
    def mean(self) -> Tensor:
        return self.df.view(self._batch_shape + (1, 1)) * self.covariance_matrix

    @property
    def mode(self) -> Tensor:
        factor = self.df - self._event_shape[-1] - 1
        factor = T.where(factor <= 0, math.nan, factor)
        return factor.view(self._batch_shape + (1, 1)) * self.covariance_matrix

    @property
    def variance(self) -> Tensor:
        v = self.covariance_matrix
        d = v.diagonal(dim1=-2, dim2=-1)
        return self.df.view(self._batch_shape + (1, 1)) * (
            v.pow(2) + d.unsqueeze(-1) * d.unsqueeze(-2)
        )

    def _draw(self, sample_shape: Any) -> Tensor:
        p = self._event_shape[-1]
        diagonal = self._dist_chi2.rsample(sample_shape).sqrt()
        diagonal = diagonal.clamp(min=finfo(diagonal.dtype).eps)
        count = p * (p - 1) // 2
        below = T.randn(
            Size(sample_shape) + self._batch_shape + (count,),
            dtype=diagonal.dtype,
            device=diagonal.device,
        )
        # the lower triangle, row by row, from the normal numbers, the diagonal and a zero
        parts = T.cat([below, diagonal, diagonal.new_zeros((*diagonal.shape[:-1], 1))], -1)
        places = T.tensor(
            [
                i * (i - 1) // 2 + j if j < i else count + i if j == i else count + p
                for i in range(p)
                for j in range(p)
            ]
        )
        lower = parts.index_select(-1, places).reshape((*diagonal.shape[:-1], p, p))
        factor = self._unbroadcasted_scale_tril @ lower
        return factor @ factor.mT

    def rsample(self, sample_shape: Any = (), max_try_correction: int | None = None) -> Tensor:
        """Samples with gradients, drawn again up to `max_try_correction` times (10 by default) as
        PyTorch does.

        PyTorch 2.13 takes the regular samples of the first draw for singular ones and replaces
        them; so does this, in order to give the same numbers, but it does not warn of singular
        samples that are none.
        """
        tries = 10 if max_try_correction is None else max_try_correction
        sample_shape = Size(sample_shape)
        sample = self._draw(sample_shape)
        again = self._any_of_batch(self.support.check(sample))
        for _ in range(tries):
            if not bool(again.any()):
                break
            drawn = self._draw(Size([int(again.sum())]))
            if again.dim() == 0:
                sample, drawn = drawn.reshape(sample.shape), drawn
            else:
                where = again.view(again.shape + (1,) * (sample.dim() - again.dim())).expand(
                    sample.shape
                )
                sample = sample.masked_scatter(where, drawn)
            singular = self._any_of_batch(~self.support.check(drawn))
            again = again.masked_scatter(again, singular)
        return sample

    def _any_of_batch(self, found: Tensor) -> Tensor:
        count = len(self._batch_shape)
        return found.any(tuple(range(-count, 0))) if count else found

    def _half_size(self) -> Tensor:
        p = self._event_shape[-1]
        return p * _LOG_2 / 2 + half_log_det(self._unbroadcasted_scale_tril)

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        nu, p = self.df, self._event_shape[-1]
        trace = (
            T.cholesky_solve(value, self._unbroadcasted_scale_tril)
            .diagonal(dim1=-2, dim2=-1)
            .sum(-1)
        )
        density = (nu - p - 1) / 2 * L.slogdet(value)[1] - trace / 2
        return density - nu * self._half_size() - T.mvlgamma(nu / 2, p)

    def entropy(self) -> Tensor:
        nu, p = self.df, self._event_shape[-1]
        spread = (nu - p - 1) / 2 * _multivariate_digamma(nu / 2, p)
        return (p + 1) * self._half_size() + T.mvlgamma(nu / 2, p) - spread + nu * p / 2

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        return -self.precision_matrix / 2, (self.df - self._event_shape[-1] - 1) / 2

    def _log_normalizer(self, x: Tensor, y: Tensor) -> Tensor:
        p = self._event_shape[-1]
        half = y + (p + 1) / 2
        return half * (_LOG_2 * p - L.slogdet(-2 * x)[1]) + T.mvlgamma(half, p)
