"""What nodes show of the graph: edges, names, and what they kept."""

import pytest

import pellucid as torch


def leaf(*shape):
    return torch.randn(*shape, dtype=torch.float64, requires_grad=True)


def edges(t):
    return [None if node is None else node.name() for node, _ in t.grad_fn.next_functions]


LEAF = "torch::autograd::AccumulateGrad"


def test_arguments_without_a_gradient_rule_have_no_edge():
    x, index = leaf(2, 3), torch.tensor([[0]])
    assert edges(torch.where(x > 0, x, 2.0)) == [LEAF, None]
    assert edges(x.gather(0, index)) == [LEAF]
    assert edges(x.scatter_add(0, index, leaf(1, 1))) == [LEAF, LEAF]
    assert edges(x[x > 0]) == [LEAF]
    assert edges(x + 2) == [LEAF, None]


def test_a_function_has_an_edge_for_each_tensor():
    class Scale(torch.autograd.Function):
        @staticmethod
        def forward(ctx, a, k, b):
            ctx.k = k
            ctx.save_for_backward(a, b)
            return a * k

        @staticmethod
        def backward(ctx, g):
            return g * ctx.k, None, None

    x = leaf(2)
    y = Scale.apply(x, 3, torch.ones(1))
    assert edges(y) == [LEAF, None]
    assert (
        y.grad_fn.k == 3
        and y.grad_fn.saved_tensors[0] is x
        and len(y.grad_fn._raw_saved_tensors) == 2
    )
    seen = []
    y.grad_fn.register_hook(lambda inputs, outputs: seen.append((len(inputs), len(outputs))))
    y.sum().backward()
    assert seen == [(2, 1)]


def test_post_hooks_see_and_replace_the_gradients_of_the_edges_shown():
    x = leaf(3)
    y = torch.where(x > 0, x, 2.0)
    y.grad_fn.register_hook(lambda inputs, outputs: (inputs[0] * 0 + 5, None))
    y.sum().backward()
    assert torch.equal(x.grad, torch.full((3,), 5.0, dtype=torch.float64))


@pytest.mark.parametrize("make", [lambda: leaf(5), lambda: leaf(5) + 1], ids=["leaf", "result"])
def test_hooks_of_one_saved_tensor(make):
    a = make()
    y = a * a
    y.grad_fn._raw_saved_self.register_hooks(lambda t: 2 * t, lambda t: t)
    assert torch.equal(y.grad_fn._saved_self, 2 * a)
    assert torch.equal(torch.autograd.grad(y.sum(), a)[0], 3 * a)

    a = make()
    y = a**3
    y.grad_fn._raw_saved_self.register_hooks(lambda t: t, lambda t: t)
    (g,) = torch.autograd.grad(y.sum(), a, create_graph=True)
    assert torch.allclose(torch.autograd.grad(g.sum(), a)[0], 6 * a)


def test_refusals_of_saved_tensors():
    with pytest.raises(
        RuntimeError, match="Trying to create a SavedTensor object from Python is forbidden"
    ):
        torch.autograd.SavedTensor()
    a = leaf(2)
    y = a * a
    saved = y.grad_fn._raw_saved_self
    with pytest.raises(
        RuntimeError, match="A saved tensor pack hook is modifying its input in place"
    ):
        saved.register_hooks(lambda t: t.mul_(1), lambda t: t)
    saved.register_hooks(lambda t: t, lambda t: 1)
    with pytest.raises(
        TypeError,
        match="Output of saved tensor unpack_hook expected to be a Tensor but got result of type int",
    ):
        _ = y.grad_fn._saved_self
    with pytest.raises(RuntimeError, match="hooks have already been set"):
        saved.register_hooks(lambda t: t, lambda t: t)
    y = a * a
    y.sum().backward()
    with pytest.raises(RuntimeError, match="after it has been freed"):
        y.grad_fn._raw_saved_self.register_hooks(lambda t: t, lambda t: t)


def test_what_hooks_change_is_seen_by_both_derivatives():
    with torch.autograd.graph.saved_tensors_hooks(lambda t: 2 * t, lambda t: t):
        a = leaf(5)
        s = torch.sum(a**3)
    (g,) = torch.autograd.grad(s, a, create_graph=True)
    assert torch.allclose(torch.autograd.grad(g.sum(), a)[0], 12 * a)


def test_saved_tensors_of_a_function_under_hooks_are_in_the_graph():
    class Square(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return 2 * x * g

    a = leaf(3)
    with torch.autograd.graph.saved_tensors_hooks(
        lambda t: t.tolist(), lambda v: torch.tensor(v, dtype=torch.float64)
    ):
        (g,) = torch.autograd.grad(Square.apply(a).sum(), a, create_graph=True)
        assert torch.equal(
            torch.autograd.grad(g.sum(), a)[0], torch.full((3,), 2.0, dtype=torch.float64)
        )


def test_hooks_return_as_many_values_as_they_got():
    def run(kind, answer):
        y = (leaf(2) * 2).sigmoid()
        getattr(y.grad_fn, kind)(lambda *gradients: answer)
        y.sum().backward()

    for kind in ("register_hook", "register_prehook"):
        with pytest.raises(
            RuntimeError,
            match=r"has returned an incorrect number of values \(got 0, but expected 1\)",
        ):
            run(kind, ())
        with pytest.raises(TypeError, match="expected tuple, but hook returned 'int'"):
            run(kind, 5)
    with pytest.raises(RuntimeError, match="has changed the size of value"):
        run("register_hook", (torch.ones(3, dtype=torch.float64),))
    with pytest.raises(TypeError, match="expected Variable, but hook returned 'int'"):
        run("register_hook", (5,))
    run("register_hook", (None,))


def test_what_is_kept_goes_by_the_names_of_the_operators_schema():
    x, y = torch.rand(3, 3, requires_grad=True), torch.rand(3, 3, requires_grad=True)
    assert (x**2).grad_fn._saved_exponent == 2
    assert torch.equal((x**y).grad_fn._saved_exponent, y)
    assert torch.equal((x @ y).grad_fn._saved_mat2, y)
    assert torch.equal((x @ y[0]).grad_fn._saved_vec, y[0])
    assert torch.nn.functional.leaky_relu(x).grad_fn._saved_negative_slope == 0.01
    assert x.sum(0).grad_fn._saved_self_sym_sizes == (3, 3)
    assert "_saved_exponent" in dir((x**2).grad_fn)
    assert "_saved_other" not in dir((x**2).grad_fn)
    with pytest.raises(AttributeError):
        _ = (x**2).grad_fn._saved_other
    # whose arguments PyTorch's node has in another order
    assert torch.equal(torch.nn.functional.linear(x, y, y[0]).grad_fn._saved_mat1, x)
    assert torch.equal(torch.nn.functional.linear(x, y, y[0]).grad_fn._saved_mat2, y.T)
