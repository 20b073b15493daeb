"""Places in the graph as what is differentiated, or with respect to what; zeros for what is
missing; older names.
"""

from __future__ import annotations

import pytest

import pellucid as torch
from pellucid.autograd.graph import GradientEdge, get_gradient_edge


def test_gradients_with_respect_to_a_place():
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x * 2
    there, leaf = get_gradient_edge(y), get_gradient_edge(x)
    out = (y * y).sum()
    g, h = torch.autograd.grad(out, (there, leaf), retain_graph=True)
    assert g.tolist() == [4.0, 8.0]
    assert h.tolist() == [8.0, 16.0]
    (single,) = torch.autograd.grad(out, GradientEdge(y.grad_fn, 0))
    assert single.tolist() == [4.0, 8.0]


def test_a_place_written_to_later_is_where_it_was():
    x = torch.ones(2, requires_grad=True)
    y = x * 1
    there = get_gradient_edge(y)
    y.mul_(3)
    assert torch.autograd.grad(y.sum(), there)[0].tolist() == [3.0, 3.0]


def test_backward_in_two_steps():
    x = torch.tensor([0.5, 1.0], requires_grad=True)
    whole = torch.autograd.grad(x.sin().exp().sum(), x)[0]
    y = x.sin()
    place, out = get_gradient_edge(y), y.exp().sum()
    del y
    (middle,) = torch.autograd.grad(out, place)
    with pytest.raises(
        RuntimeError, match="grad can be implicitly created only for scalar outputs"
    ):
        torch.autograd.grad(place, x)
    with pytest.raises(RuntimeError, match="Mismatch in shape"):
        torch.autograd.grad(place, x, grad_outputs=torch.ones(3))
    assert torch.equal(torch.autograd.grad(place, x, grad_outputs=middle)[0], whole)


def test_one_of_several_results():
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    first, second = x.unbind()
    place = get_gradient_edge(second)
    assert torch.autograd.grad(first * second, place, retain_graph=True)[0].item() == 1.0
    assert torch.autograd.grad(first * 2, place, allow_unused=True) == (None,)
    with pytest.raises(RuntimeError, match="materialize_grads cannot be used"):
        torch.autograd.grad(first * 2, place, materialize_grads=True)


def test_backward_from_and_into_places():
    x = torch.ones(2, requires_grad=True)
    y = x * 2
    torch.autograd.backward(get_gradient_edge(y.sum()), retain_graph=True)
    assert x.grad.tolist() == [2.0, 2.0]
    x.grad = None
    (y * 3).sum().backward(inputs=[get_gradient_edge(x)])
    assert x.grad.tolist() == [6.0, 6.0]
    (x * 2 * 3).sum().backward(inputs=get_gradient_edge(x))
    assert x.grad.tolist() == [12.0, 12.0]


def test_gradients_with_respect_to_nothing():
    x = torch.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match="cannot be empty"):
        torch.autograd.grad(x.sum(), [])


def test_zeros_for_gradients_that_are_missing():
    x = torch.tensor([float("inf"), 1.0], requires_grad=True)
    y = torch.ones(2, requires_grad=True)
    (g,) = torch.autograd.grad(y.sum(), x, materialize_grads=True)
    assert g.tolist() == [0.0, 0.0]
    assert not g.requires_grad
    (g,) = torch.autograd.grad(y.sum(), x, create_graph=True, materialize_grads=True)
    assert torch.autograd.grad(g.sum(), x, materialize_grads=True)[0].tolist() == [0.0, 0.0]


def test_defaults_of_forward_reach_setup_context():
    class Power(torch.autograd.Function):
        @staticmethod
        def forward(x, y=3):
            return x**y

        @staticmethod
        def setup_context(ctx, inputs, output):
            x, ctx.y = inputs
            ctx.save_for_backward(x)

        @staticmethod
        def backward(ctx, g):
            with pytest.warns(DeprecationWarning, match="use 'saved_tensors'"):
                (x,) = ctx.saved_variables
            return g * ctx.y * x ** (ctx.y - 1), None

    x = torch.tensor(2.0, requires_grad=True)
    assert torch.autograd.grad(Power.apply(x), x)[0].item() == 12.0
    assert torch.autograd.grad(Power.apply(x, 2), x)[0].item() == 4.0


def test_replaced_data_keeps_the_count_of_writes():
    x = torch.ones(1, 2)
    view = x[:]
    x.add_(1)
    x.data = torch.ones(2, 3)
    assert x._version == view._version == 1
    x.add_(1)
    assert x._version == view._version == 2


def test_new_of_no_dimensions():
    assert torch.ones(2).new(torch.Size([])).shape == ()
    assert torch.ones(2).new().shape == (0,)
