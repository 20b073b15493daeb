"""Constraints in general, and those that stand for others or change what one event is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..core.tensor import Tensor
from ..errors import ArgumentValueError

_UNKNOWN: Any = NotImplemented


class Constraint:
    """A region over which a variable is valid; `is_discrete`, and `event_dim`, the rightmost
    dimensions checked together.
    """

    is_discrete: Any = False
    event_dim: Any = 0

    def check(self, value: Tensor) -> Tensor:
        """Which events of `value` lie in the region: a bool tensor of shape
        `value.shape[:-event_dim]`.
        """
        raise NotImplementedError(f"{type(self).__name__} does not implement check")

    def __repr__(self) -> str:
        return type(self).__name__[1:] + "()"


class _Dependent(Constraint):
    """The place of a constraint that depends on other variables; cannot be checked."""

    def __init__(self, *, is_discrete: Any = _UNKNOWN, event_dim: Any = _UNKNOWN) -> None:
        self._is_discrete = is_discrete
        self._event_dim = event_dim
        super().__init__()

    @property
    def is_discrete(self) -> bool:
        if self._is_discrete is _UNKNOWN:
            raise NotImplementedError(".is_discrete cannot be determined statically")
        return self._is_discrete

    @property
    def event_dim(self) -> int:
        if self._event_dim is _UNKNOWN:
            raise NotImplementedError(".event_dim cannot be determined statically")
        return self._event_dim

    def __call__(self, *, is_discrete: Any = _UNKNOWN, event_dim: Any = _UNKNOWN) -> _Dependent:
        return _Dependent(
            is_discrete=self._is_discrete if is_discrete is _UNKNOWN else is_discrete,
            event_dim=self._event_dim if event_dim is _UNKNOWN else event_dim,
        )

    def check(self, x: Tensor) -> Tensor:
        raise ArgumentValueError("Cannot determine validity of dependent constraint")


def is_dependent(constraint: Any) -> bool:
    """Whether a constraint is a place-holder that cannot be checked.

    >>> import pellucid as torch
    >>> c = torch.distributions.constraints
    >>> c.is_dependent(c.positive)
    False
    """
    return isinstance(constraint, _Dependent)


class _DependentProperty(property, _Dependent):
    """A property that is a dependent constraint when asked of the class."""

    def __init__(
        self,
        fn: Callable[..., Any] | None = None,
        *,
        is_discrete: Any = _UNKNOWN,
        event_dim: Any = _UNKNOWN,
    ) -> None:
        super().__init__(fn)
        self._is_discrete = is_discrete
        self._event_dim = event_dim

    def __call__(self, fn: Callable[..., Any]) -> _DependentProperty:  # type: ignore[override]
        return _DependentProperty(fn, is_discrete=self._is_discrete, event_dim=self._event_dim)


class _IndependentConstraint(Constraint):
    """A constraint whose rightmost batch dimensions count as event dimensions.

    >>> import pellucid as torch
    >>> real = torch.distributions.constraints.real
    >>> torch.distributions.constraints.independent(real, 1).check(torch.zeros(2, 3))
    tensor([True, True])
    """

    def __init__(self, base_constraint: Constraint, reinterpreted_batch_ndims: int) -> None:
        assert isinstance(base_constraint, Constraint), (
            f"Expected a Constraint, got {type(base_constraint).__name__}"
        )
        assert isinstance(reinterpreted_batch_ndims, int)
        assert reinterpreted_batch_ndims >= 0
        self.base_constraint = base_constraint
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims
        super().__init__()

    @property
    def is_discrete(self) -> bool:
        return self.base_constraint.is_discrete

    @property
    def event_dim(self) -> int:
        return self.base_constraint.event_dim + self.reinterpreted_batch_ndims

    def check(self, value: Tensor) -> Tensor:
        result = self.base_constraint.check(value)
        count = self.reinterpreted_batch_ndims
        if result.dim() < count:
            expected = self.base_constraint.event_dim + count
            raise ArgumentValueError(f"Expected value.dim() >= {expected} but got {value.dim()}")
        return result.reshape(result.shape[: result.dim() - count] + (-1,)).all(-1)

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__[1:]}({self.base_constraint!r}, {self.reinterpreted_batch_ndims})"
        )


class MixtureSameFamilyConstraint(Constraint):
    """A value is valid when it is valid for every component of a mixture."""

    def __init__(self, base_constraint: Constraint) -> None:
        assert isinstance(base_constraint, Constraint), (
            f"Expected a Constraint, got {type(base_constraint).__name__}"
        )
        self.base_constraint = base_constraint
        super().__init__()

    @property
    def is_discrete(self) -> bool:
        return self.base_constraint.is_discrete

    @property
    def event_dim(self) -> int:
        return self.base_constraint.event_dim

    def check(self, value: Tensor) -> Tensor:
        if value.dim() < self.event_dim:
            raise ArgumentValueError(
                f"Expected value.dim() >= {self.event_dim} but got {value.dim()}"
            )
        result = self.base_constraint.check(value.unsqueeze(-1 - self.event_dim))
        kept = value.dim() - self.event_dim
        return result.reshape(result.shape[:kept] + (-1,)).all(-1)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.base_constraint!r})"
