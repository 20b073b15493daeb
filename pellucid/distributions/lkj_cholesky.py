"""The LKJ distribution of correlation matrices."""

from __future__ import annotations

import math
from typing import Any

from ..core.modes import no_grad
from ..core.tensor import Tensor
from ..devices import Size
from ..dtypes import finfo
from ..errors import ArgumentValueError
from . import constraints
from ._functions import T
from .beta import Beta
from .distribution import Distribution
from .utils import broadcast_all

__all__ = ["LKJCholesky"]


class LKJCholesky(Distribution):
    """Cholesky factors L of correlation matrices, `L @ L.T` having a density proportional to its
    determinant to `concentration - 1`.

    Args:
        dim: size of the matrices, 2 or more.
        concentration: positive; 1 is the uniform distribution, larger values favor matrices near
            the identity.

    Raises:
        ValueError: a smaller size.

    Source: Lewandowski, Kurowicka, Joe, "Generating random correlation matrices based on vines and
    extended onion method", 2009.

    >>> import pellucid as torch
    >>> lower = torch.distributions.LKJCholesky(3, 2.0).sample()
    >>> torch.allclose((lower @ lower.T).diagonal(), torch.ones(3))
    True
    """

    arg_constraints = {"concentration": constraints.positive}
    support = constraints.corr_cholesky

    def __init__(
        self, dim: int, concentration: Any = 1.0, validate_args: bool | None = None
    ) -> None:
        if dim < 2:
            raise ArgumentValueError(
                f"Expected dim to be an integer greater than or equal to 2. Found dim={dim}."
            )
        self.dim = dim
        (self.concentration,) = broadcast_all(concentration)
        # Row i of the factor has, below the diagonal, a squared length of this beta distribution
        # (section 3.2).
        offset = T.arange(dim - 1, dtype=self.concentration.dtype, device=self.concentration.device)
        offset = T.cat([offset.new_zeros((1,)), offset])
        marginal = self.concentration + 0.5 * (dim - 2)
        self._beta = Beta(offset + 0.5, marginal.unsqueeze(-1) - 0.5 * offset)
        super().__init__(self.concentration.size(), (dim, dim), validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = self._expand_parameters(LKJCholesky, batch_shape, _instance)
        new.dim = self.dim
        new._beta = self._beta.expand(Size(batch_shape) + (self.dim,))
        return new

    def sample(self, sample_shape: Any = ()) -> Tensor:
        with no_grad():
            length = self._beta.sample(sample_shape).unsqueeze(-1)
            normal = T.randn(
                self._extended_shape(sample_shape), dtype=length.dtype, device=length.device
            ).tril(-1)
            direction = normal / normal.norm(dim=-1, keepdim=True)
            direction[..., 0, :] = 0.0  # the first row has nothing below the diagonal
            rows = T.sqrt(length) * direction
            left = T.clamp(1 - (rows**2).sum(-1), min=finfo(rows.dtype).tiny)
            return rows + T.diag_embed(left.sqrt())

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        # The Jacobian from factors to matrices gives entry i of the diagonal dim - i more powers (i
        # from 1).
        order = T.arange(2, self.dim + 1, device=self.concentration.device)
        order = 2 * (self.concentration - 1).unsqueeze(-1) + self.dim - order
        density = (order * value.diagonal(dim1=-1, dim2=-2)[..., 1:].log()).sum(-1)
        m = self.dim - 1
        alpha = self.concentration + 0.5 * m
        return density - (
            0.5 * m * math.log(math.pi) + T.mvlgamma(alpha - 0.5, m) - T.lgamma(alpha) * m
        )
