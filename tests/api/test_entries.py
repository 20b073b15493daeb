"""Short entries of functions that are called often: the same results, refusals and texts."""

import gc
import weakref

import pytest

import pellucid as torch
from pellucid import errors
from pellucid._names import Calls
from pellucid.api import entries
from pellucid.api.entries import shorten
from pellucid.api.exchange import done_by, twin
from pellucid.api.overriding import own
from pellucid.core.public import FUNCTIONS, METHODS
from pellucid.nn import functional as F
from pellucid.ops._overloads import SHORT, WRAPPERS

x = torch.arange(6.0).reshape(2, 3)
SPACES = {"Tensor": METHODS, **FUNCTIONS}


def short(path):
    """A copy of a function that has its short entry."""
    space, _, name = path.rpartition(".")
    function = twin(done_by(own(SPACES[space][name])))
    while function.__code__ not in (*WRAPPERS, *SHORT):
        function = twin(function.__wrapped__)  # what chooses between kinds of tensors
    if function.__code__ in WRAPPERS:
        cells = dict(zip(function.__code__.co_freevars, function.__closure__, strict=True))
        calls = cells["calls"].cell_contents
        shorten(function, function, cells["function"].cell_contents, calls)
    return function


CALLS = {
    "by place": ("torch.softmax", (x, 1), {}),
    "by name": ("torch.softmax", (x,), {"dim": 1}),
    "in another order": ("torch.transpose", (), {"dim1": 1, "dim0": 0, "input": x}),
    "NumPy's names": ("torch.sum", (x,), {"axis": 1, "keepdims": True}),
    "a default": ("Tensor.sum", (x,), {}),
    "a list": ("Tensor.sum", (x, [0, 1]), {}),
    "sizes": ("Tensor.view", (x, 3, 2), {}),
    "a list of sizes": ("Tensor.view", (x, [3, -1]), {}),
    "a dtype": ("Tensor.view", (x, torch.int32), {}),
    "by name only": ("torch.add", (x, x), {"alpha": 2}),
    "numbers for tensors": ("torch.add", (x, 1), {}),
    "lists of tensors": ("torch.cat", ([x, x], 1), {}),
    "handed on": ("nn.functional.layer_norm", (x, (3,)), {}),
    "in place": ("Tensor.add_", (x.clone(), 1), {}),
}
REFUSED = {
    "too few": ("Tensor.eq", (x,), {}),
    "too many": ("Tensor.eq", (x, x, x), {}),
    "none": ("torch.relu", (), {}),
    "another class": ("torch.softmax", (x, 1.0), {}),
    "another class by name": ("torch.softmax", (x,), {"dim": "a"}),
    "an unknown name": ("torch.cat", ([x],), {"no_such": 1}),
    "an unknown name beside a default": ("Tensor.all", (x,), {"no_such": 1}),
    "twice": ("Tensor.all", (x, 1), {"dim": 1}),
    "None": ("Tensor.all", (x, None, None), {}),
    "no tensor": ("nn.functional.celu", ("text",), {}),
    "floats for sizes": ("Tensor.view", (x, 3.0, 2.0), {}),
    "a shape": ("torch.matmul", (x, x), {}),
}


@pytest.mark.parametrize("name", CALLS)
def test_results(name):
    path, args, kwargs = CALLS[name]
    function = short(path)
    assert function.__code__ in SHORT
    expected = SPACES[path.rpartition(".")[0]][path.rpartition(".")[2]](*args, **kwargs)
    for _ in range(2):  # classes are unknown, then known
        if not path.endswith("_"):
            assert torch.equal(function(*args, **kwargs), expected)
    if path.endswith("_"):
        assert torch.equal(function(x.clone(), *args[1:]), x + 1)


@pytest.mark.parametrize("name", REFUSED)
def test_refusals(name):
    path, args, kwargs = REFUSED[name]
    space, _, own = path.rpartition(".")
    with pytest.raises(Exception) as expected:
        SPACES[space][own](*args, **kwargs)
    with pytest.raises(type(expected.value)) as caught:
        short(path)(*args, **kwargs)
    assert str(caught.value) == str(expected.value)


def test_a_function_that_is_called_often_gets_one_and_stays_the_same_object():
    function = torch.logaddexp2
    cells = dict(zip(own(function).__code__.co_freevars, own(function).__closure__, strict=True))
    cells["calls"].cell_contents.left = 2
    for _ in range(3):
        torch.logaddexp2(x, x)
    assert torch.logaddexp2 is function
    assert own(function).__code__ in SHORT
    with pytest.raises(
        TypeError, match=r'logaddexp2\(\) missing 1 required positional arguments: "other"'
    ):
        torch.logaddexp2(x)
    assert function.__name__ == "logaddexp2"


def test_classes_that_take_over_are_asked():
    for _ in range(Calls.FEW + 1):
        torch.logaddexp(x, x)

    class Own(torch.Tensor):
        @classmethod
        def __torch_function__(cls, function, types, args=(), kwargs=None):
            return function.__name__

    assert torch.logaddexp(x, x.as_subclass(Own)) == "logaddexp"


def test_objects_are_asked_for_their_items_once():
    asked = []

    class Odd(list):
        def __getitem__(self, key):
            asked.append(key)
            return super().__getitem__(key)

    F.layer_norm(x, Odd([3]))
    before = len(asked)
    short("nn.functional.layer_norm")(x, Odd([3]))
    assert len(asked) == 2 * before


@pytest.mark.parametrize("space", SPACES)
def test_every_function_can_have_one(space):
    for name, function in list(SPACES[space].items())[::5]:
        made = twin(function) if getattr(function, "__code__", None) in WRAPPERS else None
        if made is not None:
            cells = dict(zip(made.__code__.co_freevars, made.__closure__, strict=True))
            if cells["calls"].cell_contents.path:
                shorten(made, made, cells["function"].cell_contents, Calls(f"{space}.{name}"))


def test_a_dtype_by_name_goes_the_short_way():
    for name, args in (("zeros", ((2, 3),)), ("ones", (2, 3)), ("full", ((2,), 1.5))):
        made = short(f"torch.{name}")
        assert "by name" not in str(made.__code__.co_consts)  # every word was put in place
        assert made(*args, dtype=torch.float64).dtype == torch.float64
        assert made(*args, dtype=None).dtype == torch.float32
        with pytest.raises(TypeError, match="must be torch.dtype, not int"):
            made(*args, dtype=3)
        with pytest.raises(TypeError, match="unexpected keyword argument 'foo'"):
            made(*args, dtype=torch.float64, foo=1)
        assert made(*args, dtype=torch.int64, device="cpu").dtype == torch.int64


BY_NAME = {
    "a text": ("nn.functional.gelu", (x,), {"approximate": "tanh"}),
    "a number": ("Tensor.add_", (x.clone(), x), {"alpha": 2.0}),
    "a device and a dtype": (
        "torch.arange",
        (3,),
        {"device": torch.device("cpu"), "dtype": torch.float32},
    ),
    "a device's name": ("torch.zeros", (2, 3), {"device": "cpu"}),
    "beside one that has a place": ("torch.sum", (x,), {"dtype": torch.float64, "dim": 1}),
}


@pytest.mark.parametrize("name", BY_NAME)
def test_what_has_no_place_goes_the_short_way(name, monkeypatch):
    path, args, kwargs = BY_NAME[name]
    space, _, own = path.rpartition(".")

    def again():
        return [a.clone() if isinstance(a, torch.Tensor) else a for a in args]

    expected, made = SPACES[space][own](*again(), **kwargs), short(path)
    assert torch.equal(made(*again(), **kwargs), expected)
    monkeypatch.setattr(entries, "by_place", None)  # what the long way begins with
    assert torch.equal(made(*again(), **kwargs), expected)


def test_forms_with_places_of_their_own_go_the_short_way(monkeypatch):
    made = short("torch.randint")
    with pytest.raises(TypeError, match="invalid combination of arguments"):
        made(0, 1.5, (2,))
    monkeypatch.setattr(entries, "by_place", None)  # what the long way begins with
    for args in ((3, (2, 4)), (0, 3, (2, 4)), (0, 3, [2, 4])):
        assert made(*args).shape == made(*args, dtype=torch.float32).shape == (2, 4)


def test_what_has_no_place_is_refused_in_the_same_words():
    for path, args, kwargs in (
        ("nn.functional.gelu", (x,), {"approximate": 1}),
        ("torch.arange", (3,), {"device": 1.5}),
        ("torch.arange", (3,), {"requires_grad": None}),
        ("torch.sum", (x,), {"dtype": torch.float64, "no_such": 1}),
    ):
        space, _, own = path.rpartition(".")
        with pytest.raises(TypeError) as expected:
            SPACES[space][own](*args, **kwargs)
        with pytest.raises(TypeError) as caught:
            short(path)(*args, **kwargs)
        assert str(caught.value) == str(expected.value)


def test_a_call_of_tensors_alone_is_known_after_another_call_came_first(monkeypatch):
    made = short("Tensor.normal_")
    made(x.clone(), 0.0, 1.0)
    made(x.clone())
    monkeypatch.setattr(entries, "by_place", None)
    made(x.clone())


def test_old_forms_are_told_by_the_path_they_were_called_by():
    made, texts = short("torch.add"), set()
    for _ in range(3):  # the third goes past the wrapper
        errors.WARNED.clear()
        with pytest.warns(UserWarning, match="This overload of add is deprecated") as caught:
            made(x, 2, x)
        texts.add(str(caught[0].message).splitlines()[1])
    assert texts == {"\tadd(Tensor input, Number alpha, Tensor other, *, Tensor out = None)"}


@pytest.mark.parametrize("made", [torch.logaddexp2, short("torch.exp")])
def test_a_call_that_failed_leaves_nothing_alive(made):
    class Raises(torch.autograd.graph.saved_tensors_hooks):
        def __init__(self):
            super().__init__(self.pack, lambda t: t)

        def pack(self, t):
            raise ValueError("stop")

    def fail():
        held = torch.ones(2, requires_grad=True)
        with Raises(), pytest.raises(ValueError, match="stop"):
            made(*[held * 1] * (2 if made is torch.logaddexp2 else 1))
        return weakref.ref(held)

    gc.disable()
    try:
        assert fail()() is None
    finally:
        gc.enable()
