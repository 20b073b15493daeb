"""Random numbers of every float type against those made of the same words in NumPy."""

from __future__ import annotations

import math

import ml_dtypes
import numpy as np
import pytest

from pellucid.core.streams import distributions, fill
from pellucid.core.streams import generator as streams
from pellucid.kernels.random.draws import draws
from pellucid.kernels.random.fills import library
from pellucid.kernels.random.twister import library as twister
from pellucid.llvm import target

pytestmark = pytest.mark.skipif(not target.available(), reason="no compiler")
HALVES = [np.dtype(np.float16), np.dtype(ml_dtypes.bfloat16)]
WIDE = np.dtype(np.float64)


def pair_of_states():
    bits = [np.random.MT19937(3) for _ in range(2)]
    return bits, [b.ctypes.state_address for b in bits]


@pytest.mark.parametrize("kind", HALVES, ids=str)
@pytest.mark.parametrize("n", [1, 7, 16, 624, 1249, 4096])
def test_two_byte_floats_are_float32_rounded(kind, n):
    bits, (here, there) = pair_of_states()
    cases = {"uniform": (), "exponentials": (0.4,), "bernoulli": (0.3,)}
    if n % 16 == 0:
        cases["normals"] = (1.5, 2.0)
    for name, more in cases.items():
        made, wide = np.empty(n, kind), np.empty(n, np.float32)
        getattr(library, f"{name}.{kind.name}")(here, made, n, *more)
        getattr(twister, "uniform24" if name == "uniform" else name)(there, wide, n, *more)
        expected = wide.astype(kind)
        if name == "uniform":
            expected[expected == 1] = 0
            assert (made < 1).all()
        assert made.tobytes() == expected.tobytes(), name
        assert bits[0].state["state"]["pos"] == bits[1].state["state"]["pos"]


@pytest.mark.parametrize("kind", HALVES, ids=str)
def test_a_uniform_number_that_rounds_to_one_is_zero(kind):
    # enough numbers for some of the 24-bit ones to be within half a step of 1
    bits, (here, there) = pair_of_states()
    n = 1 << 17
    made, wide = np.empty(n, kind), np.empty(n, np.float32)
    getattr(library, f"uniform.{kind.name}")(here, made, n)
    twister.uniform24(there, wide, n)
    ones = wide.astype(kind) == 1
    assert ones.any() and (made[ones] == 0).all()


@pytest.mark.parametrize("kind", [*HALVES, WIDE], ids=str)
def test_chances_are_compared_one_by_one(kind):
    n = 1500
    p = np.random.default_rng(0).random(n).astype(kind)
    bits, (here, there) = pair_of_states()
    made = np.empty(n, kind)
    run = getattr(library, f"chances.{kind.name}")
    assert run(here, made, p, n) == 1
    drawn = np.empty(n, WIDE if kind == WIDE else np.float32)
    (twister.uniform53 if kind == WIDE else twister.uniform24)(there, drawn, n)
    assert np.array_equal(made.astype(WIDE), (drawn < p.astype(drawn.dtype)).astype(WIDE))
    before = bits[0].state["state"]["pos"]
    for wrong in (1.5, -0.25, math.nan):
        p[n - 1] = wrong
        assert run(here, made, p, n) == 0
    assert bits[0].state["state"]["pos"] == before


def test_float64_draws_are_those_of_the_c_library():
    if draws().blocks is None:
        pytest.skip("the C library's functions are not found")
    bits, (here, there) = pair_of_states()
    n = 96
    uniforms, made = np.empty(n), np.empty(n)
    draws().blocks(here, made, n, 0.5, 3.0)
    twister.uniform53(there, uniforms, n)
    expected = fill._box_muller64(uniforms, 0.5, 3.0)
    assert made.tobytes() == expected.tobytes()
    draws().exponentials(here, made, n, 0.25)
    twister.uniform53(there, uniforms, n)
    expected = np.array([-math.log1p(-u) * 0.25 for u in uniforms])
    assert made.tobytes() == expected.tobytes()


@pytest.mark.parametrize("kind", [*HALVES, WIDE, np.dtype(np.float32)], ids=str)
def test_a_draw_is_one_native_call(kind, monkeypatch):
    streams.native("words", 1 << 20)  # native code is loaded from here on

    def refused(*_):
        raise AssertionError("not the short way")

    monkeypatch.setattr(fill, "spec", refused)
    monkeypatch.setattr(distributions, "spec", refused)
    source = streams.Generator().manual_seed(1)
    for target_ in ((4, 8), np.empty((4, 8), kind)):
        for draw, more in (
            (fill.uniform, ()),
            (fill.normal, (1.0, 2.0)),
            (distributions.exponential, (2.0,)),
            (distributions.bernoulli, (0.25,)),
        ):
            given = {} if isinstance(target_, np.ndarray) else {"dtype": kind}
            made = draw(source, target_, *more, **given)
            assert made.dtype == kind and made.shape == (4, 8)
