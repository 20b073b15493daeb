"""Operators on lists of tensors, and operators that take functions."""

import io
import warnings

import pytest

import pellucid as torch
from pellucid._higher_order_ops.scan import scan
from pellucid._ops import HigherOrderOperator


def test_operators_on_lists_have_overloads_and_compute():
    a = [torch.ones(2), torch.full((1,), 2.0)]
    ops = torch.ops.aten
    assert {"Scalar", "List", "ScalarList", "Tensor"} <= set(ops._foreach_add_.overloads())
    assert [t.tolist() for t in ops._foreach_add.Scalar(a, 1.0)] == [[2.0, 2.0], [3.0]]
    ops._foreach_add_.List(a, a, alpha=2.0)
    ops._foreach_mul_.ScalarList(a, [2.0, 3.0])
    assert [t.tolist() for t in a] == [[6.0, 6.0], [18.0]]
    assert [t.item() for t in ops._foreach_norm.Scalar([torch.tensor([3.0, 4.0])])] == [5.0]


def test_scan_carries_a_value_along_and_stacks_results():
    xs = torch.arange(6.0).reshape(3, 2).requires_grad_()
    last, every = scan(lambda carry, x: (carry + x, {"before": carry * 1}), torch.zeros(2), xs)
    assert last.tolist() == [6.0, 9.0] and every["before"].tolist() == [
        [0.0, 0.0],
        [0.0, 1.0],
        [2.0, 4.0],
    ]
    last.sum().backward()
    assert xs.grad.tolist() == [[1.0, 1.0]] * 3
    last, every = scan(
        lambda carry, x: (carry + x, carry * 1), torch.zeros(3), xs.detach(), dim=1, reverse=True
    )
    assert last.tolist() == [1.0, 5.0, 9.0] and every.tolist() == [
        [1.0, 0.0],
        [3.0, 0.0],
        [5.0, 0.0],
    ]
    with pytest.raises(RuntimeError, match="All xs leaves must be a Tensor"):
        scan(lambda c, x: (c, x), torch.zeros(1), [3])


def test_an_operator_of_functions_runs_what_was_registered():
    class Twice(HigherOrderOperator):
        def __init__(self):
            super().__init__("twice")

        def __call__(self, fn, x):
            return super().__call__(fn, x)

    twice = Twice()
    with pytest.raises(NotImplementedError, match="HigherOrderOperator twice"):
        twice(torch.sin, torch.ones(1))
    twice.py_impl(torch._C.DispatchKey.CompositeExplicitAutograd)(lambda fn, x: fn(fn(x)))
    assert twice(lambda x: x + 1, torch.ones(1)).item() == 3.0
    assert twice.name() == str(twice) == "twice"
    with pytest.raises(TypeError, match="abstract"):
        HigherOrderOperator("none")


def test_a_type_that_follows_where_values_come_from_sees_plain_sizes():
    class Traced(torch.Tensor):
        """Wraps what its functions give, containers too, as pyro's provenance does."""

        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            with torch._C.DisableTorchFunctionSubclass():
                made = func(*args, **(kwargs or {}))
            return torch.utils._pytree.tree_map(
                lambda x: x.as_subclass(cls) if isinstance(x, torch.Tensor) else x, made
            )

    assert torch.ones(2, 3).as_subclass(Traced).shape == (2, 3)
    x = torch.ones(1)
    assert x._cdata == x._cdata != torch.ones(1)._cdata


def test_a_storage_is_read_from_the_bytes_of_its_file():
    file = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # TypedStorage is deprecated
        torch.save(torch.ones(3).storage(), file)
        assert torch.storage._load_from_bytes(file.getvalue()).tolist() == [1.0, 1.0, 1.0]
