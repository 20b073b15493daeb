"""Gradients limited in size, of every type and of several at once."""

import pytest

import pellucid as torch

utils = torch.nn.utils


def leaves(*dtypes, value=3.0, count=2):
    made = [torch.ones(count, dtype=dtype, requires_grad=True) for dtype in dtypes]
    for p in made:
        p.grad = torch.full_like(p.detach(), value)
    return made


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize(
    "p, norm", [(2.0, 1e4), (3.0, 100 * 1e4 ** (1 / 3)), (float("inf"), 100.0)]
)
def test_squares_of_half_precision_numbers_do_not_overflow(dtype, p, norm):
    (w,) = leaves(dtype, value=100.0, count=10_000)
    total = utils.clip_grad_norm_([w], norm / 10, p)
    assert total.dtype is dtype
    assert abs(total.item() / norm - 1) < 0.01
    assert abs(w.grad[0].item() - 10) < 0.1  # and not 0, as with a norm of infinity


def test_gradients_of_several_types_have_a_norm_of_their_common_type():
    half, brain = leaves(torch.float16, torch.bfloat16)
    total = utils.clip_grad_norm_([half, brain], 0.5)
    assert total.dtype is torch.float32
    assert abs(total.item() - 6) < 0.01
    assert half.grad.tolist() == [0.249755859375] * 2
    assert brain.grad.tolist() == [0.25] * 2


def test_the_factor_keeps_its_digits():
    half, single = leaves(torch.float16, torch.float32, value=3e4)
    total = utils.clip_grad_norm_([half, single], 0.5)
    factor = 0.5 / total.item()
    assert abs(half.grad[0].item() / (3e4 * factor) - 1) < 5e-4


def test_complex_gradients_are_not_cut():
    leaf = leaves(torch.complex64)
    with pytest.raises(NotImplementedError, match="clamp is not supported for complex types"):
        utils.clip_grad_value_(leaf, 0.1)


def test_clipping_values_without_any_gradient_is_refused():
    with pytest.raises(
        RuntimeError, match=r"Expected !nested_tensorlist\[0\].empty\(\) to be true"
    ):
        torch.nn.utils.clip_grad_value_([torch.nn.Parameter(torch.ones(2))], 1.0)
