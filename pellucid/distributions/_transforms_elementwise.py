"""Transforms of each number by itself."""

from __future__ import annotations

import math
from numbers import Number
from typing import Any

from ..core.tensor import Tensor
from ..dtypes import finfo
from . import constraints
from ._functions import T
from ._transform import Transform, _SameForAll


class ExpTransform(_SameForAll):
    """`y = exp(x)`.

    >>> import pellucid as torch
    >>> torch.distributions.ExpTransform()(torch.tensor([0.0, 1.0]))
    tensor([1.0000, 2.7183])
    """

    domain = constraints.real
    codomain = constraints.positive
    bijective = True
    sign = +1

    def _call(self, x: Tensor) -> Tensor:
        return x.exp()

    def _inverse(self, y: Tensor) -> Tensor:
        return y.log()

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return x


class PowerTransform(Transform):
    """`y = x ** exponent`, for positive numbers.

    >>> import pellucid as torch
    >>> torch.distributions.PowerTransform(2.0)(torch.tensor([2.0, 3.0]))
    tensor([4., 9.])
    """

    domain = constraints.positive
    codomain = constraints.positive
    bijective = True

    def __init__(self, exponent: Any, cache_size: int = 0) -> None:
        super().__init__(cache_size=cache_size)
        self.exponent = exponent if isinstance(exponent, Tensor) else T.tensor(exponent)

    @property
    def sign(self) -> Any:
        return self.exponent.sign()

    def with_cache(self, cache_size: int = 1) -> Any:
        return (
            self
            if self._cache_size == cache_size
            else PowerTransform(self.exponent, cache_size=cache_size)
        )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PowerTransform) and bool(self.exponent.eq(other.exponent).all())

    def _call(self, x: Tensor) -> Tensor:
        return x.pow(self.exponent)

    def _inverse(self, y: Tensor) -> Tensor:
        return y.pow(1 / self.exponent)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return (self.exponent * y / x).abs().log()

    def forward_shape(self, shape: Any) -> Any:
        return T.broadcast_shapes(shape, getattr(self.exponent, "shape", ()))

    def inverse_shape(self, shape: Any) -> Any:
        return T.broadcast_shapes(shape, getattr(self.exponent, "shape", ()))


def _clipped_sigmoid(x: Tensor) -> Tensor:
    info = finfo(x.dtype)
    return T.clamp(T.sigmoid(x), min=info.tiny, max=1.0 - info.eps)


class SigmoidTransform(_SameForAll):
    """`y = 1 / (1 + exp(-x))`; images stay strictly inside (0, 1).

    >>> import pellucid as torch
    >>> torch.distributions.SigmoidTransform()(torch.tensor([0.0, 2.0]))
    tensor([0.5000, 0.8808])
    """

    domain = constraints.real
    codomain = constraints.unit_interval
    bijective = True
    sign = +1

    def _call(self, x: Tensor) -> Tensor:
        return _clipped_sigmoid(x)

    def _inverse(self, y: Tensor) -> Tensor:
        info = finfo(y.dtype)
        y = y.clamp(min=info.tiny, max=1.0 - info.eps)
        return y.log() - (-y).log1p()

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return -T.softplus(-x) - T.softplus(x)


class SoftplusTransform(_SameForAll):
    """`y = log(1 + exp(x))`, computed as x where x > 20.

    >>> import pellucid as torch
    >>> torch.distributions.SoftplusTransform()(torch.tensor([0.0, 2.0]))
    tensor([0.6931, 2.1269])
    """

    domain = constraints.real
    codomain = constraints.positive
    bijective = True
    sign = +1

    def _call(self, x: Tensor) -> Tensor:
        return T.softplus(x)

    def _inverse(self, y: Tensor) -> Tensor:
        return (-y).expm1().neg().log() + y

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return -T.softplus(-x)


class TanhTransform(_SameForAll):
    """`y = tanh(x)`; use `cache_size=1` where inverses of values near 1 are needed.

    >>> import pellucid as torch
    >>> torch.distributions.TanhTransform()(torch.tensor([0.0, 2.0]))
    tensor([0.0000, 0.9640])
    """

    domain = constraints.real
    codomain = constraints.interval(-1.0, 1.0)
    bijective = True
    sign = +1

    def _call(self, x: Tensor) -> Tensor:
        return x.tanh()

    def _inverse(self, y: Tensor) -> Tensor:
        return T.atanh(y)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        # log(1 - tanh(x)**2) without cancellation.
        return 2.0 * (math.log(2.0) - x - T.softplus(-2.0 * x))


class AbsTransform(_SameForAll):
    """`y = |x|`; not bijective: the inverse is x = y.

    >>> import pellucid as torch
    >>> torch.distributions.AbsTransform()(torch.tensor([-1.0, 2.0]))
    tensor([1., 2.])
    """

    domain = constraints.real
    codomain = constraints.positive

    def _call(self, x: Tensor) -> Tensor:
        return x.abs()

    def _inverse(self, y: Tensor) -> Tensor:
        return y


def _same(a: Any, b: Any) -> bool:
    if isinstance(a, Number) and isinstance(b, Number):
        return a == b
    return bool((T.as_tensor(a) == b).all())


class AffineTransform(Transform):
    """`y = loc + scale * x`.

    Args:
        loc, scale: tensors or numbers.
        event_dim: how many rightmost dimensions are one event; 0 for numbers, 1 for vectors.

    >>> import pellucid as torch
    >>> torch.distributions.AffineTransform(loc=1.0, scale=2.0)(torch.tensor([0.0, 3.0]))
    tensor([1., 7.])
    """

    bijective = True

    def __init__(self, loc: Any, scale: Any, event_dim: int = 0, cache_size: int = 0) -> None:
        super().__init__(cache_size=cache_size)
        self.loc = loc
        self.scale = scale
        self._event_dim = event_dim

    @property
    def event_dim(self) -> int:
        return self._event_dim

    @constraints.dependent_property(is_discrete=False)
    def domain(self) -> Any:
        return (
            constraints.independent(constraints.real, self.event_dim)
            if self.event_dim
            else constraints.real
        )

    @constraints.dependent_property(is_discrete=False)
    def codomain(self) -> Any:
        return (
            constraints.independent(constraints.real, self.event_dim)
            if self.event_dim
            else constraints.real
        )

    def with_cache(self, cache_size: int = 1) -> Any:
        if self._cache_size == cache_size:
            return self
        return AffineTransform(self.loc, self.scale, self.event_dim, cache_size=cache_size)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, AffineTransform)
            and _same(self.loc, other.loc)
            and _same(self.scale, other.scale)
        )

    @property
    def sign(self) -> Any:
        if isinstance(self.scale, Number):
            return 1 if float(self.scale) > 0 else -1 if float(self.scale) < 0 else 0  # type: ignore[arg-type]
        return self.scale.sign()

    def _call(self, x: Tensor) -> Tensor:
        return self.loc + self.scale * x

    def _inverse(self, y: Tensor) -> Tensor:
        return (y - self.loc) / self.scale

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        scale = self.scale
        result = (
            T.full_like(x, math.log(abs(scale)))  # type: ignore[arg-type]
            if isinstance(scale, Number)
            else T.abs(scale).log()
        )
        if not self.event_dim:
            return result.expand(x.shape)
        summed = result.view(result.size()[: -self.event_dim] + (-1,)).sum(-1)
        return summed.expand(x.shape[: -self.event_dim])

    def forward_shape(self, shape: Any) -> Any:
        return T.broadcast_shapes(
            shape, getattr(self.loc, "shape", ()), getattr(self.scale, "shape", ())
        )

    def inverse_shape(self, shape: Any) -> Any:
        return self.forward_shape(shape)


class CumulativeDistributionTransform(Transform):
    """The cumulative distribution function of a distribution of numbers: its samples become
    uniform.

    >>> import pellucid as torch
    >>> from pellucid.distributions import CumulativeDistributionTransform, Normal
    >>> CumulativeDistributionTransform(Normal(0.0, 1.0))(torch.tensor([0.0, 1.0]))
    tensor([0.5000, 0.8413])
    """

    bijective = True
    codomain = constraints.unit_interval
    sign = +1

    def __init__(self, distribution: Any, cache_size: int = 0) -> None:
        super().__init__(cache_size=cache_size)
        self.distribution = distribution

    @property
    def domain(self) -> Any:
        return self.distribution.support

    def _call(self, x: Tensor) -> Tensor:
        return self.distribution.cdf(x)

    def _inverse(self, y: Tensor) -> Tensor:
        return self.distribution.icdf(y)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return self.distribution.log_prob(x)

    def with_cache(self, cache_size: int = 1) -> Any:
        return (
            self
            if self._cache_size == cache_size
            else CumulativeDistributionTransform(self.distribution, cache_size=cache_size)
        )
