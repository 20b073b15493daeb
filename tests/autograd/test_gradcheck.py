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


class Wrong(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return 2 * x

    @staticmethod
    def backward(ctx, g):
        return 3 * g


def test_a_mismatch_is_told_in_the_words_of_pytorch_and_explained_in_notes():
    x = torch.arange(1.0, 4, dtype=torch.float64, requires_grad=True)
    with pytest.raises(GradcheckError) as caught:
        torch.autograd.gradcheck(lambda x: Wrong.apply(x)[:1], x)
    assert str(caught.value) == (
        "Jacobian mismatch for output 0 with respect to input 0,\n"
        "numerical:tensor([[2.0000],\n        [0.0000],\n        [0.0000]], dtype=torch.float64)\n"
        "analytical:tensor([[3.],\n        [0.],\n        [0.]], dtype=torch.float64)\n"
    )
    assert "analytical 3, numerical 2" in caught.value.__notes__[0]
    assert caught.value.__notes__[1].startswith("reason: the derivative is wrong there")


@pytest.mark.parametrize("cut", [lambda x: x.detach(), lambda x: (2 * x).detach()])
def test_what_no_output_depends_on_does_not_move(cut):
    """A detached output that shares the input's memory moved back before it was compared."""
    x = torch.ones(2, dtype=torch.float64, requires_grad=True)
    with pytest.raises(GradcheckError) as caught:
        torch.autograd.gradcheck(cut, x)
    assert str(caught.value) == "Numerical gradient for function expected to be zero"
    assert torch.autograd.gradcheck(lambda x: torch.ones(3), x)
    assert x.tolist() == [1.0, 1.0]


def test_gradcheck_needs_an_input_with_a_gradient():
    with pytest.raises(ValueError, match="but none of them have requires_grad=True.$"):
        torch.autograd.gradcheck(torch.sin, torch.ones(2))


def test_the_node_of_a_reentrant_checkpoint():
    x = torch.ones(2, requires_grad=True)
    y = torch.utils.checkpoint.checkpoint(torch.sin, x, use_reentrant=True)
    assert y.grad_fn.name() == "CheckpointFunctionBackward"


class Scaled(torch.autograd.Function):
    """Twice the input, whose backward is off by a factor."""

    factor = 1.0

    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, g):
        return g * 2 * Scaled.factor


@pytest.mark.parametrize("dtype", [torch.float64, torch.complex128])
def test_fast_mode_calls_the_function_a_few_times_and_finds_wrong_gradients(dtype, monkeypatch):
    calls = []

    def function(x):
        calls.append(x)
        return Scaled.apply(x).sin(), x.sum(0)

    x = torch.randn(20, 30, dtype=dtype, requires_grad=True)
    state = torch.get_rng_state()
    assert torch.autograd.gradcheck(function, (x,), fast_mode=True)
    assert len(calls) < 8
    assert torch.equal(state, torch.get_rng_state())
    monkeypatch.setattr(Scaled, "factor", 1.1)
    assert not torch.autograd.gradcheck(function, (x,), fast_mode=True, raise_exception=False)


def test_a_failure_in_fast_mode_shows_both_jacobians(monkeypatch):
    x = torch.ones(3, dtype=torch.float64, requires_grad=True)
    monkeypatch.setattr(Scaled, "factor", 1.5)
    with pytest.raises(RuntimeError) as error:
        torch.autograd.gradcheck(Scaled.apply, (x,), fast_mode=True)
    text = str(error.value)
    assert text.startswith("Jacobian mismatch for output 0 with respect to input 0,\nnumerical:1.")
    assert (
        "recompute numerical and analytical jacobians in slow mode:\n\nNumerical:\n tensor(" in text
    )
    largest = float(text.partition("difference (slow mode) is: ")[2].strip(".\n"))
    assert largest == pytest.approx(1.0)


def test_fast_forward_mode_and_second_order():
    x = torch.randn(4, 3, dtype=torch.float64, requires_grad=True)
    c = torch.randn(3, dtype=torch.complex128, requires_grad=True)
    for function, value in ((torch.sin, x), (lambda z: z * z.exp(), c)):
        assert torch.autograd.gradcheck(function, (value,), fast_mode=True, check_forward_ad=True)
        assert torch.autograd.gradgradcheck(function, (value,), fast_mode=True)
