"""Sorting, distinct elements, places in sequences, histograms."""

import math

import numpy as np
import pytest

import pellucid as torch

RNG = np.random.default_rng(3)


@pytest.mark.parametrize("descending", [False, True])
def test_sorting_is_stable_both_ways(descending):
    x = RNG.integers(0, 3, (4, 50))
    values, indices = torch.sort(torch.from_numpy(x), dim=1, descending=descending, stable=True)
    order = np.argsort(-x if descending else x, 1, kind="stable")
    np.testing.assert_array_equal(indices.numpy(), order)
    np.testing.assert_array_equal(values.numpy(), np.take_along_axis(x, order, 1))


def test_equals_are_where_pytorch_leaves_them():
    # As PyTorch 2.13 printed them: lines of more than 16 are sorted by quicksort.
    x = torch.tensor([3, 1, 2, 1, 3, 2, 2, 1, 1, 3, 2, 1, 3, 3, 1, 2, 2, 3, 1, 2])
    up, down = (
        [1, 18, 3, 14, 7, 8, 11, 19, 16, 15, 10, 6, 5, 2, 9, 12, 13, 4, 17, 0],
        [17, 4, 13, 12, 0, 9, 10, 19, 16, 15, 6, 5, 2, 8, 11, 7, 14, 3, 18, 1],
    )
    top, unordered = [12, 4, 0, 13], [12, 4, 0, 13]
    fifth, mode = 14, 11
    of_bools = [1, 3, 18, 7, 8, 14, 11, 19, 0, 17, 16, 15, 13, 12, 10, 9, 6, 5, 4, 2]
    for dtype in (
        torch.int64,
        torch.int8,
        torch.uint8,
        torch.float32,
        torch.float64,
        torch.bfloat16,
    ):
        y = x.to(dtype)
        assert y.argsort().tolist() == up and y.argsort(descending=True).tolist() == down
        assert y.topk(4).indices.tolist() == top
        assert y.topk(4, sorted=False).indices.tolist() == unordered
        assert y.kthvalue(5).indices.item() == fifth
        assert y.mode().indices.item() == mode
    assert (x > 1).argsort().tolist() == of_bools


def test_nan_comes_last_or_first():
    x = torch.tensor([2.0, math.nan, 1.0])
    assert x.argsort().tolist() == [2, 0, 1]
    assert x.argsort(descending=True).tolist() == [1, 0, 2]
    assert math.isnan(x.topk(1).values)


@pytest.mark.parametrize("largest", [False, True])
@pytest.mark.parametrize("k", [0, 1, 5, 200])
def test_topk_is_the_beginning_of_sort(k, largest):
    x = torch.from_numpy(RNG.standard_normal((3, 200)))
    values, indices = x.topk(k, largest=largest)
    whole = x.sort(descending=largest)
    np.testing.assert_array_equal(values.numpy(), whole.values[:, :k].numpy())
    np.testing.assert_array_equal(indices.numpy(), whole.indices[:, :k].numpy())


def test_topk_of_too_many():
    with pytest.raises(RuntimeError, match="selected index k out of range"):
        torch.ones(3).topk(4)


def test_unique_elements_and_slices():
    x = RNG.integers(0, 4, (20, 3))
    values, inverse, counts = torch.unique(
        torch.from_numpy(x), return_inverse=True, return_counts=True
    )
    want = np.unique(x, return_counts=True)
    np.testing.assert_array_equal(values.numpy(), want[0])
    np.testing.assert_array_equal(counts.numpy(), want[1])
    np.testing.assert_array_equal(values[inverse].numpy(), x)
    rows, inverse = torch.unique(torch.from_numpy(x), dim=0, return_inverse=True)
    np.testing.assert_array_equal(rows.numpy(), np.unique(x, axis=0))
    np.testing.assert_array_equal(rows[inverse].numpy(), x)


def test_unique_consecutive_keeps_later_runs():
    x = torch.tensor([1, 1, 2, 2, 2, 1])
    values, inverse, counts = torch.unique_consecutive(x, return_inverse=True, return_counts=True)
    assert (
        values.tolist() == [1, 2, 1]
        and inverse.tolist() == [0, 0, 1, 1, 1, 2]
        and counts.tolist() == [2, 3, 1]
    )
    assert torch.unique_consecutive(torch.zeros(0)).shape == (0,)


def test_searchsorted_by_rows_sides_and_sorter():
    edges = torch.tensor([[1, 3, 5], [2, 4, 6]])
    values = torch.tensor([[3, 6], [3, 6]])
    assert torch.searchsorted(edges, values).tolist() == [[1, 3], [1, 2]]
    assert torch.searchsorted(edges, values, right=True).tolist() == [[2, 3], [1, 3]]
    mixed = torch.tensor([5, 1, 3])
    assert torch.searchsorted(mixed, torch.tensor([4]), sorter=mixed.argsort()).tolist() == [2]
    assert torch.searchsorted(torch.tensor([1, 3]), 2, out_int32=True).dtype is torch.int32
    with pytest.raises(RuntimeError, match="side and right can't be set to opposites"):
        torch.searchsorted(edges, values, right=True, side="left")
    assert torch.bucketize(torch.tensor([1.5]), torch.tensor([1, 2])).tolist() == [1]


def test_isin_takes_numbers():
    assert torch.isin(torch.tensor([1, 2]), 2).tolist() == [False, True]
    assert torch.isin(torch.tensor([[1, 2]]), torch.tensor([1]), invert=True).tolist() == [
        [False, True]
    ]


def test_counts_of_integers():
    assert torch.bincount(torch.tensor([1, 3, 1]), minlength=6).tolist() == [0, 2, 0, 1, 0, 0]
    assert torch.bincount(torch.tensor([0, 1]), torch.tensor([0.5, 2.0])).tolist() == [0.5, 2]
    with pytest.raises(RuntimeError, match="non-negative integral inputs"):
        torch.bincount(torch.tensor([-1]))


def test_histograms_against_numpy():
    x = RNG.standard_normal(100)
    t = torch.from_numpy(x)
    hist, edges = torch.histogram(t, 10, range=(-2.0, 2.0))
    want, want_edges = np.histogram(x, 10, (-2, 2))
    np.testing.assert_array_equal(hist.numpy(), want)
    np.testing.assert_allclose(edges.numpy(), want_edges)
    np.testing.assert_array_equal(torch.histc(t, 10, -2, 2).numpy(), want)
    points = RNG.standard_normal((100, 2))
    got = torch.histogramdd(torch.from_numpy(points), [3, 4], density=True)
    want_dd, want_edges_dd = np.histogramdd(points, [3, 4], density=True)
    np.testing.assert_allclose(got.hist.numpy(), want_dd)
    for a, b in zip(got.bin_edges, want_edges_dd, strict=True):
        np.testing.assert_allclose(a.numpy(), b)


def test_nan_comes_last_in_two_bytes_too():
    """NumPy sorts bfloat16 with NaN anywhere."""
    nan, inf = float("nan"), float("inf")
    for kind in (torch.bfloat16, torch.float16):
        x = torch.tensor([nan, 3.0, -inf, 1.0, inf, nan, 2.0, 0.5], dtype=kind)
        assert x.sort().indices.tolist() == [2, 7, 3, 6, 1, 4, 0, 5]
        assert x.argsort(descending=True).tolist()[2:] == [4, 1, 6, 3, 7, 2]
        assert x.topk(3, largest=False).values.tolist() == [-inf, 0.5, 1.0]
        assert x.kthvalue(2).values.item() == 0.5 and x.nanmedian().item() == 1.0
        edges = torch.tensor([0.0, 1.0, 2.0], dtype=kind)
        assert torch.bucketize(torch.tensor([nan, inf, 1.5], dtype=kind), edges).tolist() == [
            3,
            3,
            2,
        ]
