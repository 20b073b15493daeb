"""Gradients of arguments, graphs that are kept, closures for LBFGS: what steps do to tensors that
the caller has.
"""

from __future__ import annotations

import warnings

import pytest

import pellucid as torch
import pellucid.nn.functional as F
from pellucid import nn


def steps(compiled: bool, make):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    step = make(model, optimizer)
    return torch.compile(step) if compiled else step


# ---- gradients of arguments --------------------------------------------------------------------------
@pytest.mark.parametrize("cleared", [True, False])
def test_gradients_of_arguments_go_to_the_arguments_of_the_call(cleared):
    """Adversarial examples: `loss.backward()` inside, `x.grad` outside, which may be cleared or
    kept, also for earlier arguments.
    """
    weight = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)

    @torch.compile
    def step(x):
        weight.grad = None
        loss = (x * x * weight).sum()
        loss.backward()
        return loss

    kept = []
    for k in range(6):
        x = torch.full((3,), float(k), requires_grad=True)
        step(x)
        torch.testing.assert_close(x.grad, 2 * k * weight.detach())
        kept.append((x, x.grad.clone()))
        if cleared:
            x.grad = None
        else:
            x.grad.zero_()
            step(x)
            torch.testing.assert_close(x.grad, kept[-1][1])
    assert all((x.grad is None) == cleared for x, _ in kept)
    assert len(step.versions) == (1 if cleared else 2)


def test_a_step_may_ask_for_the_gradient_of_its_argument():
    """`x.requires_grad_()` inside, as in losses with derivatives with respect to the input."""

    def make(model, optimizer):
        def step(x):
            x.requires_grad_(True)
            u = model(x)
            (du,) = torch.autograd.grad(u.sum(), x, create_graph=True)
            optimizer.zero_grad()
            loss = ((du.sum(1, keepdim=True) - u) ** 2).mean()
            loss.backward()
            optimizer.step()
            return loss

        return step

    want, got = steps(False, make), steps(True, make)
    for _ in range(4):
        a = torch.randn(5, 3)
        b = a.clone()
        torch.testing.assert_close(got(b), want(a))
        assert b.requires_grad and b.is_leaf
        torch.testing.assert_close(b.grad, a.grad)
        torch.testing.assert_close(got(b), want(a))  # it requires grad already, and has one
        torch.testing.assert_close(b.grad, a.grad)
    assert sum(v.hits for v in got.versions) == 6


def test_a_step_may_ask_for_the_gradient_of_a_global():
    x = torch.ones(4)

    @torch.compile
    def f():
        x.requires_grad_()
        return (x * x).sum()

    for _ in range(3):
        f().backward()
    assert x.grad.tolist() == [6] * 4 and f.versions[0].hits == 1


# ---- graphs that are kept ------------------------------------------------------------------------------
def test_a_kept_graph_whose_parameters_are_updated():
    """`backward(retain_graph=True)` out of habit: compiled, and whoever calls backward again is
    told what eager tells.
    """

    def make(model, optimizer):
        def step(x):
            loss = model(x).square().mean()
            optimizer.zero_grad()
            loss.backward(retain_graph=True)
            optimizer.step()
            return loss

        return step

    want, got = steps(False, make), steps(True, make)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(4):
            x = torch.randn(5, 3)
            a, b = want(x), got(x)
            torch.testing.assert_close(b, a)
            assert b.requires_grad
            told = []
            for loss in (a, b):
                with pytest.raises(
                    RuntimeError, match="modified by an inplace operation"
                ) as caught:
                    loss.backward()
                told.append(str(caught.value).split(" is at version")[0])
            assert told[0] == told[1]
    assert got.versions[0].hits == 3


def test_a_kept_graph_may_be_gone_through_again():
    def make(model, optimizer):
        def step(x):
            loss = model(x).square().mean()
            optimizer.zero_grad()
            loss.backward(retain_graph=True)
            return loss, [p.grad for p in model.parameters()]

        return step

    want, got = steps(False, make), steps(True, make)
    for _ in range(3):
        x = torch.randn(5, 3)
        (a, of_a), (b, of_b) = want(x), got(x)
        a.backward()
        b.backward()
        for g, h in zip(of_a, of_b, strict=True):
            torch.testing.assert_close(h, g)


# ---- LBFGS --------------------------------------------------------------------------------------------
@pytest.mark.parametrize("search", [None, "strong_wolfe"])
def test_a_closure_for_lbfgs_is_traced_once(search):
    x, y = torch.randn(16, 3), torch.randn(16, 1)
    results = []
    for compiled in (False, True):
        torch.manual_seed(0)
        model = nn.Linear(3, 1)
        optimizer = torch.optim.LBFGS(model.parameters(), lr=0.5, max_iter=6, line_search_fn=search)

        def closure(model=model, optimizer=optimizer):
            optimizer.zero_grad()
            loss = F.mse_loss(model(x), y)
            loss.backward()
            return loss

        run = torch.compile(closure) if compiled else closure
        results.append([optimizer.step(run).item() for _ in range(4)])
    assert results[1] == pytest.approx(results[0], rel=1e-5)
    assert sum(h.startswith("traced") for h in run.history) == 1


def test_who_looks_into_an_optimizers_state_sees_it_change():
    model = nn.Linear(3, 1)
    optimizer = torch.optim.LBFGS(model.parameters(), max_iter=2)

    @torch.compile
    def f(x):
        return x * len(optimizer.state)

    assert f(torch.ones(2)).tolist() == [0, 0]
    x = torch.ones(4, 3)

    def closure():
        optimizer.zero_grad()
        loss = model(x).sum()
        loss.backward()
        return loss

    optimizer.step(closure)
    assert f(torch.ones(2)).tolist() == [1, 1]


def test_an_update_sees_the_state_that_was_loaded_or_taken_away():
    """The state of an optimizer that steps inside is watched, that of one that does not is not."""
    results = []
    for compiled in (False, True):
        torch.manual_seed(0)
        model = nn.Linear(3, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
        x = torch.ones(4, 3)

        def step(model=model, optimizer=optimizer, x=x):
            optimizer.zero_grad()
            loss = model(x).square().mean()
            loss.backward()
            optimizer.step()
            return loss

        run = torch.compile(step) if compiled else step
        losses = [run().item() for _ in range(3)]
        optimizer.state.clear()
        losses += [run().item() for _ in range(3)]
        for entry in optimizer.state.values():
            entry["momentum_buffer"] = torch.ones_like(entry["momentum_buffer"])
        results.append(losses + [run().item() for _ in range(3)])
    assert results[1] == pytest.approx(results[0], rel=1e-5)


def test_an_argument_that_a_parameter_is_written_to_is_no_leaf():
    w = torch.full((3,), 2.0, requires_grad=True)

    def f(x):
        x.mul_(w)
        x.sum().backward()
        return x

    run = torch.compile(f)
    with pytest.warns(torch.compiler.CompileWarning, match="changes requires_grad of a tensor"):
        for _ in range(3):
            want, got = f(torch.ones(3)), run(torch.ones(3))
            assert got.requires_grad and not got.is_leaf
            assert want.tolist() == got.tolist() and want.is_leaf == got.is_leaf


def test_a_result_whose_gradient_is_lost_beside_one_that_has_it():
    w = torch.full((3,), 2.0, requires_grad=True)

    def f(x):
        lost = w * 1
        y = lost.square().sum()
        lost.mul_(x)
        return (w * x).sum(), y

    run = torch.compile(f)
    with pytest.warns(
        torch.compiler.CompileWarning,
        match="the gradient of one of its results raises RuntimeError",
    ):
        for _ in range(3):
            w.grad = None
            good, bad = run(torch.ones(3))
            good.backward()
            assert w.grad.tolist() == [1.0] * 3
            with pytest.raises(RuntimeError, match="modified by an inplace operation"):
                bad.backward()


def test_a_new_leaf_beside_what_is_computed_from_it():
    """The two came as siblings of one node: the leaf was none, and got no gradient."""
    model = torch.nn.Linear(3, 1)

    @torch.compile
    def step(x):
        inputs = x.clone().requires_grad_()
        return inputs, model(inputs).sum()

    with pytest.warns(torch.compiler.CompileWarning, match="has made require grad"):
        for _ in range(3):
            inputs, loss = step(torch.ones(2, 3))
            loss.backward()
            assert inputs.is_leaf
            assert torch.equal(inputs.grad, model.weight.detach().expand(2, 3))


def test_a_view_from_before_requires_grad_stays_apart_from_its_base():
    @torch.compile
    def step(x):
        before = x.reshape(-1)
        x.requires_grad_()
        return before, x

    for _ in range(4):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            before, x = step(torch.ones(2, 3))
        assert before.grad_fn is None and x.is_leaf and x.requires_grad


def test_gradients_with_a_graph_keep_it_when_another_backward_adds_to_them():
    p = torch.ones(4, requires_grad=True)

    @torch.compile
    def step(x):
        (p * p).mean().backward(create_graph=True)
        p.sum().backward(create_graph=True)

    for _ in range(4):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            step(torch.ones(2))
        assert p.grad.grad_fn is not None


@pytest.mark.filterwarnings("ignore:.*runs eagerly")
@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize(
    ("first", "second", "said"),
    [
        ((1, 2), (3, 2), "output with shape [1, 2] doesn't match the broadcast shape [3, 2]"),
        ((), (2,), "output with shape [] doesn't match the broadcast shape [2]"),
        ((2, 2), (3, 2), "The size of tensor a (2) must match the size of tensor b (3) at non-singleton dimension 0"),
        ((3, 2), (1, 2), None),
        ((3, 2), (2,), None),
    ],
)  # fmt: skip
def test_a_gradient_that_meets_one_of_another_shape(first, second, said, compiled):
    p = torch.nn.Parameter(torch.zeros(first))

    def step():
        p.sum().backward()

    called = torch.compile(step) if compiled else step

    def run(data):
        p.data = data
        called()

    run(torch.ones(first))
    if said is None:
        run(torch.ones(second))
        assert p.grad.tolist() == torch.full(first, 2.0).tolist()
        return
    with pytest.raises(RuntimeError) as caught:
        run(torch.ones(second))
    assert str(caught.value) == said
    assert p.grad.tolist() == torch.ones(first).tolist()
