"""Steps that store new dictionaries, records and numbers at each call, and read the rates of their
schedules.
"""

from __future__ import annotations

import collections
import copy
import dataclasses
from types import SimpleNamespace as Space

import pytest

import pellucid as torch
from pellucid import nn
from pellucid.optim import lr_scheduler as schedules

from .eager_and_compiled import same
from .test_side_effects import follow, options, parts, sgd, train

CASES = {}
Pair = collections.namedtuple("Pair", "loss n")


def case(make):
    CASES[make.__name__] = make
    return make


@dataclasses.dataclass
class Result:
    loss: object
    n: int = 0


@dataclasses.dataclass(frozen=True)
class Frozen:
    loss: float
    parts: list


class Plain:
    made = 0

    def __init__(self, loss):
        self.loss = loss
        self.twice = [loss, loss * 2]


class Bar:
    """As progress bars take what they show."""

    shown = None

    def set_postfix(self, **values):
        self.shown = values


class Meter:
    """As in many training scripts."""

    def __init__(self):
        self.sum = self.count = 0

    def update(self, value, n=1):
        self.val = value
        self.sum += value * n
        self.count += n
        self.avg = self.sum / self.count


def storing(make):
    """A step that stores what `make` gives, with other values stored there in between."""

    def new():
        m, o = parts()
        t = Space(last=None)

        def step(x, y):
            loss = train(m, o, x, y)
            t.last = make(loss, x)
            return loss

        def change(k):
            if k in (4, 5):
                t.last = None if k == 4 else make(torch.ones(()), torch.ones(3))

        def shown():
            return vars(t.last) if hasattr(t.last, "__dict__") else t.last

        return step, lambda: (type(t.last).__name__, shown(), m.state_dict()), change

    return new


CASES["dictionary of tensors"] = storing(lambda loss, x: {"loss": loss.detach(), "n": x.size(0)})
CASES["dictionary of numbers"] = storing(
    lambda loss, x: {"loss": loss.item(), "n": x.size(0), "parts": {"half": loss.item() / 2}}
)
CASES["list"] = storing(lambda loss, x: [loss.item(), [loss.detach()]])
CASES["named tuple"] = storing(lambda loss, x: Pair(loss.item(), 3))
CASES["dataclass"] = storing(lambda loss, x: Result(loss.detach(), 3))
CASES["frozen dataclass"] = storing(lambda loss, x: Frozen(loss.item(), [1]))
CASES["namespace"] = storing(lambda loss, x: Space(loss=loss.item(), n=1))
CASES["plain object"] = storing(lambda loss, x: Plain(loss.detach()))
CASES["number"] = storing(lambda loss, x: loss.item())


@case
def dictionary_that_is_read():
    m, o = parts()
    t = Space(last={"loss": torch.zeros(()), "name": "a"})

    def step(x, y):
        before = t.last["loss"]
        t.last = {"loss": train(m, o, x, y).detach(), "name": "a"}
        return t.last["loss"] + before

    def change(k):
        if k == 5:
            t.last = {"loss": torch.tensor(3.0), "name": "a"}
        if k == 7:
            t.last["loss"] = torch.tensor(5.0)

    return step, lambda: (t.last, m.state_dict()), change


@case
def named_tuple_that_is_read():
    m, o = parts()
    t = Space(last=Pair(torch.zeros(()), 1))

    def step(x, y):
        loss = train(m, o, x, y).detach() + t.last.loss
        t.last = Pair(loss / 2, 1)
        return loss

    return step, lambda: (t.last, m.state_dict())


@case
def module_that_keeps_its_losses():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = nn.Linear(4, 3)
            self.losses = {}

        def forward(self, x):
            y = self.linear(x)
            self.losses = {"size": y.detach().square().mean(), "n": x.size(0)}
            return y

    m = Net()
    o = sgd(m.parameters())
    return (lambda x, y: train(m, o, x, y)), lambda: (m.losses, m.state_dict())


@case
def progress_bar():
    m, o = parts()
    bar = Bar()

    def step(x, y):
        loss = train(m, o, x, y)
        bar.set_postfix(loss=loss.item(), lr=o.param_groups[0]["lr"])
        return loss

    return step, lambda: (bar.shown, m.state_dict())


@case
def meter():
    m, o = parts()
    t = Meter()

    def step(x, y):
        loss = train(m, o, x, y)
        t.update(loss.item(), x.size(0))
        return loss

    def change(k):
        if k == 6:
            t.sum = t.count = 0
        if k == 9:
            t.sum, t.count = 3.0, -8

    return step, lambda: (vars(t), m.state_dict()), change


@case
def flag_that_is_stored_and_never_read():
    m, o = parts()
    t = Space(ready=False)

    def step(x, y):
        t.ready = True
        return train(m, o, x, y)

    def change(k):
        t.ready = k % 3 == 0

    return step, lambda: (t.ready, m.state_dict()), change


# ---- rates -------------------------------------------------------------------------------------------
def rates(make, read):
    def new():
        m = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3))
        o = torch.optim.SGD(
            [{"params": m[0].parameters()}, {"params": m[2].parameters(), "lr": 0.01}], 0.1, 0.9
        )
        s = make(o)
        log = []

        def step(x, y):
            before = read(s)
            loss = train(m, o, x, y)
            s.step()
            log.append((before, read(s)))
            return loss

        def change(k):
            if k == 5:
                o.param_groups[0]["lr"] = 0.03
            if k == 8:
                s._last_lr = [0.5, 0.25]

        return step, lambda: (log, options(o), s._last_lr, m.state_dict()), change

    return new


MADE = {
    "StepLR": lambda o: schedules.StepLR(o, 2, 0.5),
    "LambdaLR": lambda o: schedules.LambdaLR(o, lambda k: 0.9**k),
    "OneCycleLR": lambda o: schedules.OneCycleLR(o, 0.1, total_steps=30),
    "SequentialLR": lambda o: schedules.SequentialLR(
        o, [schedules.LinearLR(o, 0.1, total_iters=3), schedules.ExponentialLR(o, 0.9)], [3]
    ),
}
for name, made in MADE.items():
    CASES[f"rates of {name}"] = rates(made, lambda s: s.get_last_lr())
    CASES[f"a rate of {name}"] = rates(made, lambda s: s.get_last_lr()[0] * 2)


@pytest.mark.parametrize("name", CASES)
def test_compiled_is_eager(name):
    expected, _ = follow(CASES[name], False)
    got, run = follow(CASES[name], True)
    same(expected, got)
    assert sum(v.hits for v in run.versions) >= 4, run.history
    assert not any(h.startswith("runs eagerly") for h in run.history), run.history


# ---- objects that are one with another -----------------------------------------------------------------
def test_a_dictionary_that_is_stored_and_returned_is_one():
    t, log = Space(last=None, other=None), []

    def kept(x):
        t.last = {"x": x * 2}
        return [t.last]

    def appended(x):
        made = {"x": x * 2}
        log.append(made)
        return made

    def twice(x):
        t.last = {"x": x * 2}
        t.other = t.last
        return x + 1

    for f, one in (
        (kept, lambda r: r[0] is t.last),
        (appended, lambda r: r is log[-1]),
        (twice, lambda r: t.last is t.other),
    ):
        run = torch.compile(f)
        with pytest.warns(torch.compiler.CompileWarning, match="used elsewhere|it also reads"):
            for _ in range(5):
                assert one(run(torch.ones(2)))


def test_a_dictionary_among_the_arguments_that_is_stored_stays_the_callers():
    t = Space(batch=None)

    def step(batch):
        t.batch = batch
        return batch["x"] * 2

    run = torch.compile(step)
    with pytest.warns(torch.compiler.CompileWarning, match="used elsewhere"):
        for _ in range(5):
            batch = {"x": torch.ones(2)}
            run(batch)
            assert t.batch is batch


def test_writes_into_a_dictionary_that_is_an_input():
    expected, got = [], []
    for results, wrap in ((expected, lambda f: f), (got, torch.compile)):
        t = Space(last={"x": torch.zeros(2)})

        def step(x, t=t):
            y = x + t.last["x"]
            if x.size(0) == 3:
                t.last["x"] = y[:2]
            else:
                t.last = {"x": y}
            return y

        run = wrap(step)
        for k in range(10):
            if k % 4 == 3:
                t.last["x"] = torch.ones(3)
            n = t.last["x"].size(0)
            results.append((run(torch.ones(n) * k), copy.deepcopy(t.last)))
    same(expected, got)


def test_objects_with_a_state_of_their_own_are_not_made_again():
    class Slots:
        __slots__ = ("loss",)

        def __init__(self, loss):
            self.loss = loss

    class Counted(dict):
        pass

    for make in (
        lambda v: Slots(v),
        lambda v: Counted(x=v),
        lambda v: nn.Parameter(v),
        lambda v: iter([v]),
    ):
        t = Space(last=None)

        def step(x, t=t, make=make):
            t.last = make((x * 2).detach())
            return x + 1

        run = torch.compile(step)
        with pytest.warns(torch.compiler.CompileWarning, match="runs eagerly|is compiled around"):
            for _ in range(5):
                before = t.last
                run(torch.ones(2))
                assert t.last is not before


def test_a_mean_over_nothing_fails_where_eager_code_does():
    t = Space(n=1)

    def step(x):
        return x.sum().item() / t.n

    run = torch.compile(step)
    for n in (1, 2, 3, 4):
        t.n = n
        assert run(torch.ones(2)) == step(torch.ones(2))
    t.n = 0
    with pytest.raises(ZeroDivisionError):
        run(torch.ones(2))
    t.n = 8
    assert run(torch.ones(2)) == 0.25
