import os
import subprocess
import sys

import numpy as np
import pytest
from scipy import special

from pellucid.kernels.pointwise import activations
from pellucid.llvm import target
from pellucid.llvm.math import ulps

REFERENCES = {
    "exp": np.exp,
    "expm1": np.expm1,
    "log": np.log,
    "log1p": np.log1p,
    "tanh": np.tanh,
    "erf": special.erf,
    "sigmoid": special.expit,
}
TINY = np.finfo(np.float32).tiny
EDGES = np.float32(
    [
        0.0,
        np.inf,
        np.nan,
        1.0,
        1e-45,
        5e-42,
        TINY,
        88.7228,
        88.7229,
        87.3,
        103.9,
        104.1,
        3.4e38,
        0.625,
        0.925,
        2**-24,
        17,
    ]
)


def samples():
    rng = np.random.default_rng(0)
    bits = rng.integers(0, 2**32, 300_000, dtype=np.uint64).astype(np.uint32).view(np.float32)
    small, wide = rng.uniform(-2, 2, 200_000), rng.uniform(-110, 110, 200_000)
    return np.concatenate([bits, small.astype(np.float32), wide.astype(np.float32), EDGES, -EDGES])


@pytest.mark.parametrize("name", REFERENCES)
def test_within_two_ulp_over_the_whole_range(name):
    x = samples()
    with np.errstate(all="ignore"):
        exact = REFERENCES[name](x.astype(np.float64))
    got = getattr(activations, name)(x)
    worst = ulps(got, exact)
    at = np.argmax(worst)
    assert worst[at] <= 2, (x[at], got[at], exact[at])
    zero = x == 0
    assert (np.signbit(got[zero]) == np.signbit(exact[zero])).all()
    with np.errstate(over="ignore"):
        assert (np.isinf(got) == np.isinf(exact.astype(np.float32))).all()
    assert (np.isnan(got) == np.isnan(exact)).all()


def test_gelu():
    x = samples()
    with np.errstate(all="ignore"):
        exact = x * special.ndtr(x.astype(np.float64))
    got = activations.gelu(x)
    ordinary = np.abs(x) < 20
    # above, a unit in the last place is more
    assert np.abs(got - exact)[ordinary & (x < 2)].max() < 2.4e-7
    assert ulps(got, exact)[ordinary & (x > -0.5)].max() <= 2
    assert (got[x >= 20] == x[x >= 20]).all()
    assert (got[(x <= -20) & np.isfinite(x)] == 0).all()
    assert (np.isnan(got) == np.isnan(exact)).all()


def test_slope_of_gelu():
    x = samples()
    with np.errstate(all="ignore"):
        wide = x.astype(np.float64)
        bounded = np.clip(wide, -40, 40)
        exact = special.ndtr(wide) + bounded * np.exp(-0.5 * bounded * bounded) / np.sqrt(2 * np.pi)
    got = activations.gelu_slope(x)
    assert np.nanmax(np.abs(got - exact)) < 2e-7
    assert (np.isnan(got) == np.isnan(x)).all()
    assert activations.gelu_slope(np.float32([-np.inf, np.inf])).tolist() == [0.0, 1.0]


@pytest.mark.parametrize("size", [0, 1, 2, 15, 16, 17, 31, 32, 33, 100])
def test_every_length(size):
    x = np.linspace(-3, 3, size, dtype=np.float32)
    room = np.full(size + 64, 7, np.float32)
    activations.exp(x, out=room[:size])
    np.testing.assert_allclose(room[:size], np.exp(x), rtol=3e-7)
    assert (room[size:] == 7).all()


NARROW = """
import numpy as np
from scipy import special
from pellucid.kernels.pointwise import activations; from pellucid.llvm import target
from pellucid.llvm.math import ulps
assert target.host().vector_bits == {bits}
x = np.concatenate([np.linspace(-110, 110, 50_001), np.linspace(-2, 2, 50_001)]).astype(np.float32)
with np.errstate(all="ignore"):
    for name, exact in dict(exp=np.exp, log=np.log, tanh=np.tanh, erf=special.erf, sigmoid=special.expit).items():
        worst = ulps(getattr(activations, name)(x), exact(x.astype(np.float64))).max()
        assert worst <= 2, (name, worst)
wide = x.astype(np.float64)
slope = special.ndtr(wide) + wide * np.exp(-0.5 * wide * wide) / np.sqrt(2 * np.pi)
assert np.abs(activations.gelu_slope(x) - slope).max() < 2e-7
assert activations.gelu_slope(np.float32([-np.inf, np.inf])).tolist() == [0, 1]
assert np.abs(activations.gelu(x[50_001:]) - (wide * special.ndtr(wide))[50_001:]).max() < 2.4e-7
"""


@pytest.mark.parametrize("bits", [128, 256])
def test_narrower_vectors(bits):
    if bits > target.host().vector_bits:
        pytest.skip("this processor has no such vectors")
    environment = os.environ | {"PELLUCID_VECTOR_BITS": str(bits)}
    subprocess.run([sys.executable, "-c", NARROW.format(bits=bits)], env=environment, check=True)
