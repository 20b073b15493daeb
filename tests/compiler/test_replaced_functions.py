"""What a compiled function looks up by which object it is, and functions of the library that a
program replaces after they were traced.
"""

import pytest

import pellucid as torch
from pellucid.nn import functional as F


@pytest.mark.filterwarnings("ignore::pellucid.compiler.CompileWarning")
@pytest.mark.parametrize("asks", ["in", "get", "subscript", "wrapped"])
def test_tensors_are_looked_up_in_dictionaries(asks):
    a, b = torch.ones(2), torch.zeros(2)
    numbers = {a: 1.0, b: 2.0}

    def function(t):
        if asks == "in":
            return t + 1 if t in {a} else t - 1
        if asks == "get":
            return t + numbers.get(t, 5.0)
        if asks == "subscript":
            return t + numbers[t]
        return t * 2 if any(t in s for s in ({a}, {7})) else t - 7

    compiled = torch.compile(function)
    for t in (a, b, a, b, a, b):
        assert compiled(t).tolist() == function(t).tolist()


def test_new_tensors_may_be_keys():
    def function(t):
        y = t * 2
        return {y: 3.0}[y] + y

    compiled = torch.compile(function, fullgraph=True)
    for k in range(4):
        assert compiled(torch.full((2,), float(k))).tolist() == [2.0 * k + 3] * 2


@pytest.mark.parametrize("home, name", [(F, "relu"), (torch, "relu"), (torch.nn.init, "ones_")])
def test_a_replaced_function_is_noticed(home, name, monkeypatch):
    def function(x):
        return F.relu(x) + torch.relu(x) + torch.nn.init.ones_(torch.empty(2))

    compiled, model = torch.compile(function), torch.compile(torch.nn.ReLU())
    x = torch.tensor([-1.0, 2.0])
    for _ in range(3):
        assert compiled(x).tolist() == function(x).tolist() == [1.0, 5.0]
        assert model(x).tolist() == [0.0, 2.0]
    monkeypatch.setattr(home, name, lambda x, inplace=False: x * 0 + 5)
    for _ in range(3):
        assert compiled(x).tolist() == function(x).tolist() != [1.0, 5.0]
        assert model(x).tolist() == torch.nn.ReLU()(x).tolist()
    monkeypatch.undo()
    versions = len(compiled.versions)
    for _ in range(3):
        assert compiled(x).tolist() == [1.0, 5.0] and model(x).tolist() == [0.0, 2.0]
    assert len(compiled.versions) == versions


@pytest.mark.parametrize(
    "name, function",
    [
        ("relu", lambda x: x.relu()),
        ("__add__", lambda x: x + 1),
        ("sum", lambda x: x.sum() + x),
    ],
)
def test_a_replaced_method_of_tensors_is_noticed(name, function, monkeypatch):
    compiled = torch.compile(function)
    x = torch.tensor([-1.0, 2.0])
    for _ in range(3):
        before = compiled(x).tolist()
    monkeypatch.setattr(torch.Tensor, name, lambda self, *args: self * 5)
    for _ in range(3):
        assert compiled(x).tolist() == function(x).tolist() != before
    monkeypatch.undo()
    for _ in range(3):
        assert compiled(x).tolist() == before
