"""Classes that are no Tensor and have `__torch_function__`: functions, methods and operators ask them."""

import subprocess
import sys

import pytest

import pellucid as torch


class Diagonal:
    """A square matrix that keeps its diagonal alone."""

    handled: dict = {}

    def __init__(self, values):
        self.values = values

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        if func not in cls.handled:
            return NotImplemented
        return cls.handled[func](*args, **(kwargs or {}))


def handle(*functions):
    def register(handler):
        Diagonal.handled.update(dict.fromkeys(functions, handler))
        return handler

    return register


handle(torch.clone)(lambda d: Diagonal(d.values.clone()))
handle(torch.logdet)(lambda d: d.values.log().sum())
handle(torch.exp, torch.nn.functional.relu)(lambda d, **options: "hot")
handle(torch.mean)(lambda d: d.values.sum() / d.values.numel() ** 2)
handle(torch.add, torch.Tensor.add)(lambda a, b: "sum")
handle(torch.Tensor.matmul, torch.Tensor.mm)(lambda t, d: t * d.values)
handle(torch.Tensor.eq)(lambda a, b: "equal?")
handle(torch.cat)(lambda tensors, dim=0: "joined")


@pytest.fixture
def diagonal():
    return Diagonal(torch.tensor([1.0, 2.0]))


def test_functions_ask_it(diagonal):
    assert torch.clone(diagonal).values.tolist() == [1.0, 2.0]
    assert torch.logdet(diagonal).item() == pytest.approx(0.6931472)
    assert torch.mean(diagonal).item() == 0.75
    assert torch.exp(diagonal) == torch.nn.functional.relu(diagonal) == "hot"
    assert torch.cat([diagonal, torch.ones(2)]) == "joined"


def test_methods_and_operators_of_plain_tensors_ask_it(diagonal):
    assert torch.add(torch.ones(2), diagonal) == torch.ones(2).add(diagonal) == "sum"
    assert torch.ones(2) + diagonal == "sum"
    assert (torch.ones(2, 2) @ diagonal).tolist() == torch.ones(2, 2).mm(diagonal).tolist()
    assert (torch.ones(2) == diagonal) == "equal?"


def test_what_it_does_not_handle_is_named(diagonal):
    with pytest.raises(TypeError, match="Multiple dispatch failed for"):
        torch.sin(diagonal)


def test_an_operator_of_its_own_comes_after():
    class Reflected:
        def __radd__(self, other):
            return "own"

    assert torch.ones(2) + Reflected() == "own"


def test_plain_calls_go_on_as_before(diagonal):
    assert torch.add(torch.ones(2), 1).tolist() == [2.0, 2.0]
    with pytest.raises(TypeError, match=r"clone\(\): argument 'input'"):
        torch.clone("text")


def test_functions_stay_the_same_objects_when_other_kinds_of_tensors_are_loaded():
    """A table of handlers has `torch.mean` as a key before sparse and quantized tensors are there."""
    code = """if 1:
        import inspect, pellucid as torch
        plain = torch.mean.__code__
        assert isinstance(torch.nn.Linear(2, 2).weight, torch.nn.Parameter)  # loads all layers
        assert torch.mean.__code__ is plain  # classes without objects cost calls nothing
        names = ("mean", "norm", "clamp", "cat", "zeros_like", "add", "sum", "abs", "softmax")
        held = {name: getattr(torch, name) for name in names}
        signatures = {name: inspect.signature(f) for name, f in held.items()}

        class Other:
            @classmethod
            def __torch_function__(cls, func, types, args=(), kwargs=None):
                return func

        assert torch.mean(Other()) is held["mean"]
        s = torch.tensor([[0.0, 2.0], [0.0, 0.0]]).to_sparse()
        q = torch.quantize_per_tensor(torch.ones(2, 2), 0.5, 0, torch.quint8)
        for name, function in held.items():
            assert getattr(torch, name) is function, name
            assert inspect.signature(function) == signatures[name], name
        assert torch.mean(Other()) is held["mean"] is held["mean"](Other())
        assert held["mean"](q).dequantize().item() == 1.0
        assert held["abs"](s).to_dense().sum().item() == 2.0
        assert held["mean"](torch.ones(2), dim=0).item() == 1.0
        assert held["mean"](input=torch.ones(2)).item() == 1.0
    """
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


class Reflecting:
    """Declines functions, and has operators of its own."""

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return NotImplemented

    def __rmul__(self, other):
        return "rmul"

    def __gt__(self, other):
        return "gt"


def test_python_asks_the_other_operand_where_all_handlers_decline():
    x = torch.ones(2)
    assert x * Reflecting() == "rmul" and (x < Reflecting()) == "gt"
    assert torch.nn.Parameter(x) * Reflecting() == "rmul"
    with pytest.raises(TypeError, match=r"unsupported operand type\(s\) for -: 'Tensor' and 'Refl"):
        x - Reflecting()
    with pytest.raises(TypeError, match="Multiple dispatch failed for"):
        torch.mul(x, Reflecting())
