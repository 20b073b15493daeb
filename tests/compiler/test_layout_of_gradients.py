"""A gradient lies in memory as its leaf does, after each call of a compiled step."""

import functools

import pytest

import pellucid as torch
import pellucid.nn.functional as F
from pellucid import nn

LEAVES = {
    "rows": lambda: torch.rand(4, 6),
    "columns": lambda: torch.rand(6, 4).t(),
    "every second": lambda: torch.rand(4, 12)[:, ::2],
    "permuted": lambda: torch.rand(3, 2, 4).permute(2, 0, 1),
    "backwards": lambda: torch.rand(4, 6).flip(1),
    "one row": lambda: torch.rand(6).expand(4, 6),
    "scalar": lambda: torch.rand(()),
    "nothing": lambda: torch.rand(0, 6).t(),
}
FUNCTIONS = {
    "itself": lambda x: x.sum(),
    "itself transposed": lambda x: (x.T * torch.arange(x.numel()).reshape(x.T.shape)).sum(),
    "exponential": lambda x: (x.exp() * 2).sum(),
    "twice": lambda x: (x * x.mean()).sum() + x.sum(),
}


@pytest.mark.filterwarnings("ignore")  # .T of three dimensions
@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("leaf", LEAVES)
@pytest.mark.parametrize("of", ["an argument", "state", "one of the step's own"])
def test_as_eagerly(of, leaf, function):
    loss = FUNCTIONS[function]

    def found(compiled):
        torch.manual_seed(0)
        x = LEAVES[leaf]().requires_grad_()

        def step(y):
            if of == "one of the step's own":
                y = y.detach().requires_grad_()
            loss(x if of == "state" else y).backward()
            return y.grad if of == "one of the step's own" else None

        run = torch.compile(step) if compiled else step
        seen = []
        for _ in range(4):
            x.grad = None
            made = run(x)
            g = x.grad if made is None else made
            seen.append((g.stride(), g.tolist()))
        run(x)  # one more, into the gradient that is there
        seen.append((x.grad if made is None else made).stride())
        return seen

    (*eager, last), (*compiled, got) = found(False), found(True)
    for (strides, values), (wanted, right) in zip(compiled, eager, strict=True):
        assert strides == wanted
        torch.testing.assert_close(torch.tensor(values), torch.tensor(right))
    assert got == last


@pytest.mark.parametrize("steps", [3])
def test_weights_with_their_channels_closest(steps):
    def strides(compiled):
        torch.manual_seed(0)
        model = nn.Conv2d(3, 4, 3).to(memory_format=torch.channels_last)
        optimizer = torch.optim.SGD(model.parameters(), 0.1, momentum=0.9)

        def step(x):
            optimizer.zero_grad()
            F.relu(model(x)).square().mean().backward()
            optimizer.step()

        run = torch.compile(step) if compiled else step
        x = torch.rand(2, 3, 8, 8)
        for _ in range(steps):
            run(x)
        return [(p.grad.stride(), p.stride(), p.detach().clone()) for p in model.parameters()]

    for (a, b, x), (c, d, y) in zip(strides(True), strides(False), strict=True):
        assert (a, b) == (c, d)
        torch.testing.assert_close(x, y)


def test_gradients_of_another_dtype():
    """What a leaf asks for was not heard of in a program."""
    w = torch.rand(3).bfloat16().requires_grad_()
    w.grad_dtype = torch.float32

    def step():
        (w * 2).sum().backward()

    run = torch.compile(step)
    with pytest.warns(torch.compiler.CompileWarning, match="of another dtype"):
        for _ in range(3):
            w.grad = None
            run()
            assert w.grad.dtype is torch.float32


def _counts(compiled, step, between=None):
    torch.manual_seed(0)
    model = torch.nn.Linear(3, 2)
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    x = torch.ones(4, 3, requires_grad=True)
    f = (torch.compile if compiled else lambda g: g)(functools.partial(step, model, optimizer))
    found = []
    for call in range(5):
        f(x)
        grads = [t.grad for t in (x, *model.parameters()) if t.grad is not None]
        if call > 1:  # nobody has asked before
            found.append([g._version for g in grads])
        if between and call == 3:
            [between(g) for g in grads]
    return found


def _accumulates(model, optimizer, x):
    model(x).sum().backward()


def _clips(model, optimizer, x):
    optimizer.zero_grad()
    model(x.detach()).sum().backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 0.1)
    optimizer.step()


def _begins_again(model, optimizer, x):
    optimizer.zero_grad()
    model(x.detach()).sum().backward()


def _zeros(model, optimizer, x):
    optimizer.zero_grad(set_to_none=False)
    model(x.detach()).sum().backward()
    model(x.detach()).mean().backward()


@pytest.mark.parametrize("step", [_accumulates, _clips, _begins_again, _zeros])
@pytest.mark.parametrize("between", [None, lambda g: g.mul_(2)], ids=["", "written"])
def test_writes_to_gradients_are_counted(step, between):
    eager = _counts(False, step, between)
    assert _counts(True, step, between) == eager
    assert any(map(any, eager)) is (step is not _begins_again)


def test_a_gradient_with_create_graph_of_a_product_with_one_vector():
    weight = torch.rand(5, 4, requires_grad=True)

    @torch.compile
    def step(x):
        weight.grad = None
        F.linear(x, weight).mean().backward(create_graph=True)
        return weight.grad

    assert [step(torch.rand(4)).stride() for _ in range(3)] == [(4, 1)] * 3
