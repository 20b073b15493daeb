"""What `torch.func` refuses, in PyTorch's words."""

import pytest

import pellucid as torch
from pellucid.func import grad, jacfwd, jacrev, jvp, vjp, vmap

X = torch.arange(6.0).view(3, 2)


@pytest.mark.parametrize("output", [None, ()])
def test_functions_that_return_nothing(output):
    def nothing(_):
        return output

    match = r"Expected f to be a function that has non-empty output \(got output = \[(None)?\]\)"
    for call in (
        lambda: vjp(nothing, X),
        lambda: jvp(nothing, (X,), (X,)),
        lambda: jacrev(nothing)(X),
        lambda: jacfwd(nothing)(X),
    ):
        with pytest.raises(RuntimeError, match=match):
            call()


def test_rows_one_by_one_are_not_mapped():
    class Dynamic(torch.autograd.Function):
        @staticmethod
        def forward(x):
            return x.clone()

        @staticmethod
        def setup_context(ctx, inputs, output):
            pass

        @staticmethod
        def backward(ctx, g):
            assert len(g.nonzero()) == 1
            return 2 * g

    x = torch.ones(3)
    assert torch.equal(jacrev(Dynamic.apply, chunk_size=1)(x), 2 * torch.eye(3))
    with pytest.raises(RuntimeError, match="operators that can output dynamic shape"):
        jacrev(Dynamic.apply, chunk_size=2)(x)


def function_with_rule(rule):
    class Own(torch.autograd.Function):
        @staticmethod
        def forward(x):
            return x.clone()

        @staticmethod
        def setup_context(ctx, inputs, output):
            pass

        @staticmethod
        def vmap(info, in_dims, x):
            return rule(x)

    return Own.apply


@pytest.mark.parametrize(
    ("rule", "match"),
    [
        (lambda x: x, "to have two returns, an output and out_dims .* Got a <class "),
        (lambda x: (x, x, 0, 0), "Got 4 returns instead"),
        (lambda x: (x, (None,)), r"returned an incompatible \(output, out_dims\) tuple"),
        (lambda x: ((x, x), (0,)), r"Expected out_dims=\(0,\) to be compatible"),
    ],
)
def test_rules_of_functions(rule, match):
    with pytest.raises(RuntimeError, match=match):
        vmap(function_with_rule(rule))(X)


def test_results_without_a_batched_form():
    with pytest.raises(RuntimeError, match="Batching rule not implemented for aten::abs.out; the"):
        vmap(lambda x, y: torch.abs(x, out=y))(X, X.clone())
    with pytest.raises(RuntimeError, match="Batching rule not implemented for aten::equal. We"):
        vmap(torch.equal)(X, X)
    with pytest.raises(RuntimeError, match="vmap over torch.allclose isn't supported yet"):
        vmap(torch.allclose)(X, X)


def test_arguments_may_be_written_to():
    def f(x, y):
        y.add_(1)
        return (x * y).sum()

    y = torch.zeros(2)
    assert grad(f)(torch.ones(2), y).tolist() == [1.0, 1.0]
    assert jacfwd(lambda x, y: y.copy_(x))(torch.ones(2), y).tolist() == torch.eye(2).tolist()
    with pytest.raises(RuntimeError, match="would mutate a captured Tensor"):
        grad(lambda x: (x * y.add_(1)).sum())(torch.ones(2))


old = torch._vmap_internals._vmap


@pytest.mark.parametrize(
    ("call", "match"),
    [
        (lambda: old(lambda x: 3.0)(X), "got type <class 'float'> as the return"),
        (lambda: old(lambda x: (x, 3))(X), "got type <class 'int'> for return 1"),
        (lambda: old(lambda x: [x])(X), "got type <class 'list'> as the return"),
        (lambda: old(lambda x: x, out_dims="a")(X), "`out_dims` must be an int or a tuple of int"),
        (lambda: old(lambda x: (x, x), out_dims=(0,))(X), "must have one dim per output"),
        (lambda: old(lambda x: x, in_dims=-1)(X), "expected in_dim to satisfy 0 <= in_dim < 2"),
    ],
)
def test_the_older_vmap(call, match):
    with pytest.raises(ValueError, match=match):
        call()


def test_the_older_vmap_maps():
    a, b = old(lambda x: (x, 2 * x), out_dims=(1, 0))(X)
    assert torch.equal(a, X.t())
    assert torch.equal(b, 2 * X)
    with pytest.warns(FutureWarning, match="Please use `torch.vmap`"):
        assert torch.equal(torch._vmap_internals.vmap(torch.sin)(X), X.sin())
