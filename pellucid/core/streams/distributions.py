"""Distributions that use one uniform number per value: Bernoulli, exponential, geometric,
Cauchy, log-normal, multinomial, rrelu's slopes.

`u` is a 53-bit uniform (two words) unless said otherwise. Targets are those of `random_fill`.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ... import config
from ...arrays.halves import HALVES, widened
from ...arrays.layout import axis_order
from ...arrays.native import kernels, native_code_runs
from ...arrays.numpy_cpu import overlaps_itself
from ...dtypes import name_of
from ..tracing import repeatable
from . import mkl as random_mkl
from .fill import (
    C_NAMES,
    DIGITS,
    NAMES,
    Target,
    deliver,
    fast,
    normal_serial,
    refuse,
    require_float,
    round_to,
    spec,
    uniform24,
)
from .generator import Generator, native
from .math import exact, fma, kernel

_ALL_TYPES = frozenset(C_NAMES) - {"uint16", "uint32", "uint64"}
_FLOAT32, _FLOAT64 = np.dtype(np.float32), np.dtype(np.float64)
_TINIEST = 5e-324
_minimum, _maximum = np.minimum.reduce, np.maximum.reduce


@repeatable
def bernoulli(
    generator: Generator, target: Target, p: float = 0.5, dtype: Any = np.float32
) -> np.ndarray:
    """Ones with probability `p`, else zeros: u < p.

    Raises RuntimeError for p outside [0, 1], NotImplementedError for complex dtypes.

    >>> bernoulli(Generator().manual_seed(0), (4,), 0.5, bool).tolist()
    [False, False, True, False]
    """
    p = float(p)
    if 0.0 <= p <= 1.0 and not random_mkl.active():
        made = fast(generator, "bernoulli", target, dtype, 1, (p,))
        if made is not None:
            return made
    count, kind = spec(target, dtype)
    if not 0.0 <= p <= 1.0:
        raise RuntimeError(f"bernoulli_ expects p to be in [0, 1], but got p={p:g}")
    if count == 0:
        return deliver(target, np.empty(0, kind))
    if name_of(kind) not in _ALL_TYPES:
        raise refuse("bernoulli_scalar_cpu_", kind)
    with generator.lock:
        if random_mkl.active():
            return random_mkl.deliver_in_index_order(
                target, random_mkl.bernoulli(generator, count, p).astype(kind)
            )
        name = "bernoulli" if kind is _FLOAT32 else "hits" if kind == np.bool_ else ""
        made = generator.native(name, count, kind, p) if name else None
        if made is not None:
            return deliver(target, made)
        hits = generator.uniform53(count) < p
    return deliver(target, hits if kind == np.bool_ else hits.astype(kind))


@repeatable
def bernoulli_like(
    generator: Generator, p: np.ndarray, target: Target | None = None, dtype: Any = None
) -> np.ndarray:
    """Ones with the probabilities of the array `p`, broadcast to the target (default: the shape and
    dtype of p).

    A float64 p is compared with u, any other with a float32 uniform (one word).

    Raises RuntimeError for a probability outside [0, 1], NotImplementedError for a p of integers.

    >>> bernoulli_like(Generator().manual_seed(0), np.array([0.0, 1.0, 0.5])).tolist()
    [0.0, 1.0, 1.0]
    """
    if target is dtype is None and p.size:
        values = _chances(generator, p)
        if values is not None:
            return values
    target = p.shape if target is None else target
    count, kind = spec(target, p.dtype if dtype is None else dtype)
    shape = target.shape if isinstance(target, np.ndarray) else tuple(target)
    if count == 0:
        return deliver(target, np.empty(0, kind))
    if name_of(kind) not in _ALL_TYPES:
        raise refuse("bernoulli_tensor_cpu_self_", kind)
    if name_of(p.dtype) not in DIGITS:
        raise refuse("bernoulli_tensor_cpu_p_", p.dtype)
    p = widened(p)
    chances = p if p.shape == shape else np.broadcast_to(p, shape)
    if not (p.size and _minimum(p, None) >= 0 and _maximum(p, None) <= 1):  # NaN fails both
        raise RuntimeError(_NO_CHANCE)
    if isinstance(target, np.ndarray):
        chances = chances.transpose(axis_order(target.shape, target.strides))
    with generator.lock:
        uniforms = (
            generator.uniform53(count) if p.dtype == np.float64 else uniform24(generator, count)
        )
    drawn = uniforms < chances.reshape(-1).astype(uniforms.dtype, copy=False)
    if kind in HALVES:
        return deliver(target, np.multiply(drawn, np.ones((), kind).view(np.uint16)).view(kind))
    return deliver(target, drawn.astype(kind))


_NO_CHANCE = (
    "Expected p_in >= 0 && p_in <= 1 to be true, but got false.  (Could this error message be improved?  If so, please report "
    "an enhancement request to PyTorch.)"
)


# of `kernels.random`
_CHANCES = {
    _FLOAT32: "chances",
    **{kind: f"chances.{kind.name}" for kind in (np.dtype(np.float64), *HALVES)},
}


def _chances(generator: Generator, p: np.ndarray) -> np.ndarray | None:
    """As `bernoulli_like`, by one native call; None if there is no native code for these arguments."""
    name = _CHANCES.get(p.dtype)
    run = native(name, p.size) if name and type(p) is np.ndarray and p.flags.carray else None
    if run is None:
        return None
    out = np.empty(p.shape, p.dtype)
    with generator.lock:
        if not run(generator._state, out, p, p.size):
            raise RuntimeError(_NO_CHANCE)
    return out


@repeatable
def dropout_mask(
    generator: Generator, target: Target, p: float = 0.5, dtype: Any = np.float32
) -> np.ndarray:
    """What dropout multiplies with: 1 / (1 - p) with probability 1 - p, else 0. Draws nothing for p
    = 0 or p = 1.

    Pass an array of the input's memory order to drop what PyTorch drops of an input that is not
    contiguous.

    Raises RuntimeError for p outside [0, 1].

    >>> dropout_mask(Generator().manual_seed(0), (4,), 0.5).tolist()
    [0.0, 0.0, 2.0, 0.0]
    """
    _, kind = spec(target, dtype)
    if p == 0.0 or p == 1.0:
        mask = target if isinstance(target, np.ndarray) else np.empty(target, kind)
        mask[...] = 1 - p
        return mask
    if not 0.0 <= p <= 1.0:
        raise RuntimeError(f"bernoulli_ expects p to be in [0, 1], but got p={1.0 - p:g}")
    require_float("div_true_cpu", kind)
    mask = bernoulli(generator, target, 1.0 - p, kind)
    wide = np.float64 if kind == np.float64 else np.float32
    mask *= (wide(1.0) / wide(1.0 - p)).astype(kind)
    return mask


@repeatable
def exponential(
    generator: Generator, target: Target, lambd: float = 1.0, dtype: Any = np.float32
) -> np.ndarray:
    """Exponential values of rate `lambd`: -ln(1 - u) / lambd.

    Raises RuntimeError for lambd <= 0 and for a dtype that is not a float.

    >>> exponential(Generator().manual_seed(0), (2,)).tolist()
    [3.508326292037964, 1.2303847074508667]
    """
    lambd = float(lambd)
    if 0.0 < lambd < math.inf and not random_mkl.active():
        made = fast(generator, "exponentials", target, dtype, 1, (1.0 / lambd,))
        if made is not None:
            return made
    count, kind = spec(target, dtype)
    if not lambd > 0.0:
        raise RuntimeError(f"exponential_ expects lambda > 0.0, but found lambda={lambd:g}")
    if count and name_of(kind) not in DIGITS:
        raise RuntimeError(
            "Exponential distribution is a continuous probability distribution. dtype must be a floating point but "
            f"you specified {NAMES.get(name_of(kind), name_of(kind))}"
        )
    with generator.lock:
        if count and random_mkl.active() and math.isfinite(lambd):
            values = random_mkl.exponential(generator, count, lambd, kind)
            return random_mkl.deliver_in_index_order(target, values)
        if count <= _FEW:
            words = generator.words(2 * count).tolist()
            uniforms = [
                ((words[k] << 32 | words[k + 1]) & _MASK53) * 2.0**-53
                for k in range(0, 2 * count, 2)
            ]
            values = np.array([math.log1p(-u) for u in uniforms])
        else:
            values = _exactly(math.log1p, -generator.uniform53(count), kind)
    values *= -1.0 / lambd
    return deliver(target, round_to(values, kind))


@repeatable
def geometric(
    generator: Generator, target: Target, p: float, dtype: Any = np.float32
) -> np.ndarray:
    """Geometric values, 1, 2, ...: ceil(ln(u) / ln(1 - p)).

    Raises RuntimeError for p outside (0, 1), NotImplementedError for bool and complex dtypes.

    >>> geometric(Generator().manual_seed(0), (3,), 0.5).tolist()
    [1.0, 1.0, 2.0]
    """
    count, kind = spec(target, dtype)
    p = float(p)
    if not 0.0 < p < 1.0:
        raise RuntimeError(f"geometric_ expects p to be in (0, 1), but got p={p:g}")
    if count and (name_of(kind) not in _ALL_TYPES or kind == np.bool_):
        raise refuse("geometric_cpu", kind)
    with generator.lock:
        uniforms = np.maximum(generator.uniform53(count), _TINIEST)
    values = np.ceil(exact(math.log, uniforms) / math.log1p(-p))
    return deliver(target, round_to(values, kind))


@repeatable
def cauchy(
    generator: Generator,
    target: Target,
    median: float = 0.0,
    sigma: float = 1.0,
    dtype: Any = np.float32,
) -> np.ndarray:
    """Cauchy values: median + sigma * tan(pi (u - 1/2)).

    Raises RuntimeError for sigma <= 0 and for a dtype that is not a float.

    >>> cauchy(Generator().manual_seed(0), (2,)).tolist()
    [10.597729682922363, 0.7647672891616821]
    """
    count, kind = spec(target, dtype)
    median, sigma = float(median), float(sigma)
    if not sigma > 0.0:
        raise RuntimeError(f"cauchy_ expects sigma > 0.0, but found sigma={sigma:g}")
    if name_of(kind) not in DIGITS:
        name = {"complex64": "c10::complex<float>", "complex128": "c10::complex<double>"}.get(
            name_of(kind)
        )
        raise RuntimeError(
            "Cauchy distribution is a continuous probability distribution. dtype must be a floating point but you "
            f"specified {name or C_NAMES[name_of(kind)]}"
        )
    with generator.lock:
        tangents = _exactly(math.tan, math.pi * (generator.uniform53(count) - 0.5), kind)
    return deliver(target, round_to(fma(tangents, sigma, median), kind))


@repeatable
def log_normal(
    generator: Generator,
    target: Target,
    mean: float = 1.0,
    std: float = 2.0,
    dtype: Any = np.float32,
) -> np.ndarray:
    """exp of normal values with `mean` and `std`, made one by one as the normal fill makes fewer
    than 16.

    Raises RuntimeError for std <= 0, NotImplementedError for a dtype that is not a float.

    >>> log_normal(Generator().manual_seed(0), (2,)).tolist()
    [59.2634162902832, 1.5115599632263184]
    """
    count, kind = spec(target, dtype)
    mean, std = float(mean), float(std)
    if not std > 0.0:
        raise RuntimeError(f"log_normal_ expects std > 0.0, but found std={std:g}")
    if count == 0:
        return deliver(target, np.empty(0, kind))
    require_float("log_normal_cpu", kind)
    with generator.lock:
        normals = fma(normal_serial(generator, count), std, mean)
    with np.errstate(over="ignore"):
        values = round_to(_exactly(_exp, normals, kind), kind)
    return deliver(target, values)


def _exp(value: float) -> float:
    try:
        return math.exp(value)
    except OverflowError:
        return math.inf


_exp.__name__ = "exp"


def _exactly(function: Any, values: np.ndarray, kind: np.dtype) -> np.ndarray:
    """The C library's function for float64, where its last digit is visible. NumPy's function
    otherwise, since rounding to fewer digits hides the difference.
    """
    if kind == np.float64:
        return exact(function, values)
    rough: np.ndarray = getattr(np, function.__name__)(values)
    return rough


@repeatable
def multinomial(
    generator: Generator, weights: np.ndarray, num_samples: int, replacement: bool = False
) -> np.ndarray:
    """Indices (int64) drawn by the weights of a vector, or of each row of a matrix.

    Two samples or more with replacement: u is searched in the running sum of the row, divided by
    its total. Else the samples are the places of the largest weight / exponential(1), largest first
    (equal ones by their index).

    Raises RuntimeError for weights that are negative, infinite, NaN or all zero, for integers, for
    more than two dimensions, and for more samples than weights without replacement.

    >>> multinomial(Generator().manual_seed(0), np.array([0.1, 0.2, 0.7]), 3, replacement=True).tolist()
    [2, 2, 2]
    """
    _check_weights(weights, num_samples, replacement)
    shape = (*weights.shape[:-1], num_samples)
    rows = weights.reshape(-1, weights.shape[-1])
    if not len(rows):
        return np.empty(shape, np.int64)
    if not replacement or num_samples == 1:
        wide, short = _compute(rows.dtype), rows.dtype
        # PyTorch fills a tensor like the weights: in the order in which they lie in memory
        plain = weights.flags.c_contiguous or overlaps_itself(weights)
        like: Any = weights.shape if plain else np.empty_like(weights)
        q = exponential(generator, like, 1.0, short).reshape(rows.shape)
        with np.errstate(all="ignore"):
            if wide is short:
                ratios = rows / q
            else:
                ratios = (rows.astype(wide) / q.astype(wide)).astype(short).astype(wide)
        if num_samples == 1:
            return ratios.argmax(-1).astype(np.int64, copy=False).reshape(shape)
        return _largest(ratios, num_samples).reshape(shape)
    search = kernel(_SEARCHES[_compute(rows.dtype)], rows.size + len(rows) * num_samples >= _MANY)
    if search:
        with generator.lock:
            uniforms = generator.uniform53(len(rows) * num_samples)
        found = np.empty(shape, np.int64)
        wide = np.ascontiguousarray(rows, _compute(rows.dtype))
        search(
            wide,
            uniforms,
            np.empty(wide.shape[1], wide.dtype),
            found,
            len(rows),
            wide.shape[1],
            num_samples,
        )
        return found
    sums = np.add.accumulate(rows.astype(_compute(rows.dtype)), -1)
    sums /= sums[:, -1:].copy()
    sums[:, -1] = 1
    with generator.lock:
        uniforms = generator.uniform53(len(rows) * num_samples).reshape(len(rows), num_samples)
    out = np.empty(uniforms.shape, np.int64)
    for row, cumulative, found in zip(uniforms, sums.astype(np.float64), out, strict=True):
        found[...] = np.searchsorted(cumulative, row)
    return out.reshape(shape)


def _largest(ratios: np.ndarray, count: int) -> np.ndarray:
    """The indices of the `count` largest values of each row, largest first; equal values in the
    order of their indices.
    """
    few = ratios.size < _SORTED and not native_code_runs()
    # the kernel orders NaN, the quotient of two zeros, differently
    if config.kernels and not few and not np.isnan(ratios).any():
        made = kernels.ordering.order.first(ratios, 1, count, True)
        if made is not None:
            return made[1]
    ranked = np.argsort(-ratios, -1, kind="stable")
    return np.ascontiguousarray(ranked[:, :count])


_SORTED = 1 << 13  # with fewer ratios, native code is not loaded for this


def _compute(kind: np.dtype) -> np.dtype:
    return kind if kind is _FLOAT32 or kind == _FLOAT64 else _FLOAT32


# up to so many numbers are computed one by one, which is cheaper than calls of array functions
_FEW, _MASK53 = 8, (1 << 53) - 1
_SEARCHES = {_FLOAT32: "search_float", _FLOAT64: "search_double"}
_MANY = 1 << 17  # with so many weights and samples, it pays to load the compiler


def _check_weights(weights: np.ndarray, num_samples: int, replacement: bool) -> None:
    if not 0 < weights.ndim <= 2:
        raise RuntimeError("prob_dist must be 1 or 2 dim")
    if name_of(weights.dtype) not in DIGITS:
        name = NAMES.get(weights.dtype.name, weights.dtype.name)
        raise RuntimeError(
            f"multinomial only supports floating-point dtypes for input, got: {name}"
        )
    if num_samples <= 0:
        raise RuntimeError("cannot sample n_sample <= 0 samples")
    if not replacement and num_samples > weights.shape[-1]:
        raise RuntimeError(
            "cannot sample n_sample > prob_dist.size(-1) samples without replacement"
        )
    if weights.shape[-1] > 1 << 24:
        raise RuntimeError("number of categories cannot exceed 2^24")
    wide = weights if weights.dtype.kind == "f" else weights.astype(np.float32)
    if not wide.size:
        return
    largest = np.maximum.reduce(wide, -1)
    # NaN fails both comparisons
    if not (np.minimum.reduce(wide, None) >= 0 and np.maximum.reduce(largest, None) < math.inf):
        if not replacement or num_samples == 1:
            raise RuntimeError("probability tensor contains either `inf`, `nan` or element < 0")
        entry = (
            "< 0" if not wide[~(np.isfinite(wide) & (wide >= 0))][0] >= 0 else "= infinity or NaN"
        )
        raise RuntimeError(
            f"invalid multinomial distribution (encountering probability entry {entry})"
        )
    if np.minimum.reduce(largest, None) == 0:
        raise RuntimeError("invalid multinomial distribution (sum of probabilities <= 0)")


@repeatable
def rrelu_noise(
    generator: Generator, values: np.ndarray, lower: float = 1.0 / 8, upper: float = 1.0 / 3
) -> np.ndarray:
    """The slopes of rrelu in training: uniform in [lower, upper) where a value is <= 0, else 1
    (nothing is drawn).

    Raises RuntimeError for lower > upper, NotImplementedError for other dtypes than float32,
    float64 and bfloat16.

    >>> rrelu_noise(Generator().manual_seed(0), np.array([1.0, -1.0]), 0.0, 1.0).tolist()
    [1.0, 0.9700530018065531]
    """
    if not lower <= upper:
        raise RuntimeError("Lower bound should be less than or equal to the upper bound")
    kind = values.dtype
    if name_of(kind) not in ("float32", "float64", "bfloat16"):
        raise refuse("rrelu_with_noise_out_cpu", kind)
    wide = _compute(kind).type
    low, high = float(wide(lower)), float(wide(upper))
    noise = np.ones(values.shape, kind)
    negative = values <= 0
    with generator.lock:
        slopes = generator.uniform53(int(np.count_nonzero(negative)))
    noise[negative] = round_to(slopes * (high - low) + low, kind)
    return noise
