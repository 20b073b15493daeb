"""Distributions by rejection sampling: gamma, Dirichlet, Poisson, binomial.

The number of uniforms that a value takes depends on the uniforms, so values are made one after the
other. Uniforms have 53 bits; normals are made in pairs as by the normal fill.

Sources: gamma by Marsaglia and Tsang (2000, doi:10.1145/358407.358414); Poisson of rate 10 or more
and binomial of mean 10 or more by Hormann's transformed rejection (1993), below that by products of
uniforms and by geometric sums.
"""

from __future__ import annotations

import math
from functools import cache
from types import TracebackType
from typing import Any

import numpy as np

from ...dtypes import name_of
from ..tracing import repeatable
from .fill import NAMES, refuse, require_float, round_to
from .generator import Generator

_THIRD = float(np.float32(1.0) / np.float32(3.0))
_SQUEEZE = float(np.float32(0.0331))


class _Draws:
    """Uniforms and normals one at a time. On exit, the generator has advanced by exactly the words
    used.
    """

    def __init__(self, generator: Generator, expected: int) -> None:
        self.generator, self.expected = generator, max(expected, 16)

    def __enter__(self) -> _Draws:
        self.generator.lock.acquire()
        self.mark = self.generator.mark()
        self.buffer = self.generator.uniform53(self.expected).tolist()
        self.used = 0
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self.generator.rewind(self.mark, 2 * self.used)
        self.generator.lock.release()

    def uniform(self) -> float:
        if self.used == len(self.buffer):
            self.buffer += self.generator.uniform53(max(self.used // 4, 16)).tolist()
        value: float = self.buffer[self.used]
        self.used += 1
        return value

    def normal(self) -> float:
        kept = self.generator.normal
        if kept is not None:
            self.generator.normal = None
            return kept
        angle = 2.0 * math.pi * self.uniform()
        radius = math.sqrt(-2.0 * math.log1p(-self.uniform()))
        self.generator.normal = radius * math.sin(angle)
        return radius * math.cos(angle)


# ------------------------------------------------------------------------------------------------------------ gamma


@repeatable
def standard_gamma(generator: Generator, alpha: np.ndarray) -> np.ndarray:
    """Gamma values of shape parameter `alpha` (float32 or float64, any shape) and scale 1.

    Raises NotImplementedError for other dtypes.

    >>> standard_gamma(Generator().manual_seed(0), np.array([1.0, 2.0])).round(6).tolist()
    [2.882433, 1.315827]
    """
    if name_of(alpha.dtype) not in ("float32", "float64"):
        raise refuse("gamma_cpu", alpha.dtype)
    values = _gammas(generator, alpha).astype(alpha.dtype)
    return np.maximum(values, _ends(alpha.dtype)[0], out=values)


@repeatable
def dirichlet(generator: Generator, alpha: np.ndarray) -> np.ndarray:
    """Dirichlet values over the last axis of `alpha` (float32 or float64): gamma values divided by
    their sum.

    Raises NotImplementedError for other dtypes.

    >>> dirichlet(Generator().manual_seed(0), np.array([1.0, 2.0])).round(6).tolist()
    [0.686578, 0.313422]
    """
    if name_of(alpha.dtype) not in ("float32", "float64"):
        raise refuse("dirichlet", alpha.dtype)
    gammas = _gammas(generator, alpha.astype(np.float64))
    gammas = np.maximum(gammas, _ends(gammas.dtype)[0], out=gammas)
    total = np.add.reduce(gammas, -1, keepdims=True) if alpha.ndim else gammas
    least, most = _ends(alpha.dtype)
    values = np.divide(gammas, total, gammas).astype(alpha.dtype)
    return np.minimum(np.maximum(values, least, out=values), most, out=values)


@cache
def _ends(kind: np.dtype) -> tuple[np.ndarray, np.ndarray]:
    """The smallest normal number and the largest number below 1, as arrays, which are faster in
    NumPy than scalars.
    """
    real = kind.type
    return np.array(np.finfo(real).tiny), np.array(np.nextafter(real(1), real(0)))


def _gammas(generator: Generator, alpha: np.ndarray) -> np.ndarray:
    """float64 gamma values. As in PyTorch, the parameters of each are computed in alpha's dtype."""
    flat = np.ascontiguousarray(alpha).reshape(-1)
    with generator.lock:
        made = generator.serial(
            "gammas32" if alpha.dtype == np.float32 else "gammas64", flat.size, flat
        )
    if made is not None:
        return made.reshape(alpha.shape)
    real = alpha.dtype.type
    boosted = flat < 1
    with np.errstate(divide="ignore", invalid="ignore"):
        powers = (real(1.0) / flat).astype(np.float64).tolist()
    depth = (np.where(boosted, flat + real(1.0), flat) - real(_THIRD)).astype(np.float64)
    with np.errstate(invalid="ignore"):
        slopes = (1.0 / np.sqrt(9.0 * depth)).tolist()
    out = []
    with _Draws(generator, 4 * flat.size) as draws:
        uniform, normal = draws.uniform, draws.normal
        for shape, boost, power, d, c in zip(
            flat.tolist(), boosted.tolist(), powers, depth.tolist(), slopes, strict=True
        ):
            if shape == 0.0:
                out.append(0.0)
                continue
            if not d > 0.0:
                out.append(math.nan)  # alpha < 0 or NaN
                continue
            scale = (1.0 - uniform()) ** power if boost else 1.0
            while True:
                x = normal()
                y = 1.0 + c * x
                while y <= 0.0:
                    x = normal()
                    y = 1.0 + c * x
                v = y * y * y
                u = 1.0 - uniform()
                xx = x * x
                if u < 1.0 - _SQUEEZE * xx * xx or math.log(u) < 0.5 * xx + d * (
                    1.0 - v + math.log(v)
                ):
                    break
            out.append(scale * d * v)
    return np.array(out, np.float64).reshape(alpha.shape)


# ---------------------------------------------------------------------------------------------------------- poisson


@repeatable
def poisson(generator: Generator, rates: np.ndarray) -> np.ndarray:
    """Poisson values of the given rates, in the rates' float dtype.

    Raises RuntimeError for a rate that is negative or NaN, NotImplementedError for integers.

    >>> poisson(Generator().manual_seed(0), np.array([1.0, 4.0, 100.0])).tolist()
    [2.0, 5.0, 94.0]
    """
    if rates.size:
        require_float("poisson_cpu", rates.dtype)
    wide = rates.astype(np.float64)
    if not (wide >= 0).all():
        raise RuntimeError("invalid Poisson rate, expected rate to be non-negative")
    if not np.isfinite(wide).all():
        raise RuntimeError("invalid Poisson rate, expected rate to be finite")
    with generator.lock:
        made = generator.serial("poissons", wide.size, np.ascontiguousarray(wide))
    if made is not None:
        return round_to(made.reshape(rates.shape), rates.dtype)
    with _Draws(generator, int(min(wide.clip(2, 11).sum() * 1.2, 1e6))) as draws:
        out = [_poisson(rate, draws) for rate in wide.reshape(-1).tolist()]
    return round_to(np.array(out, np.float64).reshape(rates.shape), rates.dtype)


def _poisson(rate: float, draws: _Draws) -> int:
    uniform = draws.uniform
    if rate == 0.0:
        return 0
    if rate < 10.0:
        bound, product, count = math.exp(-rate), uniform(), 0
        while product > bound:
            count += 1
            product *= uniform()
        return count
    log_rate = math.log(rate)
    b = 0.931 + 2.53 * math.sqrt(rate)
    a = -0.059 + 0.02483 * b
    inverse_alpha = 1.1239 + 1.1328 / (b - 3.4)
    inside = 0.9277 - 3.6224 / (b - 2)
    while True:
        u = uniform() - 0.5
        v = uniform()
        edge = 0.5 - abs(u)
        if edge == 0.0:
            continue
        k = math.floor((2 * a / edge + b) * u + rate + 0.43)
        if edge >= 0.07 and v <= inside:
            return k
        if k < 0 or (edge < 0.013 and v > edge):
            continue
        accepted = math.log(v or 5e-324) + math.log(inverse_alpha) - math.log(a / (edge * edge) + b)
        if accepted <= -rate + k * log_rate - math.lgamma(k + 1.0):
            return k


# --------------------------------------------------------------------------------------------------------- binomial

_TAILS = [
    0.0810614667953272,
    0.0413406959554092,
    0.0276779256849983,
    0.02079067210376509,
    0.0166446911898211,
    0.0138761288230707,
    0.0118967099458917,
    0.0104112652619720,
    0.00925546218271273,
    0.00833056343336287,
]
_TAIL_ARRAY = np.array(_TAILS)


@repeatable
def binomial(generator: Generator, count: np.ndarray, prob: np.ndarray) -> np.ndarray:
    """Binomial values: successes in `count` trials of probability `prob` (broadcast; both float32
    or both float64).

    Raises RuntimeError for two dtypes or a count that is NaN, NotImplementedError for other dtypes.

    >>> binomial(Generator().manual_seed(0), np.array([10.0, 100.0]), np.array([0.5, 0.5])).tolist()
    [7.0, 51.0]
    """
    if count.dtype != prob.dtype:
        names = [NAMES.get(k.dtype.name, k.dtype.name) for k in (prob, count)]
        raise RuntimeError(f"Found dtype {names[0]} but expected {names[1]}")
    if count.dtype.name not in ("float32", "float64"):
        raise refuse("binomial_cpu", count.dtype)
    trials, chances = np.broadcast_arrays(count, prob)
    if np.isnan(trials).any():
        raise RuntimeError("binomial expects count to be a number, but found NaN")
    shape = trials.shape
    trials, chances = np.ascontiguousarray(trials), np.ascontiguousarray(chances)
    with generator.lock:
        made = generator.serial(
            "binomials32" if count.dtype == np.float32 else "binomials64",
            trials.size,
            trials,
            chances,
            _logs_of_misses(chances),
            _TAIL_ARRAY,
        )
    if made is not None:
        return made.reshape(shape).astype(count.dtype)
    out = np.empty(shape, count.dtype)
    flat = out.reshape(-1)
    with _Draws(generator, 6 * flat.size) as draws:
        # scalars: arithmetic keeps their dtype
        pairs = zip(trials.reshape(-1), chances.reshape(-1), strict=True)
        for place, (n, p) in enumerate(pairs):
            flat[place] = _binomial(n, p, draws)
    return out


def _logs_of_misses(chances: np.ndarray) -> np.ndarray:
    """log(1 - p) of each chance, or of its complement where that is smaller, made in their type."""
    other = (1.0 - chances.astype(np.float64)).astype(chances.dtype)
    with np.errstate(all="ignore"):
        return np.log1p(-np.where(chances > 0.5, other, chances)).astype(np.float64)


def _binomial(n: Any, p: Any, draws: _Draws) -> Any:
    if n <= 0 or p <= 0:
        return 0
    if p >= 1:
        return n
    if math.isnan(p):
        return math.nan
    if p > 0.5:
        return n - _binomial_half(n, type(p)(1.0 - float(p)), draws)
    return _binomial_half(n, p, draws)


def _binomial_half(n: Any, p: Any, draws: _Draws) -> Any:
    """A binomial value for a probability up to 1/2."""
    if n * p >= 10.0:
        return _transformed_rejection(n, p, draws)
    log_miss = float(np.log1p(-p))
    trials, successes, total = float(n), 0, 0.0
    while True:
        u = math.log(draws.uniform() or 5e-324)
        # log_miss is 0 for a tiny probability: no success in any number of trials
        total += float(np.ceil(u / log_miss)) if log_miss else math.inf
        if total > trials:
            return successes
        successes += 1


def _transformed_rejection(n: Any, p: Any, draws: _Draws) -> float:
    # n and p keep their dtype while they meet only each other; from there on, all is float64.
    real = type(p)
    one = real(1)
    deviation = float(np.sqrt(n * p * (one - p)))
    b = 1.15 + 2.53 * deviation
    a = -0.0873 + 0.0248 * b + 0.01 * float(p)
    c = float(n * p) + 0.5
    inside = 0.92 - 4.2 / b
    odds = float(p / (one - p))
    alpha = (2.83 + 5.1 / b) * deviation
    mode = float(np.floor((n + one) * p))
    trials = float(n)
    while True:
        u = draws.uniform() - 0.5
        v = draws.uniform()
        edge = 0.5 - abs(u)
        if edge == 0.0:
            continue
        k = float(real(np.floor((2 * a / edge + b) * u + c)))  # not an integer if `n` is infinite
        if k < 0 or k > trials:
            continue
        if edge >= 0.07 and v <= inside:
            return k
        v = math.log(v * alpha / (a / (edge * edge) + b) or 5e-324)
        bound = (
            (mode + 0.5) * math.log((mode + 1) / (odds * (trials - mode + 1)))
            + (trials + 1) * math.log((trials - mode + 1) / (trials - k + 1))
            + (k + 0.5) * math.log(odds * (trials - k + 1) / (k + 1))
            + _tail(mode)
            + _tail(trials - mode)
            - _tail(k)
            - _tail(trials - k)
        )
        if v <= bound:
            return k


def _tail(k: float) -> float:
    """The remainder of Stirling's formula for ln(k!)."""
    if k < len(_TAILS):
        return _TAILS[int(k)]
    square = (k + 1) * (k + 1)
    return (1.0 / 12 - (1.0 / 360 - 1.0 / 1260 / square) / square) / (k + 1)
