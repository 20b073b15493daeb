"""The table of a model's layers."""

import io

import pytest

import pellucid as torch
from pellucid import debug, nn
from pellucid.core import observe


def mlp():
    return nn.Sequential(nn.Linear(784, 128), nn.ReLU(), nn.Linear(128, 10))


def test_the_mlp_of_every_tutorial():
    s = debug.summary(mlp(), (32, 784))
    assert (s.total_params, s.trainable_params, s.mult_adds) == (
        101770,
        101770,
        32 * (784 * 128 + 128 * 10),
    )
    assert [r.output for r in s.rows] == ["(32, 10)", "(32, 128)", "(32, 128)", "(32, 10)"]
    assert sum(r.params for r in s.rows) == 101770
    assert not observe.observers


def test_without_an_input_nothing_is_run():
    s = debug.summary(mlp())
    assert s.total_params == 101770 and "?" in str(s) and "mult-adds  " not in str(s)


def test_bare_parameters_sharing_and_freezing():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.scale = nn.Parameter(torch.ones(7))
            self.a = nn.Linear(7, 7, bias=False)
            self.b = nn.Linear(7, 7, bias=False)
            self.b.weight = self.a.weight
            self.c = self.a
            self.norm = nn.BatchNorm1d(7)
            self.norm.bias.requires_grad_(False)

        def forward(self, x):
            return self.norm(self.c(self.b(self.a(x * self.scale))))

    net = Net()
    net.a.eval()
    before = [b.clone() for b in net.buffers()]
    s = debug.summary(net, inputs=torch.ones(4, 7))
    rows = {r.path: r for r in s.rows}
    assert s.total_params == sum(p.numel() for p in net.parameters()) == 7 + 49 + 14
    assert sum(r.params for r in s.rows) == s.total_params
    assert (
        rows[""].params == 7 and rows["a"].calls == 2 and rows["c"].shared and rows["b"].params == 0
    )
    assert (rows["norm"].params, rows["norm"].trainable) == (14, 7)
    assert s.mult_adds == 3 * 4 * 49 == sum(r.mult_adds for r in s.rows)
    assert s.buffer_elements == 15
    assert net.training and not net.a.training and net.b.training
    assert all(torch.equal(a, b) for a, b in zip(before, net.buffers(), strict=True))


def test_convolutions():
    net = nn.Sequential(
        nn.Conv2d(3, 8, 3, padding=1, groups=1),
        nn.Conv2d(8, 8, 3, groups=8),
        nn.ConvTranspose2d(8, 2, 2, stride=2),
    )
    s = debug.summary(net, (2, 3, 6, 6))
    assert [r.mult_adds for r in s.rows] == [0, 2 * 8 * 36 * 27, 2 * 8 * 16 * 9, 2 * 8 * 16 * 2 * 4]


@pytest.mark.parametrize("layer", [nn.Linear(5, 3), nn.Linear(5, 3, bias=False)])
@pytest.mark.parametrize("shape", [(4, 5), (2, 4, 5), (5,)])
def test_linear_layers_of_any_shape(layer, shape):
    s = debug.summary(layer, shape)
    assert s.mult_adds == 15 * (torch.zeros(shape).numel() // 5)


def test_inputs_of_all_kinds():
    class Two(nn.Module):
        def __init__(self):
            super().__init__()
            self.embed = nn.Embedding(10, 4)

        def forward(self, ids, mask=None):
            return {"out": self.embed(ids), "rest": [ids]}

    for s in (
        debug.summary(Two(), (2, 3), dtypes=torch.int64),
        debug.summary(Two(), [(2, 3), (2,)], dtypes=[torch.int64, None]),
        debug.summary(Two(), inputs={"ids": torch.zeros(2, 3, dtype=torch.int64)}),
        debug.summary(Two(), inputs=(torch.zeros(2, 3, dtype=torch.int64),)),
    ):
        assert [r.output for r in s.rows] == ["out: (2, 3, 4), rest: (2, 3)", "(2, 3, 4)"]
    with pytest.raises(ValueError, match="not both"):
        debug.summary(mlp(), (1, 784), inputs=torch.ones(1, 784))
    with pytest.raises(ValueError, match="2 input sizes and 1 dtypes"):
        debug.summary(Two(), [(2, 3), (2,)], dtypes=[torch.int64])
    with pytest.raises(TypeError, match="must be a Module"):
        debug.summary(3)


def test_depth_folds_layers_without_losing_them():
    net = nn.Sequential(nn.Sequential(mlp(), nn.Linear(10, 2)), nn.ReLU())
    whole, folded = debug.summary(net, (1, 784)), debug.summary(net, (1, 784), depth=1)
    assert [r.path for r in folded.rows] == ["", "0", "1"]
    assert sum(r.params for r in folded.rows) == whole.total_params == folded.total_params
    assert sum(r.mult_adds for r in folded.rows) == whole.mult_adds


def test_a_failing_forward_leaves_everything_as_it_was():
    net = mlp()
    with pytest.raises(RuntimeError):
        debug.summary(net, (1, 7))
    assert net.training and not observe.observers


def test_rich_and_notebooks():
    rich = pytest.importorskip("rich.console")
    s = debug.summary(mlp(), (32, 784))
    out = io.StringIO()
    rich.Console(file=out, width=100).print(s)
    assert "101,770" in out.getvalue() and "(32, 128)" in out.getvalue()
    assert s._repr_html_().count("<tr>") == 5


def test_memory_and_time():
    s = debug.summary(mlp(), (32, 784))
    assert [r.memory for r in s.rows] == [32 * 10 * 4, 32 * 128 * 4, 32 * 128 * 4, 32 * 10 * 4]
    assert s.output_bytes == sum(r.memory for r in s.rows[1:])
    assert s.rows[0].seconds == s.seconds >= sum(r.seconds for r in s.rows[1:]) > 0
    assert "time (ms)" in str(s) and "time (ms)" not in str(
        debug.summary(mlp(), (32, 784), time=False)
    )
    net = mlp()
    debug.summary(net, (1, 784))
    assert not any(m._forward_hooks or m._forward_pre_hooks for m in net.modules())
    with pytest.raises(RuntimeError):
        debug.summary(net, (1, 7))
    assert not any(m._forward_hooks for m in net.modules())


def test_an_input_instead_of_a_shape():
    x = torch.ones(32, 784)
    plain = debug.summary(mlp(), (32, 784), time=False)
    for given in (x, (x,), {"input": x}):
        assert str(debug.summary(mlp(), given, time=False)) == str(plain)


@pytest.mark.parametrize(
    ("stride", "groups", "inside", "outside"), [(1, 1, 3, 5), (2, 1, 6, 2), (1, 2, 4, 6)]
)
def test_transposed_convolutions_that_change_the_channels(stride, groups, inside, outside):
    layer = nn.ConvTranspose2d(inside, outside, 3, stride=stride, groups=groups, bias=False)
    s = debug.summary(layer, (2, inside, 5, 5))
    assert s.mult_adds == 2 * inside * 25 * (outside // groups) * 9


@pytest.mark.parametrize(("kind", "gates"), [(nn.RNN, 1), (nn.GRU, 3), (nn.LSTM, 4)])
def test_recurrent_layers(kind, gates):
    s = debug.summary(kind(6, 5, num_layers=2, bidirectional=True), (7, 3, 6))
    first, second = gates * 5 * (6 + 5), gates * 5 * (10 + 5)
    assert s.mult_adds == 7 * 3 * 2 * (first + second)


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize(("kind", "gates"), [(nn.RNNCell, 1), (nn.GRUCell, 3), (nn.LSTMCell, 4)])
def test_cells_and_packed_sequences(kind, gates, bias):
    weights = gates * 5 * (6 + 5)
    assert debug.summary(kind(6, 5, bias=bias), (3, 6)).mult_adds == 3 * weights

    class Packed(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = getattr(nn, kind.__name__.removesuffix("Cell"))(6, 5, bias=bias)

        def forward(self, x):
            return self.layer(nn.utils.rnn.pack_padded_sequence(x, torch.tensor([4, 2, 1])))[0].data

    assert debug.summary(Packed(), (4, 3, 6)).mult_adds == 7 * weights


def test_a_product_that_is_added_to_a_matrix():
    class Net(nn.Module):
        def forward(self, x):
            return torch.addmm(x, x, x)

    x = torch.ones(3, 3)
    for kind in (torch.float32, torch.bfloat16):
        assert debug.summary(Net(), [x.to(kind)]).mult_adds == 27


def test_attention_counts_its_products():
    class Net(nn.Module):
        def forward(self, q):
            return nn.functional.scaled_dot_product_attention(q, q, q)

    assert debug.summary(Net(), (2, 4, 10, 8)).mult_adds == 2 * (2 * 4 * 10 * 10 * 8)
