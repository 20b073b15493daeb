"""Whether a tensor satisfies a constraint everywhere: what every parameter and every value of
`log_prob` is asked.

The constraints people use most are answered from the smallest and the largest element of the array,
without a tensor of answers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..core import tracing
from ..core.modes import state
from ..core.tensor import Tensor, make_tensor
from ..core.transforms.batching import all_samples
from ..errors import ArgumentValueError
from . import constraints as c

_least, _most, _sum = np.minimum.reduce, np.maximum.reduce, np.add.reduce
_NUMBERS = (int, float)


def _above(constraint: Any, a: np.ndarray) -> bool | None:
    bound = constraint.lower_bound
    return bool(_least(a, None) > bound) if type(bound) in _NUMBERS else None


def _from(constraint: Any, a: np.ndarray) -> bool | None:
    bound = constraint.lower_bound
    return bool(_least(a, None) >= bound) if type(bound) in _NUMBERS else None


def _below(constraint: Any, a: np.ndarray) -> bool | None:
    bound = constraint.upper_bound
    return bool(_most(a, None) < bound) if type(bound) in _NUMBERS else None


def _between(constraint: Any, a: np.ndarray) -> bool | None:
    low, high = constraint.lower_bound, constraint.upper_bound
    if type(low) not in _NUMBERS or type(high) not in _NUMBERS:
        return None
    return bool(_least(a, None) >= low) and bool(_most(a, None) <= high)


def _whole(a: np.ndarray) -> bool:
    # nothing is left of an infinity either; a remainder takes ten times as long
    return a.dtype.kind != "f" or bool((a - np.floor(a) == 0).all())


def _simplex(constraint: Any, a: np.ndarray) -> bool | None:
    # longer sums are added by the tensor's own rule
    if not a.ndim or a.dtype.kind != "f" or a.size > 64:
        return None
    return bool(_least(a, None) >= 0) and bool(
        _most(abs(_sum(a, -1) - a.dtype.type(1)), None) < 1e-6
    )


def _independent(constraint: Any, a: np.ndarray) -> bool | None:
    base = constraint.base_constraint
    if a.ndim < constraint.event_dim or base.event_dim:
        return None
    quick = _QUICK.get(type(base))
    return None if quick is None else quick(base, a)


def _positive_definite(constraint: Any, a: np.ndarray) -> bool | None:
    if a.ndim < 2 or a.shape[-1] != a.shape[-2] or a.dtype.char not in "fd":
        return None
    turned = a.mT
    # of infinite entries, differences say nothing
    if not (abs(a - turned) <= 1e-6 + 1e-5 * abs(turned)).all():
        return False if np.isfinite(a).all() else None
    try:
        np.linalg.cholesky(a)
    except np.linalg.LinAlgError:
        return False
    return True


def _triangular(constraint: Any, a: np.ndarray) -> bool | None:
    return bool((np.tril(a) == a).all()) if a.ndim > 1 else None


def _cholesky(constraint: Any, a: np.ndarray) -> bool | None:
    if a.ndim < 2 or a.shape[-1] != a.shape[-2]:
        return None
    return bool(_least(a.diagonal(0, -2, -1), None) > 0) and _triangular(constraint, a)


def _correlation_cholesky(constraint: Any, a: np.ndarray) -> bool | None:
    # longer sums are added by the tensor's own rule
    if a.dtype.char not in "fd" or a.shape[-1] > 64:
        return None
    found = _cholesky(constraint, a)
    if not found:
        return found
    tolerance = np.finfo(a.dtype).eps * a.shape[-1] * 10
    return bool(_most(abs(np.sqrt(_sum(a * a, -1)) - 1), None) <= tolerance)


# A NaN is the smallest and the largest element, and fails every comparison.
_QUICK: dict[type, Callable[[Any, np.ndarray], bool | None]] = {
    c._Real: lambda _, a: a.dtype.kind != "f" or not np.isnan(_least(a, None)),
    c._GreaterThan: _above,
    c._GreaterThanEq: _from,
    c._LessThan: _below,
    c._Interval: _between,
    c._IntegerInterval: lambda constraint, a: _between(constraint, a) if _whole(a) else False,
    c._IntegerGreaterThan: lambda constraint, a: _from(constraint, a) if _whole(a) else False,
    c._Boolean: lambda _, a: bool(((a == 0) | (a == 1)).all()),
    c._Simplex: _simplex,
    c._LowerTriangular: _triangular,
    c._LowerCholesky: _cholesky,
    c._CorrCholesky: _correlation_cholesky,
    c._PositiveDefinite: _positive_definite,
    c._IndependentConstraint: _independent,
}


def holds(constraint: Any, value: Any, name: str | None = None, owner: Any = None) -> bool:
    """Whether all events of a value lie in the constraint's region; `name` says of which parameter
    of the distribution `owner` it is one.

    >>> import pellucid as torch
    >>> holds(c.positive, torch.tensor([1.0, 2.0])), holds(c.positive, torch.tensor([1.0, float("nan")]))
    (True, False)
    """
    if (
        tracing.tracer()
        and isinstance(value, Tensor)
        and not any(isinstance(v, Tensor) for v in vars(constraint).values())
    ):
        parameters = None
        if owner is not None:
            parameters = [
                (n, v._array)
                for n, v in vars(owner).items()
                if n in owner.arg_constraints and isinstance(v, Tensor)
            ]
        tracing.check(_require, constraint, value._array, name, type(owner).__name__, parameters)
        return True
    quick = _QUICK.get(type(constraint))
    if quick is not None and not state.slow and isinstance(value, Tensor):
        array = value._array
        if type(array) is np.ndarray and array.size and array.dtype.kind in "fiu":
            found = quick(constraint, array)
            if found is not None:
                return found
    return bool(all_samples(constraint.check(value)).all())


def described(owner: str, parameters: dict[str, Any]) -> str:
    """A distribution as text: its parameters' values, or sizes."""
    shown = [
        f"{name}: {value if value.numel() == 1 else value.size()}"
        for name, value in parameters.items()
    ]
    return f"{owner}({', '.join(shown)})"


def parameter_error(name: Any, value: Any, owner: Any, constraint: Any) -> Exception:
    """The error for a parameter outside of its region."""
    return ArgumentValueError(
        f"Expected parameter {name} ({type(value).__name__} of shape {tuple(value.shape)}) of distribution "
        f"{owner} to satisfy the constraint {constraint!r}, but found invalid values:\n{value}"
    )


def _require(
    constraint: Any, array: np.ndarray, name: str | None, owner: str, parameters: Any
) -> None:
    """Raise ValueError unless all elements satisfy a constraint; for programs that repeat the
    check.
    """
    value = make_tensor(array)
    if not bool(all_samples(constraint.check(value)).all()):
        if parameters is not None:
            shown = {n: make_tensor(a) for n, a in parameters}
            raise parameter_error(name, value, described(owner, shown), constraint)
        raise ArgumentValueError(
            f"Expected values within {constraint!r}, but found invalid values:\n{value}"
        )
