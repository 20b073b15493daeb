"""Which function computes the divergence of which pair of distributions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..core.tensor import Tensor
from ..errors import ArgumentTypeError, UnsupportedError, warn
from .distribution import Distribution

Rule = Callable[[Any, Any], Tensor]

_rules: dict[tuple[type, type], Rule] = {}
_found: dict[tuple[type, type], Rule | None] = {}


def register_kl(type_p: type, type_q: type) -> Callable[[Rule], Rule]:
    """A decorator that makes a function of (p, q) the divergence of these two types and their
    subclasses.

    The most specific pair is taken; where two are equally specific, a RuntimeWarning asks for a
    third that settles it.

    Raises:
        TypeError: an argument is not a class.

    >>> import pellucid as torch
    >>> from pellucid.distributions import Normal, kl_divergence, register_kl
    >>> class Shifted(Normal):
    ...     pass
    >>> @register_kl(Shifted, Shifted)
    ... def kl_shifted(p, q):
    ...     return (p.loc - q.loc) ** 2
    >>> kl_divergence(Shifted(0.0, 1.0), Shifted(3.0, 1.0))
    tensor(9.)
    """
    for name, kind in (("type_p", type_p), ("type_q", type_q)):
        # libraries register classes of their own that are no Distribution
        if not isinstance(kind, type):
            raise ArgumentTypeError(f"Expected {name} to be a Distribution subclass but got {kind}")

    def decorator(rule: Rule) -> Rule:
        _rules[type_p, type_q] = rule
        _found.clear()
        return rule

    return decorator


def _find(type_p: type, type_q: type) -> Rule | None:
    distances = {
        (p, q): (type_p.__mro__.index(p), type_q.__mro__.index(q))
        for p, q in _rules
        if issubclass(type_p, p) and issubclass(type_q, q)
    }
    if not distances:
        return None
    by_p = min(distances, key=lambda pair: distances[pair])
    by_q = min(distances, key=lambda pair: distances[pair][::-1])
    if _rules[by_p] is not _rules[by_q]:
        warn(
            f"Ambiguous kl_divergence({type_p.__name__}, {type_q.__name__}). "
            f"Please register_kl({by_p[0].__name__}, {by_q[1].__name__})",
            RuntimeWarning,
        )
    return _rules[by_p]


def kl_divergence(p: Distribution, q: Distribution) -> Tensor:
    """The Kullback-Leibler divergence of `p` from `q`, the mean of `log p(x) - log q(x)` over x
    from p, of shape `batch_shape`.

    Raises:
        NotImplementedError: no rule for these types; see `register_kl`.

    >>> import pellucid as torch
    >>> d = torch.distributions
    >>> d.kl_divergence(d.Normal(0.0, 1.0), d.Normal(1.0, 1.0))
    tensor(0.5000)
    """
    kinds = type(p), type(q)
    if kinds not in _found:
        _found[kinds] = _find(*kinds)
    rule = _found[kinds]
    if rule is None:
        raise UnsupportedError(
            f"No KL(p || q) is implemented for p type {kinds[0].__name__} and q type {kinds[1].__name__}"
        )
    return rule(p, q)
