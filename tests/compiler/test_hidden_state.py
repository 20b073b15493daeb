"""State that shows in no attribute and no global, which calls of a compiled step still see: classes
that change, registrations, functions that others replace, objects of modules in C, and code in C
that takes plain numbers alone.
"""

import abc
import ctypes
import datetime
import decimal
import gc
import io
import json
import math
import os.path
import statistics
import sys
import threading

import pytest

import pellucid as torch

pytestmark = pytest.mark.filterwarnings("ignore:.*runs eagerly", "ignore:.*stays in Python")
CASES = {}


def case(make):
    """A function that makes a step of (tensor, number of the call), what changes before a call, and
    what else can be seen.
    """
    CASES[make.__name__] = make
    return make


def nothing(*_):
    return None


@case
def a_class_that_an_object_gets(patch):
    class First:
        scale = 2.0

    class Second(First):
        scale = 3.0

    o = First()

    def change(k):
        o.__class__ = Second if k == 2 else First

    return lambda x, k: x * o.scale, change, nothing


@case
def a_method_of_that_class(patch):
    class First:
        def double(self, x):
            return x * 2

    class Second:
        def double(self, x):
            return x * 3

    o = First()

    def change(k):
        o.__class__ = Second if k == 2 else First

    return lambda x, k: o.double(x), change, nothing


@case
def bases(patch):
    class First:
        scale = 2.0

    class Second:
        scale = 3.0

    class Both(First):
        pass

    o = Both()

    def change(k):
        Both.__bases__ = (Second,) if k >= 2 else (First,)

    return lambda x, k: x * o.scale, change, nothing


@case
def a_registration(patch):
    class Kind(abc.ABC):  # noqa: B024 - classes are registered to it
        pass

    class Plain:
        pass

    o = Plain()

    def change(k):
        if k == 2:
            Kind.register(Plain)

    return lambda x, k: x * (2 if isinstance(o, Kind) else 1), change, nothing


@case
def a_function_of_the_library(patch):
    first = math.sqrt

    def change(k):
        patch.setattr(math, "sqrt", (lambda v: 5.0) if k == 2 else first)

    return lambda x, k: x * math.sqrt(4), change, nothing


@case
def a_function_of_a_module_in_a_module(patch):
    first = os.path.join

    def change(k):
        patch.setattr(os.path, "join", (lambda *parts: "12345") if k == 2 else first)

    return lambda x, k: x * len(os.path.join("a", "b")), change, nothing


@case
def the_forward_of_a_layer(patch):
    layer, first = torch.nn.Linear(3, 3), torch.nn.Linear.forward

    def change(k):
        patch.setattr(torch.nn.Linear, "forward", (lambda self, x: x * 5) if k == 2 else first)

    return lambda x, k: layer(x), change, nothing


@case
def an_attribute_of_another_module(patch):
    patch.setattr(sys, "count_of_calls", 0, raising=False)

    def step(x, k):
        sys.count_of_calls += 1
        return x * sys.count_of_calls

    return step, nothing, lambda: sys.count_of_calls


@case
def a_new_attribute_of_another_module(patch):
    patch.setattr(math, "seen", 0, raising=False)
    del math.seen

    def step(x, k):
        math.seen = getattr(math, "seen", 0) + 1
        return x * math.seen

    return step, nothing, lambda: math.seen


@case
def the_place_in_a_file(patch):
    text = io.StringIO()

    def step(x, k):
        text.write("line")
        return x * text.tell()

    return step, nothing, text.getvalue


@case
def a_structure(patch):
    class Pair(ctypes.Structure):
        _fields_ = (("n", ctypes.c_int), ("f", ctypes.c_double))

    pair = Pair(1, 2.0)

    def step(x, k):
        pair.n += 1
        return x * pair.n

    return step, nothing, lambda: (pair.n, pair.f)


@case
def a_limit_of_the_interpreter(patch):
    start = sys.getrecursionlimit()

    def change(k):
        sys.setrecursionlimit(start + k)

    def step(x, k):
        return x * (sys.getrecursionlimit() - start)

    return step, change, lambda: sys.setrecursionlimit(start)


@case
def the_collector(patch):
    def change(k):
        (gc.disable if k == 2 else gc.enable)()

    return lambda x, k: x * (2 if gc.isenabled() else 3), change, nothing


def of_a_number(use):
    def make(patch):
        seen = []

        def step(x, k):
            seen.append(k)  # before: the call cannot just be made again
            seen.append(use(x.mean().item(), k))
            return x * 2

        return step, nothing, lambda: [*seen]

    return make


CASES |= {
    "mean": of_a_number(lambda v, k: statistics.mean([v, 2.0])),
    "decimal": of_a_number(lambda v, k: decimal.Decimal(v)),
    "time": of_a_number(lambda v, k: datetime.timedelta(seconds=v)),
    "json": of_a_number(lambda v, k: json.dumps({"loss": v, "parts": [(v, 1), {"k": v}]})),
    "json encoder": of_a_number(lambda v, k: "".join(json.JSONEncoder().iterencode([v]))),
    "descriptor": of_a_number(lambda v, k: float.__add__(v, 1.0)),
}


@pytest.mark.parametrize("name", CASES)
def test_compiled_is_eager(name, monkeypatch):
    found = []
    for compiled in (False, True):
        with monkeypatch.context() as patch:
            torch.manual_seed(0)
            step, change, look = CASES[name](patch)
            run = torch.compile(step) if compiled else step
            seen = []
            for k in range(4):
                change(k)
                made = run(torch.arange(3.0) + k, k)
                seen.append((made.tolist(), look()))
            change(0)
            found.append(seen)
    assert found[0] == found[1]


def test_a_view_that_gets_another_size_is_returned_as_it_is():
    def step(x):
        y = x.exp()
        view = y.t()
        view.resize_(8)
        view.fill_(3)
        return view, y

    run = torch.compile(step)
    for _ in range(3):
        wanted, got = step(torch.ones(4, 2)), run(torch.ones(4, 2))
        assert [(t.shape, t.tolist()) for t in wanted] == [(t.shape, t.tolist()) for t in got]


def test_which_thread_runs_it():
    first = threading.current_thread()

    def step(x):
        return x * (2 if threading.current_thread() is first else 3)

    run, seen = torch.compile(step), []
    for _ in range(3):
        assert run(torch.ones(2)).tolist() == [2, 2]
    thread = threading.Thread(target=lambda: seen.append(run(torch.ones(2)).tolist()))
    thread.start()
    thread.join()
    assert seen == [[3, 3]]
