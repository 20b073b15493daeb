"""The lines that a page runs when an input is changed: the numbers of the engine come out of them."""

import math

import numpy as np
import pytest

import pellucid as torch
from pellucid import debug, nn
from pellucid.arrays import numpy_cpu


def run(program, **inputs):
    """Values and gradients by box, as the page computes them; words are NumPy's here."""
    known = {name: inputs.get(label, value) for _, label, value, name in program["leaves"]}

    def at(word):
        return (
            known[word]
            if word in known
            else float(word)
            if word not in ("True", "False")
            else float(word == "True")
        )

    for line in program["lines"]:
        name, _, word, *operands = line.split(" ")
        values = [np.array(at(o)) for o in operands]
        if word == "where":
            values[0] = values[0] != 0
        known[name] = float(getattr(numpy_cpu, word)(*values))
    return {k: at(v) for k, v in program["values"].items()}, {
        k: at(v) for k, v in program["grads"].items()
    }


FUNCTIONS = {
    "sin(xy)+x^2": lambda x, y: torch.sin(x * y) + x**2,
    "tanh": lambda x, y: torch.tanh(x - 2 * y) / (y + 3.0),
    "sigmoid, log": lambda x, y: torch.log(torch.sigmoid(x) + torch.exp(-y)),
    "relu": lambda x, y: torch.relu(x) * torch.relu(-y) + torch.abs(y),
    "shared": lambda x, y: (x * y) * (x * y) - torch.sqrt(x * x + 1),
    "maximum": lambda x, y: torch.maximum(x, y) * y,
}


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("at", [(1.5, 0.8), (-0.7, 0.3), (2.0, -1.25)])
def test_another_input_gives_what_the_engine_gives(name, at):
    f = FUNCTIONS[name]
    x, y = (torch.tensor(v, dtype=torch.float64, requires_grad=True) for v in (0.9, 0.4))
    drawing = debug.step_through(lambda: f(x, y), names={"x": x, "y": y})
    assert drawing.program is not None
    values, grads = run(drawing.program, x=at[0], y=at[1])
    a, b = (torch.tensor(v, dtype=torch.float64, requires_grad=True) for v in at)
    result = f(a, b)
    result.backward()
    nodes = list(drawing.graph.nodes())
    box = {n.name: k for k, n in enumerate(nodes) if n.kind in ("leaf", "result")}
    last = next(k for k, n in enumerate(nodes) if n.kind == "result")
    assert values[last] == pytest.approx(result.item(), rel=1e-9)
    for name, leaf in (("x", a), ("y", b)):
        assert grads[box[name]] == pytest.approx(leaf.grad.item(), rel=1e-9)


def test_it_begins_with_the_recorded_numbers():
    x = torch.tensor(0.5, requires_grad=True)
    drawing = debug.step_through(lambda: torch.exp(x) * 3, names={"x": x})
    values, _ = run(drawing.program)
    assert max(values.values()) == pytest.approx(3 * math.exp(0.5))


@pytest.mark.parametrize(
    "make",
    [
        lambda w: (w * torch.ones(3)).sum(),
        lambda w: nn.Linear(1, 1)(w.reshape(1)).sum(),
        lambda w: w.reshape(1).max(),
    ],
)
def test_tensors_have_none(make):
    w = torch.tensor(2.0, requires_grad=True)
    assert debug.step_through(lambda: make(w)).program is None
