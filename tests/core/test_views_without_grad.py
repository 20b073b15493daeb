"""Views made under `no_grad` of tensors that require gradients: they require one, too, but none
reaches them.
"""

import pytest

import pellucid as torch


def view_of(x, mode=torch.no_grad):
    with mode():
        return x[0]


def leaf():
    return torch.arange(6.0).reshape(2, 3).clone().requires_grad_()


@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
@pytest.mark.parametrize("base", [lambda x: x, lambda x: x * 1])
def test_no_gradient_reaches_them(base, mode):
    x = leaf()
    v = view_of(base(x), mode)
    assert v.requires_grad and v.is_leaf and v.grad_fn is None
    ((v * 2).sum() + x.sum()).backward()
    assert v.grad is None and x.grad.tolist() == [[1.0] * 3] * 2
    assert (v * 2).grad_fn.next_functions[0][0] is None


def test_they_are_not_used_in_the_graph():
    v = view_of(leaf())
    with pytest.raises(RuntimeError, match="appears to not have been used in the graph"):
        torch.autograd.grad((v * 2).sum(), v)
    assert torch.autograd.grad((v * 2).sum(), v, allow_unused=True) == (None,)


def test_backward_does_not_begin_at_them():
    v = view_of(leaf())
    with pytest.raises(RuntimeError, match="element 0 of tensors does not require grad"):
        v.backward(torch.ones(3))


def test_hooks_do_not_run():
    v = view_of(leaf())
    v.register_hook(lambda g: pytest.fail("no gradient arrives"))
    (v * 2).sum().backward()


def test_one_may_ask_for_a_gradient_of_its_own():
    v = view_of(leaf())
    v.requires_grad_()
    (v * 2).sum().backward()
    assert v.grad.tolist() == [2.0] * 3
    v.requires_grad = False
    assert v.requires_grad  # because its base does
    v.grad = None
    (v * 2).sum().backward()
    assert v.grad is None


def test_views_of_what_requires_none_are_leaves_like_others():
    v = view_of(torch.ones(2, 3))
    assert not v.requires_grad
    (v.requires_grad_() * 2).sum().backward()
    assert v.grad.tolist() == [2.0] * 3


def test_compiled():
    def step(x):
        with torch.no_grad():
            v = x[0]
        return (v * 2).sum() + x.sum()

    compiled = torch.compile(step)
    for _ in range(3):
        x = leaf()
        compiled(x).backward()
        assert x.grad.tolist() == [[1.0] * 3] * 2
