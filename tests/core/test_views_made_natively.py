"""`view_result` in native code does what it does in Python, and keeps no reference too many or too
few.
"""

from __future__ import annotations

import gc
import sys
from contextlib import nullcontext

import pytest

import pellucid as torch
from pellucid.core import bind
from pellucid.core.modes import local
from pellucid.core.primitive import PRIMITIVES
from pellucid.core.tensor import Parameter, Tensor, VersionCounter, View
from pellucid.kernels.views import view_maker

from ..kernels.conftest import needs_compiler  # noqa: F401

CLASSES = {"Tensor": Tensor, "Parameter": Parameter, "Counter": VersionCounter, "View": View}


@pytest.fixture(scope="module")
def made():
    """The native function, and how often it left a call to Python."""
    left = []

    def python(*args):
        left.append(args)
        return bind._view_result(*args)

    native = view_maker(python, bind.forget, local, CLASSES, bind.LONG_CHAIN)
    if native is None:
        pytest.skip("arrays lie otherwise here")
    return native, left


def plain():
    return torch.arange(6.0).reshape(2, 3).clone()


def of_chain(length):
    def chained():
        x = plain()
        for _ in range(length):
            x = x.view(2, 3)
        return x

    return chained


def without_grad(x):
    with torch.no_grad():
        return x.view(2, 3)


def wanted_later():
    x = plain()
    view = x.view(2, 3)
    x.requires_grad_()
    return view


def of_refused():
    x = plain()
    view = without_grad(x)
    x.requires_grad_()
    return view


def with_many_views():
    x = plain()
    x.kept = [x.view(2, 3) for _ in range(64)]
    del x.kept[::2]
    return x


def marked():
    x = plain()
    x.extra()["mark"] = 1
    return x


SOURCES = {
    "plain": plain,
    "wants a gradient": lambda: plain().requires_grad_(),
    "computed": lambda: plain().requires_grad_() * 2,
    "parameter": lambda: Parameter(plain()),
    "a view": of_chain(1),
    "a long chain": of_chain(bind.LONG_CHAIN - 1),
    "a longer chain": of_chain(bind.LONG_CHAIN),
    "a view of what wants a gradient": lambda: plain().requires_grad_().view(2, 3),
    "a view without grad": lambda: without_grad(plain()),
    "a view without grad, wanted": lambda: without_grad(plain().requires_grad_()),
    "a view of a base wanted later": wanted_later,
    "a view without grad of a base wanted later": of_refused,
    "one of several": lambda: torch.stack([plain(), plain()]).unbind(0)[1],
    "many views": with_many_views,
    "with something rare": marked,
    "inference": lambda: torch.inference_mode()(plain)(),
}


def run(function, x, place, grad):
    op = PRIMITIVES["view"]
    r = x._array.reshape(3, 2)
    with nullcontext() if grad else torch.no_grad():
        t = function(op, x, r, {"shape": (3, 2)}, *place)
    before = x if x._view is None else x._view.base
    view = t._view
    views = t._ver.views
    return {
        "type": type(t),
        "array": t._array is r,
        "rg": t._rg,
        "node": type(t._node),
        "edges": t._node is not None and [type(e) for e in t._node.inputs],
        "grad": t._grad,
        "x": t._x,
        "ver": t._ver is x._ver,
        "base": view is not None and view.base is before,
        "chain": view is not None and [(s[0].name, s[1], s[2]) for s in view.chain],
        "kind": view is not None and view.kind,
        "listed": views is not None and any(v() is t for v in views),
        "live": views is not None and sum(v() is not None for v in views),
        "restricted": t._ver.restricted is not None
        and any(held[0]() is t for held in t._ver.restricted),
    }


@pytest.mark.parametrize("grad", [True, False])
@pytest.mark.parametrize("place", [(), (1,)], ids=["one", "of several"])
@pytest.mark.parametrize("source", SOURCES)
def test_as_in_python(made, source, place, grad):
    x, y = SOURCES[source](), SOURCES[source]()
    if place and grad and x._rg:
        pytest.skip("several results have a node of their own")
    assert run(made[0], x, place, grad) == run(bind._view_result, y, place, grad)


def test_usual_calls_are_not_left_to_python(made):
    native, left = made
    for source in ("plain", "parameter", "a view", "a long chain", "computed", "one of several"):
        x = SOURCES[source]()
        run(bind._view_result, x, (), True)  # makes the recorder
        left.clear()
        run(native, x, (), True)
        assert not left, source
    with torch.no_grad():
        run(native, plain(), (), False)
    assert not left


def test_results_behave_as_views(made):
    op = PRIMITIVES["view"]
    x = plain()
    views = [made[0](op, x, x._array.reshape(3, 2), {"shape": (3, 2)}) for _ in range(100)]
    x.requires_grad_()
    assert all(v.requires_grad and v._base is x for v in views)
    y = x * 1
    view = made[0](op, y, y._array.reshape(3, 2), {"shape": (3, 2)})
    y.mul_(2)
    view.sum().backward()
    assert (x.grad == 2).all()


def test_a_dead_view_leaves_its_place(made):
    op, x = PRIMITIVES["view"], plain()
    for _ in range(1000):
        made[0](op, x, x._array, {"shape": (2, 3)})
    assert len(x._ver.views) == 1
    kept = [made[0](op, x, x._array, {"shape": (2, 3)}) for _ in range(100)]
    assert len(x._ver.views) == 100
    del kept[:99]
    gc.collect()
    assert [v() is not None for v in x._ver.views].count(True) == 1


@pytest.mark.parametrize("source", ["plain", "computed", "a view", "a longer chain", "inference"])
def test_references_are_counted(made, source):
    op, x = PRIMITIVES["view"], SOURCES[source]()
    r, params, place = x._array, {"shape": (2, 3)}, 1000
    things = (op, x, r, params, place, None, True, False, Tensor, View, VersionCounter, "multi")
    things += (x._ver, x._view)

    def count():
        made[1].clear()
        gc.collect()
        return [sys.getrefcount(thing) for thing in things]

    def rounds(number):
        for _ in range(number):
            made[0](op, x, r, params)
            if not x._rg:
                made[0](op, x, r, params, place)
            with torch.no_grad():
                made[0](op, x, r, params)

    rounds(100)
    before = count()
    rounds(2000)
    after = count()
    assert all(abs(a - b) < 500 for a, b in zip(after, before, strict=True)), (before, after)


def test_what_a_recorder_raises_arrives(made, monkeypatch):
    op, x = PRIMITIVES["view"], plain().requires_grad_()

    def fails(*_):
        raise KeyError("recorder")

    monkeypatch.setattr(op, "recorder", fails)
    with pytest.raises(KeyError, match="recorder"):
        made[0](op, x, x._array, {"shape": (2, 3)})
    assert x._ver is None or not x._ver.views


def test_a_wrong_number_of_arguments_is_refused(made):
    with pytest.raises(TypeError):
        made[0](PRIMITIVES["view"], plain())
    with pytest.raises(AttributeError):
        made[0](PRIMITIVES["view"], 3, None, {})


def test_each_is_bound_to_its_own_python(made):
    calls = []
    other = view_maker(lambda *args: calls.append(args), bind.forget, local, CLASSES, 0)
    op, x = PRIMITIVES["view"], plain().view(2, 3)
    made[1].clear()
    assert other(op, x, x._array, {}) is None  # its chain is too long for this one
    assert len(calls) == 1 and not made[1]
    assert isinstance(made[0](op, x, x._array, {}), Tensor)


def test_it_is_what_programs_use_after_many_views():
    needed = 4 * bind.MANY + 2
    x = plain()
    for _ in range(needed):
        x.view(3, 2)
    assert bind.view_result is not bind._first_views
