"""What becomes one loop, what is native, and that both give what eager execution gives."""

import numpy as np
import pytest

import pellucid as torch
import pellucid.nn.functional as F
from pellucid.llvm import target

nn = torch.nn

pytestmark = pytest.mark.skipif(not target.available(), reason="no compiler")


def items_of(compiled):
    version = compiled.versions[0]
    return [item for run in version.code.executables for item in run.items]


def shape_of(compiled):
    return [(item.kind, [i.op for i in item.instructions]) for item in items_of(compiled)]


def compare(f, *shape, calls=4):
    """Run compiled and eager on the same values, forward and backward; gives the compiled function."""
    x = torch.zeros(*shape, requires_grad=True)

    def step():
        x.grad = None
        y = f(x)
        (y * y.cos()).sum().backward()
        return y

    compiled = torch.compile(step)
    g = torch.Generator().manual_seed(3)
    for _ in range(calls):
        with torch.no_grad():
            x.copy_(torch.randn(*shape, generator=g))
        expected, wanted = step(), x.grad
        got = compiled()
        torch.testing.assert_close(got, expected, rtol=2e-5, atol=2e-5)
        torch.testing.assert_close(x.grad, wanted, rtol=2e-5, atol=2e-5)
    assert compiled.versions[0].hits >= calls - 2
    return compiled


# ---- loops ------------------------------------------------------------------------------------------
def test_a_mean_of_a_chain_and_its_gradient_are_one_loop():
    x = torch.linspace(-3, 3, 5000).requires_grad_()

    def step():
        x.grad = None
        loss = (torch.tanh(x) * torch.sigmoid(x) + x * 0.5).mean()
        loss.backward()
        return loss

    compiled = torch.compile(step)
    expected = step().item()
    wanted = x.grad.clone()
    for _ in range(3):
        assert abs(compiled().item() - expected) < 1e-6
    torch.testing.assert_close(x.grad, wanted)
    assert [kind for kind, _ in shape_of(compiled)] == ["loop"]


ROWS = {
    "softmax": lambda x: (e := (x - x.amax(-1, keepdim=True)).exp()) / e.sum(-1, keepdim=True),
    "centred": lambda x: x - x.mean(-1, keepdim=True),
    "shares": lambda x: x / (x * x).sum(-1, keepdim=True),
    "two dimensions": lambda x: x / (x * x).sum((1, 2), keepdim=True),
    "without keepdim": lambda x: x * x.mean((1, 2))[:, None, None],
}


@pytest.mark.parametrize("name", ROWS)
@pytest.mark.parametrize("shape", [(5, 7, 33), (4, 16, 64), (3, 1, 5)])
def test_reductions_are_spread_over_their_rows_again(name, shape):
    compiled = compare(ROWS[name], *shape)
    first = next(item for item in items_of(compiled) if item.kind == "loop")
    ops = [i.op for i in first.instructions]
    at = next(k for k, op in enumerate(ops) if op in ("sum", "mean", "amax"))
    assert any(op in ("sub", "div", "mul", "exp") for op in ops[at + 1 :])


NOT_ROWS = {
    "another axis": lambda x: x - x.mean(0),
    "crosswise": lambda x: x[0, :7, :7] * x[0, :7, :7].mean(-1),
    "two different ones": lambda x: (
        x / (x * x).sum((1, 2), keepdim=True) + x.mean(0) + x.mean(-1, keepdim=True)
    ),
    "everything": lambda x: x - x.mean(),
}


@pytest.mark.parametrize("name", NOT_ROWS)
def test_reductions_that_are_used_otherwise(name):
    compare(NOT_ROWS[name], 5, 7, 33)


def test_long_rows_are_left_to_the_threads():
    compiled = compare(lambda x: x - x.mean(-1, keepdim=True), 2, 20000)
    loops = [
        [i.op for i in item.instructions] for item in items_of(compiled) if item.kind == "loop"
    ]
    assert not any("mean" in ops and "sub" in ops[ops.index("mean") :] for ops in loops)


CONSTANTS = {
    "numbers": lambda x: (
        x * (torch.ones(()) / 4) + torch.full((5, 1), 2.0).sqrt() - torch.zeros(5, 7).exp()
    ),
    "a mean's gradient": lambda x: (x * 3).mean().reshape(1),
    "integers": lambda x: x * (torch.ones((), dtype=torch.int64) + 2),
}


@pytest.mark.parametrize("name", CONSTANTS)
def test_numbers_known_in_advance(name):
    compare(CONSTANTS[name], 5, 7)


def test_a_constant_that_leaves_the_step_is_stored():
    def step(x):
        k = torch.ones(3) / 4
        return k, x * k

    compiled = torch.compile(step)
    for _ in range(2):
        k, y = compiled(torch.full((3,), 8.0))
        assert k.tolist() == [0.25] * 3 and y.tolist() == [2.0] * 3
    k.add_(1)
    assert compiled(torch.full((3,), 8.0))[0].tolist() == [0.25] * 3


# ---- layers -----------------------------------------------------------------------------------------
class Attention(nn.Module):
    def __init__(self, causal):
        super().__init__()
        self.qkv, self.causal = nn.Linear(24, 72), causal

    def forward(self, x):
        b, t, d = x.shape
        q, k, v = self.qkv(x).view(b, t, 3, 3, 8).permute(2, 0, 3, 1, 4)
        return (
            F.scaled_dot_product_attention(q, k, v, is_causal=self.causal)
            .transpose(1, 2)
            .reshape(b, t, d)
        )


class Pooled(nn.Module):
    """Means over planes, spread again."""

    def forward(self, x):
        return x.unsqueeze(3) * F.adaptive_avg_pool2d(x.reshape(-1, 7, 4, 6), 1)


class Recurrent(nn.Module):
    def __init__(self, make=nn.LSTM, **options):
        super().__init__()
        self.layers = make(24, 20, **options)

    def forward(self, x):
        y, last = self.layers(x)
        return y + sum(s.mean() for s in (last if isinstance(last, tuple) else (last,)))


class Norm(nn.Module):
    """A batch norm over the middle dimension."""

    def __init__(self, make):
        super().__init__()
        self.norm = make()

    def forward(self, x):
        return self.norm(x)


class Embedded(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(11, 24)
        self.index = torch.arange(7) * 3 % 11

    def forward(self, x):
        return x + self.table(self.index)


LAYERS = {
    "layer norm": (lambda: nn.LayerNorm(24), "layer_norm"),
    "layer norm without bias": (lambda: nn.LayerNorm(24, bias=False), "layer_norm"),
    "layer norm without weight": (
        lambda: nn.LayerNorm((7, 24), elementwise_affine=False),
        "layer_norm",
    ),
    "rms norm": (lambda: nn.RMSNorm(24), "layer_norm"),
    "batch norm": (lambda: Norm(lambda: nn.BatchNorm1d(7)), "batch_norm"),
    "batch norm without weight": (
        lambda: Norm(lambda: nn.BatchNorm1d(7, affine=False)),
        "batch_norm",
    ),
    "attention": (lambda: Attention(False), "scaled_dot_product_attention"),
    "causal attention": (lambda: Attention(True), "scaled_dot_product_attention"),
    "embedding": (Embedded, "embedding"),
    "softmax": (lambda: nn.Softmax(-1), "softmax"),
    "log softmax": (lambda: nn.LogSoftmax(2), "log_softmax"),
    "average pooling": (Pooled, "adaptive_avg_pool"),
    "LSTM": (Recurrent, "lstm_layer"),
    "LSTM both ways": (lambda: Recurrent(bidirectional=True, num_layers=2), "lstm_layer"),
    "LSTM without bias": (lambda: Recurrent(bias=False), "lstm_layer"),
    "LSTM with the batch first": (lambda: Recurrent(batch_first=True), "lstm_layer"),
    "GRU": (lambda: Recurrent(nn.GRU), "gru_layer"),
    "GRU both ways": (lambda: Recurrent(nn.GRU, bidirectional=True, num_layers=2), "gru_layer"),
    "GRU without bias": (lambda: Recurrent(nn.GRU, bias=False), "gru_layer"),
    "GRU with the batch first": (lambda: Recurrent(nn.GRU, batch_first=True), "gru_layer"),
    "RNN": (lambda: Recurrent(nn.RNN), "rnn_tanh_layer"),
    "RNN both ways": (
        lambda: Recurrent(nn.RNN, bidirectional=True, num_layers=2),
        "rnn_tanh_layer",
    ),
    "RNN of relu": (
        lambda: Recurrent(nn.RNN, nonlinearity="relu", bidirectional=True),
        "rnn_relu_layer",
    ),
    "RNN without bias": (lambda: Recurrent(nn.RNN, bias=False), "rnn_tanh_layer"),
}


@pytest.mark.parametrize("batch", [5, 70])
@pytest.mark.parametrize("name", LAYERS)
def test_layers_are_native(name, batch):
    make, op = LAYERS[name]

    def run(compiled):
        torch.manual_seed(5)
        before, model = nn.Linear(24, 24), make()
        optimizer = (
            torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
            if list(model.parameters())
            else None
        )

        def step(x):
            before.zero_grad()
            model.zero_grad()
            y = model(before(x))
            loss = (y * y.sin()).mean()
            loss.backward()
            if optimizer is not None:
                optimizer.step()
            return loss, y

        called = torch.compile(step) if compiled else step
        out = []
        for k in range(4):
            out += called(torch.randn(batch, 7, 24, generator=torch.Generator().manual_seed(k)))
        return [*out, before.weight.grad, *model.parameters(), *model.buffers()], called

    expected, _ = run(False)
    got, compiled = run(True)
    for a, b in zip(expected, got, strict=True):
        torch.testing.assert_close(b, a, rtol=1e-4, atol=2e-6)
    ops = [i.op for item in items_of(compiled) for i in item.instructions]
    assert op in ops and compiled.versions[0].hits
    assert not [item.instructions[0].op for item in items_of(compiled) if item.kind == "eager"]


def test_a_native_forward_may_have_an_eager_backward():
    """The gradient rule gets what the kernel left in memory."""
    norm = nn.LayerNorm(6)

    def step(x):
        y = norm(x.transpose(0, 1).contiguous())
        return (
            torch.autograd.grad((y * y).sum(), [x, norm.weight], create_graph=True)[0].sum()
            + y.sum()
        )

    g = torch.Generator().manual_seed(0)
    compiled = torch.compile(step)
    for _ in range(3):
        x = torch.randn(6, 4, generator=g, requires_grad=True)
        torch.testing.assert_close(compiled(x), step(x), rtol=1e-4, atol=1e-4)


def test_forward_compiled_backward_outside():
    torch.manual_seed(1)
    model = nn.Sequential(nn.LayerNorm(24), Attention(True), Recurrent())
    compiled = torch.compile(model)
    for k in range(3):
        x = torch.randn(3, 7, 24, generator=torch.Generator().manual_seed(k))
        grads = []
        for f in (model, compiled):
            model.zero_grad()
            out = f(x)
            (out * out).sum().backward()
            grads.append([out.detach(), *[p.grad.clone() for p in model.parameters()]])
        for a, b in zip(*grads, strict=True):
            torch.testing.assert_close(b, a, rtol=1e-4, atol=1e-5)


SLICES = {
    "steps": lambda x: x[:, 1:-1:2] * 2,
    "backwards": lambda x: x.flip(1)[1:],
    "one": lambda x: x[2] * x[0, 1],
    "last": lambda x: x[..., -1].exp(),
    "new dimension": lambda x: x[:, None, 1] * 3,
    "parts": lambda x: x.narrow(1, 1, 2) + x.select(2, 0)[:, :2, None],
    "diagonal": lambda x: x.diagonal(0, 1, 2) * 2,
    "chunks": lambda x: x.chunk(2, -1)[0] * x.split(3, -1)[0].mean(),
    "overlapping": lambda x: x.unfold(1, 2, 1) * 2,
}


@pytest.mark.parametrize("name", SLICES)
def test_slices(name):
    compare(SLICES[name], 3, 4, 6)


def test_gradients_of_slices_are_native():
    compiled = compare(SLICES["steps"], 3, 4, 6)
    assert not [item.instructions[0].op for item in items_of(compiled) if item.kind == "eager"]


@pytest.mark.parametrize("op", ["cat", "stack"])
@pytest.mark.parametrize("dim", [0, 1, -1])
def test_concatenation(op, dim):
    def f(x):
        return getattr(torch, op)(
            [x, x.transpose(1, 2).contiguous().transpose(1, 2) * 2, x + 1], dim
        )

    compiled = compare(f, 3, 4, 5)
    assert op in [
        i.op for item in items_of(compiled) if item.kind == "native" for i in item.instructions
    ]


def test_indices_out_of_range_raise_as_in_eager_and_the_next_call_is_good():
    torch.manual_seed(0)
    table = nn.Embedding(10, 4)
    optimizer = torch.optim.SGD(table.parameters(), lr=0.5)

    def step(index):
        optimizer.zero_grad()
        loss = table(index).sum()
        loss.backward()
        optimizer.step()
        return loss

    compiled = torch.compile(step)
    good, bad = torch.tensor([1, 2, 2]), torch.tensor([1, 10, 2])
    compiled(good)
    compiled(good)
    before = table.weight.detach().clone()
    with pytest.raises(IndexError) as eager:
        step(bad)
    with pytest.raises(IndexError) as raised:
        compiled(bad)
    assert (
        str(raised.value).splitlines()[0]
        == str(eager.value).splitlines()[0]
        == "index out of range in self"
    )
    assert torch.equal(table.weight, before)
    expected = table(good).sum().item()
    assert abs(compiled(good).item() - expected) < 1e-5
    assert sum(v.hits for v in compiled.versions) >= 2


def test_running_statistics_move_as_in_eager():
    torch.manual_seed(0)
    a, b = nn.BatchNorm2d(3), nn.BatchNorm2d(3)
    compiled = torch.compile(lambda x: b(x).sum())
    for k in range(4):
        x = torch.randn(4, 3, 5, 5, generator=torch.Generator().manual_seed(k)) * 3 + 1
        a(x).sum()
        compiled(x)
    for u, v in zip(a.buffers(), b.buffers(), strict=True):
        np.testing.assert_allclose(v.numpy(), u.numpy(), rtol=1e-6)


def test_more_threads_than_when_it_was_compiled():
    torch.manual_seed(0)
    model = Attention(True)
    compiled = torch.compile(model)
    x = torch.randn(4, 7, 24)
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(1)
        for _ in range(2):
            compiled(x)
        torch.set_num_threads(2)
        torch.testing.assert_close(compiled(x), model(x), rtol=1e-5, atol=1e-6)
    finally:
        torch.set_num_threads(before)


@pytest.mark.parametrize("transposed", [False, True])
def test_matrices_times_the_same_one_are_one_product(transposed):
    def f(x, w):
        return x @ (w.t() if transposed else w)

    compiled = torch.compile(f)
    w = torch.randn(32, 16).t() if not transposed else torch.randn(32, 16)
    for _ in range(2):
        x = torch.randn(3, 4, 8, 16)
        torch.testing.assert_close(compiled(x, w), f(x, w))
    assert [item.product[0].m for item in compiled.versions[0].code.run.items] == [3 * 4 * 8]
    several = torch.compile(f)
    gaps = torch.randn(3, 9, 16)[:, :8]  # rows that do not follow each other
    several(gaps, w)
    assert [item.product[0].m for item in several.versions[0].code.run.items] == [8]
    torch.testing.assert_close(several(gaps, w), f(gaps, w))
