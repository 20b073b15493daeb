"""Derivatives of gamma and beta samples with respect to their parameters, by series.

`gamma(alpha, x, out, n, tolerance)`: dx/da of gamma samples x. `beta(x, alpha, beta, out, n,
tolerance)`: dx/da of beta samples. All numbers are float64; series end where a term is below
`tolerance` of their sum. NaN stands where a series would lose digits or take too long, which
happens for a few samples in a million unless both parameters of beta are large:
`ops/create/gamma.py` computes those by an integral.

With F the distribution function and p the density, dx/da = -(dF/da) / p. F / p is a power series
with positive terms, and the derivative of a term is that term times a difference of digamma
functions, which grows by a fraction from one term to the next:

    gamma        x / a        sum of c_k (digamma(a + k + 1) - log x),   c_k = c_(k-1) x / (a + k)
    beta, low x  x (1-x) / a  sum of c_k (digamma(a + k + 1) - digamma(a + b + k) - log x),
                 c_k = c_(k-1) x (a + b + k - 1) / (a + k)
    beta, high x with y = 1 - x: y x / b  sum of c_k (log x - digamma(a) + digamma(a + b + k)),
                 c_k = c_(k-1) y (a + b + k - 1) / (b + k)

In the tail behind the mean the terms of both signs cancel; how much is known from the sum of their
magnitudes. A gamma sample of a large parameter is expanded in powers of 1 / a instead. The
derivative s solves

    ds/dx = s (1 - (a - 1) / x) + digamma(a) - log x,

and with t = log(x / a) the coefficients of s = s_0 + s_1 / a + ... are functions of t alone, regular
up to |t| = 2 pi: (e^t - 1) s_k = s_(k-1)' - s_(k-1) - d_k e^t, d_k being those of
digamma(a) - log a. The derivative itself is that of Figurnov, Mohamed and Mnih, "Implicit
reparameterization gradients" (2018).
"""

from __future__ import annotations

import math
from collections.abc import Callable

from ...llvm import math64, target
from ...llvm.emit import Function, Module, SSAValue, lanes, vector
from ...llvm.jit import NativeLibrary

__all__ = ["library"]

_LARGE, _WIDE = 16.0, 1.6  # parameters and |t| for which the expansion is good for nine digits
_POWERS, _DEGREE = 7, 18  # of 1 / a and of t
_DIGAMMA = {1: -1 / 2, 2: -1 / 12, 4: 1 / 120, 6: -1 / 252, 8: 1 / 240}
_MOST = 512.0  # terms of a series
_FAR = 40.0  # where four terms of digamma's asymptotic series are all
_LOST = 1e-6  # of the magnitudes of terms, what their sum must keep


def _expansion() -> list[list[float]]:
    """The power series in t of s_0, s_1 ...: their coefficients from the lowest power up."""
    size = _DEGREE + 2 * _POWERS + 2
    exponential = [1 / math.factorial(k) for k in range(size + 1)]

    def over(values: list[float]) -> list[float]:
        """A series that is 0 at t = 0 divided by e^t - 1."""
        made: list[float] = []
        for k in range(len(values) - 1):
            known = sum(made[j] * exponential[k + 1 - j] for j in range(k))
            made.append(values[k + 1] - known)
        return made

    s = over([0.0, *exponential[: size - 1]])  # t e^t / (e^t - 1)
    found = [s]
    for power in range(1, _POWERS):
        d = _DIGAMMA.get(power, 0.0)
        right = [(k + 1) * s[k + 1] - s[k] - d * exponential[k] for k in range(len(s) - 1)]
        right[0] = 0.0  # but for rounding
        s = over(right)
        found.append(s)
    return [values[: _DEGREE + 1] for values in found]


def _any(f: Function, lane: SSAValue) -> SSAValue:
    count = lanes(lane.ctype)
    return (
        f.intrinsic("vector.reduce.or", "i1", lane, overload=f"v{count}i1") if count > 1 else lane
    )


def _series(
    f: Function,
    active: SSAValue,
    first: SSAValue,
    step: Callable[[SSAValue], tuple[SSAValue, SSAValue]],
    tolerance: SSAValue,
) -> tuple[SSAValue, SSAValue]:
    """The sum of c_k e_k, c_0 = 1 and e_0 = `first`, and where it has kept its digits; `step(k)`
    gives c_k / c_(k-1) and e_k - e_(k-1). Lanes that are not `active` do not count.
    """
    kind = first.ctype
    c, e, k = f.var(kind, 1.0), f.var(kind, first), f.var(kind, 0.0)
    total, size = f.var(kind, first), f.var(kind, f.fabs(first))
    open_ = f.var(active.ctype, active)
    with f.loop_while() as go_on:
        number = f.call("count", k.get(), returns="double")
        assert number is not None
        go_on(_any(f, open_.get()) & number.compare("olt", _MOST))
        for _ in range(4):
            k.set(k.get() + 1.0)
            ratio, gain = step(k.get())
            c.set(c.get() * ratio)
            e.set(e.get() + gain)
            term = c.get() * e.get()
            total.set(total.get() + term)
            size.set(size.get() + f.fabs(term))
        small = f.fabs(term).compare("ole", f.fabs(total.get()) * tolerance)
        falling = ratio.compare("olt", 0.95)
        done = small & falling
        open_.set(active & f.select(done, f.const(0, active.ctype), f.const(1, active.ctype)))
    kept = f.fabs(total.get()).compare("oge", size.get() * _LOST)
    closed = f.select(open_.get(), f.const(0, active.ctype), kept)
    return total.get(), closed


def _count(module: Module, kind: str) -> None:
    """The first lane."""
    f = module.function("count", "double", internal=True, k=kind)
    lane = f.k if lanes(kind) == 1 else f.emit(f"extractelement {kind} {f.k.name}, i32 0", "double")
    f.ret(lane)


def _gamma(module: Module, kind: str) -> None:
    width = lanes(kind)
    f = module.function("gamma", alpha="ptr", x="ptr", out="ptr", n="i64", tolerance="double")
    tolerance = f.splat(f.tolerance, kind)
    table = _expansion()

    def body(i: SSAValue, mask: SSAValue | None) -> None:
        a, x = f.load(kind, f.alpha, i, mask=mask), f.load(kind, f.x, i, mask=mask)
        log = math64.log(f, x)
        t = math64.log(f, x / a)
        made, flag = f.var(kind, math.nan), vector("i1", width)
        large = a.compare("oge", _LARGE) & f.fabs(t).compare("ole", _WIDE)
        with f.when(_any(f, large)):
            r = 1.0 / a
            value = f.polynomial(t, table[-1][::-1])
            for coefficients in table[-2::-1]:
                value = f.fma(value, r, f.polynomial(t, coefficients[::-1]))
            made.set(f.select(large, value, made.get()))
        # beyond, terms cancel; and nothing is known of parameters that are not positive
        near = x.compare("ole", a + 50.0) & x.compare("ogt", 0.0) & a.compare("ogt", 0.0)
        few = near & f.select(large, f.const(0, flag), f.const(1, flag))
        with f.when(_any(f, few)):

            def step(k: SSAValue) -> tuple[SSAValue, SSAValue]:
                r = 1.0 / (a + k)
                return x * r, r

            total, kept = _series(f, few, math64.digamma(f, a + 1.0) - log, step, tolerance)
            made.set(f.select(few & kept, total * (x / a), made.get()))
        f.store(f.select(x.compare("oeq", 0.0), 0.0, made.get()), f.out, i, mask=mask)

    f.vector_loop(f.n, width, body)
    f.ret()


def _digamma_gap(f: Function, a: SSAValue, b: SSAValue) -> SSAValue:
    """digamma(a + b) - digamma(a); of large a by the difference of their asymptotic series, which
    keeps its digits where b is small.
    """
    total = a + b
    u, v = 1.0 / a, 1.0 / total
    squares, both = u * u + v * v, u * u * (v * v)
    inner = (squares * squares - both) * (1 / 252) - squares * (1 / 120) + 1 / 12
    series = math64.log1p(f, b / a) + b * u * v * ((u + v) * inner + 0.5)
    plain = math64.digamma(f, total) - math64.digamma(f, a)
    return f.select(a.compare("ogt", _FAR), series, plain)


def _beta(module: Module, kind: str) -> None:
    width = lanes(kind)
    f = module.function(
        "beta", x="ptr", alpha="ptr", beta="ptr", out="ptr", n="i64", tolerance="double"
    )
    tolerance = f.splat(f.tolerance, kind)

    def body(i: SSAValue, mask: SSAValue | None) -> None:
        x, a, b = (f.load(kind, at, i, mask=mask) for at in (f.x, f.alpha, f.beta))
        y, total = 1.0 - x, a + b
        log = math64.log(f, x)
        low = x.compare("ole", 0.5)
        # the part of x or y, and the parameter that its powers start from
        part, own = f.select(low, x, y), f.select(low, a, b)
        inside = x.compare("ogt", 0.0) & x.compare("olt", 1.0)
        inside = inside & a.compare("ogt", 0.0) & b.compare("ogt", 0.0)
        first = f.select(
            low,
            math64.digamma(f, a + 1.0) - math64.digamma(f, total) - log,
            log + _digamma_gap(f, a, b),
        )
        grows = f.select(low, b - 1.0, 0.0)

        def step(k: SSAValue) -> tuple[SSAValue, SSAValue]:
            upper, lower = total + (k - 1.0), own + k
            both = 1.0 / (upper * lower)
            return part * (upper * upper * both), f.select(low, grows, lower) * both

        value, kept = _series(f, inside, first, step, tolerance)
        value = f.select(inside & kept, x * y / own * value, math.nan)
        f.store(f.select(x.compare("oeq", 0.0), 0.0, value), f.out, i, mask=mask)

    f.vector_loop(f.n, width, body)
    f.ret()


def _build(name: str) -> str:
    module = Module()
    kind = vector("double", target.host().lanes("double"))
    _count(module, kind)
    _gamma(module, kind)
    _beta(module, kind)
    return module.text(name)


library = NativeLibrary("slopes of samples", _build, {"gamma": "aaaid", "beta": "aaaaid"})
