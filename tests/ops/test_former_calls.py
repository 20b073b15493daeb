"""Calls of old, with the numbers before what they multiply: PyTorch still takes them, with a
warning.
"""

import warnings

import pytest

import pellucid as torch
from pellucid import errors

x, y = torch.tensor([[1.0, 2.0], [3.0, 4.0]]), torch.tensor([[0.5, -1.0], [2.0, 0.25]])
v, b = torch.tensor([1.0, -2.0]), torch.tensor([[[1.0, 2.0], [0.0, -1.0]]])


@pytest.fixture(autouse=True)
def each_warns():
    errors.WARNED.clear()


def warned(call):
    with pytest.warns(
        UserWarning,
        match=r"(?s)^This overload of .* is deprecated:\n\t.*\nConsider using one of the following",
    ) as caught:
        errors.WARNED.clear()
        result = call()
    return result, str(caught[0].message)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (lambda: torch.add(x, 2, y), lambda: torch.add(x, y, alpha=2)),
        (lambda: torch.add(x, 2, 3), lambda: torch.add(x, 3, alpha=2)),
        (lambda: torch.add(x, 2, y, out=torch.empty(2, 2)), lambda: torch.add(x, y, alpha=2)),
        (lambda: x.add(-0.5, y), lambda: torch.add(x, y, alpha=-0.5)),
        (lambda: x.clone().add_(2, y), lambda: torch.add(x, y, alpha=2)),
        (lambda: x.clone().sub_(2, y), lambda: torch.sub(x, y, alpha=2)),
        (lambda: torch.sub(x, 2, y), lambda: torch.sub(x, y, alpha=2)),
        (lambda: torch.addcmul(x, 2, y, y), lambda: torch.addcmul(x, y, y, value=2)),
        (lambda: x.clone().addcdiv_(2, x, y), lambda: torch.addcdiv(x, x, y, value=2)),
        (lambda: torch.addmm(2, x, 3, x, y), lambda: torch.addmm(x, x, y, beta=2, alpha=3)),
        (lambda: torch.addmm(2, x, x, y), lambda: torch.addmm(x, x, y, beta=2)),
        (lambda: x.addmm(2, 3, x, y), lambda: torch.addmm(x, x, y, beta=2, alpha=3)),
        (lambda: x.clone().addmm_(2, x, y), lambda: torch.addmm(x, x, y, beta=2)),
        (lambda: v.addmv(2, 3, x, v), lambda: torch.addmv(v, x, v, beta=2, alpha=3)),
        (lambda: torch.addr(2, x, 3, v, v), lambda: torch.addr(x, v, v, beta=2, alpha=3)),
        (lambda: x.addbmm(2, b, b), lambda: torch.addbmm(x, b, b, beta=2)),
        (lambda: torch.baddbmm(2, b, 3, b, b), lambda: torch.baddbmm(b, b, b, beta=2, alpha=3)),
    ],
)
def test_they_compute_and_warn(old, new):
    result, _ = warned(old)
    assert torch.equal(result, new())


def test_gradients_reach_both_operands():
    a, c = x.clone().requires_grad_(), y.clone().requires_grad_()
    result, _ = warned(lambda: a.add(3, c))
    result.sum().backward()
    assert a.grad.tolist() == [[1, 1], [1, 1]] and c.grad.tolist() == [[3, 3], [3, 3]]


def test_the_texts_are_pytorchs():
    assert warned(lambda: torch.add(x, 2, y))[1] == (
        "This overload of add is deprecated:\n\tadd(Tensor input, Number alpha, Tensor other, *, Tensor out = None)\n"
        "Consider using one of the following signatures instead:\n"
        "\tadd(Tensor input, Tensor other, *, Number alpha = 1, Tensor out = None)"
    )
    assert warned(lambda: x.clone().add_(2, y))[1] == (
        "This overload of add_ is deprecated:\n\tadd_(Number alpha, Tensor other)\n"
        "Consider using one of the following signatures instead:\n\tadd_(Tensor other, *, Number alpha = 1)"
    )
    assert warned(lambda: x.addmm(2, 3, x, y))[1].startswith(
        "This overload of addmm is deprecated:\n\taddmm(Number beta, Number alpha, Tensor mat1, Tensor mat2)\n"
    )


def test_the_warning_comes_once():
    warned(lambda: torch.add(x, 2, y))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        torch.add(x, 2, y)
        torch.addcmul(x, 2, y, y)  # of all old forms the first one warns


@pytest.mark.parametrize(
    "call",
    [
        lambda: torch.add(x, y, x), lambda: torch.add(x, y, 2), lambda: torch.add(x, 2, y, alpha=3), lambda: torch.mul(x, 2, y),
        lambda: torch.addcmul(x, y, 2, y), lambda: x.addmm(x, 2, x, y), lambda: torch.addmm(x, x, y, 2), lambda: torch.add(x, 2, 3, 4),
    ],
)  # fmt: skip
def test_other_orders_are_refused(call):
    with pytest.raises(TypeError):
        call()
