"""A compiled model whose loss, backward and optimizer stay outside: the short way of its calls gives
what the long one gives.
"""

from __future__ import annotations

import pytest

import pellucid as torch
import pellucid.nn.functional as F
from pellucid import nn
from pellucid.compiler.capture.guards import Guard
from pellucid.compiler.run.version import Version


def network():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 4))


@pytest.fixture
def only_the_short_way(monkeypatch):
    def refused(*_):
        raise AssertionError("the long way")

    def begin():
        monkeypatch.setattr(Version, "__call__", refused)

    return begin


@pytest.mark.parametrize("leaf", [False, True], ids=["data", "leaf"])
def test_training_outside_of_the_model_is_that_of_eager_execution(leaf, only_the_short_way):
    losses = []
    for compiled in (False, True):
        model = network()
        run = torch.compile(model) if compiled else model
        optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
        torch.manual_seed(1)
        x, y = torch.randn(5, 6, requires_grad=leaf), torch.tensor([0, 1, 2, 3, 0])
        found = []
        for turn in range(8):
            if compiled and turn == 4:
                only_the_short_way()
            optimizer.zero_grad()
            x.grad = None
            loss = F.cross_entropy(run(x), y)
            loss.backward()
            optimizer.step()
            found.append([loss.detach(), *([x.grad] if leaf else [])])
        losses.append(found)
    for eager, made in zip(*losses, strict=True):
        for a, b in zip(eager, made, strict=True):
            assert torch.allclose(a, b, atol=1e-6)


def test_calls_before_a_backward_keep_their_own_values(only_the_short_way):
    model = network()
    run = torch.compile(model)
    first, second = torch.randn(5, 6), torch.randn(5, 6)
    for _ in range(4):
        run(first)
    only_the_short_way()
    # both calls have run before the first backward reads what it saved
    a, b = run(first), run(second)
    (a.square().sum() + 2 * b.square().sum()).backward()
    made = [p.grad for p in model.parameters()]
    model.zero_grad()
    (model(first).square().sum() + 2 * model(second).square().sum()).backward()
    for p, g in zip(model.parameters(), made, strict=True):
        assert torch.allclose(p.grad, g, atol=1e-5)


def test_nodes_of_the_short_way_know_their_line_and_what_was_overwritten(only_the_short_way):
    model = network()
    run = torch.compile(model)
    x = torch.randn(5, 6)
    for _ in range(4):
        run(x)
    only_the_short_way()
    out = run(x)  # this line
    assert out.requires_grad and not out.is_leaf
    assert "this line" in str(out.grad_fn.line)
    assert out.grad_fn.name() == "CompiledFunctionBackward"
    with torch.no_grad():
        model[2].weight.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        out.sum().backward()
    out = run(x)
    out.sum().backward()
    with pytest.raises(RuntimeError, match="backward through the graph a second time"):
        out.sum().backward()


def test_a_result_that_gets_no_gradient_is_none_beside_one_that_does():
    torch.manual_seed(0)
    v, w = (torch.randn(3, requires_grad=True) for _ in range(2))
    run = torch.compile(lambda x: (x * v, x * w))
    x = torch.randn(3)
    for _ in range(4):
        v.grad = w.grad = None
        run(x)[1].sum().backward()
    assert v.grad is None and torch.equal(w.grad, x)


def test_a_table_of_state_is_compared_key_by_key_in_order():
    table = {"step": object(), "sum": object()}
    expected = [*map(id, table.values())]

    def differs():
        return eval(text, scope)

    scope = {}
    guard = Guard("values", table, None, expected, "state")
    text = guard.difference(3, scope)
    assert "map" not in text and not differs()
    held = table.pop("step")
    table["step"] = held  # the same objects in another order
    assert differs() and not guard.holds()
    table["sum"] = table.pop("sum")
    assert not differs() and guard.holds()
    table["more"] = 1
    assert differs()
    del table["more"]
    table["sum"] = object()
    assert differs()
    # of a table that has changed already, and of keys that may be compared element by element
    assert "map" in guard.difference(4, scope)
    other = {torch.ones(2): object()}
    guard = Guard("values", other, None, [*map(id, other.values())], "state")
    assert "map" in guard.difference(5, scope)
