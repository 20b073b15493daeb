"""The steps of a step-through: every number is the one that the engine computes, in the order in
which it does.
"""

from xml.etree import ElementTree

import pytest

import pellucid as torch
from pellucid import debug, nn
from pellucid.core import observe
from pellucid.debug.pictures.stepping import array_text, rule_text
from pellucid.scalar import MLP, Value


def scalar(value):
    return torch.tensor(value, requires_grad=True)


def by_phase(steps, phase):
    return [s for s in steps if s["p"] == phase]


def test_the_numbers_of_a_small_graph():
    x, y = scalar(2.0), scalar(3.0)
    steps = debug.step_through((x + y) * x, names={"x": x, "y": y}).steps
    assert [s["h"] for s in steps] == ["add  ()", "mul  ()", "mul", "add", "x.grad", "y.grad"]
    add, mul, back_mul, back_add, x_grad, y_grad = steps
    assert add["rows"] == [["input = x", "2"], ["other = y", "3"]] and add["out"] == "5"
    assert (
        mul["rows"] == [["input = add", "5"], ["other = x", "2"]]
        and mul["out"] == "10"
        and mul["v"] == "10"
    )
    assert back_mul["sums"] == [["backward() begins with", "1"]]
    assert back_mul["parts"] == [
        ["To add (input)", [["rule", "g * other"], ["local derivative", "2"], ["sends", "2"]]],
        ["To x (other)", [["rule", "g * input"], ["local derivative", "5"], ["sends", "5"]]],
    ]
    assert back_add["sums"] == [["from mul", "2"]] and back_add["r"] == "2"
    assert (
        x_grad["sums"] == [["from mul", "5"], ["from add", "2"]]
        and x_grad["total"] == "7"
        and x_grad["r"] == "7"
    )
    assert y_grad["total"] == "2" and x.grad is None, "looking changes nothing"


def test_the_order_is_that_of_the_engine():
    class Order:
        def __init__(self):
            self.names = []

        def backward_node(self, node, g, gs):
            self.names.append(node.name())

    x = scalar([0.5, -1.0])
    a, b = torch.sin(x), torch.exp(x)
    loss = (a * b + torch.tanh(a)).sum()
    drawing = debug.step_through(loss)
    nodes = list(drawing.graph.nodes())
    with observe.observing(Order()) as order:
        loss.backward()
    played = [
        nodes[s["i"]].title
        for s in by_phase(drawing.steps, "backward")
        if nodes[s["i"]].kind != "leaf"
    ]
    assert played == order.names and len(played) == 6


def test_sums_where_paths_meet():
    x = scalar(3.0)
    h = x * x
    steps = debug.step_through(h * h + h, names={"x": x}).steps
    meeting = next(s for s in by_phase(steps, "backward") if len(s["sums"]) == 3)
    assert [t for _, t in meeting["sums"]] == ["1", "9", "9"] and meeting[
        "total"
    ] == "19" == meeting["r"]
    assert steps[-1]["total"] == "114"


def test_local_derivatives_of_vectors_and_sums():
    x = scalar([1.0, 2.0, 3.0])
    w = torch.tensor([[1.0, 0.0, 2.0], [0.0, 3.0, 0.0]])
    steps = debug.step_through((w @ x).square().sum()).steps
    local = {
        s["h"]: dict(s["parts"][0][1]).get("local derivative")
        for s in by_phase(steps, "backward")
        if s["parts"]
    }
    assert local["sum"] == "[1, 1]" and local["pow"] == "[14, 12]"
    matrix = next(v for k, v in local.items() if k not in ("sum", "pow"))
    assert [
        float(v) for v in matrix.replace("[", "").replace("]", "").replace(",", " ").split()
    ] == [1, 0, 2, 0, 3, 0]


def test_large_tensors_are_summarised():
    x = torch.arange(100.0).requires_grad_()
    steps = debug.step_through((x * 2).mean()).steps
    assert steps[0]["rows"][0][1] == "(100,)  min 0, max 99, mean 49.5"
    assert array_text(torch.tensor([float("nan")] * 20)) == "(20,), 20 NaN or Inf"
    assert array_text(torch.tensor([1, 2])) == "[1, 2]" and array_text(torch.tensor(0.1)) == "0.1"


def test_values_that_the_graph_does_not_hold_are_computed_again_or_left_out():
    x = scalar(2.0)
    steps = debug.step_through((x + 1) * 3).steps
    assert steps[0]["out"] == "(), value not kept", "the 1 was not kept, so nothing is invented"
    assert steps[1]["out"] == "9"
    steps = debug.step_through(lambda: (x + 1) * 3).steps
    assert steps[0]["out"] == "3" and steps[0]["rows"][1] == ["other", "1"]


def test_a_function_is_run_and_watched():
    model = nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 1))
    drawing = debug.step_through(lambda: model(torch.ones(4, 2)).mean(), names=model)
    nodes = list(drawing.graph.nodes())
    assert {n.group for n in nodes} >= {("Sequential", "0: Linear"), ("Sequential", "1: ReLU"), ()}
    assert all(p.grad is None for p in model.parameters()) and not observe.observers
    assert {s["h"] for s in drawing.steps if s["h"].endswith(".grad")} >= {
        "weight #1.grad",
        "bias #2.grad",
    }


def test_a_recorded_run_with_its_own_backward():
    x = scalar(3.0)
    x.grad = torch.tensor(100.0)
    with debug.Recording() as r:
        (x * x).backward()
    steps = debug.step_through(r).steps
    assert (
        x.grad.item() == 106 and steps[-1]["total"] == "6" and "it is now 106" in steps[-1]["note"]
    )
    assert steps[0]["out"] == "9"


def test_a_graph_that_was_freed_plays_its_order_without_numbers():
    x = scalar(2.0)
    loss = x.exp().sin()
    loss.backward()
    steps = debug.step_through(loss).steps
    back = by_phase(steps, "backward")
    assert (
        [s["h"] for s in back] == ["sin", "exp"]
        and "freed" in back[0]["note"]
        and back[0]["r"] is None
    )


def test_what_was_overwritten_is_said():
    x = scalar([1.0])
    h = x * 2
    y = h * h
    h.add_(1)
    steps = debug.step_through(y.sum()).steps
    assert any("modified by an inplace operation" in (s.get("note") or "") for s in steps)


def test_hooks_are_a_part_of_backward():
    x = scalar(2.0)
    h = x * 3
    h.register_hook(lambda g: g * 10)
    steps = debug.step_through(h * 5, names={"x": x}).steps
    assert steps[-1]["total"] == "150"


def test_others_who_watch_do_not_take_it_for_a_backward():
    x = scalar(2.0)
    with debug.watch() as notes:
        loss = x * x
        debug.step_through(loss)
        assert not notes.backwards
    assert not observe.observers


def test_several_results_and_several_elements():
    x = torch.arange(4.0).requires_grad_()
    a, b = x.split(2)
    drawing = debug.step_through(a * b)
    back = by_phase(drawing.steps, "backward")
    assert back[-1]["total"] == "[2, 3, 0, 1]"
    assert "begins with ones" in back[0]["note"]
    assert debug.draw(a * b, play=True).steps == drawing.steps


def test_custom_functions_are_not_called_for_derivatives():
    calls = []

    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            calls.append(1)
            return g * 2

    steps = debug.step_through(Double.apply(scalar(3.0))).steps
    assert calls == [1] and steps[-1]["total"] == "2"


def test_what_has_no_graph():
    with pytest.raises(ValueError, match="no graph"):
        debug.step_through(torch.ones(2))
    with pytest.raises(ValueError, match="no graph"):
        debug.step_through(debug.Recording())
    with pytest.raises(TypeError, match="must be Tensor"):
        debug.step_through(3)


def test_rules_are_quoted_from_the_engine():
    from pellucid.core.primitive import PRIMITIVES

    assert rule_text(PRIMITIVES["mul"], 0) == "g * other"
    found = [
        rule_text(op, k)
        for op in PRIMITIVES.values()
        if isinstance(op.vjp, dict)
        for k in range(len(op.args))
    ]
    found = [text for text in found if text]
    assert len(found) > 50
    for text in found:
        compile(text, "rule", "eval")


# ---- scalars -----------------------------------------------------------------------------------
def test_scalar_values_are_played():
    x, y = Value(2.0, label="x"), Value(3.0, label="y")
    f = (x + y) * x
    steps = debug.step_through(f).steps
    assert [s["h"] for s in steps] == ["+", "*", "*", "+", "y", "x"]
    assert steps[2]["parts"][0] == ["To +", [["local derivative", "2"], ["sends", "1 × 2 = 2"]]]
    assert steps[-1]["sums"] == [["from *", "5"], ["from +", "2"]] and steps[-1]["total"] == "7"
    assert x.grad == 0.0, "no grad was touched"


def test_the_gradients_of_a_scalar_network_are_its_own():
    import random

    result = MLP(2, [3, 1], rng=random.Random(0))([0.5, -1.0])
    result = result[0] if isinstance(result, list) else result
    drawing = debug.step_through(result)
    result.backward()
    nodes = drawing.graph.order
    back = by_phase(drawing.steps, "backward")
    assert len(back) == len(nodes)
    assert all(s["r"] == f"{nodes[s['i']].grad:.4g}" for s in back)


def test_engines_like_micrograd():
    class Number:
        """As in micrograd: `_prev` is a set, `_backward` takes nothing and adds to `.grad`."""

        def __init__(self, data, children=(), op=""):
            self.data, self.grad, self._prev, self._op = data, 0.0, set(children), op
            self._backward = lambda: None

        def __mul__(self, other):
            out = Number(self.data * other.data, (self, other), "*")

            def backward():
                self.grad += other.data * out.grad
                other.grad += self.data * out.grad

            out._backward = backward
            return out

    a, b = Number(2.0), Number(5.0)
    c = a * b
    a.grad = 77.0
    steps = debug.step_through(c).steps
    assert (
        {s["r"] for s in steps if s["p"] == "backward"} == {"1", "5", "2"}
        and a.grad == 77.0
        and c.grad == 0.0
    )


class TestSlides:
    def test_a_picture_of_each_step(self):
        x, y = torch.tensor(2.0, requires_grad=True), torch.tensor(3.0, requires_grad=True)
        played = debug.step_through((x + y) * x, names={"x": x, "y": y})
        first, fourth, last = (played.slide(k) for k in (0, 3, -1))
        assert "value 5" in first and "value 10" not in first and "grad" not in first
        assert "value 10" in fourth and "grad 2" in fourth and "grad 7" not in fourth
        assert "grad 7" in last and last == played.slide(len(played.steps) - 1)
        for k, step in enumerate(played.steps):
            tree = ElementTree.fromstring(played.slide(k))
            (now,) = [
                g
                for g in tree.iter("{http://www.w3.org/2000/svg}g")
                if g.get("class", "").endswith(" now")
            ]
            name = now.find("{http://www.w3.org/2000/svg}text").text
            assert step["h"].startswith(name)

    def test_the_chain_rule_as_latex(self):
        x, y = torch.tensor(2.0, requires_grad=True), torch.tensor(-3.0, requires_grad=True)
        played = debug.step_through((x + y) * x, names={"x": x, "y": y})
        assert played.latex(0) == [] and played.latex(-1) == []
        to_add, to_x = played.latex(2)
        assert to_add.endswith(
            r"\cdot \frac{\partial \mathrm{mul}}{\partial \mathrm{add}} = 1 \cdot 2 = 2"
        )
        assert r"\partial x} \mathrel{+}= " in to_x and to_x.endswith(r"= 1 \cdot (-1) = -1")
        matrix = torch.ones(2, 2, requires_grad=True)
        (formula,) = debug.step_through((matrix * 2).sum(), names={"W_1": matrix}).latex(3)
        assert r"\odot" in formula and r"\mathrm{W\_1}" in formula
        softmax = debug.step_through(torch.softmax(matrix[0], 0)[0], names={"m": matrix})
        assert any(
            r"^{\mathsf T}" in f for k in range(len(softmax.steps)) for f in softmax.latex(k)
        )
        for text in (f for k in range(len(softmax.steps)) for f in softmax.latex(k)):
            assert text.count("{") == text.count("}")

    @pytest.mark.parametrize("k", [5, -6, 100])
    def test_a_step_that_is_not_there(self, k):
        x = torch.tensor(2.0, requires_grad=True)
        with pytest.raises(ValueError, match="the drawing has 3 steps"):
            debug.step_through(x * 2, names={"x": x}).slide(k)
        with pytest.raises(ValueError, match="use debug.step_through"):
            debug.draw(x * 2).latex(0)
