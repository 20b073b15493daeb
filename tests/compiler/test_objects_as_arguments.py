"""Objects among the arguments whose tensors and numbers a call reads and changes, such as caches;
and arguments of many sizes.
"""

from __future__ import annotations

import contextlib
import dataclasses
import random
import warnings
from types import SimpleNamespace

import pytest

import pellucid as torch
from pellucid import nn


class Layer:
    kind = "layer"

    def __init__(self):
        self.keys = None
        self.seen = 0

    def update(self, k):
        self.keys = k if self.keys is None else torch.cat([self.keys, k], 0)
        self.seen += k.shape[0]
        return self.keys


class Cache:
    def __init__(self, layers=0):
        self.layers = [Layer() for _ in range(layers)]
        self.extra = {}
        self.first = None

    def update(self, k, at):
        while len(self.layers) <= at:
            self.layers.append(Layer())
        return self.layers[at].update(k)


@contextlib.contextmanager
def unwarned():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", torch.compiler.CompileWarning)
        yield


def contents(value, known=None):
    """An object as nested lists, with numbers where it is met again."""
    known = {} if known is None else known
    if isinstance(value, torch.Tensor):
        return [value.tolist(), value.requires_grad]
    if isinstance(value, (int, float, str, type(None))):
        return [type(value).__name__, value]
    if id(value) in known:
        return known[id(value)]
    known[id(value)] = len(known)
    if isinstance(value, (list, tuple)):
        return [type(value).__name__, *[contents(v, known) for v in value]]
    table = value if isinstance(value, dict) else vars(value)
    return [type(value).__name__, *[[k, contents(v, known)] for k, v in table.items()]]


def close(a, b):
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(close, a, b))
    return a == pytest.approx(b, rel=1e-5, abs=1e-6) if isinstance(a, float) else a == b


def in_step(f, make, arguments, calls):
    """Two worlds, one compiled: the same results and objects after each call."""
    compiled = torch.compile(f)
    for _ in range(calls):
        one, other = make(), make()
        for args in arguments:
            got, want = compiled(*args, one), f(*args, other)
            assert close(contents([got, one]), contents([want, other]))
    return compiled


def test_a_cache_that_grows():
    def f(x, at, cache):
        k = cache.update(x * 2, at)
        return {"out": (k * k).sum(0), "cache": cache}

    xs = [(torch.arange(6.0).view(2, 3) + k, k % 2) for k in range(8)]
    run = in_step(f, Cache, xs, 4)
    assert sum(v.hits for v in run.opened.versions) >= 16
    cache = Cache()
    layers = cache.layers
    assert (
        run(*xs[0], cache)["cache"] is cache
        and cache.layers is layers
        and type(layers[0].seen) is int
    )


def test_an_object_in_a_result_and_twice_among_the_arguments():
    def f(x, pair):
        a, b = pair.pair
        a.total = a.total + x.sum()
        b.n += 1
        return pair, a.total * b.n, a is b

    def make():
        a = SimpleNamespace(total=torch.zeros(()), n=0)
        return SimpleNamespace(pair=(a, a))

    def apart():
        return SimpleNamespace(
            pair=(
                SimpleNamespace(total=torch.zeros(()), n=0),
                SimpleNamespace(total=torch.zeros(()), n=0),
            )
        )

    for way in (make, apart):
        run = in_step(f, way, [(torch.ones(2) * k,) for k in range(5)], 2)
        assert sum(v.hits for v in run.opened.versions) >= 5


def test_an_object_that_the_code_also_comes_to_otherwise():
    held = SimpleNamespace(x=torch.ones(2), n=1)
    keeper = SimpleNamespace(last=held)

    def f(x, state):
        state.x = state.x + x
        return keeper.last.x * 2 + state.n

    compiled = torch.compile(f)
    with unwarned():
        for k in range(4):
            other = SimpleNamespace(x=torch.zeros(2), n=k)
            assert compiled(torch.ones(2), other).tolist() == (keeper.last.x * 2 + k).tolist()
            assert other.x.tolist() == [1, 1]
        for _ in range(4):
            before = held.x.clone()
            assert compiled(torch.ones(2), held).tolist() == ((before + 1) * 2 + 1).tolist()


def test_an_object_that_the_step_keeps():
    keeper = SimpleNamespace(last=None)

    def f(x, state):
        keeper.last = state
        state.x = state.x + x
        return state.x * 2

    compiled = torch.compile(f)
    with unwarned():
        for k in range(5):
            state = SimpleNamespace(x=torch.full((2,), float(k)))
            assert compiled(torch.ones(2), state).tolist() == [2 * k + 2] * 2
            assert keeper.last is state


def test_a_new_object_that_holds_an_argument():
    def f(x, state):
        state.x = state.x + x
        made = SimpleNamespace(inner=state, many=[state])
        return made, state.x * 2

    compiled = torch.compile(f)
    with unwarned():
        for k in range(5):
            state = SimpleNamespace(x=torch.full((2,), float(k)))
            made, y = compiled(torch.ones(2), state)
            assert made.inner is state and made.many[0] is state and y.tolist() == [2 * k + 2] * 2


def test_a_failing_call_leaves_what_eager_leaves():
    def f(x, index, state):
        state.n += 1
        state.x = state.x + x
        return state.x[index]

    compiled = torch.compile(f)
    for k in range(6):
        index = torch.tensor([1, 0]) if k != 4 else torch.tensor([5])
        one, other = (SimpleNamespace(x=torch.ones(3) * k, n=k) for _ in range(2))
        got, want = None, None
        if k == 4:
            for g, s in ((compiled, one), (f, other)):
                with pytest.raises(IndexError):
                    g(torch.ones(3), index, s)
        else:
            got, want = compiled(torch.ones(3), index, one), f(torch.ones(3), index, other)
        assert close(contents([got, one]), contents([want, other]))


def test_gradients_through_contents():
    model = nn.Linear(3, 3)

    def f(x, state):
        state.h = torch.tanh(model(x) + state.h)
        return state.h.sum()

    compiled = torch.compile(f)
    grads = []
    for g in (compiled, f):
        torch.manual_seed(1)
        for _ in range(3):
            model.zero_grad()
            h = torch.randn(2, 3, requires_grad=True)
            state = SimpleNamespace(h=h)
            g(torch.randn(2, 3), state).backward()
            grads.append([model.weight.grad.clone(), h.grad.clone(), state.h.detach()])
    for a, b in zip(grads[:3], grads[3:], strict=True):
        for s, t in zip(a, b, strict=True):
            torch.testing.assert_close(s, t)


@dataclasses.dataclass
class Told:
    total: object
    n: int = 0


def change(draw, depth=0):
    """A random statement about a state `s`, a tensor `x` and a number `n`."""
    return draw.choice(
        [
            "s.x = s.x * 0.5 + x",
            "s.n += 1",
            "s.items.append(s.x + n)",
            "s.items[-1] = x - s.x",
            "s.table['a'] = x * s.n",
            "s.inner.y = torch.cat([s.inner.y, x])[-6:]",
            "s.inner.count = s.inner.count + n",
            "s.late = s.x.sum()",
            "del s.items[0]",
            "s.items = s.items + [x]",
            "s.inner, s.other = s.other, s.inner",
            "s.x.add_(x)",
            "s.table = {'b': s.x, **s.table}",
            "s.told = Told(s.x * 2, s.n)",
            "s.fresh = type(s.inner)()",
            "x = x + s.inner.y[:3]",
            "s.table.pop('a', None)",
            "s.items.reverse()",
            "s.inner.y = s.items[0]",
        ]
    )


class Inner:
    def __init__(self):
        self.y = torch.ones(3)
        self.count = 0


def state():
    s = SimpleNamespace(
        x=torch.zeros(3), n=0, items=[torch.ones(3), torch.zeros(3)], table={"a": torch.ones(3)}
    )
    s.inner, s.other = Inner(), Inner()
    return s


def test_a_new_list_in_two_places():
    def f(x, s):
        s.n = s.n + 1
        s.items = [*s.items, x * s.n]
        return s.items, s.n

    compiled = torch.compile(f)
    with unwarned():
        for k in range(5):
            s = SimpleNamespace(n=k, items=[torch.ones(2)])
            items, _ = compiled(torch.ones(2), s)
            assert items is s.items


def test_an_object_that_holds_itself():
    def f(x, s):
        made = SimpleNamespace(y=x * 2)
        made.me = made
        s.x = s.x + x
        return made

    compiled = torch.compile(f)
    with unwarned():
        for k in range(4):
            s = SimpleNamespace(x=torch.ones(2), n=k)
            s.own = s
            made = compiled(torch.ones(2), s)
            assert made.me is made and s.x.tolist() == [2, 2] and s.own is s


@pytest.mark.parametrize("seed", [*range(6), 1226])
def test_random_changes_of_an_object(seed):
    draw = random.Random(seed)
    lines = [change(draw) for _ in range(draw.randint(1, 5))]
    answer = draw.choice(
        ["s.x * 1", "(s, s.x * 2)", "[s.inner.y + 1, s.n]", "{'s': s.inner, 'x': x * 1}", "s.items"]
    )
    text = (
        "def f(x, n, s):\n" + "".join(f"    {line}\n" for line in lines) + f"    return {answer}\n"
    )
    scope = {"torch": torch, "Told": Told}
    exec(text, scope)
    f = scope["f"]
    compiled = torch.compile(f)
    with unwarned():
        for _ in range(3):
            one, other = state(), state()
            for k in range(3):
                x = torch.arange(3.0) + k
                try:
                    want = f(x.clone(), k, other)
                except Exception as error:
                    with pytest.raises(type(error)):
                        compiled(x.clone(), k, one)
                    break
                got = compiled(x.clone(), k, one)
                assert close(contents([got, one]), contents([want, other])), text


# ---- many sizes -----------------------------------------------------------------------------------------
def test_a_size_is_traced_when_it_comes_again():
    compiled = torch.compile(lambda x: (x * 2).cumsum(0))
    for n in range(1, 31):
        assert compiled(torch.ones(n)).tolist() == [2.0 * k for k in range(1, n + 1)]
    assert len(compiled.versions) == 8
    for _ in range(2):
        for n in range(1, 31):
            assert compiled(torch.ones(n)).tolist() == [2.0 * k for k in range(1, n + 1)]
    assert len(compiled.versions) == 30 and sum(v.hits for v in compiled.versions) == 38


def test_versions_of_many_sizes_share_an_arena():
    model = nn.Sequential(nn.Linear(4, 8), nn.GELU(), nn.LayerNorm(8), nn.Linear(8, 3))
    compiled = torch.compile(lambda x: model(x))
    inputs = [torch.randn(n, 4) for n in range(1, 25)]
    for _ in range(3):
        kept = []
        for x in inputs:
            got, want = [f(x).square().sum() for f in (compiled, model)]
            kept.append((got, want))
        for got, want in kept:  # each backward after the forward of all others
            found = []
            for loss in (got, want):
                model.zero_grad()
                loss.backward()
                found.append([p.grad for p in model.parameters()])
            for a, b in zip(*found, strict=True):
                torch.testing.assert_close(a, b)
    assert len(compiled.versions) == 24
    arenas = {id(v.code.run.memory.arena) for v in compiled.versions}
    assert 9 <= len(arenas) <= 14


def test_sizes_have_a_limit(monkeypatch):
    monkeypatch.setattr("pellucid.compiler.function.SIZES", 10)
    compiled = torch.compile(lambda x: x * 2)
    for _ in range(3):
        for n in range(1, 31):
            assert compiled(torch.ones(n)).tolist() == [2] * n
    assert len(compiled.versions) == 10
