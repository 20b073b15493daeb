"""Short calls in every dtype: losses of class labels, ranges, single values."""

import pytest

import pellucid as torch


@pytest.mark.parametrize("kind", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("reduction", ["none", "sum", "mean"])
def test_nll_loss_is_that_of_float32_rounded(kind, reduction):
    x = torch.randn(300, 7).log_softmax(1).to(kind).requires_grad_()
    wide = x.detach().float().requires_grad_()
    t = torch.arange(300) % 7
    f = torch.nn.functional.nll_loss
    made, want = f(x, t, reduction=reduction), f(wide, t, reduction=reduction)
    assert made.dtype is kind and torch.equal(made, want.to(kind))
    made.sum().backward()
    want.sum().backward()
    torch.testing.assert_close(x.grad, wide.grad.to(kind))


@pytest.mark.parametrize("kind", [torch.float16, torch.bfloat16, torch.int8, torch.uint8])
def test_ranges_and_single_values(kind):
    made = torch.arange(2, 120, 3, dtype=kind)
    assert made.dtype is kind and made.tolist() == list(range(2, 120, 3))
    assert type(made[3].item()) is (float if kind.is_floating_point else int)
    assert made[3].item() == 11


def test_ranges_that_overflow_wrap_around():
    assert torch.arange(126, 130, dtype=torch.int8).tolist() == [126, 127, -128, -127]
    assert torch.tensor(1 + 2j).item() == 1 + 2j
