"""Recurrent layers as one operation: against their cells, with writes into the results, and a second backward."""

import numpy as np
import pytest

import pellucid as torch
from pellucid.ops import nn_rnn


def case(mode, dtype=torch.float64):
    torch.manual_seed(0)
    gates = {"LSTM": 4, "GRU": 3}.get(mode, 1) * 4
    shapes = [(5, 2, 3), (2, 4), *([(2, 4)] if mode == "LSTM" else []), (gates, 3), (gates, 4), (gates,), (gates,)]
    return [torch.randn(*shape, dtype=dtype, requires_grad=True) for shape in shapes]


def run(mode, arguments, reverse=False):
    x, *rest = arguments
    out, last = nn_rnn.layer(mode, x, rest[:-4], rest[-4:], reverse)
    return out, *last


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("mode", ["LSTM", "GRU", "RNN_TANH", "RNN_RELU"])
def test_gradients(mode, reverse):
    arguments = case(mode)
    assert torch.autograd.gradcheck(lambda *a: run(mode, a, reverse), arguments)
    assert torch.autograd.gradgradcheck(lambda *a: run(mode, a, reverse), arguments)


@pytest.mark.parametrize("mode", ["LSTM", "GRU", "RNN_TANH", "RNN_RELU"])
def test_float32_kernels_agree_with_numpy(mode):
    arguments = case(mode)
    single = [t.detach().float().requires_grad_() for t in arguments]
    wide, narrow = run(mode, arguments), run(mode, single)
    for a, b in zip(wide, narrow, strict=True):
        np.testing.assert_allclose(b.detach().numpy(), a.detach().numpy(), rtol=1e-5, atol=1e-6)
    gradients = [
        torch.autograd.grad(sum((t * t).sum() for t in made), leaves) for made, leaves in ((wide, arguments), (narrow, single))
    ]
    for a, b in zip(*gradients, strict=True):
        np.testing.assert_allclose(b.numpy(), a.numpy(), rtol=1e-4, atol=1e-5)


def test_results_may_be_overwritten_and_backward_may_run_twice():
    lstm = torch.nn.LSTM(3, 4)
    x = torch.randn(5, 2, 3)
    out, (h, c) = lstm(x)
    total = out.sum() + h.sum() + c.sum()
    first = torch.autograd.grad(total, list(lstm.parameters()), retain_graph=True)
    with torch.no_grad():
        for t in (out, h, c):
            t.zero_()
    second = torch.autograd.grad(total, list(lstm.parameters()))
    for a, b in zip(first, second, strict=True):
        assert torch.equal(a, b)


def test_a_state_computed_from_the_input_is_differentiated_once():
    def total(x):
        gru_x = x.reshape(5, 2, 3)
        return sum(t.sum() for t in run("GRU", [gru_x, gru_x[0, :, :1] * ones, *weights]))

    ones = torch.ones(1, 4, dtype=torch.float64)
    x, _, *weights = case("GRU")
    assert torch.autograd.gradgradcheck(total, (x.detach().reshape(-1).requires_grad_(),))
