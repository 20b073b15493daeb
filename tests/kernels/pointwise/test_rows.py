"""Arithmetic of rows with a column or with one row: NumPy's bits, in every look that is served, and
nothing for others.
"""

from __future__ import annotations

import itertools

import ml_dtypes
import numpy as np
import pytest

import pellucid as torch
from pellucid.arrays.native import by_rows, native_code_runs
from pellucid.kernels.pointwise import rows
from pellucid.llvm import target, threads

HALVES = (np.dtype(np.float16), np.dtype(ml_dtypes.bfloat16))
KINDS = (np.float32, np.float64, np.int8, np.uint8, np.int16, np.int32, np.int64)
SERVED = [
    ((3500, 32), (3500, 1)),
    ((3500, 32), (32,)),
    ((3500, 32), (1, 32)),
    ((700, 3), (700, 1)),
    ((700, 3), (3,)),
    ((65, 33), (65, 1)),
    ((16, 1024), (16, 1)),
    ((16, 1024), (1024,)),
    ((20, 8, 4, 5), (20, 8, 1, 1)),
    ((20, 8, 4, 5), (20, 1, 1, 1)),
    ((20, 8, 4, 5), (4, 5)),
    ((20, 8, 4, 5), (1, 1, 4, 5)),
    ((1, 300, 17), (1, 300, 1)),
    ((17, 8, 17), (1, 8, 17)),
]
NOT_SERVED = [
    ((3500, 32), (1, 1)),  # one number
    ((3500, 32), ()),
    ((3500, 1), (1, 1)),
    ((20, 8, 4, 5), (8, 1, 1)),  # between
    ((20, 8, 4, 5), (1, 8, 1, 1)),
    ((20, 8, 4, 5), (20, 1, 4, 1)),
    ((8, 20), (8, 1)),  # few
    ((2, 2048), (2, 1)),  # few rows
    ((16, 2048), (16, 1)),  # long ones
]


def numbers(shape, kind, seed=0):
    rng = np.random.default_rng(seed)
    if np.dtype(kind).kind in "iu":  # products of which do not fit
        ends = np.iinfo(kind)
        return rng.integers(ends.min, ends.max, shape, kind, endpoint=True)
    made = rng.normal(size=shape).astype(kind)
    flat = made.reshape(-1)
    for k, value in enumerate((0.0, -0.0, np.inf, -np.inf, 1e-42)):
        flat[k * 7 % max(flat.size, 1) : k * 7 % max(flat.size, 1) + 1] = value
    return made


def bits(x):
    if x.dtype.kind != "f":
        return x.tobytes()
    return np.where(np.isnan(x), np.nan, x).tobytes()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("large", "small"), SERVED)
def test_bits_are_numpys(large, small, kind):
    a, b = numbers(large, kind), numbers(small, kind, 1)
    for name, (x, y) in itertools.product(rows.OPERATIONS, ((a, b), (b, a))):
        with np.errstate(all="ignore"):
            expected = getattr(np, name)(x, y)
        got = rows.arithmetic(name, x, y)
        if name == "divide" and kind not in KINDS[:2]:
            assert got is None
        elif target.available():
            assert got is not None and got.flags.c_contiguous, (name, large, small)
            assert got.shape == expected.shape and got.dtype == expected.dtype
            assert bits(got) == bits(expected), name


@pytest.mark.parametrize(("large", "small"), NOT_SERVED)
def test_others_are_numpys(large, small):
    a, b = numbers(large, np.float32), numbers(small, np.float32, 1)
    assert rows.arithmetic("multiply", a, b) is rows.arithmetic("multiply", b, a) is None


def test_other_memory_and_dtypes_are_numpys():
    a, c = numbers((300, 40), np.float32), numbers((300, 1), np.float32)
    for x, y in (
        (a[:, ::2], c),
        (a, c.astype(np.float64)),
        (a, np.repeat(c, 2, 1)[:, :1]),
        (a.astype(np.uint16), c.astype(np.uint16)),
        (a > 0, c > 0),
        (a.astype(np.complex64), c.astype(np.complex64)),
        (a, np.empty((0, 1), np.float32)),
        (np.empty((0, 40), np.float32), c[:0]),
    ):
        assert rows.arithmetic("multiply", x, y) is None
    assert rows.arithmetic("multiply", a, c[:299]) is None  # an error, which NumPy tells


@pytest.mark.parametrize("kind", HALVES, ids=str)
def test_two_byte_floats_are_rounded_once(kind):
    for large, small in SERVED[:8]:
        a, b = numbers(large, np.float32).astype(kind), numbers(small, np.float32, 1).astype(kind)
        for name, (x, y) in itertools.product(rows.OPERATIONS, ((a, b), (b, a))):
            with np.errstate(all="ignore"):
                wide = getattr(np, name)(x.astype(np.float32), y.astype(np.float32)).astype(kind)
            got = rows.arithmetic(name, x, y)
            if target.available():
                assert np.array_equal(got.astype(np.float32), wide.astype(np.float32), True), name


@pytest.mark.skipif(not target.available(), reason="needs native code")
@pytest.mark.parametrize("kind", (np.float64, np.int8))
def test_columns_of_a_transposed_matrix_and_a_column_beside_a_row(kind):
    a, row, column = (numbers(s, kind, 1) for s in ((40, 300), (40,), (300, 1)))
    for x, y in ((a.T, row), (a.T, row[None]), (a.T, column), (row, a.T), (column, a.T)):
        expected, got = np.subtract(x, y), rows.arithmetic("subtract", x, y)
        assert got.strides == expected.strides and got.tobytes() == expected.tobytes()
    for x, y in ((column, row), (row, column), (column, row[None]), (row[None], column)):
        expected, got = np.subtract(x, y), rows.arithmetic("subtract", x, y)
        assert got.shape == expected.shape and got.tobytes() == expected.tobytes()


@pytest.mark.skipif(not target.available(), reason="needs native code")
@pytest.mark.parametrize("shape", [(2, 3, 31, 20), (4, 16, 9, 8), (1, 65, 8, 8), (2, 3, 7, 113)])
def test_a_number_for_each_of_channels_that_lie_side_by_side(shape):
    n, c, h, w = shape
    x = numbers((n, h, w, c), np.float32).transpose(0, 3, 1, 2)
    for own in ((1, c, 1, 1), (c, 1, 1)):
        y = numbers(own, np.float32, 1)
        for a, b in ((x, y), (y, x)):
            expected, got = np.subtract(a, b), rows.arithmetic("subtract", a, b)
            assert got.strides == expected.strides and bits(got) == bits(expected)
    assert rows.arithmetic("add", x, numbers((w,), np.float32)) is None


@pytest.mark.skipif(not target.available(), reason="needs native code")
def test_threads_change_no_bit():
    a, c = numbers((5000, 100), np.float32), numbers((5000, 1), np.float32)
    expected = a * c
    before = threads.get_num_threads()
    try:
        for count in (1, 2, 4):
            threads.set_num_threads(count)
            assert rows.arithmetic("multiply", a, c).tobytes() == expected.tobytes()
    finally:
        threads.set_num_threads(before)


def test_a_function_of_other_arguments_stays():
    assert by_rows(np.negative) is np.negative and by_rows(len) is len
    run = by_rows(np.maximum)
    a, c = numbers((300, 40), np.float32), numbers((300, 1), np.float32)
    assert run(a, c).tobytes() == np.maximum(a, c).tobytes()
    assert run(a, 2.0).tobytes() == np.maximum(a, np.float32(2)).tobytes()
    assert by_rows(np.add)(np.ones(3000), np.ones(3000)).sum() == 6000


# ---- in operations ----------------------------------------------------------------------------------
PAIRS = [((400, 24), (400, 1)), ((400, 24), (24,)), ((24, 5, 30), (24, 1, 1)), ((400, 24), (1, 1))]


@pytest.mark.parametrize(("large", "small"), PAIRS)
@pytest.mark.parametrize("kind", [torch.float32, torch.float64])
def test_operations_and_gradients(large, small, kind):
    torch.manual_seed(0)
    for name in ("add", "sub", "mul", "div"):
        for turn in (False, True):
            a = torch.randn(large, dtype=kind).requires_grad_()
            b = (torch.randn(small, dtype=kind).abs() + 0.5).requires_grad_()
            x, y = (b, a.detach().abs().add(0.5).requires_grad_()) if turn else (a, b)
            made = getattr(torch, name)(x, y)
            whole = [t.detach().expand(made.shape).contiguous() for t in (x, y)]
            whole = [t.requires_grad_() for t in whole]
            same = getattr(torch, name)(*whole)
            assert torch.equal(made, same) and made.is_contiguous()
            weights = torch.randn(made.shape, dtype=kind)
            got = torch.autograd.grad(made, [x, y], weights, create_graph=True)
            expected = torch.autograd.grad(same, whole, weights)
            for g, e, t in zip(got, expected, (x, y), strict=True):
                torch.testing.assert_close(g, e.sum_to_size(t.shape), rtol=2e-4, atol=2e-4)


def test_second_derivatives_go_through_it():
    x = torch.linspace(-1, 1, 400 * 24).view(400, 24).requires_grad_()
    c = torch.linspace(1, 2, 400).view(400, 1).requires_grad_()
    (g,) = torch.autograd.grad((x * x * c).sum(), x, create_graph=True)
    (h,) = torch.autograd.grad(g.sum(), c)
    torch.testing.assert_close(h, 2 * x.detach().sum(1, keepdim=True))


def test_sizes_that_do_not_fit_are_told_in_the_same_words():
    with pytest.raises(RuntimeError, match="must match the size of tensor b"):
        torch.ones(3000, 3) * torch.ones(2999, 1)
    assert native_code_runs() or not target.available()
