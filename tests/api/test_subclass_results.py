"""Results of operations on subclasses, and handlers that are plain methods."""

import pytest

import pellucid as torch
from pellucid import errors


class Plain:
    def __torch_function__(self, func, types, args=(), kwargs=None):
        return self, func is torch.sum


def test_a_handler_may_be_a_plain_method():
    plain = Plain()
    errors.WARNED.clear()
    with pytest.warns(UserWarning, match="Defining your `__torch_function__` as a plain method"):
        assert torch.sum(plain) == (plain, True)
    with pytest.warns(DeprecationWarning, match="Defining your `__torch_function__ as a plain"):
        torch.nn.functional.relu(plain)
    errors.WARNED.clear()
    with pytest.warns(UserWarning, match="This overload of addcmul is deprecated"):  # as before
        x = torch.ones(2)
        assert torch.addcmul(x, 2, x, x).tolist() == [3.0, 3.0]


def test_the_most_derived_class_is_kept():
    first = type("First", (torch.Tensor,), {})
    second = type("Second", (first,), {})
    a, b = first([0.0]), second([1.0])
    assert type(a + b) is type(b + a) is type(torch.stack([a, b])) is second
    assert type(a.new_ones(2)) is first and type(b.new_zeros(1)) is second
