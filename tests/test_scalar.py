"""The engine on single numbers: equal to the engine on tensors, deep graphs, errors, a network."""

import ast
import gc
import math
import random
import sys
import weakref
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings

import pellucid
from pellucid import scalar
from pellucid.scalar import MLP, Layer, Neuron, Value

sys.path.insert(0, str(Path(__file__).parent))
try:
    import scalar_programs
finally:
    sys.path.pop(0)


def tensor_leaf(x):
    return pellucid.tensor(x, dtype=pellucid.float64, requires_grad=True)


@settings(max_examples=150, deadline=None, derandomize=True)
@given(scalar_programs.PROGRAMS)
def test_gradients_are_those_of_tensors(program):
    data, gradients = scalar_programs.run(program, Value, lambda v: v.data)
    expected, wanted = scalar_programs.run(program, tensor_leaf, lambda t: t.item())
    assert data == pytest.approx(expected, rel=1e-9, abs=1e-9)
    assert gradients == pytest.approx(wanted, rel=1e-7, abs=1e-7)


@pytest.mark.parametrize("name", sorted(scalar_programs.OPERATIONS))
def test_each_operation_against_differences(name):
    a, b, c = 0.7, -1.3, 0.9
    x, y = Value(a), Value(b)
    function = scalar_programs.OPERATIONS[name]
    function(x, y, c).backward()
    eps = 1e-6

    def at(p, q):
        return function(Value(p), Value(q), c).data

    assert x.grad == pytest.approx((at(a + eps, b) - at(a - eps, b)) / (2 * eps), abs=1e-8)
    assert y.grad == pytest.approx((at(a, b + eps) - at(a, b - eps)) / (2 * eps), abs=1e-8)


def test_the_file_needs_nothing_but_the_standard_library():
    tree = ast.parse(Path(scalar.__file__).read_text(encoding="utf-8"))
    imports = [node for node in ast.walk(tree) if isinstance(node, (ast.Import, ast.ImportFrom))]
    names = [
        node.module if isinstance(node, ast.ImportFrom) else alias.name
        for node in imports
        for alias in node.names
    ]
    assert names and all(
        name.split(".")[0] in {*sys.stdlib_module_names, "__future__"} for name in names
    )
    assert all(node.level == 0 for node in imports if isinstance(node, ast.ImportFrom))


class TestGraph:
    def test_inputs_are_kept_in_order_and_repeated(self):
        x, y = Value(2.0, label="x"), Value(3.0)
        product = x * x
        assert product._prev == (x, x) and product._op == "*"
        assert (x - y)._prev[1] is y and (1 - x)._prev[1] is x
        assert [v._op for v in (product + y).topological_order()][-1] == "+"

    def test_paths_are_added_up(self):
        x = Value(3.0)
        (x * x + 2 * x + x).backward()
        assert x.grad == 2 * 3 + 2 + 1

    def test_a_gradient_is_complete_before_it_is_passed_on(self):
        x = Value(2.0)
        early = x * 3
        late = ((early + 1) * 2).tanh() * 0.001
        (early * late + early).backward()
        with_tensor = tensor_leaf(2.0)
        e = with_tensor * 3
        (e * (((e + 1) * 2).tanh() * 0.001) + e).backward()
        assert x.grad == pytest.approx(with_tensor.grad.item())

    def test_calls_add_up_as_tensors_do(self):
        """Also through a Value in between, whose own sum from the first call must not be passed on
        again.
        """
        x, t = Value(2.0), tensor_leaf(2.0)
        y, u = (x * x).exp(), (t * t).exp()
        for _ in range(3):
            y.backward()
            u.backward(retain_graph=True)
        assert x.grad == pytest.approx(t.grad.item())

    def test_data_changed_afterwards_does_not_change_the_past(self):
        x, y = Value(2.0), Value(3.0)
        out = x * y
        x.data, y.data = 100.0, 100.0
        out.backward()
        assert (x.grad, y.grad) == (3.0, 2.0)

    def test_a_leaf_and_a_part_without_gradient(self):
        x = Value(5.0)
        x.backward()
        assert x.grad == 1.0
        y = Value(1.0)
        (x * 2).backward()
        assert y.grad == 0.0

    def test_depth_is_no_limit(self):
        depth = 100_000
        x = Value(1.0)
        total = x
        for _ in range(depth):
            total = total + x
        assert len(total.topological_order()) == depth + 1
        total.backward()
        assert x.grad == depth + 1
        kept = weakref.ref(total)
        gc.collect()
        gc.disable()
        try:
            del total
            assert kept() is None  # freed at once, without the collector: there are no cycles
        finally:
            gc.enable()


class TestArithmetic:
    def test_numbers_on_both_sides(self):
        x = Value(4.0)
        results = [
            x + 1,
            1 + x,
            x - 1,
            1 - x,
            x * 2,
            2 * x,
            x / 2,
            2 / x,
            x**2,
            2**x,
            -x,
            +x,
            abs(-x),
            sum([x, x]),
        ]
        assert [v.data for v in results] == [5, 5, 3, -3, 8, 8, 2, 0.5, 16, 16, -4, 4, 4, 8]

    def test_numbers_of_numpy(self):
        x = Value(3.0)
        for y in (np.float64(2) * x, x * np.float32(2), np.int64(2) * x, x * np.int64(2)):
            assert isinstance(y, Value) and y.data == 6.0
        assert Value(np.float32(0.5)).data == 0.5

    def test_augmented_assignment_makes_a_new_value(self):
        x = Value(1.0)
        y = x
        y += 2
        assert (x.data, y.data) == (1.0, 3.0) and y._prev[0] is x

    def test_comparisons(self):
        x, y = Value(1.0), Value(2.0)
        assert x < y and x <= 1 and y > 1 and y >= x and x == 1 and x != y and not x > y
        assert Value(1.0) == Value(1.0) and len({Value(1.0), Value(1.0)}) == 2
        assert not Value(0.0) and Value(0.1)

    def test_kinks_have_pytorchs_derivatives(self):
        x = Value(0.0)
        (x.relu() + abs(x)).backward()
        assert x.grad == 0.0

    def test_far_from_nought_nothing_overflows(self):
        x, y = Value(-1000.0), Value(1000.0)
        (x.sigmoid() + y.sigmoid() + x.tanh()).backward()
        assert (x.sigmoid().data, y.sigmoid().data, x.grad, y.grad) == (0.0, 1.0, 0.0, 0.0)
        tiny = Value(1e-200)
        (tiny / tiny).backward()
        assert tiny.grad == 0.0

    def test_powers_of_nought(self):
        x, n = Value(0.0), Value(2.0)
        (x**n + x**0 + x**1).backward()
        assert (x.grad, n.grad) == (1.0, 0.0)


class TestErrors:
    @pytest.mark.parametrize("data", ["1", None, 1j, [1.0]])
    def test_what_is_no_number(self, data):
        with pytest.raises(
            TypeError, match=f"a Value holds one real number, not {type(data).__name__}"
        ):
            Value(data)

    @pytest.mark.parametrize(
        "operation", ["x + 'a'", "'a' + x", "x ** 'a'", "x * None", "[1] * x", "x / 1j", "1j - x"]
    )
    def test_arithmetic_with_what_is_no_number(self, operation):
        with pytest.raises(TypeError):
            eval(operation, {"x": Value(1.0)})

    def test_arrays_are_no_numbers(self):
        with pytest.raises(TypeError):
            np.ones(2) * Value(1.0)
        with pytest.raises(TypeError):
            Value(1.0) * np.ones(2)

    def test_functions_of_math_do_not_cut_the_graph_silently(self):
        with pytest.raises(TypeError):
            math.exp(Value(1.0))

    @pytest.mark.parametrize(
        ("action", "kind", "text"),
        [
            (lambda: Value(0.0).log(), ValueError, "log of 0.0"),
            (lambda: Value(-1.0).sqrt(), ValueError, "sqrt of -1.0"),
            (lambda: Value(1000.0).exp(), OverflowError, "exp of 1000.0"),
            (lambda: Value(1.0) / Value(0.0), ZeroDivisionError, "/ of 1.0 and 0.0"),
            (lambda: Value(-8.0) ** (1 / 3), ValueError, r"\*\* of -8.0 and 0.333"),
            (lambda: Value(0.0) ** -1, ValueError, r"\*\* of 0.0 and -1.0"),
            (
                lambda: Value(0.0).sqrt().backward(),
                ZeroDivisionError,
                "the derivative of sqrt at 0.0",
            ),
            (
                lambda: (Value(-2.0) ** Value(3.0)).backward(),
                ValueError,
                r"the derivative of \*\* at -2.0, 3.0",
            ),
        ],
    )
    def test_what_has_no_value_says_where(self, action, kind, text):
        with pytest.raises(kind, match=text):
            action()

    def test_a_backward_that_fails_changes_nothing(self):
        x, y = Value(0.0), Value(2.0)
        total = x.sqrt() + y * y
        with pytest.raises(ZeroDivisionError):
            total.backward()
        assert (x.grad, y.grad, total.grad) == (0.0, 0.0, 0.0)


class TestNetwork:
    def test_parameters_and_shapes(self):
        model = MLP(3, [4, 4, 2], rng=random.Random(0))
        assert len(model.parameters()) == 4 * 4 + 4 * 5 + 2 * 5
        assert len(set(model.parameters())) == len(model.parameters())
        assert [len(list(layer)) for layer in model.layers] == [4, 4, 2]
        assert len(model([1.0, 2.0, 3.0])) == 2
        assert isinstance(MLP(2, [1])([0.0, 1.0]), Value)
        assert repr(Layer(2, 1)) == "Layer(Neuron(2, activation='tanh'))"
        assert model.layers[-1].neurons[0].activation is None

    def test_the_same_seed_gives_the_same_weights(self):
        weights = [
            [p.data for p in MLP(2, [2, 1], rng=random.Random(7)).parameters()] for _ in range(2)
        ]
        assert weights[0] == weights[1] and len(set(weights[0])) > 3

    def test_zero_grad(self):
        model = MLP(2, [2, 1], rng=random.Random(0))
        model([1.0, 2.0]).backward()
        assert any(p.grad for p in model.parameters())
        model.zero_grad()
        assert not any(p.grad for p in model.parameters())

    def test_wrong_number_of_inputs(self):
        with pytest.raises(ValueError, match="a neuron with 2 inputs got 3"):
            Neuron(2)([1.0, 2.0, 3.0])

    @pytest.mark.parametrize("activation", ["tanh", "relu", "sigmoid"])
    def test_gradients_are_those_of_the_same_network_of_tensors(self, activation):
        model = MLP(3, [4, 2], activation=activation, rng=random.Random(1))
        weights = [
            (
                pellucid.tensor(
                    [[w.data for w in n.w] for n in layer],
                    dtype=pellucid.float64,
                    requires_grad=True,
                ),
                pellucid.tensor(
                    [n.b.data for n in layer], dtype=pellucid.float64, requires_grad=True
                ),
            )
            for layer in model.layers
        ]
        x = [0.5, -1.0, 2.0]
        sum(out * out for out in model(x)).backward()
        hidden = getattr(
            weights[0][0] @ pellucid.tensor(x, dtype=pellucid.float64) + weights[0][1], activation
        )()
        ((weights[1][0] @ hidden + weights[1][1]) ** 2).sum().backward()
        for layer, (w, b) in zip(model.layers, weights, strict=True):
            assert [[v.grad for v in n.w] for n in layer] == [
                pytest.approx(row) for row in w.grad.tolist()
            ]
            assert [n.b.grad for n in layer] == pytest.approx(b.grad.tolist())


class TestPictures:
    """The drawings and the step-through of `pellucid.debug` read Values as they read tensors."""

    @pytest.fixture
    def result(self):
        x, y = Value(2.0, label="x"), Value(3.0, label="y")
        return (x + y) * x

    def test_drawing(self, result):
        drawing = pellucid.debug.draw(result)
        assert repr(drawing).splitlines()[0].startswith("- *") and "x (seen)" in repr(drawing)
        assert drawing.svg.startswith("<svg") and drawing.svg.count('class="name"') >= 4

    def test_steps(self, result):
        steps = pellucid.debug.step_through(result).steps
        assert [(step["p"], step["h"]) for step in steps][:3] == [
            ("forward", "+"),
            ("forward", "*"),
            ("backward", "*"),
        ]
        (x,) = (step for step in steps if step["p"] == "backward" and step["h"] == "x")
        assert sorted(value for _, value in x["sums"]) == ["2", "5"] and x["total"] == "7"
        assert result.grad == 0.0  # nothing was changed
