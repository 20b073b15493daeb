"""Recurrent layers as one operation: against their cells, with writes into the results, and a
second backward.
"""

import numpy as np
import pytest

import pellucid as torch
from pellucid.ops.nn import rnn as nn_rnn


def case(mode, dtype=torch.float64):
    torch.manual_seed(0)
    gates = {"LSTM": 4, "GRU": 3}.get(mode, 1) * 4
    shapes = [
        (5, 2, 3),
        (2, 4),
        *([(2, 4)] if mode == "LSTM" else []),
        (gates, 3),
        (gates, 4),
        (gates,),
        (gates,),
    ]
    return [torch.randn(*shape, dtype=dtype, requires_grad=True) for shape in shapes]


def run(mode, arguments, reverse=False, sizes=None):
    x, *rest = arguments
    x = x if sizes is None else x.reshape(10, 3)[: sum(sizes)]
    out, last = nn_rnn.layer(mode, x, rest[:-4], rest[-4:], reverse, sizes)
    return out, *last


@pytest.mark.long
@pytest.mark.parametrize("sizes", [None, [2, 2, 1, 1], [2]], ids=["whole", "packed", "one step"])
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("mode", ["LSTM", "GRU", "RNN_TANH", "RNN_RELU"])
def test_gradients(mode, reverse, sizes):
    arguments = case(mode)
    assert torch.autograd.gradcheck(lambda *a: run(mode, a, reverse, sizes), arguments)
    assert torch.autograd.gradgradcheck(lambda *a: run(mode, a, reverse, sizes), arguments)


@pytest.mark.parametrize(
    "options", [{}, {"bidirectional": True, "num_layers": 2}, {"bias": False}], ids=str
)
@pytest.mark.parametrize("kind", ["LSTM", "GRU", "RNN"])
def test_packed_sequences_equal_each_alone(kind, options):
    """Every sequence on its own, in float64, is the reference."""
    torch.manual_seed(0)
    lengths = [3, 6, 1, 6, 2]
    module = getattr(torch.nn, kind)(4, 5, **options).double()
    inputs = [torch.randn(n, 4, dtype=torch.float64, requires_grad=True) for n in lengths]
    rows = options.get("num_layers", 1) * (1 + options.get("bidirectional", False))
    states = [
        torch.randn(rows, len(lengths), 5, dtype=torch.float64, requires_grad=True)
        for _ in range(1 + (kind == "LSTM"))
    ]

    def call(x, given):
        out, last = module(x, tuple(given) if kind == "LSTM" else given[0])
        return out, last if kind == "LSTM" else (last,)

    def gradients(outs, lasts):
        loss = sum((out * out).sum() * (k + 1) for k, out in enumerate(outs))
        loss = loss + sum((last * last).sum() * (k + 3) for k, last in enumerate(lasts))
        return torch.autograd.grad(loss, [*inputs, *states, *module.parameters()])

    out, packed_last = call(torch.nn.utils.rnn.pack_sequence(inputs, enforce_sorted=False), states)
    made = torch.nn.utils.rnn.unpack_sequence(out)
    assert out.data.grad_fn.name() == "CatBackward0"
    alone = [call(x.unsqueeze(1), [s[:, k : k + 1] for s in states]) for k, x in enumerate(inputs)]
    wanted = [one.squeeze(1) for one, _ in alone]
    wanted_last = [torch.cat(parts, 1) for parts in zip(*(last for _, last in alone), strict=True)]
    for a, b in zip([*made, *packed_last], [*wanted, *wanted_last], strict=True):
        np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), rtol=1e-12, atol=1e-12)
    for a, b in zip(gradients(made, packed_last), gradients(wanted, wanted_last), strict=True):
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("bidirectional", [False, True])
@pytest.mark.parametrize("kind", ["LSTM", "GRU", "RNN"])
def test_layers_have_the_nodes_that_pytorch_prints(kind, bidirectional, dtype):
    one = "Mkldnn" * (kind == "LSTM" and dtype is torch.float32)
    layer = "MkldnnRnnLayerBackward0" if one else "StackBackward0"
    x = torch.ones(2, 2, 3, dtype=dtype)
    for first in (False, True):
        net = getattr(torch.nn, kind)(
            3, 4, batch_first=first, bidirectional=bidirectional, dtype=dtype
        )
        out, last = net(x)
        node = out.grad_fn
        if first:
            assert node.name() == f"TransposeBackward{int(kind != 'LSTM')}"
            ((node, _),) = node.next_functions
        assert node.name() == ("CatBackward0" if bidirectional else layer)
        for state in last if kind == "LSTM" else (last,):
            assert state.grad_fn.name() == "StackBackward0"
    if one and not bidirectional:
        edges = [None if f is None else f.variable.shape for f, _ in node.next_functions]
        assert edges == [None, (16, 3), (16, 4), (16,), (16,), None, None]


def test_cells_have_the_nodes_that_pytorch_prints():
    x = torch.ones(2, 3)
    assert torch.nn.GRUCell(3, 4)(x).grad_fn.name() == "AddBackward0"
    assert torch.nn.LSTMCell(3, 4)(x)[0].grad_fn.name() == "MulBackward0"
    assert torch.nn.RNNCell(3, 4)(x).grad_fn.name() == "TanhBackward0"
    assert torch.nn.RNNCell(3, 4, nonlinearity="relu")(x).grad_fn.name() == "ReluBackward0"


def test_packed_layers_run_cell_by_cell_where_somebody_watches():
    torch.manual_seed(0)
    gru = torch.nn.GRU(3, 4, bidirectional=True)
    packed = torch.nn.utils.rnn.pack_sequence([torch.randn(n, 3) for n in (5, 3, 3, 1)])
    wanted = [t.detach().numpy() for t in (gru(packed)[0].data, gru(packed)[1])]
    names = []
    with torch.profiler.profile() as prof:
        got = [t.detach().numpy() for t in (gru(packed)[0].data, gru(packed)[1])]
    names = {event.key for event in prof.key_averages()}
    assert not any("packed" in name for name in names) and names
    for a, b in zip(got, wanted, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("mode", ["LSTM", "GRU", "RNN_TANH", "RNN_RELU"])
def test_float32_kernels_agree_with_numpy(mode):
    arguments = case(mode)
    single = [t.detach().float().requires_grad_() for t in arguments]
    wide, narrow = run(mode, arguments), run(mode, single)
    for a, b in zip(wide, narrow, strict=True):
        np.testing.assert_allclose(b.detach().numpy(), a.detach().numpy(), rtol=1e-5, atol=1e-6)
    gradients = [
        torch.autograd.grad(sum((t * t).sum() for t in made), leaves)
        for made, leaves in ((wide, arguments), (narrow, single))
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


CELLS = {
    "LSTM": torch.nn.LSTMCell,
    "GRU": torch.nn.GRUCell,
    "RNN_TANH": torch.nn.RNNCell,
    "RNN_RELU": torch.nn.RNNCell,
}


def step(mode, arguments):
    x, *rest = arguments
    made = nn_rnn.step(mode, x, rest[:-4], rest[-4:])
    return made if len(made) > 1 else made[0]


@pytest.mark.parametrize("biased", [True, False])
@pytest.mark.parametrize("mode", CELLS)
def test_gradients_of_a_step(mode, biased):
    x, *rest = case(mode)
    arguments = [x.detach()[0].requires_grad_(), *rest]
    weights = slice(None) if biased else slice(-2)
    call = lambda *a: step(mode, [*a, *([] if biased else [None, None])])
    assert torch.autograd.gradcheck(call, arguments[weights])
    assert torch.autograd.gradgradcheck(call, arguments[weights])


@pytest.mark.parametrize("hidden, batch", [(1, 1), (16, 3), (37, 70)])
@pytest.mark.parametrize("mode", CELLS)
def test_a_step_equals_the_composed_operations(mode, hidden, batch):
    """float32 kernels against float64 operations; the watched cell is composed."""
    torch.manual_seed(0)
    more = {"nonlinearity": mode[4:].lower()} if mode.startswith("RNN") else {}
    cell = CELLS[mode](5, hidden, **more)
    wide = CELLS[mode](5, hidden, **more).double()
    wide.load_state_dict(cell.state_dict())
    inputs = [torch.randn(batch, n) for n in (5, hidden, hidden)[: 3 if mode == "LSTM" else 2]]
    results = []
    for module, dtype, watched in (
        (cell, torch.float32, False),
        (wide, torch.float64, False),
        (wide, torch.float64, True),
    ):
        given = [t.to(dtype).requires_grad_() for t in inputs]
        names = set()
        with torch.profiler.profile() if watched else torch.enable_grad() as prof:
            state = tuple(given[1:]) if mode == "LSTM" else given[1]
            for _ in range(3):
                state = module(given[0], state)
        if watched:
            names = {event.key for event in prof.key_averages()}
            assert names and not any("step" in name for name in names)
        state = state if mode == "LSTM" else (state,)
        loss = sum((s * s).sum() * (k + 1) for k, s in enumerate(state))
        results.append([*state, *torch.autograd.grad(loss, [*given, *module.parameters()])])
    for narrow, own, composed in zip(*results, strict=True):
        np.testing.assert_allclose(
            own.detach().numpy(), composed.detach().numpy(), rtol=1e-11, atol=1e-12
        )
        scale = float(composed.detach().abs().max())
        np.testing.assert_allclose(
            narrow.detach().numpy(), composed.detach().numpy(), rtol=2e-5, atol=2e-6 * max(1, scale)
        )


@pytest.mark.parametrize("mode", CELLS)
def test_states_may_be_overwritten_after_a_step(mode):
    torch.manual_seed(0)
    cell = CELLS[mode](3, 4)
    state = cell(torch.randn(2, 3))
    state = state if mode == "LSTM" else (state,)
    total = sum((s * 2).sum() for s in state)
    first = torch.autograd.grad(total, list(cell.parameters()), retain_graph=True)
    with torch.no_grad():
        for s in state:
            s.zero_()
    for a, b in zip(first, torch.autograd.grad(total, list(cell.parameters())), strict=True):
        assert torch.equal(a, b)
