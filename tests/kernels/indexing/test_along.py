import ml_dtypes
import numpy as np
import pytest

import pellucid as torch
from pellucid.arrays.scatter import expanded_line
from pellucid.kernels.indexing import along

RNG = np.random.default_rng(11)


@pytest.mark.parametrize(
    "dtype",
    [np.float32, np.float64, np.int8, np.uint8, np.int16, np.int32, np.int64, np.complex64],
)
@pytest.mark.parametrize(
    "outer, n, k, inner",
    [(3, 5, 4, 1), (1, 7, 9, 6), (4, 1, 2, 3), (2, 6, 0, 3), (0, 3, 2, 2), (40, 33, 21, 17)],
)
def test_along_the_middle(outer, n, k, inner, dtype, thread_count):
    x = RNG.integers(-9, 9, (outer, n, inner)).astype(dtype)
    assert x.dtype in along._NUMBERS
    index = np.asarray(RNG.integers(0, n, (outer, k, inner)))
    np.testing.assert_array_equal(along.gather_along(x, index), np.take_along_axis(x, index, 1))
    values = RNG.integers(-9, 9, index.shape).astype(dtype)
    want, out = x.copy(), x.copy()
    o, _, i = np.ogrid[:outer, :k, :inner]
    np.add.at(want, (o, index, i), values)
    assert along.scatter_along(out, index, values, add=True)
    np.testing.assert_array_equal(out, want)
    out, want = x.copy(), x.copy()
    for j in range(k):  # the last of several writes to one place stays
        np.put_along_axis(want, index[:, j : j + 1], values[:, j : j + 1], 1)
    assert along.scatter_along(out, index, values)
    np.testing.assert_array_equal(out, want)


def test_indices_are_checked_before_anything_is_written():
    x = np.zeros((2, 3, 2), np.float32)
    for bad in (3, -1, 2**40):
        index = np.zeros((2, 3, 2), np.int64)
        index[1, 2, 1] = bad
        with pytest.raises(IndexError):
            along.gather_along(x, index)
        with pytest.raises(IndexError):
            along.scatter_along(x, index, np.ones_like(x), add=True)
    assert not x.any()


def test_others_are_left_to_the_caller():
    x, index = np.zeros((2, 3, 2), np.float32), np.zeros((2, 3, 2), np.int64)
    assert along.gather_along(x.astype(np.complex128), index) is None
    assert along.gather_along(x.transpose(0, 2, 1), index) is None
    assert along.gather_along(x, index.astype(np.int32)) is None
    assert not along.scatter_along(x, index, np.ones((2, 3, 2)))


@pytest.mark.parametrize(
    "dtype", [np.bool_, np.uint8, np.float16, ml_dtypes.bfloat16, np.int32, np.complex64, np.int64]
)
def test_elements_of_any_size_are_moved(dtype):
    rng = np.random.default_rng(0)
    x, index = (
        rng.integers(0, 9, (2, 5, 3)).astype(dtype),
        rng.permuted(np.tile(np.arange(5)[:, None], (2, 1, 3)), axis=1),
    )
    np.testing.assert_array_equal(along.gather_along(x, index), np.take_along_axis(x, index, 1))
    out, want = np.zeros_like(x), np.zeros_like(x)
    np.put_along_axis(want, index, x, 1)
    assert along.scatter_along(out, index, x)
    np.testing.assert_array_equal(out, want)
    if np.dtype(dtype) in along._NUMBERS:
        assert along.scatter_along(out, index, x, add=True)
        np.testing.assert_array_equal(out, 2 * want)


@pytest.mark.parametrize("dim", [0, 1])
@pytest.mark.parametrize("dtype", ["float32", "int64"])
def test_an_expanded_index_gives_what_its_copy_gives(dim, dtype):
    # as message passing over a graph sums: one position for each row, expanded over its elements
    line = torch.from_numpy(RNG.integers(0, 9, 70))
    shape = (70, 40) if dim == 0 else (40, 70)
    values = torch.from_numpy(RNG.integers(-9, 9, shape)).to(getattr(torch, dtype))
    index = line.view(-1, 1).expand(shape) if dim == 0 else line.expand(shape)
    copy = index.clone(memory_format=torch.contiguous_format)
    assert expanded_line(index.numpy(), dim) is not None
    assert expanded_line(copy.numpy(), dim) is None
    table = values.narrow(dim, 0, 9).clone(memory_format=torch.contiguous_format)
    assert torch.equal(torch.gather(table, dim, index), torch.gather(table, dim, copy))
    sums = table.clone().scatter_add_(dim, index, values)
    assert torch.equal(sums, table.clone().scatter_add_(dim, copy, values))
    for bad in (-1, 9):
        wrong = torch.where(line == line[7], bad, line)
        wrong = wrong.view(-1, 1).expand(shape) if dim == 0 else wrong.expand(shape)
        with pytest.raises(RuntimeError, match=f"index {bad} is out of bounds"):
            torch.gather(table, dim, wrong)
        with pytest.raises(RuntimeError, match=f"index {bad} is out of bounds"):
            table.scatter_add_(dim, wrong, values)


@pytest.mark.parametrize(
    "shape, picked, dim", [((4, 8), (4, 8), 1), ((5, 3), (2, 3), 0), ((2, 3, 4), (2, 7, 4), 1)]
)
def test_few_positions_by_native_code_are_those_of_numpy(shape, picked, dim):
    rng = np.random.default_rng(3)
    for dtype in (np.float32, np.float64, np.int64, ml_dtypes.bfloat16):
        x, values = (rng.standard_normal(s).astype(dtype) for s in (shape, picked))
        index = np.asarray(rng.integers(0, shape[dim], picked))
        np.testing.assert_array_equal(
            along.gather_along(x, index, dim), np.take_along_axis(x, index, dim)
        )
        places = list(np.ogrid[tuple(slice(n) for n in picked)])
        places[dim] = index
        wanted = x.copy()
        np.add.at(wanted, tuple(places), values)
        a, b, c = (
            torch.from_numpy(x.copy()) if dtype is not ml_dtypes.bfloat16 else None,
            index,
            values,
        )
        if a is not None:
            made = a.scatter_add(dim, torch.from_numpy(b), torch.from_numpy(c)).numpy()
            assert made.tobytes() == wanted.tobytes()


def test_whether_positions_are_inside():
    index = np.array([[0, 3], [2, 1]])
    assert along.inside(index, 4) is True and along.inside(index, 3) is False
    assert along.inside(index - 1, 4) is False
    assert along.inside(index.T, 4) is None and along.inside(index.astype(np.int32), 4) is None


@pytest.mark.parametrize("n", (0, 1, 3, 7, 8, 9, 16, 17, 100, 1001))
def test_one_position_outside_is_found_wherever_it_is(n):
    for count in (1, 5, 1 << 40):
        index = np.random.default_rng(n).integers(0, count, n)
        assert along.inside(index, count) is True
        for k in range(0, n, max(1, n // 20)):
            for wrong in (-1, count, -(1 << 63), (1 << 63) - 1):
                one = index.copy()
                one[k] = wrong
                assert along.inside(one, count) is False
