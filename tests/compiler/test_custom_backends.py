"""`torch.compile(backend=function)`: the graphs that a backend gets, and that results and gradients
are those of running eagerly.
"""

import warnings

import pytest

import pellucid as torch
from pellucid import nn
from pellucid._dynamo.backends.common import aot_autograd
from pellucid._functorch.aot_autograd import aot_function, aot_module, make_boxed_func, nop
from pellucid.compiler import CompileError, CompileWarning, _registered
from pellucid.nn import functional as F


class Seen:
    """A backend that keeps the graphs it gets and runs them."""

    def __init__(self):
        self.graphs = []

    def __call__(self, gm, example_inputs):
        gm.graph.lint()
        self.graphs.append((gm, list(example_inputs)))
        return gm.forward

    @property
    def targets(self):
        return [
            n.target if isinstance(n.target, str) else n.target.__name__
            for n in self.graphs[-1][0].graph.nodes
            if n.op.startswith("call")
        ]


def network():
    torch.manual_seed(0)
    return nn.Sequential(
        nn.Conv2d(2, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(), nn.Linear(16, 3)
    )


def trained(model, steps=3):
    """Losses and parameters after some steps of a model."""
    torch.manual_seed(1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    losses = []
    for _ in range(steps):
        loss = F.cross_entropy(model(torch.randn(5, 2, 4, 4)), torch.randint(0, 3, (5,)))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses, [t.detach().clone() for t in (*model.parameters(), *model.buffers())]


@pytest.mark.parametrize("make", [Seen, lambda: aot_autograd(fw_compiler=nop)])
def test_a_module_trains_as_it_does_eagerly(make):
    want = trained(network())
    got = trained(torch.compile(network(), backend=make()))
    assert got[0] == pytest.approx(want[0], rel=1e-6)
    for a, b in zip(got[1], want[1], strict=True):
        torch.testing.assert_close(a, b)


def test_the_graph_is_made_of_public_functions():
    backend = Seen()
    weight = torch.ones(3, requires_grad=True)

    def f(x, flag):
        y = (x.sin() + weight).view(-1)[1:3]
        y = torch.relu(y) if flag else 2 - y
        z = torch.zeros(2)
        z[0] = y[0]
        with torch.no_grad():
            k = y.mean()
        return {"a": z * k, "b": [y, x, x.shape[0], None]}

    compiled = torch.compile(f, backend=backend)
    x = torch.randn(2, 3)
    for flag in (True, False, True):
        want, got = f(x, flag), compiled(x, flag)
        assert torch.equal(got["a"], want["a"])
        assert torch.equal(got["b"][0], want["b"][0])
        assert got["b"][1] is x
        assert got["b"][2:] == [2, None]
    assert len(backend.graphs) == 2
    backend.graphs.pop()
    gm, inputs = backend.graphs[0]
    assert [id(t) for t in inputs] == [id(x), id(weight)]
    assert [n.name for n in gm.graph.nodes if n.op == "placeholder"] == ["l_x_", "l_weight_"]
    assert backend.targets[:6] == ["sin", "add", "view", "getitem", "relu", "zeros"]
    assert "set_grad_enabled" in backend.targets


def test_shapes_dtypes_and_state_give_graphs_of_their_own():
    backend = Seen()
    model = nn.Dropout(0.5)
    compiled = torch.compile(model, backend=backend)
    x = torch.ones(4)
    model.eval()
    assert torch.equal(compiled(x), x)
    model.train()
    torch.manual_seed(0)
    want = model(x)
    torch.manual_seed(0)
    assert torch.equal(compiled(x), want)
    for other in (torch.ones(5), torch.ones(4, dtype=torch.float64), torch.ones(4, 1)):
        assert compiled(other).shape == other.shape
    assert len(backend.graphs) >= 4


def test_writes_reach_the_arguments_once():
    calls = []

    def f(x, buffer):
        calls.append(1)
        buffer.add_(x)
        return buffer * 2

    compiled = torch.compile(f, backend=Seen())
    buffer = torch.zeros(2)
    for k in (1, 2, 3):
        assert compiled(torch.ones(2), buffer).tolist() == [2.0 * k] * 2
    assert buffer.tolist() == [3.0, 3.0]
    assert len(calls) == 3


def test_what_reads_values_runs_as_it_is():
    backend = Seen()

    def f(x):
        return x + 1 if x.sum() > 0 else x - 1

    compiled = torch.compile(f, backend=backend)
    with pytest.warns(CompileWarning, match="f runs without its backend"):
        assert compiled(torch.ones(2)).tolist() == [2.0, 2.0]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert compiled(-torch.ones(2)).tolist() == [-2.0, -2.0]
    assert backend.graphs == []
    with pytest.raises(CompileError, match="cannot be recorded as one graph"):
        torch.compile(f, backend=backend, fullgraph=True)(torch.ones(2))


def test_errors_of_the_function_are_its_own():
    compiled = torch.compile(lambda x, y: x @ y, backend=Seen())
    with pytest.raises(RuntimeError, match="mat1 and mat2 shapes cannot be multiplied"):
        compiled(torch.ones(2, 3), torch.ones(2, 3))
    assert compiled(torch.ones(2, 3), torch.ones(3, 1)).shape == (2, 1)
    with pytest.raises(TypeError, match="a backend returns a function"):
        torch.compile(lambda x: x + 1, backend=lambda gm, inputs: 3)(torch.ones(1))


def test_names_of_backends():
    def doubled(gm, example_inputs):
        return lambda *args: [2 * r for r in gm.forward(*args)]

    torch._dynamo.register_backend(doubled)
    try:
        assert torch.compile(lambda x: x + 1, backend="doubled")(torch.ones(1)).tolist() == [4.0]
        assert "doubled" in torch._dynamo.list_backends()
        assert torch._dynamo.lookup_backend("doubled") is doubled
        with pytest.raises(AssertionError, match="duplicate name"):
            torch._dynamo.register_backend(doubled)
    finally:
        _registered.clear()
    with pytest.raises(RuntimeError, match="Invalid backend: 'doubled'"):
        torch.compile(lambda x: x, backend="doubled")


# ---- forward and backward graphs ---------------------------------------------------------------
def test_forward_and_backward_are_graphs():
    graphs = {}

    def keep(name):
        def compiler(gm, example_inputs):
            graphs[name] = [
                str(n.target) for n in gm.graph.nodes if n.op in ("placeholder", "call_function")
            ]
            return make_boxed_func(gm.forward)

        return compiler

    f = aot_function(lambda a, b: (a + b).cos().cos(), keep("forward"), keep("backward"))
    a, b = torch.randn(3, requires_grad=True), torch.randn(3, requires_grad=True)
    out = f(a, b)
    want = (a + b).cos().cos()
    assert torch.equal(out, want)
    for g, w in zip(
        torch.autograd.grad(out.sum(), (a, b)), torch.autograd.grad(want.sum(), (a, b)), strict=True
    ):
        torch.testing.assert_close(g, w)
    assert graphs["forward"] == [
        "primals_1",
        "primals_2",
        "aten.add.Tensor",
        "aten.cos.default",
        "aten.cos.default",
    ]
    assert graphs["backward"] == [
        "add",
        "cos",
        "tangents_1",
        "aten.sin.default",
        "aten.neg.default",
        "aten.mul.Tensor",
        "aten.sin.default",
        "aten.neg.default",
        "aten.mul.Tensor",
    ]


@pytest.mark.parametrize(
    "function",
    [
        lambda x, w: F.layer_norm(x @ w, (3,)).sum(),
        lambda x, w: (F.softmax(x @ w, -1), (x**2).mean()),
        lambda x, w: {"a": x[:, 1:].exp(), "b": torch.cat([w, w]).tanh()},
        lambda x, w: (x.detach() * 2, (w * 2).sum(), x.argmax(1)),
        lambda x, w: F.dropout(x, 0.0) @ w,
        lambda x, w: F.scaled_dot_product_attention(*[x[None, None]] * 3).sum() * w.sum(),
    ],
)
def test_gradients_are_those_of_running_eagerly(function):
    torch.manual_seed(0)
    x, w = torch.randn(4, 5, requires_grad=True), torch.randn(5, 3, requires_grad=True)

    def grads(run):
        x.grad = w.grad = None
        leaves = torch.utils._pytree.tree_leaves(run(x, w))
        total = sum((r * r).sum() for r in leaves if r.requires_grad)
        total.backward()
        return leaves, [torch.zeros(()) if t.grad is None else t.grad for t in (x, w)]

    want, got = grads(function), grads(aot_function(function, nop))
    for a, b in zip((*got[0], *got[1]), (*want[0], *want[1]), strict=True):
        torch.testing.assert_close(a, b)
        assert a.requires_grad == b.requires_grad
    with torch.no_grad():
        plain = torch.utils._pytree.tree_leaves(aot_function(function, nop)(x, w))
    assert not any(r.requires_grad for r in plain)


def test_modules_ahead():
    model = network()
    ahead = aot_module(network(), nop)
    want, got = trained(model), trained(ahead)
    assert got[0] == pytest.approx(want[0], rel=1e-6)
