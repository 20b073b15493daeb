"""The base of all distributions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..core.modes import no_grad
from ..core.tensor import Tensor
from ..devices import Size
from ..errors import ArgumentValueError, UnsupportedError, warn
from . import constraints
from ._functions import T
from ._validity import described, holds, parameter_error
from .utils import lazy_property

__all__ = ["Distribution"]


class Distribution:
    """A probability distribution, or a batch of independent ones.

    Args:
        batch_shape: the shape over which parameters are batched.
        event_shape: the shape of one sample, without batches.
        validate_args: whether parameters and values are checked; None: as
            `set_default_validate_args` has it.

    Raises:
        ValueError: a parameter that does not satisfy its constraint.

    >>> import pellucid as torch
    >>> d = torch.distributions.Normal(torch.zeros(3), 1.0)  # a subclass
    >>> d.batch_shape, d.event_shape, d.sample((2,)).shape
    (torch.Size([3]), torch.Size([]), torch.Size([2, 3]))
    """

    if TYPE_CHECKING:  # subclasses say it, or compute it

        @property
        def has_rsample(self) -> bool: ...

        @property
        def has_enumerate_support(self) -> bool: ...
    else:
        has_rsample = has_enumerate_support = False
    _validate_args = __debug__

    @staticmethod
    def set_default_validate_args(value: bool) -> None:
        """Switch the checks of parameters and values on or off for all distributions made from now
        on.
        """
        if value not in [True, False]:
            raise ArgumentValueError("", hint=f"expected True or False, got {value!r}")
        Distribution._validate_args = value

    def __init__(
        self, batch_shape: Any = (), event_shape: Any = (), validate_args: bool | None = None
    ) -> None:
        self._batch_shape = Size(batch_shape)
        self._event_shape = Size(event_shape)
        if validate_args is not None:
            self._validate_args = validate_args
        if self._validate_args:
            self._check_parameters()
        super().__init__()

    def _check_parameters(self) -> None:
        try:
            arg_constraints = self.arg_constraints
        except NotImplementedError:
            warn(
                f"{type(self)} does not define `arg_constraints`. Please set `arg_constraints = {{}}` or initialize the "
                "distribution with `validate_args=False` to turn off validation.",
            )
            return
        for name, constraint in arg_constraints.items():
            if constraints.is_dependent(constraint):
                continue
            value = self.__dict__.get(name)
            if value is None:
                if isinstance(getattr(type(self), name), lazy_property):
                    continue  # the other parametrization was given, and has been checked
                value = getattr(self, name)
            if not holds(constraint, value, name, self):
                raise parameter_error(name, value, self, constraint)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        """The distribution with its batch dimensions expanded to `batch_shape`; parameters are not
        copied.
        """
        raise self._lacks("expand")

    def _expand_parameters(self, cls: type, batch_shape: Any, _instance: Any, *others: str) -> Any:
        """`expand` for a class whose state is its parameters and the attributes named in `others`."""
        new = self._get_checked_instance(cls, _instance)
        batch_shape = Size(batch_shape)
        for name in (*cls.arg_constraints, *others):  # type: ignore[attr-defined]
            value = self.__dict__.get(name)
            if isinstance(value, Tensor):
                setattr(
                    new, name, value.expand(batch_shape + value.shape[len(self._batch_shape) :])
                )
        Distribution.__init__(new, batch_shape, self._event_shape, validate_args=False)
        new._validate_args = self._validate_args
        return new

    @property
    def batch_shape(self) -> Size:
        """The shape over which parameters are batched."""
        return self._batch_shape

    @property
    def event_shape(self) -> Size:
        """The shape of one sample, without batches."""
        return self._event_shape

    @property
    def arg_constraints(self) -> dict[str, Any]:
        """What each parameter must satisfy, by name."""
        raise self._lacks("arg_constraints")

    @property
    def support(self) -> Any:
        """The constraint that samples satisfy."""
        raise self._lacks("support")

    @property
    def mean(self) -> Tensor:
        """The mean."""
        raise self._lacks("mean")

    @property
    def mode(self) -> Tensor:
        """The most probable value."""
        raise UnsupportedError(f"{type(self)} does not implement mode")

    @property
    def variance(self) -> Tensor:
        """The variance."""
        raise self._lacks("variance")

    @property
    def stddev(self) -> Tensor:
        """The standard deviation."""
        return self.variance.sqrt()

    def sample(self, sample_shape: Any = ()) -> Tensor:
        """Samples of shape `sample_shape + batch_shape + event_shape`, without gradients."""
        with no_grad():
            return self.rsample(sample_shape)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        """Samples through which gradients flow to the parameters."""
        raise self._lacks("rsample")

    def sample_n(self, n: int) -> Tensor:
        """`n` samples; use `sample((n,))`."""
        warn(
            "`sample_n(n)` will be deprecated. Use `sample((n,))` instead.",
            category=FutureWarning,
        )
        return self.sample(Size((n,)))

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the density, or of the probability, of `value`."""
        raise self._lacks("log_prob")

    def cdf(self, value: Tensor) -> Tensor:
        """The probability of a sample up to `value`."""
        raise self._lacks("cdf")

    def icdf(self, value: Tensor) -> Tensor:
        """The value that samples stay below with probability `value`."""
        raise self._lacks("icdf")

    def enumerate_support(self, expand: bool = True) -> Tensor:
        """All values of a discrete distribution along dimension 0; with `expand=False`, batch
        dimensions of size 1.
        """
        raise self._lacks("enumerate_support")

    def entropy(self) -> Tensor:
        """The entropy in nats, of shape `batch_shape`."""
        raise self._lacks("entropy")

    def perplexity(self) -> Tensor:
        """The exponential of the entropy."""
        return T.exp(self.entropy())

    def _lacks(self, name: str) -> Exception:
        error = NotImplementedError()  # without words, as PyTorch's
        error.add_note(f"{type(self).__name__} does not implement {name}")
        return error

    def _extended_shape(self, sample_shape: Any = ()) -> Size:
        """The shape of a sample of `sample_shape`."""
        if not sample_shape:
            return (
                Size(self._batch_shape + self._event_shape)
                if self._event_shape
                else self._batch_shape
            )
        return Size(Size(sample_shape) + self._batch_shape + self._event_shape)

    def _validate_sample(self, value: Tensor) -> None:
        """Raise ValueError unless `value` has a shape and values that samples of this distribution
        can have.
        """
        if not isinstance(value, Tensor):
            raise ArgumentValueError("The value argument to log_prob must be a Tensor")
        actual, event = value.shape, self._event_shape
        if not event and actual == self._batch_shape:
            self._check_support(value)
            return
        if actual[len(actual) - len(event) :] != event:
            raise ArgumentValueError(
                f"The right-most size of value must match event_shape: {actual} vs {event}."
            )
        expected = self._batch_shape + event
        for i, j in zip(reversed(actual), reversed(expected), strict=False):
            if i != 1 and j != 1 and i != j:
                raise ArgumentValueError(
                    f"Value is not broadcastable with batch_shape+event_shape: {actual} vs {expected}."
                )
        self._check_support(value)

    def _check_support(self, value: Tensor) -> None:
        try:
            support = self.support
        except NotImplementedError:
            warn(
                f"{type(self)} does not define `support` to enable sample validation. Please initialize the distribution "
                "with `validate_args=False` to turn off validation.",
            )
            return
        if not holds(support, value):
            raise ArgumentValueError(
                f"Expected value argument ({type(value).__name__} of shape {tuple(value.shape)}) to be within the support "
                f"({support!r}) of the distribution {self!r}, but found invalid values:\n{value}"
            )

    def _get_checked_instance(self, cls: type, _instance: Any = None) -> Any:
        if _instance is None and type(self).__init__ != cls.__init__:  # type: ignore[misc]
            raise UnsupportedError(
                f"Subclass {type(self).__name__} of {cls.__name__} that defines a custom __init__ method must also define a "
                "custom .expand() method."
            )
        return type(self).__new__(type(self)) if _instance is None else _instance

    def __repr__(self) -> str:
        return described(
            type(self).__name__,
            {n: self.__dict__[n] for n in self.arg_constraints if n in self.__dict__},
        )
