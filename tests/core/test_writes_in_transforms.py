"""Writes in place inside of transforms, against the same function without writes."""

import pytest

import pellucid as torch
from pellucid.func import grad, hessian, jacfwd, jacrev, vmap


def after(u, write):
    write(u)
    return u


WRITES = {
    "whole": (lambda u: u.mul_(2), lambda u: u * 2),
    "view": (
        lambda u: u.view(-1)[0].mul_(2),
        lambda u: torch.cat([u.view(-1)[:1] * 2, u.view(-1)[1:]]).view(u.shape),
    ),
    "part": (lambda u: u[1:].zero_(), lambda u: torch.cat([u[:1], torch.zeros_like(u[1:])])),
    "item": (lambda u: u.__setitem__(0, u[1] * 2), lambda u: torch.cat([u[1:2] * 2, u[1:]])),
}
X = torch.linspace(-1, 1, 12, dtype=torch.float64).reshape(3, 4)
TRANSFORMS = {
    "a gradient for each sample": lambda f: vmap(grad(lambda t: f(t).sum()))(X),
    "nested batches": lambda f: vmap(vmap(grad(lambda t: f(t).sum())))(torch.stack([X, X * 2])),
    "jacobians by rows": lambda f: vmap(jacrev(f))(X),
    "jacobians by columns": lambda f: vmap(jacfwd(f))(X),
    "second derivatives": lambda f: hessian(lambda t: f(t).sum())(X[0]),
    "the gradient of a batch": lambda f: grad(lambda q: vmap(f)(q).sum())(X),
}


@pytest.mark.parametrize("transform", TRANSFORMS)
@pytest.mark.parametrize("write", WRITES)
@pytest.mark.parametrize("source", [lambda t: t.clone(), lambda t: t.sin() * 1])
def test_a_write_is_differentiated(transform, write, source):
    inplace, plain = WRITES[write]
    run = TRANSFORMS[transform]
    got = run(lambda t: after(source(t), inplace).sin())
    assert torch.allclose(got, run(lambda t: plain(source(t)).sin()))


def test_a_leaf_of_the_caller_is_refused_still():
    with pytest.raises(
        RuntimeError,
        match="a leaf Variable that requires grad is being used in an in-place operation",
    ):
        vmap(lambda t: t.mul_(2))(X.clone().requires_grad_())


class Tripled(torch.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(x):
        return x * x

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, g):
        return 3 * g * ctx.saved_tensors[0]


def test_batched_gradients_of_a_function_record_nothing_unasked():
    x = X.clone().requires_grad_()
    seeds = torch.ones(2, 3, 4, dtype=torch.float64)
    (got,) = torch.autograd.grad(Tripled.apply(x), x, seeds, is_grads_batched=True)
    assert not got.requires_grad
    (got,) = torch.autograd.grad(
        Tripled.apply(x), x, seeds, is_grads_batched=True, create_graph=True
    )
    assert got.requires_grad
    assert not jacrev(Tripled.apply)(X[0]).requires_grad
