"""Random words a vector at a time against NumPy's generator, on the same state."""

from __future__ import annotations

import numpy as np
import pytest

import pellucid as torch
from pellucid import config
from pellucid.core.streams import generator as random
from pellucid.core.streams.math import normal_blocks32
from pellucid.kernels.random.twister import library
from pellucid.llvm import target

pytestmark = pytest.mark.skipif(not target.available(), reason="no compiler")
MASK53 = np.uint64((1 << 53) - 1)


def state_of(seed):
    """A generator, which must live as long as its state is used, and where that is."""
    bits = np.random.MT19937(seed)
    return bits, bits.ctypes.state_address


@pytest.mark.parametrize("n", [0, 1, 3, 226, 227, 228, 623, 624, 625, 1249, 5000])
def test_words_and_numbers(n):
    ours, numpy = np.random.MT19937(5), np.random.MT19937(5)
    state = ours.ctypes.state_address
    for skipped in (0, 17, 606):
        ours.random_raw(skipped)
        numpy.random_raw(skipped)
        out = np.empty(n, np.uint32)
        library.words(state, out, n)
        assert np.array_equal(out, numpy.random_raw(n))
        assert ours.state["state"]["pos"] == numpy.state["state"]["pos"]
        assert np.array_equal(ours.state["state"]["key"], numpy.state["state"]["key"])
        words = numpy.random_raw(2 * n)
        uniform = (((words[::2] << np.uint64(32)) | words[1::2]) & MASK53).astype(
            np.float64
        ) * 2.0**-53
        out = np.empty(n)
        library.uniform53(state, out, n)
        assert np.array_equal(out, uniform)
        words = numpy.random_raw(2 * n)
        uniform = (((words[::2] << np.uint64(32)) | words[1::2]) & MASK53).astype(
            np.float64
        ) * 2.0**-53
        out = np.empty(n, np.float32)
        library.bernoulli(state, out, n, 0.3)
        assert np.array_equal(out, uniform < 0.3)
        words = numpy.random_raw(2 * n)
        uniform = (((words[::2] << np.uint64(32)) | words[1::2]) & MASK53).astype(
            np.float64
        ) * 2.0**-53
        out = np.empty(n, bool)
        library.hits(state, out, n, 0.7)
        assert np.array_equal(out, uniform < 0.7)
        out = np.empty(n, np.int64)
        library.integers(state, out, n, -5, 2**28 - 1)
        assert np.array_equal(
            out, (numpy.random_raw(n) % np.uint64(2**28 - 1)).astype(np.int64) - 5
        )
        words = numpy.random_raw(n)
        out = np.empty(n, np.float32)
        library.uniform24(state, out, n)
        assert np.array_equal(
            out, (words & np.uint64(0xFFFFFF)).astype(np.float32) * np.float32(2**-24)
        )


def draws():
    torch.manual_seed(3)
    made = [torch.rand(n) for n in (3, 5000, 7)]
    made += [
        torch.rand(4000, dtype=torch.float64),
        torch.randn(3000),
        torch.randn(5),
        torch.randperm(3000),
        torch.randint(0, 9, (2500,)),
    ]
    made += [
        torch.bernoulli(torch.full((3000,), 0.4)),
        torch.nn.functional.dropout(torch.ones(60, 50), 0.3),
        torch.rand(2),
    ]
    made += [
        torch.empty(3000, 2).t().uniform_(),
        torch.empty(40, 80, dtype=torch.bool).bernoulli_(0.5),
        torch.rand(3),
    ]
    return [*made, torch.get_rng_state()]


def test_streams_are_the_same_with_and_without(monkeypatch):
    random.native("words", 10_000)
    assert random._twister
    native = draws()
    monkeypatch.setattr(config, "kernels", False)
    for a, b in zip(native, draws(), strict=True):
        assert torch.equal(a, b)


def test_another_layout_is_noticed(monkeypatch):
    class Library:
        @staticmethod
        def words(state, out, n):
            out[...] = 0

    monkeypatch.setattr(random, "_twister", None)
    monkeypatch.setattr("pellucid.kernels.random.twister.library", Library)
    assert random.native("words", 10_000) is None and random._twister is False


@pytest.mark.parametrize(
    ("low", "high"),
    [(0, 1), (0, 2), (-5, 7), (0, 2**31 - 1), (3, 3 + 2**30 + 1), (-(2**40), 641 - 2**40)],
)
def test_whole_numbers_are_remainders(low, high):
    ours, numpy = np.random.MT19937(7), np.random.MT19937(7)
    out = np.empty(3001, np.int64)
    library.integers(ours.ctypes.state_address, out, 3001, low, high - low)
    words = numpy.random_raw(3001).astype(np.int64)
    np.testing.assert_array_equal(out, words % (high - low) + low)


def test_normal_and_exponential_numbers_are_those_of_the_words():
    for count in (16, 48, 1248, 1264, 4000):
        words, made = state_of(7), np.empty(count, np.float32)
        library.normals(words[1], made, count, 0.5, 3.0)
        expected = normal_blocks32(np.random.MT19937(7).random_raw(count), 0.5, 3.0, False)
        np.testing.assert_array_equal(made, expected)
    for count in (1, 7, 624, 1000):
        bits, same = state_of(7), state_of(7)
        u, made = np.empty(count), np.empty(count, np.float32)
        library.uniform53(same[1], u, count)
        library.exponentials(bits[1], made, count, 0.4)
        np.testing.assert_array_equal(made, (-np.log1p(-u) * 0.4).astype(np.float32))


def test_chances_are_looked_at_before_numbers_are_drawn():
    p = np.random.default_rng(0).random(1300, dtype=np.float32)
    p[:2] = 0.0, 1.0
    bits, same, out, u = state_of(3), state_of(3), np.empty_like(p), np.empty_like(p)
    assert library.chances(bits[1], out, p, p.size) == 1
    library.uniform24(same[1], u, p.size)
    np.testing.assert_array_equal(out, u < p)
    for wrong in (1.5, -0.1, np.nan):
        p[1299] = wrong
        before = bits[0].state["state"]
        assert library.chances(bits[1], out, p, p.size) == 0
        after = bits[0].state["state"]
        assert before["pos"] == after["pos"] and np.array_equal(before["key"], after["key"])
