"""What PyTorch refuses inside of `torch.func`'s transforms, which keep track of gradients
themselves.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

import pellucid as torch

TRANSFORMS: list[Callable[[Callable[[torch.Tensor], torch.Tensor]], object]] = [
    lambda call: torch.func.vmap(call)(torch.ones(2)),
    lambda call: torch.func.grad(lambda t: call(t).sum())(torch.ones(2)),
    lambda call: torch.func.vjp(call, torch.ones(2)),
]


class Doubled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, g):
        return g * 2


@pytest.mark.parametrize("transform", TRANSFORMS, ids=["vmap", "grad", "vjp"])
def test_gradients_of_other_kinds(transform: Callable[..., object]) -> None:
    x = torch.ones(2, requires_grad=True)
    y = x * 1
    for call, words in (
        (lambda t: (x.sum().backward(), t)[1], r"backward\(\) called inside a functorch transform"),
        (
            lambda t: (torch.ones(2).requires_grad_(), t)[1],
            r"You are attempting to call Tensor.requires_grad_\(\) \(or perhaps using",
        ),
        (
            lambda t: (y.retain_grad(), t)[1],
            r"You are attempting to call Tensor.retain_grad\(\) inside of a function being transformed",
        ),
        (Doubled.apply, "it must override the setup_context staticmethod"),
    ):
        with pytest.raises(RuntimeError, match=words):
            transform(call)
    # and afterwards all of it works again
    assert torch.autograd.grad(y.sum(), x)[0].tolist() == [1.0, 1.0]
    Doubled.apply(x).sum().backward()
    assert x.grad.tolist() == [2.0, 2.0]


def test_cotangents_of_another_structure():
    _, pull = torch.func.vjp(lambda x: {"a": x, "b": (x, x)}, torch.ones(2))
    with pytest.raises(
        RuntimeError, match=r"cotangents: \[\*\], primal output: \{'a': \*, 'b': \(\*, \*\)\}$"
    ):
        pull([torch.ones(2)])
