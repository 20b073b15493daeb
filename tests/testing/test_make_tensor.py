"""`make_tensor`: shapes, ranges, gaps, refusals."""

import pytest

import pellucid as torch
from pellucid.testing import make_tensor


@pytest.mark.parametrize("dtype, low, high", [
    (torch.bool, 0, 2), (torch.uint8, 0, 10), (torch.int8, -9, 10), (torch.int64, -9, 10), (torch.float16, -9, 9),
    (torch.float32, -9, 9), (torch.float64, -9, 9),
])  # fmt: skip
def test_default_range(dtype, low, high):
    x = make_tensor((50, 20), dtype=dtype, device="cpu")
    assert x.shape == (50, 20) and x.dtype == dtype
    assert low <= x.min().item() and x.max().item() < high + (dtype == torch.float16)
    assert x.to(torch.float64).std().item() > 0.3


def test_complex_parts():
    x = make_tensor(3, 4, dtype=torch.complex64, device="cpu", low=2, high=3, requires_grad=True)
    assert x.requires_grad and x.is_leaf
    parts = torch.view_as_real(x.detach())
    assert parts.min().item() >= 2 and parts.max().item() < 3


def test_gaps_and_zeros():
    x = make_tensor(
        4, 5, dtype=torch.int32, device="cpu", low=0, high=2, noncontiguous=True, exclude_zero=True
    )
    assert not x.is_contiguous() and x.shape == (4, 5)
    assert (x == 1).all()
    assert make_tensor(1, dtype=torch.float32, device="cpu", noncontiguous=True).is_contiguous()


def test_the_whole_range_of_a_dtype():
    x = make_tensor(100, dtype=torch.float32, device="cpu", low=-float("inf"), high=float("inf"))
    assert torch.isfinite(x).all() and x.abs().max().item() > 1e37


@pytest.mark.parametrize("options, words", [
    ({"low": float("nan")}, "cannot be NaN"),
    ({"low": 3, "high": 2}, "`low` must be less than `high`, but got 3 >= 2"),
    ({"dtype": torch.uint8, "low": -5, "high": -1}, "only supports"),
    ({"dtype": torch.int64, "requires_grad": True}, "`requires_grad=True` is not supported for boolean and integral dtypes"),
    ({"noncontiguous": True, "memory_format": torch.contiguous_format}, "mutually exclusive"),
])  # fmt: skip
def test_refusals(options, words):
    with pytest.raises(ValueError, match=words):
        make_tensor(3, **({"dtype": torch.float32, "device": "cpu"} | options))


def test_equal_limits_warn():
    with pytest.warns(FutureWarning, match="Passing `low==high`"):
        assert make_tensor(3, dtype=torch.float32, device="cpu", low=2, high=2).tolist() == [
            2,
            2,
            2,
        ]
