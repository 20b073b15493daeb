"""What a compiled function depends on besides its arguments: each change between two calls must
show, as it does eagerly.
"""

from __future__ import annotations

import array
import builtins
import collections
import contextvars
import functools
import gc
import inspect
import itertools
import os
import pathlib
import sys
import threading
import time
import types
import warnings
import weakref
from collections.abc import Callable, Iterator
from types import SimpleNamespace as Space
from typing import Any

import numpy as np
import pytest

import pellucid as torch
from pellucid import nn
from pellucid._names import Calls
from pellucid.ops._overloads import checked

X = torch.arange(6.0).reshape(2, 3) + 1
CASES: dict[str, Callable[..., Any]] = {}
number = 2.0


class Constants:
    scale = 2.0


def case(make: Callable[[Space], Any]) -> Callable[[Space], Any]:
    """A function that sets a scene: it returns a function of one tensor, and the changes to make
    between calls.
    """
    CASES[make.__name__] = make
    return make


@pytest.fixture(autouse=True)
def settings() -> Iterator[None]:
    kind, deterministic = torch.get_default_dtype(), torch.are_deterministic_algorithms_enabled()
    yield
    torch.set_default_dtype(kind)
    torch.use_deterministic_algorithms(deterministic)
    torch.set_default_device(None)
    torch.set_grad_enabled(True)
    globals().update(number=2.0)
    globals().pop("defined_later", None)
    globals().pop("abs", None)
    Constants.scale = 2.0
    sys.modules.pop("a_configuration", None)


def results(make: Callable[..., Any], compiled: bool, tmp_path: pathlib.Path) -> list[Any]:
    torch.manual_seed(0)
    out = []
    with pytest.MonkeyPatch.context() as patch:
        s = Space(folder=tmp_path, builtins=patch)
        made = make(s)
        f, changes = made[0], made[1:]
        if compiled:
            f = torch.compile(f)
        for change in (None, None, *changes, None):
            if change is not None:
                change()
            out.append(f(X).detach().clone())
    return out


# ---- objects, classes, functions ----------------------------------------------------------------------
@case
def class_as_a_name_space(s: Space) -> Any:
    Constants.scale = 2.0
    return lambda v: v * Constants.scale, lambda: setattr(Constants, "scale", 5.0)


@case
def class_in_a_closure(s: Space) -> Any:
    class Options:
        scale = 2.0

    return lambda v: v * Options.scale, lambda: setattr(Options, "scale", 5.0)


@case
def class_attribute_through_a_classmethod(s: Space) -> Any:
    class Options:
        scale = 2.0

        @classmethod
        def both(cls) -> float:
            return cls.scale * cls.other()

        @staticmethod
        def other() -> float:
            return Options.scale

    return lambda v: v * Options.both(), lambda: setattr(Options, "scale", 5.0)


@case
def attribute_of_a_metaclass(s: Space) -> Any:
    class Meta(type):
        held = 2.0

        @property
        def scale(cls) -> float:
            return cls.held

    class Options(metaclass=Meta):
        pass

    return lambda v: v * Options.scale, lambda: setattr(Meta, "held", 5.0)


@case
def class_attribute_hidden_by_the_object(s: Space) -> Any:
    class Options:
        scale = 2.0

    options = Options()
    return lambda v: v * options.scale, lambda: setattr(options, "scale", 5.0)


@case
def class_attribute_hidden_by_a_subclass(s: Space) -> Any:
    class Options:
        scale = 2.0

    class More(Options):
        pass

    options = More()
    return lambda v: v * options.scale, lambda: setattr(More, "scale", 5.0)


@case
def method_replaced_on_the_class(s: Space) -> Any:
    class Doer:
        def do(self, v: Any) -> Any:
            return v * 2

    doer = Doer()
    return lambda v: doer.do(v), lambda: setattr(Doer, "do", lambda self, v: v * 7)


@case
def operator_replaced_on_the_class(s: Space) -> Any:
    class Scale:
        def __call__(self, v: Any) -> Any:
            return v * 2

    scale = Scale()
    return lambda v: scale(v), lambda: setattr(Scale, "__call__", lambda self, v: v * 7)


@case
def method_hidden_by_the_object(s: Space) -> Any:
    class Doer:
        def do(self, v: Any) -> Any:
            return v * 2

    doer = Doer()
    return lambda v: doer.do(v), lambda: setattr(doer, "do", lambda v: v * 7)


@case
def attribute_that_comes_later(s: Space) -> Any:
    options = Space()

    def f(v: Any) -> Any:
        try:
            return v * options.scale
        except AttributeError:
            return v

    return f, lambda: setattr(options, "scale", 5.0), lambda: delattr(options, "scale")


@case
def attribute_with_a_default(s: Space) -> Any:
    options = Space()
    return lambda v: v * getattr(options, "scale", 1.0), lambda: setattr(options, "scale", 5.0)


@case
def attribute_asked_for(s: Space) -> Any:
    options = Space()
    return lambda v: v * 5 if hasattr(options, "scale") else v, lambda: setattr(
        options, "scale", 5.0
    )


@case
def attribute_of_a_property(s: Space) -> Any:
    class Options:
        held = 2.0

        @property
        def scale(self) -> float:
            return self.held

    options = Options()
    return lambda v: v * options.scale, lambda: setattr(options, "held", 5.0)


@case
def attribute_made_by_getattr(s: Space) -> Any:
    class Options:
        def __init__(self) -> None:
            self.held = {"scale": 2.0}

        def __getattr__(self, name: str) -> Any:
            return self.__dict__["held"][name]

    options = Options()
    return lambda v: v * options.scale, lambda: options.held.update(scale=5.0)


@case
def attribute_in_a_slot(s: Space) -> Any:
    class Options:
        __slots__ = ("scale",)

    options = Options()
    options.scale = 2.0
    return lambda v: v * options.scale, lambda: setattr(options, "scale", 5.0)


@case
def value_of_a_descriptor(s: Space) -> Any:
    class Field:
        def __init__(self) -> None:
            self.held = 2.0

        def __get__(self, holder: Any, owner: Any = None) -> float:
            return self.held

    field = Field()
    options = type("Options", (), {"scale": field})()
    return lambda v: v * options.scale, lambda: setattr(field, "held", 5.0)


@case
def cached_property_forgotten(s: Space) -> Any:
    class Options:
        base = 2.0

        @functools.cached_property
        def scale(self) -> float:
            return self.base * 2

    options = Options()

    def change() -> None:
        del options.scale
        options.base = 5.0

    return lambda v: v * options.scale, change


@case
def cached_function_forgotten(s: Space) -> Any:
    options = Space(base=2.0)

    @functools.lru_cache
    def scale() -> float:
        return options.base

    scale()

    def change() -> None:
        options.base = 5.0
        scale.cache_clear()

    return lambda v: v * scale(), change


@case
def attribute_of_a_function(s: Space) -> Any:
    def f(v: Any) -> Any:
        return v * f.scale

    f.scale = 2.0
    return f, lambda: setattr(f, "scale", 5.0)


@case
def code_of_a_function(s: Space) -> Any:
    def g(v: Any) -> Any:
        return v * 2

    return lambda v: g(v), lambda: setattr(g, "__code__", (lambda v: v * 9).__code__)


@case
def code_of_the_function_itself(s: Space) -> Any:
    def g(v: Any) -> Any:
        return v * 2

    return g, lambda: setattr(g, "__code__", (lambda v: v * 9).__code__)


@case
def defaults_of_a_function(s: Space) -> Any:
    def g(v: Any, scale: float = 2.0, *, more: float = 1.0) -> Any:
        return v * scale + more

    return (
        lambda v: g(v),
        lambda: setattr(g, "__defaults__", (5.0,)),
        lambda: g.__kwdefaults__.update(more=3.0),
        lambda: setattr(g, "__kwdefaults__", {"more": 7.0}),
    )


@case
def object_behind_a_weak_reference(s: Space) -> Any:
    class Options:
        scale = 2.0

    held = Options()
    reference = weakref.ref(held)
    return (
        lambda v: v * reference().scale + (held is None),
        lambda: setattr(held, "scale", 5.0),
    )


@case
def builtins_replaced(s: Space) -> Any:
    s.builtins.setattr(builtins, "scale", 2.0, raising=False)
    return (
        lambda v: v * scale * len(oct(7)),  # type: ignore[name-defined]  # noqa: F821
        lambda: s.builtins.setattr(builtins, "scale", 3.0),
        lambda: s.builtins.setattr(builtins, "scale", torch.full((3,), 4.0)),
        lambda: s.builtins.setattr(builtins, "oct", lambda n: "seven"),
    )


@case
def builtin_set_later(s: Space) -> Any:
    def step(v: Any) -> Any:
        try:
            return v * scale  # type: ignore[name-defined]
        except NameError:
            return v

    return step, lambda: s.builtins.setattr(builtins, "scale", 3.0, raising=False)


@case
def value_of_a_thread(s: Space) -> Any:
    held = threading.local()
    held.scale = 2.0
    return lambda v: v * held.scale, lambda: setattr(held, "scale", 5.0)


@case
def value_of_a_context(s: Space) -> Any:
    scale = contextvars.ContextVar("scale", default=2.0)
    return lambda v: v * scale.get(), lambda: scale.set(5.0)


# ---- containers ------------------------------------------------------------------------------------------
@case
def order_of_a_dict(s: Space) -> Any:
    held = collections.OrderedDict(a=1.0, b=2.0)
    return lambda v: v * next(iter(held.values())), lambda: held.move_to_end("a")


@case
def name_missing_in_a_dict(s: Space) -> Any:
    held = {"a": 1.0}
    return (
        lambda v: v * held.get("b", 7.0),
        lambda: held.update(b=3.0),
        lambda: held.pop("a") and None,
    )


@case
def dict_behind_a_proxy(s: Space) -> Any:
    held = {"a": 2.0}
    proxy = types.MappingProxyType(held)
    return lambda v: v * proxy["a"], lambda: held.update(a=5.0)


@case
def subclasses_of_containers(s: Space) -> Any:
    class Named(dict):  # type: ignore[type-arg]
        def __getattr__(self, name: str) -> Any:
            return self[name]

    class Listed(list):  # type: ignore[type-arg]
        pass

    named, listed, user, chain = (
        Named(a=2.0),
        Listed([3.0]),
        collections.UserDict(a=2.0),
        collections.ChainMap({}, {"a": 2.0}),
    )
    listed.scale = 2.0
    return (
        lambda v: v * named.a * listed.scale * listed[0] + user["a"] * chain["a"],
        lambda: named.update(a=5.0),
        lambda: setattr(listed, "scale", 7.0),
        lambda: listed.__setitem__(0, 11.0),
        lambda: user.update(a=5.0),
        lambda: chain.update(a=3.0),
    )


@case
def members_of_a_set(s: Space) -> Any:
    held = {1, 2}

    def change() -> None:
        held.remove(1)
        held.add(3)

    return lambda v: v * (5 if 3 in held else 2), change


@case
def items_of_a_deque(s: Space) -> Any:
    held = collections.deque([2.0, 3.0], maxlen=2)
    return lambda v: v * held[0], lambda: held.append(9.0)


@case
def bytes_and_typed_arrays(s: Space) -> Any:
    held, typed = bytearray(b"\x02"), array.array("d", [2.0])
    return (
        lambda v: v * held[0] * typed[0],
        lambda: held.__setitem__(0, 5),
        lambda: typed.__setitem__(0, 7.0),
    )


@case
def elements_of_numpy_arrays(s: Space) -> Any:
    held, objects = np.array([2.0, np.nan]), np.array([2.0, "a"], dtype=object)
    return (
        lambda v: v * float(held[0]) * float(objects[0]),
        lambda: held.__setitem__(0, 5.0),
        lambda: objects.__setitem__(0, 7.0),
    )


@case
def sign_of_zero(s: Space) -> Any:
    options = Space(zero=0.0)
    return (
        lambda v: v / options.zero,
        lambda: setattr(options, "zero", -0.0),
        lambda: setattr(options, "zero", float("nan")),
    )


@case
def tensors_in_a_list(s: Space) -> Any:
    held = [torch.ones(3), torch.ones(3) * 2]
    return (
        lambda v: v * held[0] - held[-1],
        held.reverse,
        lambda: held.append(torch.ones(3) * 4),
        lambda: held.__setitem__(0, torch.ones(3) * 7),
    )


# ---- globals, modules, the process ----------------------------------------------------------------------------
@case
def global_number(s: Space) -> Any:
    globals().update(number=2.0)
    return lambda v: v * number, lambda: globals().update(number=5.0)


@case
def global_number_by_a_made_name(s: Space) -> Any:
    globals().update(number=2.0)
    return lambda v: v * globals()["".join(["num", "ber"])], lambda: globals().update(number=5.0)


@case
def global_defined_later(s: Space) -> Any:
    globals().pop("defined_later", None)

    def f(v: Any) -> Any:
        try:
            return v * defined_later  # type: ignore[name-defined]
        except NameError:
            return v

    return f, lambda: globals().update(unrelated=1), lambda: globals().update(defined_later=5.0)


@case
def builtin_hidden_by_a_global(s: Space) -> Any:
    globals().pop("abs", None)
    return lambda v: abs(v - 3), lambda: globals().update(abs=lambda v: v * 8)


def configuration() -> types.ModuleType:
    module = types.ModuleType("a_configuration")
    exec("scale = 2.0\ntable = {'a': 2.0}\ndef use(v): return v * scale", module.__dict__)
    sys.modules["a_configuration"] = module
    return module


@case
def module_of_the_user(s: Space) -> Any:
    module = configuration()
    return (
        lambda v: v * module.scale * module.table["a"],
        lambda: setattr(module, "scale", 5.0),
        lambda: module.table.update(a=7.0),
    )


@case
def module_as_an_attribute(s: Space) -> Any:
    options = Space(module=configuration())
    return lambda v: v * options.module.scale, lambda: setattr(options.module, "scale", 5.0)


@case
def module_imported_by_the_function(s: Space) -> Any:
    module = configuration()

    def f(v: Any) -> Any:
        import a_configuration as c
        from a_configuration import scale

        return v * c.scale + scale

    return f, lambda: setattr(module, "scale", 5.0)


@case
def function_of_a_module(s: Space) -> Any:
    module = configuration()
    return lambda v: module.use(v), lambda: setattr(module, "scale", 5.0)


@case
def module_looked_up(s: Space) -> Any:
    module = configuration()
    return lambda v: v * sys.modules["a_configuration"].scale, lambda: setattr(module, "scale", 5.0)


@case
def environment_of_the_process(s: Space) -> Any:
    os.environ["A_SCALE"] = "2"
    return (
        lambda v: v * float(os.environ["A_SCALE"]) + float(os.getenv("A_SCALE") or 0),
        lambda: os.environ.update(A_SCALE="5"),
        lambda: os.environ.pop("A_SCALE") and os.environ.update(A_SCALE="7"),
    )


# ---- settings of the library --------------------------------------------------------------------------------
@case
def default_dtype(s: Space) -> Any:
    torch.set_default_dtype(torch.float32)
    return lambda v: v.double() * 0 + (torch.ones(3) / 3).double(), lambda: torch.set_default_dtype(
        torch.float64
    )


@case
def determinism_asked_for(s: Space) -> Any:
    torch.use_deterministic_algorithms(False)
    return (
        lambda v: v * (2 if torch.are_deterministic_algorithms_enabled() else 3),
        lambda: torch.use_deterministic_algorithms(True),
    )


@case
def precision_asked_for(s: Space) -> Any:
    torch.set_float32_matmul_precision("highest")
    return (
        lambda v: v * (2 if torch.get_float32_matmul_precision() == "high" else 3),
        lambda: torch.set_float32_matmul_precision("high"),
        lambda: torch.set_float32_matmul_precision("highest"),
    )


@case
def grad_mode(s: Space) -> Any:
    before = torch.is_grad_enabled()
    return (
        lambda v: v * 2 if torch.is_grad_enabled() else v * 3,
        lambda: torch.set_grad_enabled(not before),
        lambda: torch.set_grad_enabled(before),
    )


@case
def random_stream(s: Space) -> Any:
    return lambda v: v + torch.randn(3), lambda: torch.manual_seed(5)


# ---- modules ---------------------------------------------------------------------------------------------------
class Layer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.scale = 2.0
        self.table = {"a": 1.0, "b": {"c": [1, 2.0]}}
        self.inner = nn.Linear(3, 3)

    def forward(self, v: Any) -> Any:
        return (
            self.inner(v)
            * self.scale
            * self.table["a"]
            * self.table["b"]["c"][1]
            * getattr(self, "more", 1.0)
        )


@case
def attributes_of_a_module(s: Space) -> Any:
    m = Layer()
    return (
        m,
        lambda: setattr(m, "scale", 3.0),
        lambda: m.table.update(a=5.0),
        lambda: m.table["b"]["c"].__setitem__(1, 7.0),
        lambda: setattr(m, "more", 3.0),
    )


@case
def module_class_attribute(s: Space) -> Any:
    class Scaled(Layer):
        factor = 2.0

        def forward(self, v: Any) -> Any:
            return super().forward(v) * self.factor

    m = Scaled()
    return m, lambda: setattr(Scaled, "factor", 3.0), lambda: setattr(m, "factor", 5.0)


@case
def forward_replaced(s: Space) -> Any:
    class Own(Layer):
        def forward(self, v: Any) -> Any:
            return super().forward(v)

    m = Own()
    return (
        lambda v: m(v),
        lambda: setattr(Own, "forward", lambda self, v: self.inner(v) * 3),
        lambda: setattr(m.inner, "forward", lambda v: v * 5),
        lambda: setattr(m, "forward", lambda v: v * 7),
    )


@case
def children_replaced(s: Space) -> Any:
    m = Layer()
    return (
        m,
        lambda: setattr(m, "inner", nn.Linear(3, 3, bias=False)),
        lambda: m._modules.__setitem__("inner", nn.Identity()),
        lambda: m._modules.update(inner=nn.Linear(3, 3)),
        lambda: m.inner._parameters.__setitem__("weight", nn.Parameter(torch.ones(3, 3))),
    )


@case
def tables_of_members_replaced(s: Space) -> Any:
    m = Layer()
    other = nn.Linear(3, 3, bias=False)
    return (
        m,
        lambda: setattr(m, "_modules", {**m._modules, "inner": other}),
        lambda: setattr(
            m.inner, "_parameters", {"weight": nn.Parameter(torch.ones(3, 3)), "bias": None}
        ),
    )


@case
def hooks(s: Space) -> Any:
    m = Layer()
    held: list[Any] = []
    return (
        lambda v: m(v),
        lambda: m.inner.register_forward_hook(lambda m, i, o: o * 2),
        m.inner._forward_hooks.clear,
        lambda: held.append(nn.modules.module.register_module_forward_hook(lambda m, i, o: o * 3)),
        lambda: held.pop().remove(),
    )


@case
def data_of_a_parameter(s: Space) -> Any:
    m = Layer()
    return (
        m,
        lambda: setattr(m.inner.weight, "data", torch.ones(3, 3)),
        lambda: m.double().float(),
        lambda: m.inner.weight.data.mul_(2),
    )


# ---- the tests ---------------------------------------------------------------------------------------------------
# the checks of a call that leaves no graph are others
@pytest.mark.parametrize("grad", [True, False], ids=["grad", "no_grad"])
@pytest.mark.parametrize("name", sorted(CASES))
def test_a_change_shows(
    name: str, grad: bool, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("A_SCALE", "2")
    with torch.set_grad_enabled(grad):
        expected = results(CASES[name], False, tmp_path)
    with torch.set_grad_enabled(grad), warnings.catch_warnings():
        warnings.simplefilter("error")  # all of them compile
        got = results(CASES[name], True, tmp_path)
    assert any(not torch.equal(a, b) for a, b in itertools.pairwise(expected[1:])), (
        "the change must show eagerly"
    )
    for a, b in zip(expected, got, strict=True):
        assert a.dtype == b.dtype
        torch.testing.assert_close(b, a, equal_nan=True)


def _iterator() -> Any:
    held = iter([1.0, 2.0, 3.0, 4.0])
    return lambda v: v * next(held)


def _generator() -> Any:
    def numbers() -> Iterator[float]:
        yield from (1.0, 2.0, 3.0, 4.0)

    held = numbers()
    return lambda v: v * next(held)


def _counter() -> Any:
    held = itertools.count()
    return lambda v: v * next(held)


def _file(folder: pathlib.Path) -> Any:
    path = folder / "scale.txt"
    path.write_text("2")
    return lambda v: v * float(path.read_text())


def _large_array() -> Any:
    held = np.arange(100_000.0)
    return lambda v: v * float(held[1])


def _caller() -> Any:
    return lambda v: v * (sys._getframe(1).f_code.co_name != "nobody")


def _frames() -> Any:
    return lambda v: v * (inspect.currentframe() is not None)


def _exception() -> Any:
    return lambda v: v * (sys.exc_info()[0] is None)


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (_caller, "asks who calls it"),
        (_frames, "asks who calls it"),
        (_exception, "asks which exception is handled"),
        (_iterator, r"uses `held`, whose state \(list_iterator\) a program cannot repeat"),
        (_generator, r"uses `held`, whose state \(generator\) a program cannot repeat"),
        (_counter, r"uses `held`, whose state \(count\) a program cannot repeat"),
        (_large_array, r"uses `held`, an array of 800,000 bytes, too many to compare at each call"),
    ],
)
def test_what_cannot_be_watched_runs_eagerly(make: Callable[[], Any], reason: str) -> None:
    f = torch.compile(make())
    with pytest.warns(torch.compiler.CompileWarning, match=reason):
        first = f(X)
    g = make()
    torch.testing.assert_close(first, g(X))
    for _ in range(3):
        torch.testing.assert_close(f(X), g(X))


def test_what_a_weak_reference_leads_to_is_not_kept_alive() -> None:
    class Options:
        scale = 2.0

        def scaled(self, v: Any) -> Any:
            return v * self.scale

    held: list[Any] = [Options()]
    plain, method = weakref.ref(held[0]), weakref.WeakMethod(held[0].scaled)
    table = weakref.WeakValueDictionary(a=held[0])
    steps = [
        torch.compile(lambda v: v if plain() is None else v * plain().scale),
        torch.compile(lambda v: v if method() is None else method()(v)),
        torch.compile(lambda v: v if "a" not in table else v * table["a"].scale),
    ]
    with warnings.catch_warnings(record=True):
        warnings.simplefilter("always")
        for f in steps * 3:
            assert torch.equal(f(X), X * 2)
    held.clear()
    gc.collect()
    assert plain() is None
    for f in steps * 2:
        assert torch.equal(f(X), X)


def test_file_read_through_the_standard_library(tmp_path: pathlib.Path) -> None:
    f = torch.compile(_file(tmp_path))
    with pytest.warns(
        torch.compiler.CompileWarning, match=r"opens a file.*test_captured_environment\.py"
    ):
        f(X)
    (tmp_path / "scale.txt").write_text("5")
    torch.testing.assert_close(f(X), X * 5)


def test_finalizers_of_others_are_no_part_of_the_step() -> None:
    class Timed:
        def __init__(self) -> None:
            self.me = self

        def __del__(self) -> None:
            time.perf_counter()

    def step(v: Any) -> Any:
        for _ in range(3):
            Timed()
            gc.collect()
        return v * 2

    def timed(phase: str, info: dict[str, int]) -> None:
        time.perf_counter()

    f = torch.compile(step)
    gc.callbacks.append(timed)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            for k in range(3):
                torch.testing.assert_close(f(X + k), (X + k) * 2)
    finally:
        gc.callbacks.remove(timed)


def test_collections_at_any_moment_hide_nothing() -> None:
    """A collection that started while the watch was set up hid the calls until the next one."""
    before = gc.get_threshold()
    try:
        for k in range(60):
            gc.set_threshold(10 + k % 7)
            options = Space(scale=2.0)
            f = torch.compile(lambda v, o=options: v * o.scale)
            f(X)
            options.scale = 5.0
            torch.testing.assert_close(f(X), X * 5)
    finally:
        gc.set_threshold(*before)


def test_a_profile_function_of_the_step_is_told() -> None:
    def step(v: Any) -> Any:
        made = v * 2
        sys.setprofile(lambda *_: None)
        return made

    f = torch.compile(step)
    try:
        with pytest.warns(torch.compiler.CompileWarning, match="sets a profile function"):
            f(X)
    finally:
        sys.setprofile(None)


def test_what_did_not_run_is_not_watched() -> None:
    """A large array beside what the step reads, a number that only another branch uses: neither is
    in the way of the program.
    """
    options = Space(scale=2.0, table=np.zeros(100_000), unusual_offset=1.0)

    def other(v: Any) -> Any:
        return v * options.unusual_offset + options.table[0]

    def step(v: Any) -> Any:
        return v * options.scale if v.shape[0] == 2 else other(v)

    f = torch.compile(step)
    torch.testing.assert_close(f(X), X * 2)
    options.unusual_offset = 3.0
    f(X)
    assert len(f.versions) == 1
    options.scale = 3.0
    torch.testing.assert_close(f(X), X * 3)
    assert len(f.versions) == 2


def test_the_short_check_serves_steps_that_read_the_shape_of_a_buffer() -> None:
    """What such a step reads beside its arguments is compared by generated code alone."""

    class Scaled(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("table", torch.ones(4))
            self.names = ["a", "b"]

        def forward(self, v: Any) -> Any:
            return v * self.table.shape[0] + len(self.names)

    model = Scaled()
    f = torch.compile(model.forward)
    f(X)
    torch.testing.assert_close(f(X), X * 4 + 2)
    (version,) = f.versions
    assert version.admission.forms and version.admission.check((X,)) is not None
    model.table = torch.ones(5)
    torch.testing.assert_close(f(X), X * 5 + 2)


def test_counters_of_this_library_are_not_watched_when_its_classes_name_pytorchs_modules(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As under `pellucid run` (interop.class_names): every eager call in between moves them."""
    for kind, name in ((Calls, "torch._names"), (nn.Linear, "torch.nn.modules.linear")):
        monkeypatch.setattr(kind, "__module__", name)
    model, counted = nn.Linear(3, 3), checked(nn.functional.relu, "nn.functional.relu")
    f = torch.compile(lambda v: counted(model(v)))
    for _ in range(4):
        torch.testing.assert_close(f(X), counted(model(X)))
    assert [v.hits for v in f.versions] == [3]
