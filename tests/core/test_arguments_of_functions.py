"""What custom Functions, hooks and gradient calls say of wrong arguments, in PyTorch's words."""

import pytest

import pellucid as torch


class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a, mark=None, k=2):
        if mark is not None:
            mark(ctx, a)
        return a * k

    @staticmethod
    def backward(ctx, g):
        return g * 2, None, None


def test_marks_take_tensors_only():
    x = torch.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match="^mark_dirty can only accept variables, but argument "):
        Double.apply(x, lambda ctx, a: ctx.mark_dirty(5))
    with pytest.raises(RuntimeError, match="^mark_non_differentiable only accepts variable argum"):
        Double.apply(x, lambda ctx, a: ctx.mark_non_differentiable(a, "text"))


def test_keywords_that_forward_does_not_take():
    with pytest.raises(TypeError, match=r"^forward\(\) got an unexpected keyword argument .z."):
        Double.apply(torch.ones(2), z=1)


def test_hooks_that_pack_may_not_write():
    x = torch.ones(2, requires_grad=True) * 1
    hooks = torch.autograd.graph.saved_tensors_hooks(lambda t: t.add_(1), lambda t: t)
    with hooks, pytest.raises(RuntimeError, match="^A saved tensor pack hook is modifying its inp"):
        x.exp()


def test_several_tensors_of_which_backward_reaches_some():
    a, b = (torch.ones(2, requires_grad=True) for _ in range(2))
    seen = []
    torch.autograd.graph.register_multi_grad_hook((a, b), seen.append)
    a.sum().backward()
    assert seen[0][0].tolist() == [1.0, 1.0]
    assert seen[0][1] is None
    (a * b).sum().backward()
    assert None not in seen[1]


def test_more_gradients_than_tensors():
    x = torch.ones(2, requires_grad=True)
    one = torch.tensor(1.0)
    assert torch.autograd.grad([x.sum()], x, [one, one])[0].tolist() == [1.0, 1.0]
    with pytest.raises(RuntimeError, match="^got 2 tensors and 1 gradients"):
        torch.autograd.backward([x.sum(), x.sum()], [one])


def test_saved_arguments_that_nobody_wants_are_none():
    x = torch.ones(2, requires_grad=True)
    node = (x * 2).grad_fn
    assert node._saved_self is None
    assert node._saved_other.item() == 2
    with pytest.raises(AttributeError):
        (x + 2).grad_fn._saved_self


def test_levels_and_modes_say_what_they_are():
    with pytest.raises(RuntimeError, match="^Dual level must be a positive number"):
        torch.autograd.forward_ad.exit_dual_level()
    shown = repr(torch.set_grad_enabled(True))
    assert shown == "torch.autograd.grad_mode.set_grad_enabled(mode=True)"


def test_gradcheck_runs_backward_twice_over_one_graph():
    calls = []

    def noisy(x):
        calls.append(1)
        return x * float(len(calls))

    with pytest.raises(RuntimeError, match="^Jacobian mismatch"):
        torch.autograd.gradcheck(noisy, torch.ones(2, dtype=torch.double, requires_grad=True))
