"""The categorical distribution."""

from __future__ import annotations

from typing import Any

from ..core.modes import no_grad
from ..core.tensor import Tensor
from ..devices import Size
from ..dtypes import finfo, int64
from ..errors import ArgumentValueError
from . import constraints
from ._functions import T
from .distribution import Distribution
from .utils import lazy_property, logits_to_probs, only_one, probs_to_logits

__all__ = ["Categorical"]


class Categorical(Distribution):
    """Indices 0 to K-1 with the probabilities in the last dimension of `probs`, or proportional to
    exp(`logits`).

    Args:
        probs: non-negative weights (..., K); they are normalized.
        logits: log weights (..., K), in place of `probs`.

    Raises:
        ValueError: both of `probs` and `logits`, or none, or a scalar.

    >>> import pellucid as torch
    >>> torch.distributions.Categorical(torch.tensor([1.0, 1.0])).probs
    tensor([0.5000, 0.5000])
    """

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    has_enumerate_support = True

    def __init__(
        self, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        only_one("probs", "logits", probs, logits)
        name, given = ("logits", logits) if probs is None else ("probs", probs)
        if given.dim() < 1:
            raise ArgumentValueError(f"`{name}` parameter must be at least one-dimensional.")
        if probs is not None:
            self.probs = probs / probs.sum(-1, keepdim=True)
        else:
            self.logits = logits - logits.logsumexp(dim=-1, keepdim=True)
        self._param = self.probs if probs is not None else self.logits
        self._num_events = self._param.size(-1)
        super().__init__(self._param.shape[:-1], validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = self._expand_parameters(Categorical, batch_shape, _instance, "_param")
        new._num_events = self._num_events
        return new

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self) -> Any:
        return constraints.integer_interval(0, self._num_events - 1)

    @lazy_property
    def logits(self) -> Tensor:
        return probs_to_logits(self.probs)

    @lazy_property
    def probs(self) -> Tensor:
        return logits_to_probs(self.logits)

    @property
    def param_shape(self) -> Size:
        return self._param.size()

    @property
    def mean(self) -> Tensor:
        return T.full(self._extended_shape(), float("nan"), dtype=self.probs.dtype)

    @property
    def mode(self) -> Tensor:
        return self.probs.argmax(dim=-1)

    @property
    def variance(self) -> Tensor:
        return T.full(self._extended_shape(), float("nan"), dtype=self.probs.dtype)

    def sample(self, sample_shape: Any = ()) -> Tensor:
        with no_grad():
            rows = self.probs.reshape(-1, self._num_events)
            if not sample_shape:
                return T.multinomial(rows, 1, True).reshape(self._extended_shape())
            sample_shape = Size(sample_shape)
            drawn = T.multinomial(rows, sample_shape.numel(), True).T
            return drawn.reshape(self._extended_shape(sample_shape))

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        value, log_probs = value.long().unsqueeze(-1), self.logits
        if value.shape[:-1] != log_probs.shape[:-1]:
            value, log_probs = T.broadcast_tensors(value, log_probs)
            value = value[..., :1]
        return log_probs.gather(-1, value).squeeze(-1)

    def entropy(self) -> Tensor:
        logits = self.logits.clamp(min=finfo(self.logits.dtype).min)
        return -(logits * self.probs).sum(-1)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        values = T.arange(self._num_events, dtype=int64, device=self._param.device)
        values = values.view((-1,) + (1,) * len(self._batch_shape))
        return values.expand((-1,) + self._batch_shape) if expand else values
