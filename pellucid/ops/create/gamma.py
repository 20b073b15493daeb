"""Gamma and Dirichlet samples with derivatives with respect to their parameters.

A sample x of the distribution function F(x; a) moves with its parameter, at a fixed quantile, by
-(dF/da) / p(x) (Figurnov, Mohamed, Mnih, "Implicit reparameterization gradients", 2018). With p(t)
the density and m the mean of log t, dF/da is the integral of p(t) (log t - m) up to x, which is
also minus the integral from x on. Of the two, the one whose integrand keeps its sign is computed,
in coordinates in which it falls off smoothly: no digits are lost anywhere.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from ... import config
from ...arrays.native import kernels, native_code_runs
from ...core.primitive import defop
from ...core.public import public
from ...core.streams import reject as random_reject
from ...core.streams.generator import draw_guards
from ...core.tensor import Tensor, make_tensor
from ...core.transforms.drawing import from_parameters, running
from ...errors import UnsupportedError
from .._rules import require_tensor
from .random import default_generator

Array = Any  # NumPy's, or a Python number for a 0-d one
# logarithm of an integrand, relative to its start, below which the rest is negligible
_NEGLIGIBLE = -40.0


@cache
def _nodes(fine: bool) -> tuple[Array, Array, Array]:
    """Return the nodes of double exponential quadrature of [0, 1] (Takahasi, Mori, 1974): distances
    from 0, distances from 1, and weights.
    """
    step = 0.05 if fine else 0.1
    t = np.arange(-70, 71) * step if fine else np.arange(-35, 36) * step
    q = np.pi / 2 * np.sinh(t)
    return (
        1 / (1 + np.exp(-2 * q)),
        1 / (1 + np.exp(2 * q)),
        step * np.pi / 4 * np.cosh(t) / np.cosh(q) ** 2,
    )


def _integral(
    log_weight: Callable[[Array, Array], Array],
    factor: Callable[[Array], Array],
    top: Any,
    rate: Any,
    fine: bool,
) -> Array:
    """Return the integral over v from 0 to `top` of exp(log_weight(v, top - v)) factor(v). The
    weights must fall from 1, at most at `rate`; use `fine` if they start to fall late.
    """
    low = -5.0 - np.log(np.maximum(rate, 1.0))
    high = np.log(top)
    for _ in range(10):
        middle = (low + high) / 2
        v = np.exp(middle)
        small = log_weight(v, top - v) < _NEGLIGIBLE
        high, low = np.where(small, middle, high), np.where(small, low, middle)
    cut = np.minimum(np.exp(high), top)
    near, far, weights = (a.reshape(-1, *[1] * np.ndim(top)) for a in _nodes(fine))
    v = cut * near
    values = np.exp(log_weight(v, (top - cut) + cut * far)) * factor(v) * weights
    return cut * np.where(np.isfinite(values), values, 0.0).sum(0)


def _by_case(
    case: Array, rules: tuple[Callable[..., Array], ...], fine: Array, *arrays: Array
) -> Array:
    """Apply rule k to the entries where `case` is k. Each rule is called with a flag that says
    whether its entries need a fine quadrature.
    """
    out = np.empty(case.shape)
    for k, rule in enumerate(rules):
        for finely in (False, True):
            chosen = (case == k) & (fine == finely)
            if chosen.any():
                out[chosen] = rule(finely, *(a[chosen] for a in arrays))
    return out


def _flat(rate: Array, start: Array, end: Array, offset: Array) -> Array:
    """The integral over v from `start` to `end` of exp(rate v) (v + offset) / exp(rate start)."""
    length = np.maximum(end - start, 0.0)
    z = rate * length
    grown = np.expm1(z)
    with_v = np.where(
        np.abs(z) > 0.1,
        (length * (grown + 1) - grown / rate) / rate,
        length**2 * (1 / 2 + z * (1 / 3 + z * (1 / 8 + z * (1 / 30 + z * (1 / 144 + z / 840))))),
    )
    return with_v + (start + offset) * np.where(z == 0, length, grown / rate)


def _tail(log_scale: Array, rate: Array, start: Array, offset: Array) -> Array:
    """The integral over v from `start` on of exp(log_scale - rate v) (v + offset)."""
    return np.exp(log_scale - rate * start) * ((start + offset) + 1 / rate) / rate


def _settled(size: Array) -> Array:
    """Return v beyond which size exp(-v) is negligible."""
    return 37.0 + np.log(np.maximum(size, 1.0))


def _gamma_slope(alpha: Array, x: Array) -> Array:
    """dx/da of a gamma sample x (1-d float64 arrays)."""
    from scipy.special import digamma

    # t = x exp(-v); for large v the density is a power of t
    def below(fine: bool, alpha: Array, x: Array, ahead: Array) -> Array:
        end = _settled(x)
        fall = lambda v, _: -alpha * v - x * np.expm1(-v)
        rest = _tail(x, alpha, end, -ahead)
        return x * (_integral(fall, lambda v: v - ahead, end, alpha, fine) + rest)

    # t = x exp(v); up to t = exp(-37) the density is a power of t
    def above(fine: bool, alpha: Array, x: Array, ahead: Array) -> Array:
        start = np.maximum(-37.0 - np.log(x), 0.0)
        low = x * np.exp(start)  # t there
        rest = _integral(
            lambda v, _: alpha * v - low * np.expm1(v),
            lambda v: v + start + ahead,
            np.full_like(x, 1e12),
            np.maximum(alpha, low),
            fine,
        )
        return x * (_flat(alpha, np.zeros_like(x), start, ahead) + np.exp(alpha * start) * rest)

    ahead = np.log(x) - digamma(alpha)  # distance of log x from its mean
    slopes = _by_case((ahead >= 0).astype(int), (below, above), alpha < 1, alpha, x, ahead)
    # for huge alpha float64 cannot tell the logarithms apart: the sample is normal, of variance
    # alpha
    return np.where(x == 0, 0.0, np.where(alpha > 1e16, (x / alpha + 1) / 2, slopes))


def _digamma_gap(alpha: Array, beta: Array) -> Array:
    """digamma(alpha + beta) - digamma(alpha); of large alpha by the difference of their asymptotic
    series, which keeps its digits where beta is small.
    """
    from scipy.special import digamma

    u, v = 1 / alpha, 1 / (alpha + beta)
    squares, both = u * u + v * v, (u * v) ** 2
    inner = (squares * squares - both) / 252 - squares / 120 + 1 / 12
    series = np.log1p(beta / alpha) + beta * u * v * ((u + v) * inner + 0.5)
    return np.where(alpha > 40, series, digamma(alpha + beta) - digamma(alpha))


def _beta_slope(x: Array, alpha: Array, beta: Array) -> Array:
    """dx/da of a beta sample x (1-d float64 arrays)."""

    # t = x exp(-v); for large v the density is a power of t
    def below(fine: bool, x: Array, alpha: Array, beta: Array, mean: Array) -> Array:
        y, ahead = 1 - x, np.log(x) - mean
        end = _settled(np.abs(beta - 1) * x / y)
        fall = lambda v, _: -alpha * v + (beta - 1) * np.log1p(-x * np.expm1(-v) / y)
        rest = _tail((1 - beta) * np.log1p(-x), alpha, end, -ahead)
        rate = alpha + np.abs(beta - 1) * x / y
        return x * (_integral(fall, lambda v: v - ahead, end, rate, fine) + rest)

    # t = x exp(v) up to t = 1; where t is small the density is a power of t
    def above(fine: bool, x: Array, alpha: Array, beta: Array, mean: Array) -> Array:
        top, ahead = -np.log(x), np.log(x) - mean
        start = np.maximum(top - _settled(beta), 0.0)
        left = np.maximum(top - start, 1e-300)
        low = np.exp(-left)  # t at the start
        fall = lambda v, rest: alpha * v + (beta - 1) * np.log(-np.expm1(-rest) / (1 - low))
        rest = _integral(fall, lambda v: v + start + ahead, left, alpha + beta, fine)
        return x * (_flat(alpha, np.zeros_like(x), start, ahead) + np.exp(alpha * start) * rest)

    # The same where the density has a pole at t = 1: with r = -log t, the integrand there is
    # r ** (beta - 1) times h(r), whose value at the pole is integrated by itself.
    def above_pole(fine: bool, x: Array, alpha: Array, beta: Array, mean: Array) -> Array:
        top, ahead = -np.log(x), np.log(x) - mean
        start = np.maximum(top - _settled(beta), 0.0)

        def h(r: Array) -> Array:
            power = (beta - 1) * np.log(-np.expm1(-r) / np.where(r > 0, r, 1.0))
            return np.exp(np.where(r > 0, power, 0.0) - alpha * r) * (top - r + ahead)

        near = np.minimum(top - start, 0.5)
        at_pole = top + ahead
        pole = near**beta / beta * at_pole
        points, _, weights = (a.reshape(-1, 1) for a in _nodes(True))
        r = near * points
        pole += near * (r ** (beta - 1) * (h(r) - at_pole) * weights).sum(0)
        # in logarithms of r, from near to the start
        width = np.log((top - start) / near)
        r = near * np.exp(width * points)
        middle = width * (r**beta * h(r) * weights).sum(0)
        scale = np.exp(alpha * top + (1 - beta) * np.log1p(-x))
        flat = np.exp((1 - beta) * np.log1p(-x)) * _flat(alpha, np.zeros_like(x), start, ahead)
        return x * (flat + scale * (pole + middle))

    # 1 - t = (1 - x) exp(-v); for large v the density is a power of 1 - t
    def far_above(fine: bool, x: Array, alpha: Array, beta: Array, mean: Array) -> Array:
        y = 1 - x
        end = _settled(np.abs(alpha - 1) * y / x)
        fall = lambda v, _: -beta * v + (alpha - 1) * np.log1p(-y * np.expm1(-v) / x)
        rest = mean * np.exp((1 - alpha) * np.log(x) - beta * end) / beta
        factor = lambda v: np.log1p(-y * np.exp(-v)) - mean
        return y * (_integral(fall, factor, end, alpha + beta, fine) - rest)

    mean = -_digamma_gap(alpha, beta)  # of the logarithm
    case = np.where(np.log(x) < mean, 0, np.where(x < 0.5, np.where(beta < 1, 2, 1), 3))
    rules = (below, above, above_pole, far_above)
    slopes = _by_case(case, rules, np.minimum(alpha, beta) < 1, x, alpha, beta, mean)
    return np.where(x == 0, 0.0, slopes)


def _standard_gamma_slope(alpha: Array, x: Array) -> Array:
    kind = np.asarray(alpha).dtype
    fine = _TOLERANCES[kind.itemsize > 4]
    return _over("gamma", _gamma_slope, fine, alpha, x).astype(kind)


def _dirichlet_slope(x: Array, alpha: Array, total: Array) -> Array:
    """dx/da of a component x of a Dirichlet sample, for each unit that the others lose together."""
    kind = np.asarray(x).dtype
    x, alpha, total = (np.asarray(a, np.float64) for a in (x, alpha, total))
    x = np.minimum(x, 1 - 2.0**-53)  # its limit at 1
    fine = _TOLERANCES[kind.itemsize > 4]
    return (_over("beta", _beta_slope, fine, x, alpha, total - alpha) / (1 - x)).astype(kind)


# what the terms of a series may leave out of a number in float32, in float64
_TOLERANCES = (1e-8, 1e-11)


def _over(name: str, slope: Callable[..., Array], tolerance: float, *arrays: Any) -> Any:
    """`slope` of broadcast arrays in float64: by a series in native code, and by the integral where
    that gives NaN or there is none.
    """
    shape = np.broadcast_shapes(*(np.shape(a) for a in arrays))
    flat = [
        np.ascontiguousarray(np.broadcast_to(np.asarray(a, np.float64), shape)).reshape(-1)
        for a in arrays
    ]
    out = np.empty(flat[0].size)
    series = _series(name, out.size)
    if series is None:
        _integrate(slope, flat, out)
    else:
        series(*flat, out, out.size, tolerance)
        left = np.isnan(out)
        if left.any():
            rest = np.empty(np.count_nonzero(left))
            _integrate(slope, [a[left] for a in flat], rest)
            out[left] = rest
    return out.reshape(shape)


def _integrate(slope: Callable[..., Array], flat: list[Array], out: Array) -> None:
    """In pieces that fit into a cache."""
    with np.errstate(all="ignore"):
        for start in range(0, out.size, 1024):
            part = slice(start, start + 1024)
            out[part] = slope(*(a[part] for a in flat))


def _series(name: str, count: int) -> Any:
    """A function of `kernels.random.slopes`; None where there is none, and before integrals would
    take longer than loading it.
    """
    _waiting[0] -= 500 + count
    if not config.kernels or (_waiting[0] > 0 and not native_code_runs()):
        return None
    return getattr(kernels.random.slopes.library, name)


_waiting = [100_000]  # samples, for half of what a call costs


def _no_second(F: Any, g: Any) -> Any:
    raise UnsupportedError(
        "the derivative for a sample's derivative (_standard_gamma_grad, _dirichlet_grad) is not implemented"
    )


standard_gamma_grad = defop(
    "standard_gamma_grad",
    "input output",
    forward=lambda xp, alpha, x: _standard_gamma_slope(alpha, x),
    aval=lambda alpha, x: alpha,
    vjp={"input": _no_second, "output": _no_second},
)

dirichlet_grad = defop(
    "dirichlet_grad",
    "input alpha total",
    forward=lambda xp, x, alpha, total: _dirichlet_slope(x, alpha, total),
    aval=lambda x, alpha, total: x,
    vjp={"input": _no_second, "alpha": _no_second, "total": _no_second},
)

standard_gamma = defop(
    "standard_gamma",
    "input values",
    forward=lambda xp, alpha, values: values,
    aval=lambda alpha, values: values,
    vjp={"input": lambda F, g, input, out: g * F.standard_gamma_grad(input, out)},
)


def _dirichlet_vjp(F: Any, g: Any, input: Any, out: Any) -> Any:
    total = F.expand(F.sum(input, dim=(-1,), keepdim=True), shape=tuple(input.shape))
    slopes = F.dirichlet_grad(out, input, total)
    return slopes * (g - F.sum(out * g, dim=(-1,), keepdim=True))


sample_dirichlet = defop(
    "sample_dirichlet",
    "input values",
    forward=lambda xp, alpha, values: values,
    aval=lambda alpha, values: values,
    vjp={"input": _dirichlet_vjp},
)


@public(names="_standard_gamma")
def _standard_gamma(input: Tensor, generator: Any = None) -> Tensor:
    """Gamma samples of shape parameter `input` and scale 1, with gradients.

    >>> import pellucid as torch
    >>> torch._standard_gamma(torch.ones(2, dtype=torch.float64)).shape
    torch.Size([2])
    """
    alpha = require_tensor(input, "_standard_gamma")._array
    if draw_guards and (level := running()) is not None:
        return from_parameters(level, _standard_gamma, (input, generator), {})
    return standard_gamma.call(
        input, make_tensor(random_reject.standard_gamma(generator or default_generator, alpha))
    )


@public(names="_sample_dirichlet")
def _sample_dirichlet(input: Tensor, generator: Any = None) -> Tensor:
    """Dirichlet samples over the last dimension of `input`, with gradients.

    >>> import pellucid as torch
    >>> torch._sample_dirichlet(torch.ones(1))
    tensor([1.0000])
    """
    alpha = require_tensor(input, "_sample_dirichlet")._array
    if draw_guards and (level := running()) is not None:
        return from_parameters(level, _sample_dirichlet, (input, generator), {})
    return sample_dirichlet.call(
        input, make_tensor(random_reject.dirichlet(generator or default_generator, alpha))
    )


@public(names="_standard_gamma_grad")
def _standard_gamma_grad(input: Tensor, output: Tensor) -> Tensor:
    """The derivative of gamma samples `output` for their shape parameters `input`."""
    return standard_gamma_grad.call(input, output)


@public(names="_dirichlet_grad")
def _dirichlet_grad(x: Tensor, alpha: Tensor, total: Tensor) -> Tensor:
    """The derivative of Dirichlet samples' components `x` for their parameter, divided by 1 - x."""
    return dirichlet_grad.call(x, alpha, total)
