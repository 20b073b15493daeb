"""`gradcheck` and `gradgradcheck`: their flags, and the random numbers they draw."""

import pytest

import pellucid as torch
from pellucid.autograd.gradcheck import GradcheckError


def test_the_flags_of_gradcheck_check_something():
    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True, dtype=torch.float64)

    class Unbatched(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * 2 if g.sum().item() < 1e9 else g

    assert torch.autograd.gradcheck(
        lambda v: v**3, x, check_batched_grad=True, check_grad_dtypes=True
    )
    with pytest.raises(GradcheckError, match="While computing batched gradients"):
        torch.autograd.gradcheck(Unbatched.apply, x, check_batched_grad=True)
    with pytest.raises(
        AssertionError, match="at least one of check_forward_ad or check_backward_ad"
    ):
        torch.autograd.gradcheck(torch.sin, x, check_backward_ad=False)
    with pytest.raises(NotImplementedError, match="check_batched_forward_grad"):
        torch.autograd.gradcheck(
            torch.sin, x, check_forward_ad=True, check_batched_forward_grad=True
        )


def test_gradgradcheck_draws_what_pytorch_draws():
    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True, dtype=torch.float64)
    drawn = []
    for gaps in (False, True):
        torch.manual_seed(1)
        assert torch.autograd.gradgradcheck(
            lambda v: v**3, x, gen_non_contig_grad_outputs=gaps, check_fwd_over_rev=True
        )
        drawn.append(round(torch.rand(1).item(), 4))
    assert drawn == [0.3971, 0.6826]
