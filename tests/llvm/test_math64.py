"""Functions of doubles, against NumPy's in long doubles (SciPy's for one), over the whole range and
at every edge.
"""

import ctypes
import math

import numpy as np
import pytest
from scipy import special

from pellucid.kernels.pointwise import activations
from pellucid.llvm import c_library, jit, target
from pellucid.llvm.emit import Module

pytestmark = pytest.mark.skipif(not target.available(), reason="needs a compiler")
REFERENCES = {
    "exp": np.exp,
    "expm1": np.expm1,
    "log": np.log,
    "log1p": np.log1p,
    "tanh": np.tanh,
    "erf": special.erf,
    "erfinv": lambda x: np.copysign(special.erfinv(x), x),  # which loses the sign of -0.0
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "sin": np.sin,
    "cos": np.cos,
    "tan": np.tan,
}
WITHIN_TWO = ("exp", "expm1", "log", "sin", "cos")
TINY = np.finfo(np.float64).tiny
EDGES = np.array(
    [
        0.0,
        np.inf,
        np.nan,
        1.0,
        5e-324,
        1e-310,
        TINY,
        709.78,
        709.79,
        708.4,
        745.1,
        745.2,
        1.7e308,
        1e-17,
        2.0**-53,
        20,
        5.9,
        6.1,
    ]
)


def samples():
    rng = np.random.default_rng(0)
    bits = rng.integers(0, 2**64, 100_000, dtype=np.uint64).view(np.float64)
    parts = (
        rng.uniform(-2, 2, 100_000),
        rng.uniform(-750, 750, 100_000),
        rng.uniform(-7, 7, 100_000),
        np.exp(rng.uniform(-40, 40, 50_000)),
        rng.integers(-(2**31), 2**31, 50_000) * (np.pi / 4),  # the hardest angles
    )
    return np.concatenate([bits, *parts, EDGES, -EDGES])


@pytest.mark.parametrize("name", REFERENCES)
def test_within_some_ulp_over_the_whole_range(name):
    x = samples()
    with np.errstate(all="ignore"):
        wide = REFERENCES[name](x if name in ("erf", "erfinv") else x.astype(np.longdouble))
        exact = wide.astype(np.float64)
        got = getattr(activations, name)(x)
        assert np.array_equal(np.isnan(got), np.isnan(exact))
        assert np.array_equal(np.isinf(got), np.isinf(exact)) and np.array_equal(
            np.signbit(got) & ~np.isnan(got), np.signbit(exact) & ~np.isnan(exact)
        )
        known = np.isfinite(exact)
        step = np.spacing(np.maximum(np.abs(exact[known]), TINY))
        away = np.abs((got[known] - wide[known]) / step)
    # SciPy's inverse of the error function is off by two itself
    assert away.max() <= (2 if name in WITHIN_TWO else 5 if name == "erfinv" else 3), (
        x[known][away.argmax()],
        away.max(),
    )


def test_hypot_is_all_but_rounded_correctly_over_the_whole_range():
    x = samples()
    y = np.random.default_rng(1).permutation(x)
    near = x * np.random.default_rng(2).uniform(-2, 2, x.size)
    with np.errstate(all="ignore"):
        for other in (y, near):
            wide = np.hypot(x.astype(np.longdouble), other.astype(np.longdouble))
            exact, got = wide.astype(np.float64), activations.hypot(x, other)
            assert np.array_equal(np.isnan(got), np.isnan(exact))
            known = np.isfinite(exact) & np.isfinite(got)
            # infinite in the one only where the other rounds to the largest number
            assert (np.maximum(got, exact)[~known & ~np.isnan(exact)] == np.inf).all()
            assert (exact[np.isinf(got)] > 1.797e308).all()
            step = np.spacing(np.maximum(exact[known], TINY))
            # denormal results are rounded twice
            assert np.abs((got[known] - wide[known]) / step).max() <= 0.76


@pytest.mark.parametrize("name", REFERENCES)
def test_odd_lengths_and_steps(name):
    x = np.linspace(0.1, 3, 999)
    whole = getattr(activations, name)(x)
    for part in (np.s_[:3], np.s_[5:12], np.s_[::7], np.s_[::-2], np.s_[:0]):
        np.testing.assert_array_equal(getattr(activations, name)(x[part]), whole[part])


def test_functions_of_the_c_library_under_names_of_our_own(monkeypatch):
    """As on Windows, whose linker does not look into the C library."""
    monkeypatch.setattr(c_library, "PREFIX", "pellucid_test_c_")
    assert c_library.name_c_functions(ctypes.CDLL(None), c_library.PREFIX)
    assert not c_library.name_c_functions(object(), "pellucid_test_none_")
    names = {"sinh": math.sinh, "erfc": math.erfc, "arctan2": math.atan2, "fmod": math.fmod}
    module = Module()
    for name in names:
        f = module.function(f"all_{name}", x="ptr", y="ptr", out="ptr")
        a, b = f.load("<2 x double>", f.x), f.load("<2 x double>", f.y)
        f.store(
            c_library.through_c(f, name, *([a, b] if name in ("arctan2", "fmod") else [a])), f.out
        )
        f.ret()
    text = module.text()
    assert "@pellucid_test_c_sinh" in text and "@sinh" not in text
    native = jit.compile_ir(text, {f"all_{name}": "aaa" for name in names})
    x, y, out = np.array([0.3, -2.7]), np.array([1.1, 0.4]), np.empty(2)
    for name, function in names.items():
        native[f"all_{name}"](x, y, out)
        pairs = zip(x.tolist(), y.tolist(), strict=True)
        assert out.tolist() == [
            function(*pair) if name in ("arctan2", "fmod") else function(pair[0]) for pair in pairs
        ]
