"""Reductions of few elements give NumPy's numbers, bit for bit."""

import itertools

import ml_dtypes
import numpy as np
import pytest

from pellucid import config
from pellucid.arrays import numpy_cpu as xp
from pellucid.kernels.pointwise import few, values

NUMPYS = {"sum": np.add, "prod": np.multiply, "max": np.maximum, "min": np.minimum}
SHAPES = [(n,) for n in (1, 2, 7, 8, 9, 15, 16, 17, 31, 64, 100, 127, 128)]
SHAPES += [(a, b) for a in (1, 2, 5, 9) for b in (1, 2, 7, 8, 17, 40)]
SHAPES += [(2, 3, 4), (3, 8, 9), (2, 1, 3, 4), (1, 2, 1, 5), (1, 1, 1)]


def _values(shape, dtype):
    """Numbers of all magnitudes; with a NaN, an infinity, and zeros below 0 alone."""
    rng = np.random.default_rng(len(shape) + shape[0])
    x = (rng.standard_normal(shape) * 10.0 ** rng.integers(-3, 4, shape)).astype(dtype)
    yield x
    for special in (np.nan, np.inf):
        other = x.copy()
        other.flat[rng.integers(x.size)] = special
        yield other
    yield np.full(shape, -0.0, dtype)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", NUMPYS)
def test_the_same_bits_as_numpy(name, dtype):
    served = 0
    for shape in SHAPES:
        dims = range(len(shape))
        axes = [None, -1, *dims, *itertools.combinations(dims, 2)]
        for x, axis, keepdims in itertools.product(_values(shape, dtype), axes, (False, True)):
            made = few.reduced(name, x, axis, keepdims)
            if made is None:
                continue
            wanted = np.asarray(NUMPYS[name].reduce(x, axis, None, None, keepdims))
            assert made.shape == wanted.shape and made.dtype == wanted.dtype
            assert made.tobytes() == wanted.tobytes(), (shape, axis, x)
            served += 1
    assert served > 500 or not config.kernels


def test_what_is_left_to_numpy():
    x = np.ones((4, 8), np.float32)
    assert few.reduced("sum", x.T, None, False) is None  # not in order
    assert few.reduced("sum", x.astype(np.int64), None, False) is None
    assert few.reduced("sum", np.ones((0, 3), np.float32), 0, False) is None
    assert few.reduced("sum", np.ones(129, np.float32), None, False) is None  # halved by NumPy
    assert few.reduced("sum", np.ones((2, 2, 2), np.float32), (0, 2), False) is None  # apart
    with config.override(kernels=False):
        assert few.reduced("sum", x, None, False) is None


def test_reductions_take_the_short_way_once_native_code_runs(monkeypatch):
    calls = []
    monkeypatch.setattr(xp, "_few", lambda *args: calls.append(args))
    x = np.ones((4, 8), np.float32)
    xp.sum(x, 1), xp.prod(x), xp.max(x, 0), xp.min(x), xp.mean(x)
    assert [name for name, *_ in calls] == ["sum", "prod", "max", "min", "sum"]


def test_means_are_quotients_of_float32():
    rng = np.random.default_rng(0)
    for n in range(1, 200):
        x = rng.standard_normal(n).astype(np.float32)
        assert xp.mean(x) == np.add.reduce(x) / np.float32(n)


def test_products_of_few_elements_are_those_of_matmul():
    rng = np.random.default_rng(0)
    for m, k, n in itertools.product((1, 2, 3, 8), (2, 3, 8, 17), (1, 2, 7)):
        a, b = rng.standard_normal((m, k)), rng.standard_normal((k, n))
        for x, y in ((a, b), (a, b[:, 0]), (a[0], b), (a[0], b[:, 0].copy()), (b.T, a.T)):
            for kind in (np.float32, np.float64):
                left, right = x.astype(kind), y.astype(kind)
                assert np.asarray(xp.matmul(left, right)).tobytes() == (left @ right).tobytes()


def _spread(x, axis, correction, keepdims, root):
    """The variance as NumPy computes it in float64, rounded once."""
    wide, n = x.astype(np.float64), x.size if axis is None else x.shape[axis]
    away = wide - np.asarray(np.add.reduce(wide, axis, None, None, True)) / np.float64(n)
    made = np.add.reduce(away * away, axis, None, None, keepdims) / np.float64(n - correction)
    return np.asarray(np.sqrt(made) if root else made).astype(x.dtype)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", ["var", "std"])
def test_spreads_have_the_bits_of_numpy_in_double(name, dtype):
    served = 0
    for shape, correction, keepdims in itertools.product(SHAPES, (0, 1, 1.5), (False, True)):
        for axis in (None, *range(len(shape))):
            made = few.spread(name, shape, np.dtype(dtype), axis, correction, keepdims)
            if made is None:
                continue
            for x in _values(shape, dtype):
                wanted = _spread(x, axis, correction, keepdims, name == "std")
                got = made(x)
                assert got.shape == wanted.shape and got.dtype == wanted.dtype
                np.testing.assert_array_equal(got, wanted)
                served += 1
    assert served > 500 or not config.kernels


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_norms_and_means_have_the_bits_of_numpy(dtype):
    rules = {
        "norm": lambda x, *a: np.sqrt(np.add.reduce(x * x, *a)),
        "taxicab": lambda x, *a: np.add.reduce(abs(x), *a),
        "mean": lambda x, *a: np.add.reduce(x, *a),
    }
    for (name, rule), shape in itertools.product(rules.items(), SHAPES):
        for axis in (None, *range(len(shape))):
            made = few.function(name, shape, np.dtype(dtype), axis, False)
            if made is None:
                continue
            for x in _values(shape, dtype):
                wanted = np.asarray(rule(x, axis, None, None, False), dtype)
                if name == "mean":
                    wanted = wanted / dtype(x.size if axis is None else x.shape[axis])
                np.testing.assert_array_equal(made(x), wanted)


def test_conversions_are_numpys():
    f32 = np.dtype(np.float32)
    for half in few._HALVES:
        patterns = np.arange(1 << 16, dtype=np.uint16).view(half)
        patterns = patterns[patterns == patterns]  # of NaN the payloads differ
        widen = few.conversion(patterns.shape, half, f32)
        if widen is None:
            continue
        assert widen(patterns).tobytes() == patterns.astype(f32).tobytes()
        bits = np.arange(1 << 16, dtype=np.uint32) << 16
        for low in (0, 1, 0x7FFF, 0x8000, 0x8001, 0xFFFF):
            x = (bits | low).view(f32)
            x = x[x == x]
            narrowed = few.conversion(x.shape, f32, half)(x)
            assert narrowed.tobytes() == x.astype(half).tobytes()
        assert np.isnan(few.conversion((1,), f32, half)(np.full(1, np.nan, f32)))
        for shape in ((), (0,), (1,), (7,), (8,), (2, 3, 3)):
            x = np.full(shape, 1.5, f32)
            made = few.conversion(shape, f32, half)(x)
            assert made.shape == shape and made.dtype is half and made.flags.carray
            assert (made == x).all()
    assert few.conversion((3,), np.dtype(np.float64), few._HALVES[0]) is None


@pytest.mark.parametrize("kind", ["float16", "bfloat16"])
@pytest.mark.parametrize("name", ["sum", "mean", "prod", "max", "min"])
def test_two_byte_floats_are_reduced_in_float32_and_rounded_once(name, kind):
    dtype = np.dtype(getattr(ml_dtypes, kind, None) or kind)
    if not values.available(kind):
        pytest.skip("the processor does not convert them")
    rng = np.random.default_rng(2)
    for shape in [(1,), (5,), (16,), (4, 8), (3, 37), (2, 3, 9)]:
        for axis in [None, *range(len(shape))]:
            x = (rng.standard_normal(shape) * 2).astype(dtype)
            x.reshape(-1)[0] = -0.0
            run = few.function(name, shape, dtype, axis, False)
            wide = few.function(name, shape, np.dtype(np.float32), axis, False)
            assert run(x).tobytes() == wide(x.astype(np.float32)).astype(dtype).tobytes()
    x = np.array([1, np.nan, np.inf, 2], dtype)
    made = few.function(name, (4,), dtype, None, False)(x)
    assert made.dtype == dtype and np.isnan(made.astype(np.float32))


@pytest.mark.parametrize("kind", ["float16", "bfloat16"])
def test_spreads_and_norms_of_two_byte_floats_are_rounded_once(kind):
    dtype = np.dtype(getattr(ml_dtypes, kind, None) or kind)
    if not values.available(kind):
        pytest.skip("the processor does not convert them")
    x = np.random.default_rng(3).standard_normal((4, 21)).astype(dtype)
    for axis in (None, 0, 1):
        made = few.spread("var", x.shape, dtype, axis, 1.0, False)(x)
        exact = x.astype(np.float64).var(axis, ddof=1)
        assert np.asarray(made).tobytes() == exact.astype(np.float32).astype(dtype).tobytes()
        made = few.norm(x.shape, dtype, axis, 2, False)(x)
        wide = few.norm(x.shape, np.dtype(np.float32), axis, 2, False)(x.astype(np.float32))
        assert made.tobytes() == wide.astype(dtype).tobytes()


@pytest.mark.parametrize("kind", ["float32", "float64", "float16", "bfloat16"])
def test_losses_of_picked_numbers_have_the_bits_of_the_steps(kind):
    dtype = np.dtype(getattr(ml_dtypes, kind, None) or kind)
    if not values.available(kind):
        pytest.skip("the processor does not convert them")
    rng = np.random.default_rng(4)
    for rows in (1, 3, 8, 17, 128):
        x = rng.standard_normal((rows, 6)).astype(dtype)
        index = rng.integers(0, 6, rows)
        wide = x[np.arange(rows), index].astype(np.float64 if kind == "float64" else np.float32)
        for name, total in (("none", lambda a: a), ("sum", xp.sum), ("mean", xp.mean)):
            made = few.minus_picked(x, index, name)
            assert made.tobytes() == (-np.asarray(total(wide))).astype(dtype).tobytes(), name
    assert few.minus_picked(np.ones((129, 2), dtype), np.zeros(129, np.int64), "sum") is None
    assert few.minus_picked(x.T, index[:6], "sum") is None
    assert few.minus_picked(x.astype(np.int32), index, "sum") is None
