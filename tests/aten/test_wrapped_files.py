"""Tensors that are made of others are copied, pickled and saved with what they are made of."""

import copy
import io
import pickle

import pytest

import pellucid as torch
from pellucid.serialization import _rebuild


class Labelled(torch.Tensor):
    """A tensor with a name, as libraries wrap indices."""

    @staticmethod
    def __new__(cls, data, label):
        made = torch.Tensor._make_wrapper_subclass(
            cls,
            data.shape,
            data.stride(),
            dtype=data.dtype,
            device=data.device,
            requires_grad=data.requires_grad,
        )
        made.data_, made.label = data, label
        return made

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        bare = [a.data_ if isinstance(a, cls) else a for a in args]
        return func(*bare, **(kwargs or {}))


def saved(x, **options):
    file = io.BytesIO()
    torch.save(x, file)
    file.seek(0)
    return torch.load(file, **options)


def restricted(x):
    with torch.serialization.safe_globals([Labelled]):
        return saved(x)


WAYS = [
    copy.deepcopy,
    lambda x: pickle.loads(pickle.dumps(x)),
    lambda x: saved(x, weights_only=False),
    restricted,
]


@pytest.mark.parametrize("way", WAYS, ids=["deepcopy", "pickle", "save", "weights_only"])
@pytest.mark.parametrize("shape", [(2, 3), (0, 4), ()])
def test_a_wrapper_comes_back_with_what_it_holds(way, shape):
    data = torch.arange(float(torch.Size(shape).numel())).reshape(shape)
    x = Labelled(data, {"name": "ids", "parts": [data]})
    y = way({"x": x, "again": x})
    assert y["x"] is y["again"] and type(y["x"]) is Labelled
    y = y["x"]
    assert (
        y.shape == x.shape
        and y.dtype is x.dtype
        and y.stride() == x.stride()
        and y.device == x.device
    )
    assert (
        torch.equal(y.data_, data)
        and y.data_ is not data
        and y.label["parts"][0] is y.data_
        and y.label["name"] == "ids"
    )
    assert torch.equal(y + 1, data + 1)


def test_a_transposed_one_that_requires_grad():
    x = Labelled(torch.randn(3, 2, requires_grad=True).detach().t().requires_grad_(), "t")
    for way in WAYS:
        y = way(x)
        assert y.requires_grad and y.stride() == (1, 2) and y.data_.requires_grad


def test_a_file_needs_permission_for_the_class():
    with pytest.raises(pickle.UnpicklingError, match="Labelled"):
        saved(Labelled(torch.ones(1), ""))


GIVEN = {
    "kind": Labelled,
    "dtype": torch.float32,
    "size": (2,),
    "stride": (1,),
    "offset": 0,
    "layout": torch.strided,
    "device": torch.device("cpu"),
    "requires_grad": False,
}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("kind", torch.Tensor), ("kind", int), ("kind", "Labelled"), ("kind", None),
        ("dtype", "float32"), ("dtype", float), ("dtype", object()),
        ("size", (-1,)), ("size", (2.0,)), ("size", (1 << 70,)), ("size", [True]), ("size", "2"), ("size", (2, 2)),
        ("stride", (None,)), ("stride", (1, 1)), ("offset", 1.5), ("offset", "0"), ("layout", "strided"), ("layout", None),
        ("device", "cpu"), ("device", None), ("requires_grad", 1), ("requires_grad", None),
    ],
)  # fmt: skip
def test_what_a_file_says_is_checked(name, value):
    if name == "kind" and value is torch.Tensor:
        value = type("Plain", (torch.nn.Parameter,), {})  # whose operators nobody handles
        if hasattr(value, "__torch_dispatch__"):
            pytest.skip("every tensor has the method")
    with pytest.raises((TypeError, RuntimeError, pickle.UnpicklingError)):
        _rebuild.rebuild_wrapper(**{**GIVEN, name: value})


def test_what_is_checked_is_otherwise_right():
    assert type(_rebuild.rebuild_wrapper(**GIVEN)) is Labelled
