"""Tensor types that handle operators, and modes: what was overwritten since it was kept for backward
is refused, and gradients come through all results of an operator that has several.
"""

import pytest

import pellucid as torch
from pellucid.utils._python_dispatch import TorchDispatchMode
from pellucid.utils._pytree import tree_map

F = torch.nn.functional
GONE = "modified by an inplace operation"


class Wrapped(torch.Tensor):
    @staticmethod
    def __new__(cls, inner):
        return torch.Tensor._make_wrapper_subclass(
            cls,
            inner.shape,
            strides=inner.stride(),
            dtype=inner.dtype,
            requires_grad=inner.requires_grad,
        )

    def __init__(self, inner):
        self.inner = inner

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        plain = tree_map(lambda x: x.inner if isinstance(x, cls) else x, (args, kwargs or {}))
        out = func(*plain[0], **plain[1])
        if func._schema.is_mutable:
            return args[0]
        return tree_map(lambda x: cls(x) if isinstance(x, torch.Tensor) else x, out)


class Through(TorchDispatchMode):
    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        return func(*args, **(kwargs or {}))


READS = [
    torch.sin,
    torch.log,
    torch.exp,
    torch.square,
    F.gelu,
    F.silu,
    F.softplus,
    F.hardtanh,
    lambda x: x * x,
    lambda x: x / 2.0 + 1.0 / x,
    lambda x: x @ x,
    lambda x: x.softmax(1),
    lambda x: x.var(1),
    lambda x: x.norm(),
    lambda x: x.amax(1),
    lambda x: F.layer_norm(x, [3]),
    lambda x: F.group_norm(x, 1),
    lambda x: F.cosine_similarity(x, x),
    lambda x: F.mse_loss(x, x.detach() * 2),
    lambda x: F.conv1d(x[None], x[:, :, None]),
]


def _refused(x, function, of_result):
    y = x * 1
    z = function(y)
    (z if of_result else y).mul_(2)
    try:
        z.sum().backward()
    except RuntimeError as error:
        assert GONE in str(error)
        return True
    return False


@pytest.mark.parametrize("of_result", [False, True])
def test_an_overwritten_argument_or_result_is_refused(of_result):
    """Where plain tensors without a mode refuse it."""
    refused = 0
    for function in READS:
        values = torch.rand(3, 3, dtype=torch.float64) + 0.1
        wanted = _refused(values.clone().requires_grad_(), function, of_result)
        refused += wanted
        assert _refused(Wrapped(values.clone()).requires_grad_(), function, of_result) == wanted
        with Through():
            assert _refused(values.clone().requires_grad_(), function, of_result) == wanted
    assert refused > 1


def test_what_is_not_read_may_be_overwritten():
    for function in (torch.neg, lambda x: x * 3.0, lambda x: x.sum(0), lambda x: x.T, torch.exp):
        x = Wrapped(torch.rand(3, 3)).requires_grad_()
        y = x * 1
        z = function(y)
        y.mul_(2)
        z.sum().backward()
        assert x.grad is not None


def test_the_refusal_says_what_was_written_where():
    x = Wrapped(torch.rand(2, 3)).requires_grad_()
    y = x * 1
    z = y.sin()
    y.mul_(2)
    y.add_(1)
    with pytest.raises(
        RuntimeError,
        match=r"\[torch.FloatTensor \[2, 3\]\], which is output 0 of Add, is at version 2; expected version 0",
    ) as caught:
        z.sum().backward()
    assert any("overwrote it at" in note and "y.add_(1)" in note for note in caught.value.__notes__)


@pytest.mark.parametrize("k", [0, 1, 2])
def test_gradients_come_through_all_results_of_group_norm(k):
    def loss(x, wide):
        made = torch.native_group_norm(x, None, None, 2, 4, 3, 2, 1e-5)
        return made[k].sin().sum() + (made[0].cos().sum() if wide else 0)

    values = torch.randn(2, 4, 3, dtype=torch.float64)
    for wide in (False, True):
        plain, wrapped = values.clone().requires_grad_(), Wrapped(values).requires_grad_()
        loss(plain, wide).backward()
        loss(wrapped, wide).backward()
        torch.testing.assert_close(wrapped.grad.inner, plain.grad)


@pytest.mark.parametrize(
    "call",
    [
        lambda x: torch.native_layer_norm(x, [3], None, None, 1e-5)[1],
        lambda x: torch.native_batch_norm(x, None, None, None, None, True, 0.1, 1e-5)[2],
        lambda x: torch.ops.aten.log_sigmoid_forward(x)[1],
        lambda x: torch.ops.aten.nll_loss_forward(x, torch.tensor([0, 1]), None, 1, -100)[1],
    ],
)
def test_results_without_a_gradient_are_constants(call):
    assert not call(Wrapped(torch.randn(2, 3)).requires_grad_()).requires_grad


def test_group_norm_under_a_mode_may_be_written_to():
    x = torch.randn(2, 4).requires_grad_()
    with Through():
        y = F.group_norm(x * 1, 2)
        y.mul_(2)
        y.square().sum().backward()
    assert x.grad is not None
