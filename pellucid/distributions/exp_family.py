"""Exponential families: the entropy from the log normalizer."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..core import reverse
from ..core.modes import enable_grad
from ..core.tensor import Tensor
from .distribution import Distribution
from .utils import sum_rightmost

__all__ = ["ExponentialFamily"]


class ExponentialFamily(Distribution):
    """Densities `h(x) exp(<t(x), theta> - F(theta))` with natural parameters theta and the log
    normalizer F.

    Source: Nielsen, Garcia, "Statistical exponential families: a digest with flash cards", 2009.

    >>> import pellucid as torch
    >>> d = torch.distributions.Normal(0.0, 1.0)  # a subclass
    >>> d.entropy()
    tensor(1.4189)
    """

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        """theta."""
        raise self._lacks("_natural_params")

    if TYPE_CHECKING:
        _log_normalizer: Callable[..., Tensor]  # of as many parameters as the family has
    else:

        def _log_normalizer(self, *natural_params: Tensor) -> Tensor:
            """F(theta)."""
            raise self._lacks("_log_normalizer")

    @property
    def _mean_carrier_measure(self) -> Any:
        """The mean of log h(x)."""
        raise self._lacks("_mean_carrier_measure")

    def entropy(self) -> Tensor:
        """F(theta) - <theta, F'(theta)> - E[log h], of shape `batch_shape`."""
        result: Any = -self._mean_carrier_measure
        with enable_grad():
            theta = [
                p if p.requires_grad else p.detach().requires_grad_() for p in self._natural_params
            ]
            normalizer = self._log_normalizer(*theta)
            slopes = reverse.grad([normalizer.sum()], theta, [None], create_graph=True)
        result = result + normalizer
        batch = len(self._batch_shape)
        for parameter, slope in zip(theta, slopes, strict=True):
            product = parameter * slope
            result = result - sum_rightmost(product, product.dim() - batch)
        return result if any(p.requires_grad for p in self._natural_params) else result.detach()
