"""Recurrent layers of two-byte floats and under autocast: whole layers, computed in float32."""

import pytest

import pellucid as torch
from pellucid.core.tape import walk

MODES = ["LSTM", "GRU", "RNN"]


def _made(mode):
    torch.manual_seed(3)
    model = getattr(torch.nn, mode)(6, 9, 2, bidirectional=True)
    return model, torch.randn(20, 4, 6)


def _nodes(tensor):
    """As recorded: whoever looks at `grad_fn` sees PyTorch's nodes for every step."""
    return len(list(walk([tensor._node])))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("autocast", [True, False])
def test_whole_layers_in_float32_and_rounded_at_the_end(mode, autocast):
    model, x = _made(mode)
    if autocast:
        wanted, _ = model(x)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            made, last = model(x)
        kind = torch.float32 if mode == "GRU" else torch.bfloat16
    else:
        model, x, kind = model.to(torch.bfloat16), x.to(torch.bfloat16), torch.bfloat16
        made, last = model(x)
        wanted, _ = model.float()(x.float())
        model.to(torch.bfloat16)
    states = last if mode == "LSTM" else (last,)
    assert {t.dtype for t in (made, *states)} == {kind}
    assert _nodes(made) < 120  # not several for each of 80 steps
    torch.testing.assert_close(made.float(), wanted, rtol=0.01, atol=0.005)


@pytest.mark.parametrize("mode", MODES)
def test_gradients_under_autocast_are_those_of_float32(mode):
    model, x = _made(mode)
    (wanted,) = torch.autograd.grad(model(x)[0].pow(2).sum(), [model.weight_hh_l0])
    with torch.autocast("cpu", dtype=torch.bfloat16):
        out, _ = model(x)
    (made,) = torch.autograd.grad(out.float().pow(2).sum(), [model.weight_hh_l0])
    assert made.dtype == torch.float32
    torch.testing.assert_close(made, wanted, rtol=0.02, atol=0.02)


def test_packed_sequences_under_autocast():
    model, x = _made("GRU")
    packed = torch.nn.utils.rnn.pack_padded_sequence(x, [20, 11, 4, 1])
    wanted = model(packed)[0].data
    with torch.autocast("cpu", dtype=torch.bfloat16):
        made = model(packed)[0].data
    torch.testing.assert_close(made, wanted)


def test_doubles_under_autocast_stay_doubles():
    model, x = _made("GRU")
    model, x = model.double(), x.double()
    wanted = model(x)[0]
    with torch.autocast("cpu", dtype=torch.bfloat16):
        made = model(x)[0]
    assert made.dtype == torch.float64
    torch.testing.assert_close(made, wanted)


def test_second_derivatives_under_autocast():
    model, x = _made("GRU")
    x.requires_grad_()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        out, _ = model(x)
    (g,) = torch.autograd.grad(out.float().pow(2).sum(), [x], create_graph=True)
    (made,) = torch.autograd.grad(g.pow(2).sum(), [model.weight_hh_l0])
    assert torch.isfinite(made).all() and made.abs().max() > 0
