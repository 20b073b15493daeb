"""What `hardtanh` and `abs` refuse, in PyTorch's words."""

import pytest

import pellucid as torch

F = torch.nn.functional


@pytest.mark.parametrize("call", [F.hardtanh, F.hardtanh_], ids=["hardtanh", "hardtanh_"])
def test_hardtanh_of_unsigned_numbers_needs_limits_that_they_can_hold(call):
    x = torch.tensor([0, 200], dtype=torch.uint8)
    with pytest.raises(RuntimeError, match="^cannot do hardtanh on an unsigned type with negative limits"):
        call(x)
    assert x.tolist() == [0, 200]
    assert call(x, 0, 100).tolist() == [0, 100]


@pytest.mark.parametrize("call", [F.hardtanh, F.relu6])
def test_limits_of_complex_numbers_are_refused(call):
    with pytest.raises(NotImplementedError, match="^clamp is not supported for complex types"):
        call(torch.tensor([1j]))


@pytest.mark.parametrize("call", [torch.abs, abs, F.softsign, torch.Tensor.abs_, torch.absolute])
def test_booleans_have_no_absolute_value(call):
    x = torch.tensor([True, False])
    with pytest.raises(NotImplementedError, match="^\"abs_cpu\" not implemented for 'Bool'"):
        call(x)
    assert x.tolist() == [True, False]
