"""Exponential numbers, permutations and choices by weights, beside NumPy's evaluation of the same
steps.
"""

import math

import numpy as np
import pytest

from pellucid.core.streams.distributions import multinomial
from pellucid.core.streams.generator import Generator
from pellucid.core.streams.integers import randperm
from pellucid.kernels.random.normal import library
from pellucid.llvm import target, threads

pytestmark = pytest.mark.skipif(not target.available(), reason="there is no compiler")
RNG = np.random.default_rng(0)


def test_exponential_numbers():
    u = np.concatenate(
        [[0.0, 2.0**-53, 1 - 2.0**-53, 0.5, 2.0**-40], RNG.integers(0, 1 << 53, 200_003) * 2.0**-53]
    )
    for rate in (1.0, 0.3):
        made = np.empty(u.size, np.float32)
        library.exponential(u, made, u.size, 1 / rate)
        want = (-np.log1p(-u) * (1 / rate)).astype(np.float32)
        np.testing.assert_array_equal(made, want)
        assert not np.signbit(made).any()


@pytest.mark.parametrize("count", [2, 3, 100, 5000])
def test_permutations(count, monkeypatch):
    made = []
    for native in (True, False):
        kernel = (
            (lambda name, load: getattr(library, name)) if native else (lambda name, load: None)
        )
        monkeypatch.setattr("pellucid.core.streams.integers.kernel", kernel)
        generator = Generator().manual_seed(5)
        made.append((randperm(generator, count).tolist(), generator.get_state().tolist()))
    assert made[0] == made[1] and sorted(made[0][0]) == list(range(count))


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16])
def test_choices_with_replacement(dtype, monkeypatch):
    weights = RNG.random((5, 37)).astype(dtype)
    weights[1, 10:] = 0
    made = []
    for native in (True, False):
        kernel = (
            (lambda name, load: getattr(library, name)) if native else (lambda name, load: None)
        )
        monkeypatch.setattr("pellucid.core.streams.distributions.kernel", kernel)
        generator = Generator().manual_seed(5)
        made.append(
            (multinomial(generator, weights, 90, True).tolist(), generator.get_state().tolist())
        )
    assert made[0] == made[1] and max(made[0][0][1]) < 10


@pytest.mark.parametrize("ctype", ["float", "double"])
def test_weights_and_their_largest(ctype):
    dtype = {"float": np.float32, "double": np.float64}[ctype]
    good, largest = getattr(library, f"weights_{ctype}"), getattr(library, f"argmax_{ctype}")
    x = RNG.random((3, 41)).astype(dtype)
    assert good(x, 3, 41)
    for wrong in (-1e-30, -0.5, math.inf, -math.inf, math.nan):
        for place in (0, 7, 40):
            bad = x.copy()
            bad[2, place] = wrong
            assert not good(bad, 3, 41)
    x[1] = 0
    assert not good(x, 3, 41)
    x[1, 40] = 1e-30
    assert good(x, 3, 41)
    x[0, 5] = x[0, 9] = 3.0
    x[2, 13] = x[2, 20] = np.nan
    places = np.empty(3, np.int64)
    largest(x, places, 3, 41)
    assert places.tolist() == [5, 40, 13] == x.argmax(1).tolist()


def test_blocks_in_chunks():
    words = RNG.integers(0, 1 << 32, 16 * 5001, dtype=np.uint64).astype(np.uint32)
    alone, shared = np.empty((2, words.size), np.float32)
    library.transform(words, alone, 5001, 2.0, 3.0)
    library.transform_shared(threads.team(), words, shared, 2.0, 3.0, 5001, 1000)
    np.testing.assert_array_equal(alone, shared)
