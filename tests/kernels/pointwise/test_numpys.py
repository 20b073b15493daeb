"""NumPy's functions with more loops: the same results for every dtype and any number of threads."""

import ml_dtypes
import numpy as np
import pytest

import pellucid as torch
from pellucid.kernels.pointwise import numpys
from pellucid.llvm import threads

RNG = np.random.default_rng(5)
NAMES = [
    "add",
    "subtract",
    "multiply",
    "divide",
    "maximum",
    "minimum",
    "fmax",
    "negative",
    "absolute",
    "sqrt",
    "floor",
    "copysign",
]
KINDS = [np.float32, np.float64, np.int64, np.int8, np.bool_, np.complex64]


def draw(kind, *shape):
    return (RNG.standard_normal(shape) * 50).astype(kind)


@pytest.mark.parametrize("name", NAMES)
def test_large_and_small_arrays_give_what_numpy_gives(name, thread_count):
    own, theirs = numpys.extended(getattr(np, name)), getattr(np, name)
    assert own is not theirs and own.nin == theirs.nin
    for kind in KINDS:
        if name == "divide" and np.dtype(kind).kind in "ib":
            continue  # operations promote them before
        for shape in ((3,), (0, 4), (200_003,), (300, 700)):
            arrays = [draw(kind, *shape) for _ in range(own.nin)]
            try:
                want = theirs(*arrays)
            except TypeError:  # differences of bools, which operations refuse before
                continue
            got = own(*arrays)
            assert got.dtype == want.dtype
            np.testing.assert_array_equal(got, want)
            np.testing.assert_array_equal(
                own(*[a[::-3].T for a in arrays]), theirs(*[a[::-3].T for a in arrays])
            )


def test_in_place_and_with_numbers(thread_count):
    add = numpys.extended(np.add)
    x = draw(np.float32, 100_000)
    want = x + x + np.float32(2.5)
    assert add(x, x, out=x) is x and add(x, 2.5, x).dtype == np.float32
    np.testing.assert_array_equal(x, want)
    shifted = np.arange(200_000.0)
    want = shifted[:-1] + shifted[1:]
    np.testing.assert_array_equal(add(shifted[:-1], shifted[1:], out=shifted[1:]), want)


def test_reductions_begin_as_numpys_do():
    x = draw(np.float32, 3, 4, 5)
    for name in ("add", "multiply", "maximum"):
        own, theirs = numpys.extended(getattr(np, name)), getattr(np, name)
        np.testing.assert_array_equal(own.reduce(x, (0, 2)), theirs.reduce(x, (0, 2)))
        assert own.identity == theirs.identity


def test_others_stay_numpys():
    assert (
        numpys.extended(np.invert) is np.invert
        and numpys.extended(np.bitwise_and) is np.bitwise_and
    )


def test_comparisons_of_two_byte_floats():
    for name in ("greater", "less_equal", "equal", "not_equal"):
        own, theirs = numpys.extended(getattr(np, name)), getattr(np, name)
        for kind in (ml_dtypes.bfloat16, np.float16, np.float32, np.int32, np.bool_, np.complex64):
            x, y = draw(np.float32, 100).astype(kind), draw(np.float32, 100).astype(kind)
            x[::7], y[::5] = y[::7], x[::5]
            if kind in (ml_dtypes.bfloat16, np.float16):
                x[3], y[4], x[5], y[5] = np.nan, np.nan, 0.0, -0.0
            got = own(x, y)
            assert got.dtype == np.bool_
            np.testing.assert_array_equal(got, theirs(x, y))


def test_products_take_numbers_in_float32():
    x = draw(ml_dtypes.bfloat16, 1000)
    number = np.array(1.003, np.float32)
    multiply = numpys.extended(np.multiply)
    for got in (multiply(x, number), multiply(number, x)):
        assert got.dtype == x.dtype
        np.testing.assert_array_equal(got, (x.astype(np.float32) * number).astype(x.dtype))


FOLDED = ["add", "subtract", "multiply", "divide", "maximum", "minimum", "fmax", "fmin"]


@pytest.mark.parametrize("kind", [np.float16, ml_dtypes.bfloat16, np.float32, np.float64, np.int64])
@pytest.mark.parametrize("name", FOLDED)
def test_results_that_are_read_again(name, kind):
    """`reduce`, `reduceat` and `accumulate` pass the result as an operand, so elements depend on
    those before.
    """
    own = numpys.extended(getattr(np, name))
    x = (
        RNG.uniform(0.5, 1.5, (7, 40)).astype(kind)
        if np.dtype(kind).kind != "i"
        else RNG.integers(1, 3, (7, 40))
    )
    tolerance = {2: 0.3, 4: 1e-4}.get(x.itemsize, 1e-12)
    if name == "divide" and x.dtype.kind == "i":
        return
    theirs, wide = getattr(np, name), x.astype(np.float64) if x.dtype.kind != "i" else x
    for array, exact in (
        (x, wide),
        (x.T, wide.T),
        (x[::-1, ::2], wide[::-1, ::2]),
        (x[:, :1], wide[:, :1]),
        (x[:, :3], wide[:, :3]),
    ):
        for axis in (0, 1):
            pieces = [(own.accumulate(array, axis=axis), theirs.accumulate(exact, axis=axis))]
            pieces.append((own.reduce(array, axis=axis), theirs.reduce(exact, axis=axis)))
            cuts = [0, array.shape[axis] // 2]
            pieces.append(
                (own.reduceat(array, cuts, axis=axis), theirs.reduceat(exact, cuts, axis=axis))
            )
            for got, want in pieces:
                assert got.dtype == x.dtype
                np.testing.assert_allclose(
                    got.astype(np.float64), want, rtol=tolerance, atol=tolerance
                )


def test_running_results_of_many_numbers_are_not_cut_into_chunks():
    before = threads.get_num_threads()
    threads.set_num_threads(2)
    try:
        add = numpys.extended(np.add)
        many = RNG.integers(0, 5, 200_000).astype(np.float32)
        np.testing.assert_array_equal(add(many, many), many + many)  # the workers have started
        np.testing.assert_array_equal(add.accumulate(many), np.add.accumulate(many))
        np.testing.assert_array_equal(add.accumulate(many[::-1]), np.add.accumulate(many[::-1]))
    finally:
        threads.set_num_threads(before)


@pytest.mark.parametrize("name", ["sin", "cos", "arctan2", "log10", "square", "floor", "rint"])
@pytest.mark.parametrize("kind", [np.float16, ml_dtypes.bfloat16])
def test_functions_of_two_byte_floats_are_those_of_float32_rounded_once(name, kind):
    rng = np.random.default_rng(0)
    function = getattr(np, name)
    for shape in ((7,), (400,), (40, 50)):
        given = [np.abs(rng.standard_normal(shape)).astype(kind) for _ in range(function.nin)]
        for arrays in (given, [a.T for a in given], [a[::2] for a in given]):
            made = numpys.extended(function)(*arrays)
            want = function(*[a.astype(np.float32) for a in arrays]).astype(kind)
            assert made.dtype == want.dtype
            np.testing.assert_array_equal(made.astype(np.float32), want.astype(np.float32))


@pytest.mark.parametrize("name", ["power", "remainder", "floor_divide", "fmod", "log10"])
@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_floats_in_chunks(name, kind, thread_count):
    theirs = getattr(np, name)
    own = numpys.chunked(theirs)
    assert own is not theirs and set("".join(own.types)) == set("fd->")
    for size in (3, 200_003):
        arrays = [draw(kind, size) for _ in range(own.nin)]
        arrays[-1][::5] = 0
        with np.errstate(all="ignore"):
            want, got = theirs(*arrays), own(*arrays)
            assert got.dtype == want.dtype
            np.testing.assert_array_equal(got, want)
            if own.nin == 2:
                np.testing.assert_array_equal(own(arrays[0], 2.5), theirs(arrays[0], 2.5))


def test_functions_that_are_told_what_to_compute(thread_count):
    special = pytest.importorskip("scipy.special")
    own = numpys.chunked(special.gammaln)
    x = np.abs(draw(np.float32, 150_000)) + 1
    np.testing.assert_array_equal(own(x), special.gammaln(x))


def test_workers_are_there_for_large_new_arrays(monkeypatch):
    monkeypatch.setattr(threads, "_followed", False)
    before = threads.get_num_threads()
    threads.set_num_threads(before + 1)
    try:
        small = torch.ones(3) + torch.rand(3)
        assert threads._team is None and small.shape == (3,)
        for make in (torch.ones, torch.rand, torch.arange, lambda n: torch.from_numpy(np.ones(n))):
            threads._shutdown()
            x = make(threads.LARGE)
            assert threads._team is not None
            np.testing.assert_array_equal((x * x).numpy(), x.numpy() * x.numpy())
    finally:
        threads.set_num_threads(before)


def test_negatives_of_complex_numbers_flip_both_signs(thread_count):
    own = numpys.extended(np.negative)
    x = (RNG.standard_normal(100_001) + 1j * RNG.standard_normal(100_001)).astype(np.complex64)
    x[:3] = complex(0.0, -0.0), complex(np.inf, np.nan), complex(-np.inf, 0.0)
    for part in (x, x[::-3], x[:5], x[5:6]):
        made = own(part)
        assert made.dtype == np.complex64
        for side in ("real", "imag"):
            got, want = getattr(made, side), -getattr(part, side)
            np.testing.assert_array_equal(got, want)
            np.testing.assert_array_equal(np.signbit(got), np.signbit(want))


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint16", "int32"])
@pytest.mark.parametrize("name", ["left_shift", "right_shift"])
def test_shifts_of_small_integers(name, dtype, thread_count):
    own, plain = numpys.extended(getattr(np, name)), getattr(np, name)
    x = np.arange(-70_000, 70_000, 3).astype(dtype)
    for count in (0, 1, 7, 8, 9, 15, 16, 40, 127):
        np.testing.assert_array_equal(
            own(x, np.array(count, dtype)), plain(x, np.array(count, dtype))
        )
        np.testing.assert_array_equal(own(x[::-3], x[::3] & 7), plain(x[::-3], x[::3] & 7))
    y = x.copy()
    own(y, np.array(2, dtype), out=y)
    np.testing.assert_array_equal(y, plain(x, np.array(2, dtype)))
    assert own(x, x).dtype == x.dtype
