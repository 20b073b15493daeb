"""Another stream for Bernoulli and exponential values: MKL's MCG31m1, as older PyTorch builds used
it on Intel CPUs.

PyTorch wheels with MKL, up to a version before 2.13, drew `bernoulli_(p)` (so dropout) on Intel
processors and `exponential_` from Intel MKL's generator MCG31m1 (L'Ecuyer, 1999): x <- 1132489760 x
mod (2**31 - 1), seeded with one draw of the Mersenne Twister per call. PyTorch 2.13 draws both from
the Mersenne Twister on every processor, and so does this library, unless
`set_vendor_streams("mkl")` or the environment variable PELLUCID_VENDOR_STREAMS=mkl asks for the old
numbers.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import numpy as np

from .fill import Target, round_to

if TYPE_CHECKING:
    from .generator import Generator

_MODULUS = 2**31 - 1
_MULTIPLIER = 1132489760
_CHOICES = ("auto", "mt19937", "mkl")
_choice = "auto"


def set_vendor_streams(choice: str) -> None:
    """Choose where Bernoulli and exponential values come from: "mt19937", "mkl", or "auto" (what
    PyTorch 2.13 does).

    Raises ValueError for another name.

    >>> set_vendor_streams("auto")
    """
    global _choice
    if choice not in _CHOICES:
        raise ValueError(f"vendor streams are one of {', '.join(_CHOICES)}, not {choice!r}")
    _choice = choice


def active() -> bool:
    """Whether Bernoulli and exponential values come from MCG31m1."""
    return _choice == "mkl"


def states(seed: int, count: int) -> np.ndarray:
    """The first `count` states (uint64, in [1, 2**31 - 2]) of MCG31m1 from a seed.

    >>> states(1, 3).tolist()
    [1, 1132489760, 826537482]
    """
    first = seed % _MODULUS or 1
    out = np.empty(max(count, 1), np.uint64)
    out[0] = first
    done = 1
    while done < count:  # the states so far, advanced by their number
        skip = np.uint64(pow(_MULTIPLIER, done, _MODULUS))
        more = min(done, count - done)
        out[done : done + more] = out[:more] * skip % np.uint64(_MODULUS)
        done += more
    return out[:count]


def bernoulli(generator: Generator, count: int, p: float) -> np.ndarray:
    """`count` booleans, true with probability p."""
    seed = int(generator.words(1)[0])
    return states(seed, count) / _MODULUS < p


def exponential(generator: Generator, count: int, lambd: float, kind: np.dtype) -> np.ndarray:
    """`count` exponential values of rate lambd, by inversion."""
    real = np.float64 if kind == np.float64 else np.float32
    seed = (
        int(generator.wide_words(1)[0] if kind == np.float64 else generator.words(1)[0])
        & 0xFFFFFFFF
    )
    uniforms = (states(seed, count) / _MODULUS).astype(real)
    values = -np.log(uniforms) * real(1.0 / lambd) + np.finfo(real).tiny
    return round_to(values, kind)


def deliver_in_index_order(target: Target, values: np.ndarray) -> np.ndarray:
    """As `fill.deliver`, but in the order of the indices instead of memory order."""
    if not isinstance(target, np.ndarray):
        return values.reshape(target)
    target[...] = values.reshape(target.shape)
    return target


if os.environ.get("PELLUCID_VENDOR_STREAMS"):
    set_vendor_streams(os.environ["PELLUCID_VENDOR_STREAMS"])
