"""Views that no write to their base may leave behind: several from one call, those made without
gradients, and results of custom Functions. Whoever uses one in a graph afterwards is told so.
"""

import pytest

import pellucid as torch
from pellucid.core.tensor import version_of


class Flat(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.view(-1)

    @staticmethod
    def backward(ctx, g):
        return g


def plain(b):
    return b[:2]


def without_gradients(b):
    with torch.no_grad():
        return b[:2]


def in_inference_mode(b):
    with torch.inference_mode():
        return b[:2]


KINDS = {
    "split": lambda b: b.split(2)[0],
    "unbind": lambda b: b.unbind()[0],
    "a view of one of several": lambda b: b.chunk(3)[0][:],
    "no_grad": without_gradients,
    "inference": in_inference_mode,
    "Function": Flat.apply,
}


def add_without_gradients(b):
    with torch.no_grad():
        b.add_(1)


def step(b):
    version = version_of(b).count
    torch.autograd.graph.increment_version(b)
    assert version_of(b).count == version + 1


WRITES = {
    "mul_": lambda b: b.mul_(2),
    "zero_": lambda b: b.zero_(),
    "item": lambda b: b.__setitem__(5, 3.0),
    "another view": lambda b: b[3:].mul_(2),
    "detached": lambda b: b.detach().mul_(2),
    "no_grad": add_without_gradients,
    "increment_version": step,
}
TOLD = "its base or another view of its base has been modified inplace"


def base():
    return torch.ones(6, requires_grad=True).clone()


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_is_refused_after_a_write(kind, write):
    b = base()
    view = kind(b)
    write(b)
    with pytest.raises(RuntimeError, match=TOLD):
        view * 2
    with pytest.raises(RuntimeError, match=TOLD):
        view.is_leaf
    with pytest.raises(RuntimeError, match=TOLD):
        view.sum().backward()
    with torch.no_grad():
        assert (view * 2).shape == view.shape
    assert view.detach().shape == view.shape and view.requires_grad
    assert repr(view).endswith("grad_fn=<Invalid>)")


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
def test_a_plain_view_goes_on(write):
    b = base()
    view = plain(b)
    write(b)
    assert torch.equal((view * 2).detach(), b.detach()[:2] * 2)


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_writes_to_data_are_not_counted(kind):
    b = base()
    view = kind(b)
    b.data.mul_(2)
    (view * 2).sum()


def test_the_texts():
    b = base()
    first, second = b.split(3)
    b.mul_(2)
    several = (
        " This view is the output of a function that returns multiple views. Such functions do not allow the output views to be "
        "modified inplace. You should replace the inplace operation by an out-of-place one."
    )
    with pytest.raises(RuntimeError) as error:
        second + 1
    assert str(error.value) == f"Output 1 of Split is a view and {TOLD}.{several}"
    with pytest.raises(RuntimeError) as error:
        first.mul_(2)
    assert (
        str(error.value) == f"Output 0 of Split is a view and is being modified inplace.{several}"
    )
    b = base()
    view = without_gradients(b)
    b.mul_(2)
    with pytest.raises(RuntimeError, match=f"^A view was created in no_grad mode and {TOLD} with"):
        view + 1


def test_a_base_that_wants_no_gradient_is_written_to():
    b = torch.ones(6)
    parts = b.split(2)
    b.mul_(2)
    assert (parts[0] * 2).tolist() == [4.0, 4.0]
    b.mul_(torch.ones(6, requires_grad=True))
    with pytest.raises(RuntimeError, match=f"^A view was created in no_grad mode and {TOLD}"):
        parts[0] * 2


def test_a_parameter_that_an_optimizer_updates():
    p = torch.nn.Parameter(torch.ones(6))
    query, _ = p.chunk(2)
    p.grad = torch.ones(6)
    torch.optim.SGD([p], lr=0.1).step()
    with pytest.raises(RuntimeError, match=TOLD):
        query * 2


def test_a_view_made_without_gradients_wants_one_where_its_base_does():
    leaf = torch.randn(1, 4).T.requires_grad_()
    with torch.no_grad():
        view, parts = leaf[1:], leaf.split(2)
    assert not view.requires_grad and not parts[0].requires_grad
    with pytest.raises(RuntimeError, match="cannot register a hook on a tensor that doesn't"):
        view.register_hook(lambda g: g)
    with torch.no_grad():
        assert torch.ones(4, requires_grad=True)[1:].requires_grad
