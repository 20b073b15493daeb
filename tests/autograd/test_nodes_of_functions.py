"""What somebody sets on a Function's ctx or on its node, calling nodes, and what detach() keeps."""

import copy
import pickle

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


def test_nodes_have_pytorchs_types_and_do_not_pickle():
    node = (torch.ones(2, requires_grad=True) * 2).grad_fn
    assert repr(type(node)) == "<class 'MulBackward0'>"
    assert repr(type(node.next_functions[0][0])) == "<class 'AccumulateGrad'>"
    for copied in (pickle.dumps, copy.deepcopy):
        with pytest.raises(TypeError, match="cannot pickle 'MulBackward0' object"):
            copied(node)


def test_hooks_of_the_end_of_the_graph_see_what_arrives():
    x, seen = torch.ones(2, requires_grad=True), []
    x.grad = torch.full((2,), 5.0)
    end = (x * 1).grad_fn.next_functions[0][0]
    end.register_hook(lambda inputs, outputs: seen.append((inputs, outputs[0].tolist())))
    (x * 2).sum().backward()
    assert seen == [((), [2, 2])] and x.grad.tolist() == [7, 7]


def test_what_cannot_be_a_gradient_or_a_batch_of_them():
    x = torch.ones(2, requires_grad=True)
    with pytest.raises(
        RuntimeError, match="with device type 'meta' to a tensor with device type 'cpu'"
    ):
        x.grad = torch.ones(2, device="meta")
    with pytest.raises(RuntimeError, match=r"we interpret the first dimension of each grad_output"):
        torch.autograd.grad(x * 2, x, torch.ones(2, 3), is_grads_batched=True)
    with pytest.raises(RuntimeError, match=r"You should call .contiguous on the input before"):
        torch.autograd.gradcheck(torch.exp, x.double().sum().expand(2, 2))
    with pytest.raises(ValueError, match="gradcheck expects at least one input tensor"):
        torch.autograd.gradcheck(torch.exp, 1)


def test_dual_numbers():
    with torch.autograd.forward_ad.dual_level():
        make, unpack = torch.autograd.forward_ad.make_dual, torch.autograd.forward_ad.unpack_dual
        mixed = make(torch.ones(2), torch.ones(2, dtype=torch.float64))
        assert unpack(mixed).tangent.dtype is torch.float64
        assert unpack(mixed * 3).tangent.tolist() == [3, 3]
        with pytest.raises(
            RuntimeError, match="already has a forward gradient at the same level 0"
        ):
            make(mixed, torch.ones(2))


def test_checkpoints_tell_what_differs():
    from pellucid.utils.checkpoint import CheckpointError, checkpoint, set_checkpoint_debug_enabled

    kinds = iter([torch.float32, torch.float64])
    x = torch.ones(2, requires_grad=True)
    with set_checkpoint_debug_enabled(True):
        y = checkpoint(lambda x: x.to(next(kinds)).exp().sin(), x, use_reentrant=False)
    with pytest.raises(CheckpointError) as caught:
        y.sum().backward()
    assert "tensor at position 1:\nsaved metadata: {'shape': torch.Size([2])" in str(caught.value)
    assert "checkpoint\u2011debug mode globally" in str(caught.value)
    assert any(n.startswith("the second run saved") for n in caught.value.__notes__)


def test_threads_of_backward_are_remembered():
    assert torch.autograd.is_multithreading_enabled()
    with torch.autograd.set_multithreading_enabled(False):
        assert not torch.autograd.is_multithreading_enabled()
    assert torch.autograd.is_multithreading_enabled()


def test_a_module_that_writes_in_place_is_named():
    layer = torch.nn.ReLU(inplace=True)
    layer.register_full_backward_hook(lambda *a: None)
    with pytest.raises(
        RuntimeError, match="Output 0 of BackwardHookFunction is a view and is being"
    ):
        layer(torch.ones(1, requires_grad=True) * 1)


def test_hooks_outside_of_the_way_to_the_inputs_are_not_called():
    x, z = torch.ones(2, requires_grad=True), torch.ones(1, requires_grad=True)
    seen = []
    inside, outside = x * 3, z * 2
    inside.register_hook(lambda g: seen.append("inside"))
    outside.register_hook(lambda g: seen.append("outside"))
    assert torch.autograd.grad((inside * outside).sum(), x)[0].tolist() == [6, 6]
    assert seen == ["inside"]
