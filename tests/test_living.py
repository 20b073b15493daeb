"""What the collector knows is looked through without running code of other libraries' objects."""

import types
import weakref

import pytest

import pellucid as torch
from pellucid import _living, nn


class Hostile:
    """Looks at nothing without complaint."""

    def __getattr__(self, name):
        raise RuntimeError(f"asked for {name}")

    @property
    def __class__(self):
        raise RuntimeError("asked for its class")


class Slotted:
    __slots__ = ("_modules", "_parameters")


def namespace_with_functions():
    made = types.ModuleType("made")
    made._modules = made._parameters = lambda: None
    return made


def dead_proxy():
    class Gone:
        pass

    gone = Gone()
    return weakref.proxy(gone)


@pytest.fixture(params=[Hostile, Slotted, namespace_with_functions, dead_proxy])
def neighbour(request):
    """An object that is alive while the test runs."""
    return [request.param()]


def test_only_modules_are_taken_for_modules(neighbour):
    net = nn.Sequential(nn.Linear(2, 2))
    found = [m for m, _ in _living.modules()]
    assert any(m is net for m in found) and not any(m is neighbour[0] for m in found)


def test_questions_and_resizing_leave_other_objects_alone(neighbour):
    w = torch.ones(2, requires_grad=True)
    with torch.debug.watch():
        (w * 0).sum().backward()
    assert torch.explain(w).cause == "times-zero"
    assert torch.explain(torch.ones(2)).cause
    x = torch.ones(3)
    assert x.resize_(5000).shape == (5000,)


def test_a_living_object_is_found_by_its_class():
    x = nn.Parameter(torch.ones(2))
    assert any(t is x for t in _living.living(torch.Tensor))
    assert all(issubclass(type(t), torch.Tensor) for t in _living.living(torch.Tensor))
