"""Programs replace methods of tensors; the library's own code keeps its own, as PyTorch's C++ does."""

from unittest import mock

import pytest

import pellucid as torch
from pellucid.nn import functional as F

T = torch.Tensor


@pytest.fixture
def log():
    """The names of methods that were called, of those that are replaced meanwhile."""
    seen = []
    names = ("sum", "mean", "__mul__", "__add__", "exp", "T")
    before = {name: vars(T)[name] for name in names}

    def method(name):
        def replacement(self, *args, **kwargs):
            seen.append(name)
            return before[name](self, *args, **kwargs)

        return replacement

    for name in names[:-1]:
        setattr(T, name, method(name))
    T.T = property(lambda self: (seen.append("T"), before["T"].fget(self))[1])
    yield seen
    for name, value in before.items():
        setattr(T, name, value)
        assert vars(T)[name] is value


def test_programs_see_their_own(log):
    x = torch.randn(3, 4)
    x.sum(), (x * 2).mean(), x.T, x + 1, T.sum(x)
    assert log == ["sum", "__mul__", "mean", "T", "__add__", "sum"]


def test_functions_do_not(log):
    x, y = torch.rand(3, 4), torch.rand(3, 4)
    F.mse_loss(x, y), F.kl_div(x, y, reduction="batchmean"), F.cosine_similarity(x, y)
    F.triplet_margin_loss(x, y, x), torch.einsum("ij,kj->ik", x, y), F.glu(x)
    F.instance_norm(torch.rand(2, 3, 4), torch.zeros(3), torch.ones(3), use_input_stats=False)
    assert log == []


def test_what_a_program_put_is_what_it_finds(log):
    def mine(self):
        return 5

    x = torch.ones(2)
    with mock.patch.object(T, "sum", mine):
        assert T.sum is mine
        assert x.sum() == 5
        assert torch.nn.Parameter(x).sum() == 5
    assert x.sum().item() == 2
    assert log == ["sum"]


def test_a_subclass_reaches_them_by_super(log):
    class Own(T):
        def sum(self):
            return super().sum()

    torch.ones(2).as_subclass(Own).sum()
    assert log == ["sum"]


def test_what_is_shown_may_be_replaced():
    with mock.patch.object(T, "__repr__", lambda self: "mine"):
        assert repr(torch.ones(2)) == "mine"
        assert repr([torch.ones(2)]) == "[mine]"


def test_attributes_that_are_assigned_to():
    x, given = torch.ones(2), []
    own = vars(T)["data"]
    T.data = property(lambda self: "read", lambda self, value: given.append(value))
    try:
        x.data = 3
        assert (x.data, given) == ("read", [3])
    finally:
        T.data = own
    x.data = torch.zeros(2)
    assert x.tolist() == [0, 0]


def test_a_mode_leaves_them_in_place(log):
    class Nothing(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            return func(*args, **(kwargs or {}))

    x = torch.ones(2)
    with Nothing():
        x.sum()
    log.clear()
    x.sum()
    assert log == ["sum"]


def test_replaced_inside_a_mode():
    class Nothing(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            return func(*args, **(kwargs or {}))

    own = vars(T)["sum"]
    try:
        with Nothing():
            T.sum = lambda self: 5
            assert torch.ones(2).sum() == 5
        assert torch.ones(2).sum() == 5
        assert F.mse_loss(torch.ones(2), torch.zeros(2), reduction="sum") == 2
    finally:
        T.sum = own
    assert torch.ones(2).sum() == 2
