"""Values that reach Python during a compiled step: decisions, indices, numbers that are returned,
and what must not be baked in.
"""

import collections
import copy
import datetime
import json
import math
import operator
import statistics
import struct
import types
import warnings

import numpy as np
import pytest

import pellucid as torch
import pellucid.nn.functional as F

nn = torch.nn
FLOATS = torch.tensor([1.0, 2.0]), torch.tensor([-3.0, 0.5]), torch.tensor([0.25, 0.5])
INTS = torch.tensor([1, 2]), torch.tensor([0, 1]), torch.tensor([3, 1])
TABLE = [10.0, 20.0, 30.0, 40.0, 50.0]

# Functions of a tensor x and of `read`, which gives the number in a tensor. True: they compile.
OF_FLOATS = {
    "comparison": (lambda x, read: x * 2 if read(x.sum()) > 1 else x - 1, True),
    "equal": (lambda x, read: x * 2 if read(x.sum()) == 3.0 else x - 1, True),
    "two numbers": (lambda x, read: x * 2 if read(x.max()) < read(x.sum()) else x - 1, True),
    "truth": (lambda x, read: x * 2 if read(x.sum()) else x, True),
    "sum": (lambda x, read: sum([read(x.sum()), read(x.max()), 1.0]), True),
    "arithmetic": (lambda x, read: (1 - 2 * abs(-read(x.sum())) / 4, x), True),
    "maximum": (lambda x, read: max(read(x.sum()), 0.5) > 0.5, True),
    "not a number": (lambda x, read: x if math.isnan(read(x.sum())) else x + 1, True),
    "whole part": (lambda x, read: x * int(read(x.sum())), True),
    "rounded": (lambda x, read: x * round(read(x.sum())), True),
    "root": (lambda x, read: x * math.copysign(2.0, read(x.sum())), False),
    "NumPy": (lambda x, read: x * 2 if np.sign(read(x.sum())) > 0 else x - 1, False),
    "NumPy array": (lambda x, read: x * np.array([read(x.sum())], np.float32)[0], False),
    "NumPy scalar": (lambda x, read: x * np.float32(read(x.sum())), False),
    "NumPy mean": (lambda x, read: x * float(np.mean([read(x.sum()), 1.0])), False),
    "divisor": (lambda x, read: 1 / read(x.sum()), False),
    "power": (lambda x, read: read(x.sum()) ** 2, False),
    "factor": (lambda x, read: x * read(x.sum()), False),
    "exponent": (lambda x, read: x ** read(x.sum()), False),
    "new tensor": (lambda x, read: torch.tensor(read(x.sum())) + x, False),
    "filled": (lambda x, read: torch.full((2,), read(x.sum())), False),
    "limit": (lambda x, read: x.clamp(max=read(x.sum())), False),
    "option": (lambda x, read: F.leaky_relu(x, read(x.sum())), False),
    "alpha": (lambda x, read: torch.add(x, x, alpha=read(x.sum())), False),
    "where": (lambda x, read: torch.where(x > 0, read(x.sum()), x), False),
    "formatted": (lambda x, read: "%.3f" % read(x.sum()), False),  # noqa: UP031
    "f-string": (lambda x, read: f"{read(x.sum()):.3f}", False),
    "parsed": (lambda x, read: x * float("%.1f" % read(x.sum())), False),  # noqa: UP031
    "bytes": (lambda x, read: x * struct.unpack("d", struct.pack("d", read(x.sum())))[0], False),
    "method": (lambda x, read: x + (1 if read(x.sum()).is_integer() else 2), False),
    "JSON": (lambda x, read: json.loads(json.dumps([read(x.sum())]))[0] * x, False),
    "time": (lambda x, read: x * datetime.timedelta(seconds=read(x.sum())).total_seconds(), False),
    "copied": (lambda x, read: x * copy.copy(read(x.sum())), False),
}  # fmt: skip
OF_INTS = {
    "index": (lambda x, read: torch.ones(2) * TABLE[read(x.sum())], True),
    "range": (lambda x, read: torch.ones(2) * sum(1 for _ in range(read(x.sum()))), True),
    "shape": (lambda x, read: torch.ones(read(x.sum())), True),
    "row": (lambda x, read: torch.arange(9.0)[read(x.sum())], True),
    "slice": (lambda x, read: torch.arange(9.0)[: read(x.sum())].sum(), True),
    "operator.index": (lambda x, read: torch.ones(2) * operator.index(read(x.sum())), True),
    "factor": (lambda x, read: torch.ones(2) * read(x.sum()), True),
    "dimension": (lambda x, read: torch.arange(9.0).view(3, 3).select(0, read(x.sum()) % 3), True),
    "shift": (lambda x, read: torch.ones(2) * (2 << read(x.sum())), True),
    "repeated": (
        lambda x, read: torch.ones(2) * len("x" * read(x.sum()) + "y" * len([0] * read(x.sum()))),
        True,
    ),
    "factorial": (lambda x, read: torch.ones(2) * math.factorial(read(x.sum())), True),
    "key": (lambda x, read: torch.ones(2) * {3: 1.0, 1: 2.0, 4: 3.0}[read(x.sum())], True),
    "as a float": (lambda x, read: torch.ones(2) * float(read(x.sum())), True),
    "count": (lambda x, read: (read((x > 1).sum()), x + 1), True),
    "accuracy": (lambda x, read: read((x > 1).sum()) / 2, True),
    "truth of a bool": (lambda x, read: x * 2 if read((x > 0).all()) else x, True),
    "truth of a tensor": (lambda x, read: x * 2 if (x > 0).all() and read(x.sum()) else x, True),
}


def shown(value):
    if isinstance(value, torch.Tensor):
        return value.tolist()
    return [shown(v) for v in value] if isinstance(value, (tuple, list)) else (type(value), value)


def same(a, b):
    return str(shown(a)) == str(shown(b))  # NaN is NaN


@pytest.mark.parametrize("returned", [False, True], ids=["used", "used and returned"])
@pytest.mark.parametrize(
    ("f", "compiles", "inputs"),
    [
        (*case, values)
        for cases, values in ((OF_FLOATS, FLOATS), (OF_INTS, INTS))
        for case in cases.values()
    ],
    ids=[
        f"{kind} {name}"
        for kind, cases in (("float", OF_FLOATS), ("int", OF_INTS))
        for name in cases
    ],
)
def test_no_value_is_baked_in(f, compiles, inputs, returned):
    def step(x):
        numbers = []

        def read(t):
            numbers.append(t.item())
            return numbers[-1]

        made = f(x, read)
        return (made, *numbers) if returned else made

    compiled = torch.compile(step)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", torch.compiler.CompileWarning)
        for x in inputs * 2:
            try:
                want = step(x)
            except ValueError as error:  # where eager refuses the value
                with pytest.raises(type(error)):
                    compiled(x)
                continue
            assert same(compiled(x), want)
    assert bool(compiled.versions) == compiles


def test_a_step_that_skips_bad_batches():
    def make():
        torch.manual_seed(0)
        model = nn.Sequential(
            nn.Linear(4, 8, bias=False), nn.BatchNorm1d(8), nn.Dropout(0.5), nn.Linear(8, 3)
        )
        optimizer = torch.optim.Adam(model.parameters(), lr=0.01)

        def step(x, y):
            optimizer.zero_grad()
            loss = F.cross_entropy(model(x), y)
            if math.isnan(loss.item()):
                return None, None
            loss.backward()
            norm = nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            if not torch.isfinite(norm):
                return None, norm
            optimizer.step()
            return loss.item() * len(x), norm

        return step, model

    g = torch.Generator().manual_seed(1)
    data = [
        (torch.randn(6, 4, generator=g), torch.randint(0, 3, (6,), generator=g)) for _ in range(14)
    ]
    for bad in (5, 9):
        data[bad][0][0] = float("nan")
    (eager, one), (step, two) = make(), make()
    compiled = torch.compile(step)
    results = []
    for f in (eager, compiled):
        # a call that turns out otherwise has drawn, and moved statistics, by then
        torch.manual_seed(3)
        results.append([f(x, y) for x, y in data])
    for a, b in zip(*results, strict=True):
        assert (a[0] is None) == (b[0] is None) and (
            a[0] is None or b[0] == pytest.approx(a[0], rel=1e-5)
        )
    assert results[1][5] == results[1][9] == (None, None)
    for name, p in one.state_dict().items():
        np.testing.assert_allclose(
            two.state_dict()[name].numpy(),
            p.numpy(),
            rtol=1e-4,
            atol=1e-5,
            equal_nan=True,
            err_msg=name,
        )
    assert len(compiled.versions) == 2 and sum("fell otherwise" in h for h in compiled.history) == 1
    assert "decide" in compiled.explain().text


def test_a_decision_that_falls_otherwise_leaves_arguments_as_they_were():
    def step(x, y):
        x.add_(1)
        total = x.sum()
        x.mul_(2)
        return x + 1 if total > 0 else y * 2

    compiled = torch.compile(step)
    for start in (1.0, 2.0, -9.0, 3.0, -8.0, 5.0):
        a, b, y = torch.full((3,), start), torch.full((3,), start), torch.ones(3)
        assert compiled(a, y).tolist() == step(b, y).tolist() and a.tolist() == b.tolist()
    assert len(compiled.versions) == 2 and sum(v.hits for v in compiled.versions) == 4


def test_decisions_of_many_kinds_end_compiling():
    compiled = torch.compile(lambda n: torch.ones(n.item()))
    with pytest.warns(torch.compiler.CompileWarning, match="in more than 8 ways"):
        for k in range(12):
            assert compiled(torch.tensor(k)).shape == (k,)
    assert compiled(torch.tensor(20)).shape == (20,)


def test_a_decision_after_the_update_is_refused():
    w = torch.nn.Parameter(torch.ones(2))
    optimizer = torch.optim.SGD([w], lr=0.1)

    def step(x):
        optimizer.zero_grad()
        (w * x).sum().backward()
        optimizer.step()
        return x if w.sum() > 0 else -x

    with pytest.warns(
        torch.compiler.CompileWarning, match=r"after an optimizer's update.*test_values\.py"
    ):
        for _ in range(3):
            torch.compile(step)(torch.ones(2))


def test_fullgraph_refuses_to_split():
    for f in (
        OF_INTS["truth of a tensor"][0],
        OF_FLOATS["comparison"][0],
        OF_INTS["index"][0],
        OF_FLOATS["not a number"][0],
    ):
        with pytest.raises(torch.compiler.CompileError, match=r"a tensor's value.*test_values\.py"):
            torch.compile(lambda x, f=f: f(x, lambda t: t.item()), fullgraph=True)(INTS[0])
    whole = torch.compile(lambda x: (x.sum().item() / 2, x + 1), fullgraph=True)
    assert [whole(x)[0] for x in INTS] == [1.5, 0.5, 2.0]


class Meter:
    __slots__ = ("last",)


def test_numbers_that_are_kept_are_plain():
    meter, holder, several, queue, cell = (
        Meter(),
        types.SimpleNamespace(),
        [],
        collections.deque(),
        None,
    )

    def step(x):
        nonlocal cell
        value = x.sum().item()
        meter.last = holder.last = cell = value
        several.append(value)
        queue.append(value)
        return x + 1

    compiled = torch.compile(step)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", torch.compiler.CompileWarning)
        for x in FLOATS:
            compiled(x)
            assert {type(v) for v in (meter.last, holder.last, cell, *several, *queue)} == {float}
    assert several == list(queue) == [3.0, -2.5, 0.75] and meter.last == holder.last == cell == 0.75


def test_an_error_of_the_users_is_raised_once_and_as_it_is():
    calls = []

    def step(x):
        calls.append(1)
        return len(x.sum().item())

    with pytest.raises(TypeError, match=r"object of type 'float' has no len\(\)"):
        torch.compile(step)(FLOATS[0])
    assert len(calls) == 1


@pytest.mark.filterwarnings("ignore:.*runs eagerly", "ignore:.*stays in Python")
@pytest.mark.parametrize(
    "ask",
    [
        lambda n: type(n) is float,
        lambda n: type(n) in (int, float),
        lambda n: {float: "a"}.get(type(n), "b"),
        lambda n: type(n)(3),
        lambda n: type(n) is float,
        lambda n: (isinstance(n, float), type(n).__name__),
        lambda n: statistics.mean([n, n]),
        lambda n: statistics.stdev([n, n]),
        lambda n: list(map(type, [n])),
    ],
)
@pytest.mark.parametrize("whole", [False, True])
def test_the_type_of_a_number_that_is_read(ask, whole):
    x, found = torch.arange(3.0), []

    def step(k):
        total = (x * k).sum()
        n = int(total) if whole else total.item()
        found.append(ask(n))
        return x * k

    run = torch.compile(step)
    for k in (1.0, 2.0, 3.0, 2.0):
        torch.testing.assert_close(run(k), x * k)
    want = [ask(3 * int(k) if whole else 3 * k) for k in (1.0, 2.0, 3.0, 2.0)]
    assert found == want
    assert [*map(type, found)] == [*map(type, want)]


class Kinds:
    """Methods that compare types, of which a step calls one, or none."""

    def __init__(self):
        self.found = []

    def direct(self, n):
        self.found.append(type(n) is float)

    def through(self, n):
        self.direct(n)

    def plain(self, n):
        self.found.append(n > 5)


@pytest.mark.filterwarnings("ignore:.*stays in Python")
@pytest.mark.parametrize("name", ["direct", "through", "plain"])
def test_the_type_of_a_number_in_a_method(name):
    x, kinds = torch.arange(3.0), Kinds()

    def direct(k):
        y = x * k
        kinds.direct(y.sum().item())
        return y

    def through(k):
        y = x * k
        kinds.through(y.sum().item())
        return y

    def plain(k):
        y = x * k
        kinds.plain(y.sum().item())
        return y

    run = torch.compile({"direct": direct, "through": through, "plain": plain}[name])
    for k in (1.0, 2.0, 3.0):
        run(k)
    assert kinds.found == ([False, True, True] if name == "plain" else [True] * 3)


def test_a_method_that_no_code_names_does_not_count():
    x, kinds = torch.arange(3.0), Kinds()

    class Step:
        def unused(self, n):
            return type(n) is float

        def step(self, k):
            return (x * k).sum().item(), kinds is None

    run = torch.compile(Step().step)
    assert [run(k)[0] for k in (1.0, 2.0, 3.0)] == [3.0, 6.0, 9.0]
    assert run.versions
