"""The chi-squared distribution."""

from __future__ import annotations

from typing import Any

from ..core.tensor import Tensor
from . import constraints
from .gamma import Gamma

__all__ = ["Chi2"]


class Chi2(Gamma):
    """The distribution of a sum of `df` squared standard normal numbers.

    >>> import pellucid as torch
    >>> d = torch.distributions.Chi2(torch.tensor(3.0))
    >>> d.mean, d.variance
    (tensor(3.), tensor(6.))
    """

    arg_constraints = {"df": constraints.positive}

    def __init__(self, df: Any, validate_args: bool | None = None) -> None:
        super().__init__(0.5 * df, 0.5, validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = self._get_checked_instance(Chi2, _instance)
        return Gamma.expand(self, batch_shape, new)

    @property
    def df(self) -> Tensor:
        return self.concentration * 2
