"""Gradients of each sample of a batch, against one backward per sample."""

import doctest

import pytest

import pellucid as torch
from pellucid.nn.utils import _per_sample_grad
from pellucid.nn.utils._per_sample_grad import call_for_per_sample_grads

N = torch.nn


def test_doctests():
    assert doctest.testmod(_per_sample_grad).failed == 0


@pytest.mark.parametrize(
    ("make", "shape"),
    [
        (lambda: N.Sequential(N.Linear(4, 6), N.Tanh(), N.LayerNorm(6), N.Linear(6, 2)), (5, 4)),
        (lambda: N.Conv2d(2, 4, 3, padding=1, groups=2), (3, 2, 5, 5)),
        (lambda: N.GroupNorm(2, 4), (3, 4, 2)),
        (lambda: N.GRU(3, 2, batch_first=True), (4, 5, 3)),
    ],
)
@pytest.mark.parametrize("reduction", ["sum", "mean"])
def test_as_one_backward_per_sample(make, shape, reduction):
    torch.manual_seed(0)
    net, x = make(), torch.randn(shape, requires_grad=True)

    def loss(y):
        y = y[0] if isinstance(y, tuple) else y
        return y.pow(2).flatten(1).sum(1)

    got = loss(call_for_per_sample_grads(net, loss_reduction=reduction)(x))
    getattr(got, reduction)().backward()
    by_batch = x.grad.clone()
    x.grad = None
    for k in range(len(x)):
        loss(net(x[k : k + 1])).sum().backward()
        for weight in net.parameters():
            torch.testing.assert_close(weight.grad_sample[k], weight.grad, rtol=1e-4, atol=1e-5)
            weight.grad = None
    torch.testing.assert_close(
        by_batch * (len(x) if reduction == "mean" else 1), x.grad, rtol=1e-4, atol=1e-5
    )
    with pytest.raises(RuntimeError, match="^Current Expanded Weights accumulates the gradients"):
        call_for_per_sample_grads(net)


def test_a_parameter_that_is_used_twice_and_one_that_is_frozen():
    net = N.Linear(2, 2)
    net.bias.requires_grad_(False)

    class Twice(N.Module):
        def __init__(self):
            super().__init__()
            self.inner = net

        def forward(self, x, *, scale):
            return self.inner(self.inner(x)) * scale

    call_for_per_sample_grads(Twice(), batch_size=3)(torch.ones(3, 2), scale=2.0).sum().backward()
    assert net.weight.grad_sample.shape == (3, 2, 2) and not hasattr(net.bias, "grad_sample")
    Twice().forward(torch.ones(1, 2), scale=2.0).sum().backward()
    torch.testing.assert_close(net.weight.grad_sample[1], net.weight.grad)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda f: f(3), "Module passed must be nn.Module, got int"),
        (lambda f: f(N.Linear(2, 2), loss_reduction="max"), "to be sum or mean, got max"),
        (lambda f: f(N.Linear(2, 2), batch_size=0), "Batch size must be positive, got 0"),
        (lambda f: f(N.Linear(2, 2), batch_size=1.5), "None or an integer, got float"),
        (lambda f: f(N.Linear(2, 2))(), "Unable to find a tensor"),
        (
            lambda f: f(N.Bilinear(2, 2, 1))(torch.ones(3, 2), torch.ones(2, 2)),
            "input with batch size 3 and one with batch size 2",
        ),
    ],
)
def test_refusals(call, message):
    with pytest.raises(RuntimeError, match=message):
        call(call_for_per_sample_grads)
