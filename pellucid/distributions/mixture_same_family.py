"""Mixtures of distributions of one family."""

from __future__ import annotations

from typing import Any

from ..core.modes import no_grad
from ..core.tensor import Tensor
from ..devices import Size
from ..errors import ArgumentValueError
from . import constraints
from ._functions import T
from .categorical import Categorical
from .distribution import Distribution

__all__ = ["MixtureSameFamily"]


class MixtureSameFamily(Distribution):
    """One of K components, chosen by a `Categorical`.

    Args:
        mixture_distribution: a Categorical over K.
        component_distribution: its rightmost batch dimension counts the K components.

    Raises:
        ValueError: distributions that do not fit.

    >>> import pellucid as torch
    >>> d = torch.distributions
    >>> mixture = d.MixtureSameFamily(d.Categorical(torch.ones(2)), d.Normal(torch.tensor([0.0, 2.0]), torch.ones(2)))
    >>> mixture.mean
    tensor(1.)
    """

    arg_constraints: Any = {}
    has_rsample = False

    def __init__(
        self,
        mixture_distribution: Any,
        component_distribution: Any,
        validate_args: bool | None = None,
    ) -> None:
        if not isinstance(mixture_distribution, Categorical):
            raise ArgumentValueError(
                " The Mixture distribution needs to be an  instance of torch.distributions.Categorical"
            )
        if not isinstance(component_distribution, Distribution):
            raise ArgumentValueError(
                "The Component distribution need to be an instance of torch.distributions.Distribution"
            )
        mixing, components = mixture_distribution.batch_shape, component_distribution.batch_shape
        for m, c in zip(reversed(mixing), reversed(components[:-1]), strict=False):
            if m != 1 and c != 1 and m != c:
                raise ArgumentValueError(
                    f"`mixture_distribution.batch_shape` ({mixing}) is not compatible with "
                    f"`component_distribution.batch_shape`({components[:-1]})"
                )
        count = mixture_distribution.logits.shape[-1]
        if count != components[-1]:
            raise ArgumentValueError(
                f"`mixture_distribution component` ({count}) does not equal `component_distribution.batch_shape[-1]` "
                f"({components[-1]})"
            )
        self._mixture_distribution = mixture_distribution
        self._component_distribution = component_distribution
        self._num_component = count
        self._event_ndims = len(component_distribution.event_shape)
        super().__init__(
            components[:-1], component_distribution.event_shape, validate_args=validate_args
        )

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = self._get_checked_instance(MixtureSameFamily, _instance)
        batch_shape = Size(batch_shape)
        new._component_distribution = self._component_distribution.expand(
            batch_shape + (self._num_component,)
        )
        new._mixture_distribution = self._mixture_distribution.expand(batch_shape)
        new._num_component, new._event_ndims = self._num_component, self._event_ndims
        Distribution.__init__(new, batch_shape, self._event_shape, validate_args=False)
        new._validate_args = self._validate_args
        return new

    @constraints.dependent_property
    def support(self) -> Any:
        return constraints.MixtureSameFamilyConstraint(self._component_distribution.support)

    @property
    def mixture_distribution(self) -> Any:
        return self._mixture_distribution

    @property
    def component_distribution(self) -> Any:
        return self._component_distribution

    def _average(self, values: Tensor) -> Tensor:
        """The mean over components, weighted by their probabilities."""
        weights = self._mixture_distribution.probs
        weights = weights.reshape(weights.shape + (1,) * self._event_ndims)
        return (weights * values).sum(-1 - self._event_ndims)

    def _pad(self, x: Tensor) -> Tensor:
        """Values with a dimension for the components."""
        return x.unsqueeze(-1 - self._event_ndims)

    @property
    def mean(self) -> Tensor:
        return self._average(self._component_distribution.mean)

    @property
    def variance(self) -> Tensor:
        # The law of total variance.
        inside = self._average(self._component_distribution.variance)
        return inside + self._average(
            (self._component_distribution.mean - self._pad(self.mean)).pow(2.0)
        )

    def cdf(self, x: Tensor) -> Tensor:
        return (
            self._component_distribution.cdf(self._pad(x)) * self._mixture_distribution.probs
        ).sum(-1)

    def log_prob(self, x: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(x)
        each = self._component_distribution.log_prob(self._pad(x))
        return T.logsumexp(each + T.log_softmax(self._mixture_distribution.logits, dim=-1), dim=-1)

    def sample(self, sample_shape: Any = ()) -> Tensor:
        with no_grad():
            dim = len(sample_shape) + len(self._batch_shape)
            chosen = self._mixture_distribution.sample(sample_shape)
            drawn = self._component_distribution.sample(sample_shape)
            index = chosen.reshape(chosen.shape + (1,) * (self._event_ndims + 1))
            index = index.expand(chosen.shape + (1,) + self._event_shape)
            return T.gather(drawn, dim, index).squeeze(dim)

    def __repr__(self) -> str:
        return f"MixtureSameFamily(\n  {self._mixture_distribution},\n  {self._component_distribution})"
