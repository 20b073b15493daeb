"""Graphs of real PyTorch are drawn as well."""

import pytest

from pellucid import debug

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.oracle


def test_the_graph_of_a_model():
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 2))
    loss = torch.nn.functional.cross_entropy(
        model(torch.randn(5, 3)), torch.tensor([0, 1, 0, 1, 1])
    )
    drawing = debug.draw(loss, names=model)
    nodes = list(drawing.graph.nodes())
    assert [n.name for n in nodes if n.kind != "leaf"] == [
        "t",
        "addmm",
        "tanh",
        "t",
        "addmm",
        "log_softmax",
        "nll_loss",
    ]
    leaves = {(n.name, n.group): n.shape for n in nodes if n.kind == "leaf"}
    assert (
        leaves[("weight", ("0",))] == "(4, 3)"
        and ("bias", ("2",)) in leaves
        and nodes[-1].kind == "result"
    )
    assert (
        "5, 4" in drawing.mermaid
        and "subgraph" in drawing.mermaid
        and "<svg" in drawing.svg
        and "saves result" in drawing.dot
    )
    assert "NllLossBackward0" in repr(drawing) and len(drawing.html) > 10_000


def test_shared_nodes_and_several_results():
    x = torch.arange(4.0, requires_grad=True)
    a, b = x.exp().split(2)
    graph = debug.draw((a * b + a).sum(), names={"x": x}).graph
    names = {n.key: n.name for n in graph.nodes()}
    assert sorted(names.values()) == ["add", "exp", "mul", "split", "sum", "x"]
    edges = [(names[e.source], names[e.target]) for e in graph.edges()]
    assert (
        edges.count(("split", "mul")) == 2
        and edges.count(("split", "add")) == 1
        and ("x", "exp") in edges
    )


def test_what_has_no_graph():
    with pytest.raises(TypeError, match="must be Tensor"):
        debug.draw(torch.ones(2))


def test_deep_graphs():
    x = torch.ones((), requires_grad=True)
    y = x
    for _ in range(5000):
        y = y * 1.0001
    assert len(list(debug.draw(y).graph.nodes())) == 5001
