"""torch.tensor of Python numbers: dtypes, and PyTorch's errors where the quick way does not apply."""

import pytest

import pellucid as torch


@pytest.mark.parametrize(
    "data, dtype, values",
    [
        ([1, 2], torch.int64, [1, 2]),
        ([1.5, 2.5], torch.float32, [1.5, 2.5]),
        ([1, 2.5], torch.float32, [1.0, 2.5]),
        ([True, False], torch.bool, [True, False]),
        ([True, 2], torch.int64, [1, 2]),
        ([[1, 2], [3, 4]], torch.int64, [[1, 2], [3, 4]]),
        ((1.0,), torch.float32, [1.0]),
        ([], torch.float32, []),
        ([2**63 - 1, -(2**63)], torch.int64, [2**63 - 1, -(2**63)]),
        ([1j], torch.complex64, [1j]),
    ],
    ids=str,
)
def test_lists_of_numbers(data, dtype, values):
    made = torch.tensor(data)
    assert made.dtype is dtype and made.tolist() == values
    assert made._array.flags.writeable and made._array.base is None


def test_the_default_type_counts():
    torch.set_default_dtype(torch.float64)
    try:
        assert torch.tensor([0.1]).dtype is torch.float64 and torch.tensor([0.1]).item() == 0.1
    finally:
        torch.set_default_dtype(torch.float32)
    assert torch.tensor([0.1], dtype=torch.float64).item() == 0.1
    assert torch.tensor([1e300]).item() == float("inf")


def test_too_large_an_integer():
    with pytest.raises(RuntimeError, match="Overflow when unpacking long"):
        torch.tensor([1, 2**70])
    with pytest.raises(TypeError, match="Could not infer dtype of|must be real number"):
        torch.tensor([1, "a"])
