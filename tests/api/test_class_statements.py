"""Classes are noticed when they are made, and no frame of the library is between a class statement
and its body.
"""

import abc
import enum
import sys
from typing import Generic, NamedTuple, Protocol, TypeVar

import pytest

import pellucid as torch

T = TypeVar("T")


def caller():
    """The function that runs the class statement whose body calls this."""
    return sys._getframe(2).f_code.co_name


class Base:
    def __init_subclass__(cls, word="none", **kwargs):
        super().__init_subclass__(**kwargs)
        cls.word = word


class Ordered(abc.ABCMeta):
    @classmethod
    def __prepare__(cls, name, bases, **kwargs):
        return {"prepared": name}


class WithMeta(metaclass=Ordered):
    pass


def test_the_body_of_a_class_is_called_by_the_statement():
    class Plain:
        where = caller()

    class Derived(Base, WithMeta):
        where = caller()

    class Box(Generic[T]):
        where = caller()

        def item(self):
            return __class__  # the cell of the class is filled

    class Member(enum.Enum):
        where = caller()

    class Pair(NamedTuple):
        a: int
        where: str = caller()

    class Sized(Protocol):
        where = caller()

    name = sys._getframe().f_code.co_name
    for made in (Plain, Derived, Box, Sized):
        assert made.where == name
    assert Member.where.value == Pair(1).where == name
    assert Derived.prepared == "Derived" and type(Derived) is Ordered and Derived.word == "none"
    assert Box[int]().item() is Box and Box.__orig_bases__ == (Generic[T],)


def test_every_way_to_write_a_class_is_noticed():
    options = {"metaclass": abc.ABCMeta, "word": "far"}

    class A:
        act = torch.relu

    class B(Base, word="near"):
        act = torch.relu

    class C(metaclass=abc.ABCMeta):  # noqa: B024
        act = torch.relu

    class D(Base, **options):
        act = torch.relu

    class E(*[Base, WithMeta]):
        act = torch.relu

    for made in (A, B, C, D, E):
        assert made().act(torch.tensor(-1.0)).item() == 0
    assert (B.word, D.word, E.word) == ("near", "far", "none")


def test_errors_of_class_statements():
    class Other(type):
        pass

    class First(metaclass=Other):
        pass

    with pytest.raises(TypeError, match="metaclass conflict"):

        class _Both(First, WithMeta):
            pass

    with pytest.raises(TypeError, match="takes no keyword arguments"):

        class _Third(Base, nosuch=1):
            pass
