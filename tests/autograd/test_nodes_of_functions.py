"""What somebody sets on a Function's ctx or on its node, calling nodes, and what detach() keeps."""

import pytest

import pellucid as torch


class Twice(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.factor, ctx.shape = 2, "mine"
        return x * 2

    @staticmethod
    def backward(ctx, g):
        assert ctx.shape == "mine"
        return g * ctx.factor + ctx.bar


def test_a_ctx_and_its_node_have_the_same_attributes():
    x = torch.ones(2, requires_grad=True)
    y = Twice.apply(x)
    assert y.grad_fn.factor == 2 and type(y.grad_fn).__name__ == "TwiceBackward"
    y.grad_fn.bar, y.grad_fn.factor = 5, 3
    y.sum().backward()
    assert x.grad.tolist() == [8, 8]
    with pytest.raises(AttributeError, match="'TwiceBackward' object has no attribute 'nope'"):
        _ = y.grad_fn.nope


def test_nodes_can_be_called():
    x = torch.tensor([0.0, 1.0], requires_grad=True)
    y = x * x.exp()
    left, right = y.grad_fn(torch.ones(2))
    assert torch.allclose(left, x.exp()) and torch.equal(right, x) and left.requires_grad
    assert torch.allclose(x.exp().grad_fn(torch.tensor([2.0, 2.0])), 2 * x.exp())
    top = x.topk(1).values.grad_fn
    assert top(torch.ones(1), None).tolist() == [0, 1]
    linear = torch.nn.functional.linear(x, torch.ones(3, 2), torch.ones(3)).grad_fn
    assert linear(torch.ones(3)).shape == (1, 3)
    with pytest.raises(TypeError, match="expected 1 arguments, got 0 instead"):
        y.grad_fn()
    with pytest.raises(TypeError, match="argument 0 is not a Variable"):
        y.grad_fn(1)
    x.sum().grad_fn.next_functions[0][0](torch.ones(2))
    assert x.grad.tolist() == [1, 1]
    Twice.apply(x).grad_fn.bar = 0


def test_a_node_tells_what_its_gradients_look_like():
    x = torch.ones(2, 3, requires_grad=True)
    (meta,) = x.exp().grad_fn._input_metadata
    assert meta.shape == (2, 3) and meta.dtype is torch.float32 and meta.device.type == "cpu"
    assert [m.shape for m in x.unbind()[0].grad_fn._input_metadata] == [(3,)] * 2


def test_detach_of_an_inference_tensor_is_one():
    with torch.inference_mode():
        x = torch.ones(2)
    assert x.detach().is_inference() and x.data.is_inference()
    assert not torch.ones(2).detach().is_inference()


def test_hooks_on_several_gradients_want_them_all():
    with pytest.raises(AssertionError, match="Expected gradient function to be set"):
        torch.autograd.graph.register_multi_grad_hook(
            (torch.ones(1, requires_grad=True), torch.ones(1)), print
        )
