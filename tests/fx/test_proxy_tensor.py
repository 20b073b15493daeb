"""Graphs of the operators that a function runs."""

import pytest

import pellucid as torch
from pellucid.fx.experimental.proxy_tensor import make_fx

F = torch.nn.functional
aten = torch.ops.aten


def _targets(graph):
    return [
        str(n.target).removeprefix("aten.").removesuffix(".default")
        for n in graph.graph.nodes
        if n.op == "call_function"
    ]


def test_a_layer():
    x, w, b = torch.randn(3, 4), torch.randn(5, 4), torch.randn(5)
    graph = make_fx(lambda x, w, b: F.linear(x, w, b).relu())(x, w, b)
    assert _targets(graph) == ["t", "addmm", "relu"] and torch.allclose(
        graph(x, w, b), F.linear(x, w, b).relu()
    )
    assert graph.code.strip().splitlines()[0] == "def forward(self, x_1, w_1, b_1):"
    assert "t = torch.ops.aten.t.default(w_1);  w_1 = None" in graph.code


@pytest.mark.parametrize("mode", ["real", "fake"])
def test_gradients(mode):
    def gradients(x, w):
        return torch.autograd.grad((x @ w.t()).sigmoid().sum(), [x, w])

    x, w = torch.randn(3, 4, requires_grad=True), torch.randn(5, 4, requires_grad=True)
    graph = make_fx(gradients, tracing_mode=mode)(x, w)
    assert _targets(graph) == [
        "t",
        "mm",
        "sigmoid",
        "detach",
        "sum",
        "ones_like",
        "expand",
        "detach",
        "sigmoid_backward",
        "t",
        "mm",
        "t",
        "t",
        "mm",
        "t",
    ]
    for got, wanted in zip(graph(x, w), gradients(x, w), strict=True):
        assert torch.allclose(got, wanted)


def test_containers_constants_and_writes():
    x, known = torch.randn(4), torch.randn(4)
    graph = make_fx(lambda d: {"o": d["a"] + d["b"][0] * 2})({"a": x, "b": (known,)})
    assert torch.allclose(graph({"a": x, "b": (known,)})["o"], x + known * 2)
    graph = make_fx(lambda x: x * known + torch.tensor([1.0, 2.0, 3.0, 4.0]))(x)
    assert (
        _targets(graph) == ["mul.Tensor", "lift_fresh_copy", "add.Tensor"]
        and graph._tensor_constant0 is known
    )
    graph = make_fx(lambda x: x.clone().add_(1).mul_(2))(x)
    assert _targets(graph) == ["clone", "add_.Tensor", "mul_.Tensor"] and torch.allclose(
        graph(x), (x + 1) * 2
    )


def test_a_module_of_several_results():
    model = torch.nn.Sequential(torch.nn.Linear(4, 5), torch.nn.LayerNorm(5), torch.nn.GELU())
    x = torch.randn(3, 4)
    graph = make_fx(lambda p, x: torch.func.functional_call(model, p, x).max(1))(
        dict(model.named_parameters()), x
    )
    assert _targets(graph)[:2] == ["t", "addmm"] and torch.allclose(
        graph(dict(model.named_parameters()), x)[0], model(x).max(1)[0]
    )


def test_decompositions():
    table = {aten.silu.default: lambda x: x * torch.sigmoid(x)}
    graph = make_fx(F.silu, decomposition_table=table)(torch.randn(3))
    assert _targets(graph) == ["sigmoid", "mul.Tensor"]


def test_refusals():
    with pytest.raises(
        RuntimeError, match="It appears that you're trying to get value out of a tracing tensor"
    ):
        make_fx(lambda x: x * x.sum().item())(torch.ones(2))
    with pytest.raises(AssertionError, match="expected tracing_mode in"):
        make_fx(F.relu, tracing_mode="other")
    with pytest.raises(NotImplementedError, match="symbolic"):
        make_fx(F.relu, tracing_mode="symbolic")
