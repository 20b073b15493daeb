"""Steps that give an attribute a new object and then read it, as agents do with the distribution of
their actions; distributions among arguments and results.
"""

from __future__ import annotations

from types import SimpleNamespace as Space

import pytest

import pellucid as torch
from pellucid import nn
from pellucid.distributions import Bernoulli, Categorical, Independent, Normal, kl_divergence

from .eager_and_compiled import same
from .test_side_effects import follow, parts

CASES = {}


def case(make):
    CASES[make.__name__] = make
    return make


class Plain:
    def __init__(self, value):
        self.value = value


class Actions:
    """A family of distributions that holds the one made last, as in stable_baselines3."""

    def of(self, logits):
        self.now = Categorical(logits=logits)
        return self

    def sample(self):
        return self.now.sample()

    def log_prob(self, actions):
        return self.now.log_prob(actions)

    def entropy(self):
        return self.now.entropy()


def shown(d):
    """What a distribution holds, in its order."""
    return None if d is None else {k: v for k, v in vars(d).items() if not k.startswith("_v")}


@case
def distribution_on_an_object():
    net, actions = nn.Linear(4, 3), Actions()

    def step(x, y):
        with torch.no_grad():
            d = actions.of(net(x))
            drawn = d.sample()
            return d.log_prob(drawn) + drawn

    def change(k):
        if k == 6:
            actions.now.entropy()  # which keeps what it computes
        if k == 8:
            actions.now = None

    return step, lambda: shown(actions.now), change


@case
def distribution_with_gradients():
    m, o = parts()
    actions = Actions()

    def step(x, y):
        o.zero_grad()
        d = actions.of(m(x))
        loss = -d.log_prob(y).mean() - 0.01 * d.entropy().mean()
        loss.backward()
        o.step()
        actions.now = None
        return loss

    return step, lambda: (shown(actions.now), m.state_dict())


@case
def stored_and_read_by_one_method():
    class Policy(nn.Module):
        def __init__(self):
            super().__init__()
            self.net = nn.Linear(4, 2)

        def forward(self, x):
            self.made = Normal(self.net(x), 1.0)
            return self.made.mean + self.made.stddev

    p = Policy()

    def step(x, y):
        with torch.no_grad():
            return p(x)

    return step, lambda: shown(p.made)


@case
def records_within_records():
    t = Space(seen=None)

    class Holder:
        def put(self, x):
            self.last = Plain({"x": [x * 2, Plain(x + 1)], "n": x.size(0)})

        def read(self):
            return self.last.value["x"][1].value * self.last.value["n"]

    h = Holder()

    def step(x, y):
        h.put(x)
        t.seen = h.read()
        return t.seen + 1

    return step, lambda: (h.last.value["x"][0], vars(h.last.value["x"][1]), t.seen)


@pytest.mark.parametrize("name", CASES)
def test_compiled_is_eager(name):
    expected, _ = follow(CASES[name], False)
    got, run = follow(CASES[name], True)
    same(expected, got)
    assert sum(v.hits for v in run.versions) >= 4, run.history
    assert not any(h.startswith("runs eagerly") for h in run.history), run.history


# ---- what reads before it stores, in all or in some calls -------------------------------------------
READERS = {}


def reader(make):
    READERS[make.__name__] = make
    return make


@reader
def reads_first():
    h = Plain(Plain(torch.zeros(8, 4)))

    def step(x, y):
        before = h.value.value
        h.value = Plain(x + before)
        return h.value.value

    return step, lambda: h.value.value


@reader
def asks_whether_it_is_there():
    h = Plain(None)

    def put(h, x):
        if hasattr(h, "other"):
            x = x * 2
        h.other = Plain(x)

    def step(x, y):
        put(h, x)
        return h.other.value

    def change(k):
        if k % 3 == 0 and hasattr(h, "other"):
            del h.other

    return step, lambda: h.other.value, change


@reader
def stores_under_a_condition():
    h = Space(last=Plain(torch.zeros(8, 4)))
    flags = Space(on=True)

    def put(h, x):
        if flags.on:
            h.last = Plain(x)
        return h.last.value

    def step(x, y):
        return put(h, x) + 1

    def change(k):
        flags.on = k % 4 != 3
        if k == 6:
            h.last = Plain(torch.ones(8, 4))

    return step, lambda: h.last.value, change


@reader
def another_object_of_the_class():
    a, b = Plain(Plain(torch.zeros(8, 4))), Plain(Plain(torch.ones(8, 4)))

    def put(self, x):
        self.value = Plain(x)

    def step(x, y):
        put(a, x + b.value.value)
        put(b, x - a.value.value)
        return a.value.value

    return step, lambda: (a.value.value, b.value.value)


@reader
def reads_while_the_new_one_is_made():
    class Holder:
        def mean(self):
            return self.last.value.mean()

        def put(self, x):
            self.last = Plain(x + self.mean())

    h = Holder()
    h.last = Plain(torch.zeros(8, 4))

    def step(x, y):
        h.put(x)
        return h.last.value

    return step, lambda: h.last.value


@reader
def an_error_comes_before_the_store():
    h = Space(last=Plain(torch.zeros(8, 4)))

    def fails(x):
        raise KeyError

    def put(h, x):
        try:
            h.last = Plain(fails(x))
        except KeyError:
            pass
        return h.last.value

    def step(x, y):
        found = put(h, x)
        h.last = Plain(x * 3)
        return found + h.last.value

    return step, lambda: h.last.value


@reader
def a_loop_reads_what_the_round_before_stored():
    h = Space(last=Plain(torch.zeros(8, 4)))

    def put(h, x, n):
        for k in range(n):
            if k:
                x = x + h.last.value
            h.last = Plain(x)
        return h.last.value

    def step(x, y):
        return put(h, x, 0 if torch.is_grad_enabled() else 2) + put(h, x, 2)

    return step, lambda: h.last.value


@reader
def a_name_that_is_made():
    h = Space(last=Plain(torch.zeros(8, 4)))

    def put(h, x):
        before = getattr(h, "la" + "st".lower()).value
        h.last = Plain(x + before)

    def step(x, y):
        put(h, x)
        return h.last.value

    return step, lambda: h.last.value


@pytest.mark.parametrize("name", READERS)
@pytest.mark.filterwarnings("ignore::pellucid.compiler.CompileWarning")
def test_what_reads_first_is_eager(name):
    expected, _ = follow(READERS[name], False)
    got, _ = follow(READERS[name], True)
    same(expected, got)


# ---- distributions among arguments and results ------------------------------------------------------
def test_a_distribution_is_returned():
    net = nn.Linear(3, 2)
    for make in (
        lambda x: Categorical(logits=net(x)),
        lambda x: Independent(Normal(net(x), net(x).exp()), 1),
        lambda x: Bernoulli(logits=net(x)),
    ):
        run = torch.compile(make)
        for k in range(6):
            x = torch.randn(5, 3, generator=torch.Generator().manual_seed(k))
            mine, its = make(x), run(x)
            assert type(mine) is type(its)
            torch.manual_seed(k)
            value = mine.sample()
            torch.manual_seed(k)
            same(value, its.sample())
            grads = [
                torch.autograd.grad(d.log_prob(value).sum() + d.entropy().mean(), [net.weight])
                for d in (mine, its)
            ]
            same(*grads)
        assert run.versions[0].hits >= 3, run.history


def test_a_distribution_is_an_argument():
    def f(d, x):
        return d.log_prob(x).mean() + kl_divergence(d, Normal(torch.zeros(3), 1.0)).sum()

    run = torch.compile(f)
    for k in range(6):
        loc = torch.randn(3, generator=torch.Generator().manual_seed(k)).requires_grad_()
        x = torch.linspace(-1, 1, 3)
        mine, its = f(Normal(loc, 2.0), x), run(Normal(loc, 2.0), x)
        same(mine, its)
        same(torch.autograd.grad(mine, loc), torch.autograd.grad(its, loc))


def test_a_wrong_parameter_is_refused_as_in_eager_code():
    actions = Actions()

    def step(x):
        return actions.of(x).log_prob(torch.zeros(2, dtype=torch.int64))

    run = torch.compile(step)
    for _ in range(5):
        run(torch.ones(2, 3))
    assert run.versions[0].hits, run.history
    with pytest.raises(ValueError, match="within the support|satisfy the constraint"):
        run(torch.full((2, 3), float("nan")))
    same(run(torch.ones(2, 3)), step(torch.ones(2, 3)))


def test_threads_each_get_what_they_computed():
    import threading

    failures = []

    def work(k):
        actions = Actions()

        def step(x):
            with torch.no_grad():
                return actions.of(x).log_prob(torch.zeros(2, dtype=torch.int64))

        run = torch.compile(step)
        for n in range(30):
            x = torch.full((2, 3), float(k)) * torch.tensor([n, 1.0, 2.0])
            if not torch.allclose(run(x), step(x), atol=1e-5):
                failures.append((k, n))

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not failures
