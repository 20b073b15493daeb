"""The callers of operations: arrays without data, several results, many arguments; recorded and
not.
"""

import inspect

import numpy as np
import pytest

import pellucid as torch
from pellucid.arrays.meta import MetaArray
from pellucid.core.primitive import PRIMITIVES, defop
from pellucid.core.tensor import make_tensor


@pytest.fixture
def record():
    """`defop` for records that are gone after the test."""
    before = set(PRIMITIVES)
    yield defop
    for name in set(PRIMITIVES) - before:
        del PRIMITIVES[name]


def same(*avals, **params):
    return avals[0]


# Rules that read nothing but the shape, which an array without data has too.
READERS = {
    "unary": ("x", lambda xp, x: np.zeros(x.shape), {"aval": same}),
    "binary": ("x y", lambda xp, x, y: np.zeros(x.shape), {"aval": same}),
    "nary": ("x y z", lambda xp, x, y, z: np.zeros(x.shape), {"aval": same}),
    "parameters": ("x", lambda xp, x, *, k=1: np.zeros(x.shape), {"aval": same}),
    "variadic": ("*x", lambda xp, *x: np.zeros(x[0].shape), {"aval": same}),
    "several": (
        "x",
        lambda xp, x: (np.zeros(x.shape), np.zeros(x.shape)),
        {"aval": lambda x: [x, x], "outputs": 2},
    ),
    "aux": ("x", lambda xp, x: (np.zeros(x.shape), None), {"aval": same, "aux": True}),
    "promoted": ("x y", lambda xp, x, y: np.zeros(x.shape), {"aval": same, "promote": "common"}),
}


@pytest.mark.parametrize("case", READERS)
def test_no_rule_sees_an_array_without_data(record, case):
    args, rule, rest = READERS[case]
    op = record(f"toy_{case}", args, forward=rule, **rest)
    count = len(op.args)
    for k in range(count):
        # 0-d tensors with data may stand beside those without.
        arrays = [
            make_tensor(np.zeros(()) if j < k else MetaArray((2, 3), np.float64))
            for j in range(count)
        ]
        if k and case != "promoted":
            continue
        made = op.call(*arrays)
        assert all(t.is_meta for t in (made if isinstance(made, tuple) else (made,)))
    real = op.call(*[make_tensor(np.zeros((2, 3))) for _ in range(count)])
    assert not any(t.is_meta for t in (real if isinstance(real, tuple) else (real,)))


def test_a_number_beside_a_tensor_without_data(record):
    op = record(
        "toy_number",
        "x y",
        forward=lambda xp, x, y: np.zeros((2, 3)),
        elementwise=True,
        promote="common",
    )
    meta = make_tensor(MetaArray((2, 3), np.float64))
    assert op.call(meta, 1.0).is_meta
    assert op.call(1.0, meta).is_meta


def test_several_results_are_recorded_with_their_places(record):
    op = record(
        "toy_two", "x", outputs=2,
        forward=lambda xp, x: (x * 2.0, x.argmax(0)),
        vjp={"x": lambda g, out1, x_shape: 2.0 * g[0]},
    )  # fmt: skip
    x = torch.tensor([1.0, 3.0, 2.0], requires_grad=True)
    double, place = op.call(x)
    assert double.requires_grad and not place.requires_grad
    assert double.grad_fn.next_functions[0][0].variable is x
    assert double.output_nr == 0 and place.grad_fn is None
    double.sum().backward()
    assert x.grad.tolist() == [2.0, 2.0, 2.0]


def test_writing_to_a_saved_result_of_several_is_noticed():
    x = torch.tensor([3.0, 1.0, 2.0], requires_grad=True)
    values, indices = x.sort()
    indices.zero_()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        values.sum().backward()


def test_a_long_list_is_recorded_without_a_line_of_code_for_each():
    parts = [torch.full((2,), float(k), requires_grad=k % 2 == 0) for k in range(40)]
    (torch.cat(parts) * torch.arange(80.0)).sum().backward()
    assert parts[39].grad is None
    assert parts[38].grad.tolist() == [76.0, 77.0]


def test_a_list_that_mixes_constants_and_variables():
    a, b = torch.tensor([1.0], requires_grad=True), torch.tensor([2.0])
    torch.stack((b, a, b, a)).sum().backward()
    assert a.grad.tolist() == [2.0] and b.grad is None


def test_checks_come_before_the_fast_way(record):
    def check(*arrays, **params):
        raise RuntimeError("refused")

    op = record("toy_checked", "x y z", forward=lambda xp, x, y, z: x, check=check)
    flags = [make_tensor(np.zeros(2, bool))] * 3
    with pytest.raises(RuntimeError, match="refused"):
        op.call(*flags)
    assert op.call(*[make_tensor(np.zeros(2))] * 3).shape == (2,)


@pytest.mark.parametrize("grad", [False, True])
def test_two_dtypes(grad):
    x = torch.tensor([0.5, 1.5], requires_grad=grad)
    whole = torch.tensor([1, 2])
    assert (x + whole).dtype is torch.float32 and (whole * x).tolist() == [0.5, 3.0]
    assert (whole + torch.tensor(2.5)).dtype is torch.float32
    # a tensor without dimensions does not widen
    assert (whole.to(torch.int8) + torch.tensor(300)).dtype is torch.int8
    assert (x > whole).tolist() == [False, False]
    double = torch.tensor([1.0, 2.0], dtype=torch.float64)
    assert (x + double).dtype is torch.float64
    with pytest.raises(RuntimeError, match="must match the size"):
        x + torch.arange(3)
    if grad:
        (x * double).sum().backward()
        assert x.grad.tolist() == [1.0, 2.0] and x.grad.dtype is torch.float32


@pytest.mark.parametrize(
    "name", ["item", "tolist", "__float__", "__int__", "__bool__", "__index__"]
)
def test_reading_what_is_no_tensor(name):
    with pytest.raises(TypeError, match="doesn't apply to a 'list' object"):
        getattr(torch.Tensor, name)([])


def test_views_of_parts_are_recorded():
    x = torch.tensor([[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]], requires_grad=True)
    first, second = x.unbind(0)
    assert first.grad_fn.name() == "UnbindBackward0" and second.output_nr == 1 and second._base is x
    (second * first.detach()).sum().backward()
    assert x.grad.tolist() == [[0.0, 0.0, 0.0], [0.0, 1.0, 2.0]]
    with pytest.raises(RuntimeError, match="returns multiple views|leaf Variable"):
        first.mul_(2.0)


def test_parameters_may_have_any_names(record):
    # Names that the generated code uses itself, but for an underscore.
    op = record(
        "crowded",
        "input",
        forward=lambda xp, x, *, op, general, r, t, forward, state: (
            x * (op + general + r + t + forward + state)
        ),
        vjp={"input": lambda g, op, forward: g * (op + forward)},
    )
    x = torch.ones(2, requires_grad=True)
    y = op.call(x, op=1.0, general=2.0, r=3.0, t=4.0, forward=5.0, state=6.0)
    assert y.tolist() == [21.0, 21.0]
    y.sum().backward()
    assert x.grad.tolist() == [6.0, 6.0]


def test_parameters_that_are_left_out_have_the_rule_s_defaults(record):
    op = record(
        "defaulted",
        "input",
        forward=lambda xp, x, *, by=3.0, shift=0.0: x * by + shift,
        vjp={"input": lambda g, by: g * by},
    )
    x = torch.ones(2, requires_grad=True)
    for params, by in (({}, 3.0), ({"shift": 1.0}, 3.0), ({"by": 2.0}, 2.0), ({}, 3.0)):
        x.grad = None
        op.call(x, **params).sum().backward()
        assert x.grad.tolist() == [by, by]


@pytest.mark.parametrize("names", [("a",), ("b", "a"), ("a", "b")])
def test_rules_that_take_any_parameters(record, names):
    op = record(
        "open",
        "input other",
        forward=lambda xp, x, y, **params: x * y * sum(params.values()),
        vjp={"input": lambda g, other, params: g * other * sum(params.values())},
    )
    x, y = torch.ones(2, requires_grad=True), torch.full((2,), 2.0)
    for more in ((), names):  # one way of calling it, then another
        x.grad = None
        params = dict.fromkeys(("a", *more), 5.0)
        op.call(x, y, **params).sum().backward()
        assert x.grad.tolist() == [10.0 * len(params)] * 2


def test_an_operation_whose_call_was_replaced_keeps_the_replacement(record):
    op = record("replaced_call", "input", forward=lambda xp, x, *, by: x * by)
    first = op.call
    op.call = lambda x, *, by: first(x, by=by + 1.0)
    assert op.call(torch.ones(1), by=1.0).item() == op.call(torch.ones(1), by=1.0).item() == 2.0


def test_the_user_s_line_is_found_from_generated_code():
    x = torch.ones(2, 3, requires_grad=True)
    for made in (
        lambda: x.softmax(1),
        lambda: x.gather(1, torch.tensor([[0], [1]])),
        lambda: torch.cat((x, x)),
        lambda: x.max(1).values,
    ):
        assert made().grad_fn.line.file == __file__
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t):  # the general path
        assert x.softmax(1).grad_fn.line.file == __file__
    with pytest.raises(RuntimeError, match="test_bind.py"):
        x.gather(1, torch.tensor([[7], [0]]))


def test_the_text_of_a_generated_caller_can_be_read():
    torch.softmax(torch.ones(2), 0)
    text = inspect.getsource(PRIMITIVES["softmax"].call)
    assert "def call(input, *, dim" in text and "while not _state.slow:" in text


def test_a_function_s_record_has_every_field_of_an_operation_s():
    class Twice(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * 2

    op = Twice.apply(torch.ones(2, requires_grad=True)).grad_fn.op
    callers = {"call", "plain", "numpy_forward"}
    assert {name for name in vars(PRIMITIVES["softmax"]) if not hasattr(op, name)} <= callers
    assert op.aux is False and op.numbers == ""
