"""Views whose place in the graph is gone since their base was written to: a compiled function that
is given one raises where eager execution does, and not before.
"""

import pytest

import pellucid as torch


def outdated():
    base = torch.ones(4, requires_grad=True) * 1
    view = base.unbind()[1]
    base.mul_(2)
    return view


def test_what_asks_for_no_gradient_computes():
    step = torch.compile(lambda x, k: (x == 2) * k)
    for k in (1, 2, 3):
        assert step(outdated(), k).item() == k


def test_what_asks_for_one_raises():
    step = torch.compile(lambda x: x * 2)
    assert step(torch.ones(4, requires_grad=True).unbind()[1]).item() == 2
    for _ in range(3):
        with pytest.raises(RuntimeError, match="Output 1 of Unbind is a view and its base"):
            step(outdated())
        with torch.no_grad():
            assert step(outdated()).item() == 4


def test_parts_around_a_break_hand_them_on():
    p = torch.ones(2, requires_grad=True)

    def step(x):
        part = p.chunk(1)[0]
        torch.nn.init.zeros_(part)
        with torch.random.fork_rng():
            pass
        return part == x

    step = torch.compile(step)
    with pytest.warns(torch.compiler.CompileWarning, match="around a line"):
        assert step(torch.zeros(())).all()
    for _ in range(2):
        assert step(torch.zeros(())).all()
